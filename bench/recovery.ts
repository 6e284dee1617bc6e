// How long it takes until work goes on after a process has been killed with kill -9: an agent with
// its workers, and a scheduler that is started again at its address. What is told is the time
// beyond that of the work itself, by the pace of the second half of it.

import { Client } from 'scaler-ts'
import type { Benchmark, Sample } from './benchmark.js'
import { BenchCluster } from './cluster.js'

/** Tasks in flight when the process is killed. They wait, so that a busy machine matters little. */
const TASKS = 2_000
const TASK_MS = 10
const WARM_UP_TASKS = 200
/** Of each of two agents. */
const WORKERS = 2
/** So many have ended by the time of the kill. */
const ENDED_BEFORE = 200

const pause = async (ms: number): Promise<number> => {
  const { setTimeout: wait } = await import('node:timers/promises')
  await wait(ms)
  return ms
}

/** What happens to the cluster. */
interface Blow {
  readonly name: string
  readonly strike: (cluster: BenchCluster) => Promise<void>
}

const BLOWS: readonly Blow[] = [
  {
    name: 'after kill -9 of an agent, beyond the work',
    strike: (cluster) => cluster.killWorkers(),
  },
  {
    name: 'after the return of a killed scheduler, beyond the work',
    strike: (cluster) => cluster.restartScheduler(),
  },
]

/** Milliseconds from the blow (the scheduler's return) to the last result, less the work left. */
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

/** The pace of the second half of the results says how long the work of all of them takes. */
function beyondWorkMs(begun: number, ends: readonly number[]): number {
  const [middle = begun, last = begun] = [ends[ends.length >> 1], ends.at(-1)]
  return last - begun - 2 * (last - middle)
}

function work(client: Client, tasks: number): Promise<unknown> {
  return Promise.all(Array.from({ length: tasks }, () => client.submit(pause, TASK_MS)))
}
