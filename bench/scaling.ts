// Whether a task costs the same however many there are, and however many workers: 1,000 to
// 10,000,000 tasks with real workers, and 1 to 1,000 workers that only exist as connections.

import { Client } from 'scaler-ts'
import { simulateWorkers } from '#src/scheduler/simulated-workers.kit.js'
import { timeMs, type Benchmark, type Sample } from './benchmark.js'
import { BenchCluster, withClient } from './cluster.js'

const TASK_COUNTS = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
const WORKER_COUNTS = [1, 10, 100, 1_000]
/** Small maps are repeated until there were so many tasks. */
const MEASURED_TASKS = 300_000
/** The tasks for simulated workers. */
const TASKS = 200_000
const WARM_UPS = 3

const noop = (input: number): number => input

/** Microseconds for each task. */
export const scaling: Benchmark = {
  name: 'scaling',
  run: async ({ workers }) => [...(await byTasks(workers)), ...(await byWorkers())],
}

async function byTasks(workers: number): Promise<readonly Sample[]> {
  return withClient(workers, async (client) => {
    for (let pass = 0; pass < WARM_UPS; pass += 1) await costUs(client, MEASURED_TASKS)
    const costs: number[] = []
    for (const count of TASK_COUNTS) costs.push(await costUs(client, count))
    return samplesOf('tasks', TASK_COUNTS, costs)
  })
}

async function byWorkers(): Promise<readonly Sample[]> {
  const costs: number[] = []
  for (const count of WORKER_COUNTS) costs.push(await costWith(count))
  return samplesOf('simulated workers', WORKER_COUNTS, costs)
}

async function costWith(workers: number): Promise<number> {
  const cluster = await BenchCluster.start()
  try {
    const simulated = await simulateWorkers(cluster.address, workers)
    const client = await Client.connect(cluster.address)
    for (let pass = 0; pass < WARM_UPS; pass += 1) await costUs(client, TASKS)
    const cost = await costUs(client, TASKS)
    await client.close()
    await simulated.close()
    return cost
  } finally {
    await cluster.stop()
  }
}

async function costUs(client: Client, count: number): Promise<number> {
  const times = Math.max(1, Math.floor(MEASURED_TASKS / count))
  const ms = await timeMs(async () => {
    for (let time = 0; time < times; time += 1) {
      await client.map(noop, Array(count).keys())
    }
  })
  return (ms * 1_000) / (times * count)
}

/** The costs, and how much the dearest is above the cheapest. */
function samplesOf(what: string, counts: readonly number[], costs: readonly number[]): Sample[] {
  const samples: Sample[] = counts.map((count, index) => {
    const name = `map, per task, ${count.toLocaleString('en')} ${what}`
    return { name, unit: 'µs', value: costs[index] }
  })
  const growth = Math.max(...costs) / Math.min(...costs)
  return [
    ...samples,
    { name: `map, per task, dearest : cheapest by ${what}`, unit: 'times', value: growth },
  ]
}
