// Throughput and latency of the engine: a cluster of the real commands, this process as the client.

import type { Client } from 'scaler-ts'
import { inputs, timeMs, type Benchmark, type BenchOptions, type Sample } from './benchmark.js'
import { withClient, type BenchCluster } from './cluster.js'
import { median, quantile } from './figures.js'
import { cpuTimeMs, hasProcessCost } from './process-cost.js'

const noop = <T>(input: T): T => input

/** Tasks before the first measurement: compilers and connections warm up. */
const WARM_UP_TASKS = 5_000
const ROUND_TRIPS = 2_000

/** `map` over all inputs, and its cost for the scheduler. */
export const mapThroughput: Benchmark = {
  name: 'map',
  run: (options) =>
    withWarmClient(options, async (client, cluster) => {
      const before = hasProcessCost ? cpuTimeMs(cluster.schedulerPid) : 0
      const tookMs = await timeMs(() =>
        client.map(noop, inputs(options.tasks, options.payloadBytes)),
      )
      const cpuMs = hasProcessCost ? cpuTimeMs(cluster.schedulerPid) - before : undefined
      return [
        { name: 'map, no-op', unit: 'tasks/s', value: perSecond(options.tasks, tookMs) },
        {
          name: 'scheduler CPU per task',
          unit: 'µs',
          value: cpuMs === undefined ? undefined : (cpuMs * 1_000) / options.tasks,
          ...(cpuMs === undefined ? { note: 'needs /proc (Linux)' } : {}),
        },
      ]
    }),
}

/** One future per task, all awaited together. */
export const submitThroughput: Benchmark = {
  name: 'submit',
  run: (options) =>
    withWarmClient(options, async (client) => {
      const tookMs = await timeMs(() =>
        Promise.all(
          Array.from(inputs(options.tasks, options.payloadBytes), (input) =>
            client.submit(noop, input),
          ),
        ),
      )
      return [{ name: 'submit, no-op', unit: 'tasks/s', value: perSecond(options.tasks, tookMs) }]
    }),
}

/** One task after the other. */
export const latency: Benchmark = {
  name: 'latency',
  run: (options) =>
    withWarmClient(options, async (client) => {
      const times: number[] = []
      for (const input of inputs(Math.min(ROUND_TRIPS, options.tasks), options.payloadBytes)) {
        times.push(await timeMs(() => client.submit(noop, input)))
      }
      return [
        { name: 'round trip, median', unit: 'µs', value: median(times) * 1_000 },
        { name: 'round trip, p99', unit: 'µs', value: quantile(times, 0.99) * 1_000 },
      ]
    }),
}

/** The same after warming up. */
function withWarmClient(
  { workers, tasks, payloadBytes }: BenchOptions,
  measure: (client: Client, cluster: BenchCluster) => Promise<readonly Sample[]>,
): Promise<readonly Sample[]> {
  return withClient(workers, async (client, cluster) => {
    await client.map(noop, inputs(Math.min(WARM_UP_TASKS, tasks), payloadBytes))
    return measure(client, cluster)
  })
}

function perSecond(count: number, tookMs: number): number {
  return (count / tookMs) * 1_000
}
