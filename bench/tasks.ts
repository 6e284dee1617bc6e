// Throughput and latency of the engine: a cluster of the real commands, this process as the client.

import { type Client, type Future, gather } from 'scaler-ts'
import { inputs, timeMs, type Benchmark, type BenchOptions, type Sample } from './benchmark.js'
import { withClient, type BenchCluster } from './cluster.js'
import { median, quantile } from './figures.js'
import { plainCopyMs } from './plain-copy.js'
import { cpuTimeMs, hasProcessCost } from './process-cost.js'

const noop = <T>(input: T): T => input

/** Tasks before the first measurement: compilers and connections warm up. */
const WARM_UP_TASKS = 5_000
/** How many of the first and of the last round trips are measured. */
const ROUND_TRIPS = 2_000
const ALL_ROUND_TRIPS = 20_000
/** About the size of a message with one task. */
const MESSAGE_BYTES = 200

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

/** One future per task, all awaited together: the second pass, and the first. */
export const submitThroughput: Benchmark = {
  name: 'submit',
  run: (options) =>
    withWarmClient(options, async (client) => {
      const { tasks, payloadBytes } = options
      const pass = async (awaitAll: (futures: Future<unknown>[]) => Promise<unknown>) => {
        const tookMs = await timeMs(() =>
          awaitAll(Array.from(inputs(tasks, payloadBytes), (input) => client.submit(noop, input))),
        )
        return perSecond(tasks, tookMs)
      }
      const all = (futures: Future<unknown>[]): Promise<unknown> => Promise.all(futures)
      const first = [await pass(all), await pass(gather)]
      const second = [await pass(all), await pass(gather)]
      return ['submit, no-op', 'submit and gather, no-op'].flatMap((name, at) => [
        { name, unit: 'tasks/s', value: second[at] },
        { name: `${name}, in the first pass`, unit: 'tasks/s', value: first[at] },
      ])
    }),
}

/** One task after the other. */
export const latency: Benchmark = {
  name: 'latency',
  run: async (options) => {
    const [first, warm] = await withWarmClient(options, async (client) => {
      const times: number[] = []
      const count = Math.min(ALL_ROUND_TRIPS, options.tasks)
      for (const input of inputs(count, options.payloadBytes)) {
        times.push(await timeMs(() => client.submit(noop, input)))
      }
      return [times.slice(0, ROUND_TRIPS), times.slice(-ROUND_TRIPS)]
    })
    const message = { bytes: new Uint8Array(MESSAGE_BYTES + options.payloadBytes), isBack: true }
    const echoes = (await plainCopyMs(message, 2 * ROUND_TRIPS)).slice(-ROUND_TRIPS)
    return [
      ...timesOf('round trip', first),
      ...timesOf('round trip, warm', warm),
      ...timesOf('echo through as many processes', echoes),
      {
        name: 'round trip, warm, ratio to the echo',
        unit: '',
        value: median(warm) / median(echoes),
      },
    ]
  },
}

function timesOf(name: string, timesMs: readonly number[]): readonly Sample[] {
  return [
    { name: `${name}, median`, unit: 'µs', value: median(timesMs) * 1_000 },
    { name: `${name}, p99`, unit: 'µs', value: quantile(timesMs, 0.99) * 1_000 },
  ]
}

/** The same after warming up. */
function withWarmClient<R>(
  { workers, tasks, payloadBytes }: BenchOptions,
  measure: (client: Client, cluster: BenchCluster) => Promise<R>,
): Promise<R> {
  return withClient(workers, async (client, cluster) => {
    await client.map(noop, inputs(Math.min(WARM_UP_TASKS, tasks), payloadBytes))
    return measure(client, cluster)
  })
}

function perSecond(count: number, tookMs: number): number {
  return (count / tookMs) * 1_000
}
