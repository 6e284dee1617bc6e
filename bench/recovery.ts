// How long it takes until work continues after a process has been killed with kill -9: an agent
// with its workers, and a scheduler that is restarted at its address. Reported is the time in
// addition to that of the work itself, extrapolated from its second half.

import { Client } from 'scaler-ts'
import type { Benchmark, Sample } from './benchmark.js'
import { BenchCluster } from './cluster.js'

/** Tasks in flight when the process is killed. They wait, so that a busy machine matters little. */
const TASKS = 2_000
const TASK_MS = 10
const WARM_UP_TASKS = 200
/** Workers of each of two agents. */
const WORKERS = 2
/** The number of finished tasks at the time of the kill. */
const ENDED_BEFORE = 200

const pause = async (ms: number): Promise<number> => {
  const { setTimeout: wait } = await import('node:timers/promises')
  await wait(ms)
  return ms
}

/** The failure that is caused. */
interface Blow {
  readonly name: string
  readonly strike: (cluster: BenchCluster) => Promise<void>
}

const BLOWS: readonly Blow[] = [
  {
    name: 'recovery after kill -9 of an agent',
    strike: (cluster) => cluster.killWorkers(),
  },
  {
    name: 'recovery after the restart of a killed scheduler',
    strike: (cluster) => cluster.restartScheduler(),
  },
]

/** Milliseconds from the kill (or the restart) to the last result, minus the remaining work. */
export const recovery: Benchmark = {
  name: 'recovery',
  run: async () => {
    const samples: Sample[] = []
    for (const { name, strike } of BLOWS) {
      samples.push({ name, unit: 'ms', value: await delayMs(strike) })
    }
    return samples
  },
}

async function delayMs(strike: Blow['strike']): Promise<number> {
  const cluster = await BenchCluster.start()
  try {
    for (let agent = 0; agent < 2; agent += 1) await cluster.startWorkers(WORKERS)
    const client = await Client.connect(cluster.address)
    try {
      await work(client, WARM_UP_TASKS)
      const futures = Array.from({ length: TASKS }, () => client.submit(pause, TASK_MS))
      const ends: number[] = []
      const note = (): void => void ends.push(performance.now())
      const ended = Promise.all(futures.map(async (future) => future.then(note)))
      await Promise.all(futures.slice(0, ENDED_BEFORE))
      await strike(cluster)
      const begun = performance.now()
      await ended
      return beyondWorkMs(
        begun,
        ends.filter((end) => end > begun),
      )
    } finally {
      await client.close()
    }
  } finally {
    await cluster.stop()
  }
}

/** The duration of all the work is extrapolated from the second half of the results. */
function beyondWorkMs(begun: number, ends: readonly number[]): number {
  const [middle = begun, last = begun] = [ends[ends.length >> 1], ends.at(-1)]
  return last - begun - 2 * (last - middle)
}

function work(client: Client, tasks: number): Promise<unknown> {
  return Promise.all(Array.from({ length: tasks }, () => client.submit(pause, TASK_MS)))
}
