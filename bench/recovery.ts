// How long it takes until work goes on after a process has been killed with kill -9: an agent with
// its workers, and a scheduler that is started again at its address. What is told is the time
// beyond that of the work itself, which is measured in the same run.

import { Client } from 'scaler-ts'
import { timeMs, type Benchmark, type Sample } from './benchmark.js'
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

/** What happens to the cluster, and how many agents are left to do the rest. */
interface Blow {
  readonly name: string
  readonly agentsLeft: number
  readonly strike: (cluster: BenchCluster) => Promise<void>
}

const BLOWS: readonly Blow[] = [
  {
    name: 'after kill -9 of an agent, beyond the work',
    agentsLeft: 1,
    strike: (cluster) => cluster.killWorkers(),
  },
  {
    name: 'after the return of a killed scheduler, beyond the work',
    agentsLeft: 2,
    strike: (cluster) => cluster.restartScheduler(),
  },
]

/** Milliseconds from the blow (the scheduler's return) to the last result, less the work left. */
export const recovery: Benchmark = {
  name: 'recovery',
  run: async () => {
    const samples: Sample[] = []
    for (const blow of BLOWS) {
      samples.push({ name: blow.name, unit: 'ms', value: await delayMs(blow) })
    }
    return samples
  },
}

/** The work is measured on the workers that will be left, so that only the blow is beside it. */
async function delayMs({ agentsLeft, strike }: Blow): Promise<number> {
  const cluster = await BenchCluster.start()
  try {
    for (let agent = 0; agent < agentsLeft; agent += 1) await cluster.startWorkers(WORKERS)
    const client = await Client.connect(cluster.address)
    try {
      await work(client, WARM_UP_TASKS)
      const taskMs = (await timeMs(() => work(client, TASKS))) / TASKS
      for (let agent = agentsLeft; agent < 2; agent += 1) await cluster.startWorkers(WORKERS)
      const { enough, ended, left } = watched(client)
      await enough
      await strike(cluster)
      const expectedMs = left() * taskMs
      return (await timeMs(() => ended)) - expectedMs
    } finally {
      await client.close()
    }
  } finally {
    await cluster.stop()
  }
}

function work(client: Client, tasks: number): Promise<unknown> {
  return Promise.all(Array.from({ length: tasks }, () => client.submit(pause, TASK_MS)))
}

/** All tasks again: when some have ended, when all have, and how many have not. */
function watched(client: Client): {
  readonly enough: Promise<unknown>
  readonly ended: Promise<unknown>
  readonly left: () => number
} {
  const futures = Array.from({ length: TASKS }, () => client.submit(pause, TASK_MS))
  let left = TASKS
  const count = (): void => void (left -= 1)
  const ended = Promise.all(futures.map(async (future) => future.then(count)))
  return { enough: Promise.all(futures.slice(0, ENDED_BEFORE)), ended, left: () => left }
}
