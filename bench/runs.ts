// Tasks that travel in runs: what values, options and kinds of functions cost, what another client
// notices, how short tasks may be, and how work is shared out. docs/performance.md

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client } from 'scaler-ts'
import { inputs, timeMs, type Benchmark, type Sample } from './benchmark.js'
import { BenchCluster, withClient } from './cluster.js'
import { quantile } from './figures.js'

const PROGRAM = fileURLToPath(new URL('round-trip-program.js', import.meta.url))

/** No-op tasks are so fast that measuring needs many. */
const TIMES = 10
const BUSY_TASKS = 20_000
const BUSY_MS = 1
/** Durations of tasks that are tried, in microseconds. */
const DURATIONS_US = [1, 2, 3, 5, 8, 12, 20, 30, 50]

const noop = <T>(input: T): T => input
const asyncNoop = async <T>(input: T): Promise<T> => input
const shorten = (text: string): string => text.slice(50)

/** Keeps a processor busy. */
const spin = (us: number): number => {
  const end = performance.now() + us / 1_000
  while (performance.now() < end);
  return us
}

interface Item {
  readonly id: number
  readonly name: string
  readonly values: readonly number[]
}

function* items(count: number): Generator<Item> {
  for (let id = 0; id < count; id += 1) yield { id, name: `item ${id}`, values: [id, 2, 3] }
}

function* texts(count: number): Generator<string> {
  for (let id = 0; id < count; id += 1) yield String(id).padEnd(200, 'x')
}

/** `map` of many no-op tasks, each kind twice: the second time counts. */
export const runKinds: Benchmark = {
  name: 'runs',
  run: ({ workers, tasks }) =>
    withClient(workers, async (client) => {
      const count = tasks * TIMES
      const options = { priority: 1, retries: 2, timeoutMs: 60_000, name: 'named' } as const
      const numbers = (): Iterable<number> => inputs(count, 0) as Iterable<number>
      const kinds: readonly (readonly [string, () => Promise<unknown>])[] = [
        ['map of integers', () => client.map(noop, numbers())],
        ['map of integers, 4 options', () => client.with(options).map(noop, numbers())],
        ['map of integers, async', () => client.map(asyncNoop, numbers())],
        ['map of objects', () => client.map(noop, items(count))],
        ['map of 200-byte strings', () => client.map(shorten, texts(count))],
      ]
      const samples: Sample[] = []
      for (const [name, work] of kinds) {
        await work()
        const cpuBefore = process.cpuUsage()
        const tookMs = await timeMs(work)
        const { user, system } = process.cpuUsage(cpuBefore)
        samples.push({ name, unit: 'tasks/s', value: (count / tookMs) * 1_000 })
        const cpuUs = (user + system) / count
        samples.push({ name: `${name}, client CPU per task`, unit: 'µs', value: cpuUs })
      }
      return samples
    }),
}

/** Round trips of another client while this one maps no-op tasks. */
export const secondClient: Benchmark = {
  name: 'second-client',
  run: ({ workers, tasks }) =>
    withClient(workers, async (client, { address }) => {
      const other = fork(PROGRAM, [address])
      await once(other, 'message')
      for (let pass = 0; pass < 10; pass += 1) {
        await client.map(noop, inputs(tasks * TIMES, 0))
        // The second pass counts, and those after it: each has few round trips.
        if (pass === 0) other.send('again')
      }
      other.send('stop')
      const [told] = (await once(other, 'message')) as [number[]]
      const name = 'another client during maps, round trip'
      return [
        { name: `${name}, median`, unit: 'ms', value: quantile(told, 0.5) },
        { name: `${name}, p99`, unit: 'ms', value: quantile(told, 0.99) },
      ]
    }),
}

/** How much of the processors' time is spent in users' functions. */
export const busyTasks: Benchmark = {
  name: 'busy',
  run: ({ workers }) =>
    withClient(workers, async (client) => {
      const load = { workers, us: BUSY_MS * 1_000, count: BUSY_TASKS }
      const first = await busyShare(client, load)
      const share = await busyShare(client, load)
      const shares: [number, number][] = []
      for (const us of DURATIONS_US) {
        const count = Math.ceil(400_000 / us)
        shares.push([us, await busyShare(client, { workers, us, count })])
      }
      const half = shares.find(([, each]) => each >= 0.5)?.[0]
      return [
        { name: 'tasks of 1 ms, share of the ideal', unit: '', value: share },
        { name: 'the same in the first pass', unit: '', value: first },
        { name: 'shortest task at half the ideal', unit: 'µs', value: half },
      ]
    }),
}

interface Load {
  readonly workers: number
  readonly us: number
  readonly count: number
}

async function busyShare(client: Client, { workers, us, count }: Load): Promise<number> {
  const tookMs = await timeMs(() => client.map(spin, Array<number>(count).fill(us)))
  return (count * us) / 1_000 / workers / tookMs
}

/** Cancelling everything that waits. */
export const clearing: Benchmark = {
  name: 'clear',
  run: async ({ tasks }) => {
    const cluster = await BenchCluster.start()
    const client = await Client.connect(cluster.address)
    try {
      const futures = Array.from({ length: tasks }, (_, index) => client.submit(noop, index))
      for (const future of futures) future.catch(() => {})
      const last = futures.at(-1)
      await client.info()
      const tookMs = await timeMs(async () => {
        await client.clear()
        await last?.catch(() => {})
        await client.info()
      })
      return [{ name: `clear() of ${tasks} waiting tasks`, unit: 'ms', value: tookMs }]
    } finally {
      await client.close()
      await cluster.stop()
    }
  },
}
