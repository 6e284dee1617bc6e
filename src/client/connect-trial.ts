// A task that does nothing: whether the whole way works, from a client to a worker and back.

import { runInThisContext } from 'node:vm'
import { Client } from './client.js'
import { clockDifference, type ClockDifference } from './connect-clock.js'

/** How it went. */
export interface TrialTask {
  /** From `submit` to the result, in milliseconds: the function had to travel, too. */
  readonly durationMs: number
  /** The name of the worker that ran it; '' if it did not say so. */
  readonly worker: string
  /** What it runs, `node/20.20.2`. */
  readonly runtime: string
  readonly clock: ClockDifference
}

/**
 * Says when it was, and where. From a text: a function of this package would not travel, as workers
 * have a package of their own, which may be of another version.
 */
const TRIAL = '() => [Date.now(), `node/${process.versions.node}`]'

/**
 * Runs a task that does nothing, twice, by a client of its own. Rejects with `ConnectError` if the
 * scheduler does not answer within `timeoutMs`, with `TimeoutError` if a task has not ended within
 * it, and with whatever ended it.
 */
export async function runTrialTask(address: string, timeoutMs: number): Promise<TrialTask> {
  const client = await Client.connect(address, { timeoutMs })
  try {
    const trial = runInThisContext(TRIAL, { filename: 'trial.js' }) as () => [number, string]
    const run = (): Promise<TrialTask> => runOnce(client, trial, timeoutMs)
    const { durationMs } = await run()
    // Now that the function is there: the shorter the way, the better is the clock known.
    return { ...(await run()), durationMs }
  } finally {
    await client.close()
  }
}

async function runOnce(
  client: Client,
  trial: () => [number, string],
  timeoutMs: number,
): Promise<TrialTask> {
  const begun = performance.now()
  const begunAt = Date.now()
  const future = client.with({ name: 'doctor' }).submit(trial)
  const [clock, runtime] = await future.result({ timeoutMs })
  const durationMs = performance.now() - begun
  return {
    durationMs: round(durationMs),
    worker: future.profile?.worker ?? '',
    runtime,
    clock: clockDifference(clock, begunAt + durationMs / 2, durationMs),
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
