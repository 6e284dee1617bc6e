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
  /** The version of the package there; undefined if that could not be found out. */
  readonly version: string | undefined
  /** What it runs, `node/20.20.2`. */
  readonly runtime: string
  readonly clock: ClockDifference
}

/**
 * Says when it was, on what, and with which version of this package, as the program of the
 * processor shows. From a text: a function of this package would not travel, as workers have a
 * package of their own, which may be of another version.
 */
const TRIAL = `() => {
  const now = Date.now()
  let version = ''
  try {
    const main = process.getBuiltinModule('module').createRequire(process.argv[1])
    version = main('../../package.json').version
  } catch {}
  return [now, \`node/\${process.versions.node}\`, String(version)]
}`

type Trial = () => [now: number, runtime: string, version: string]

/**
 * Runs a task that does nothing, twice, by a client of its own. Rejects with `ConnectError` if the
 * scheduler does not answer within `timeoutMs`, with `TimeoutError` if a task has not ended within
 * it, and with whatever ended it.
 */
export async function runTrialTask(address: string, timeoutMs: number): Promise<TrialTask> {
  const client = await Client.visit(address, { timeoutMs })
  try {
    const trial = runInThisContext(TRIAL, { filename: 'trial.js' }) as Trial
    const run = (): Promise<TrialTask> => runOnce(client, trial, timeoutMs)
    const { durationMs } = await run()
    // Now that the function is there: the shorter the way, the better is the clock known.
    return { ...(await run()), durationMs }
  } finally {
    await client.close()
  }
}

async function runOnce(client: Client, trial: Trial, timeoutMs: number): Promise<TrialTask> {
  const begun = performance.now()
  const begunAt = Date.now()
  const future = client.with({ name: 'doctor' }).submit(trial)
  const [clock, runtime, version] = await future.result({ timeoutMs })
  const durationMs = performance.now() - begun
  return {
    durationMs: round(durationMs),
    worker: future.profile?.worker ?? '',
    version: version === '' ? undefined : version,
    runtime,
    clock: clockDifference(clock, begunAt + durationMs / 2, durationMs),
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
