// One large object that many tasks use: how often it is transferred. And a map over many inputs:
// the memory that the client needs for it.

import { readFileSync } from 'node:fs'
import { timeMs, type Benchmark } from './benchmark.js'
import { withClient } from './cluster.js'
import { hasProcessCost } from './process-cost.js'

const OBJECT_BYTES = 64 * 1024 * 1024
const TASKS = 1_000
const INPUTS = 1_000_000
const MIB = 1024 ** 2
/** The heap is sampled once per this many results. */
const SAMPLE_EVERY = 10_000

const byteAt = (bytes: Uint8Array, index: number): number | undefined => bytes[index]
const noop = (input: number): number => input

/** `sendObject` of 64 MiB, used by 1,000 tasks. */
export const sharedObject: Benchmark = {
  name: 'shared-object',
  run: (options) =>
    withClient(options.workers, async (client, cluster) => {
      const before = hasProcessCost ? writtenBytes(cluster.schedulerPid) : 0
      const tookMs = await timeMs(async () => {
        const reference = client.sendObject(new Uint8Array(OBJECT_BYTES).fill(7))
        const tasks = Array.from({ length: TASKS }, (_, i) => client.submit(byteAt, reference, i))
        await Promise.all(tasks)
      })
      const moved = hasProcessCost ? writtenBytes(cluster.schedulerPid) - before : undefined
      const note = moved === undefined ? { note: 'needs /proc (Linux)' } : {}
      const times = moved === undefined ? undefined : moved / OBJECT_BYTES / options.workers
      return [
        { name: '64 MiB object, 1,000 tasks', unit: 'ms', value: tookMs },
        { name: 'transfers per worker', unit: '', value: times, ...note },
      ]
    }),
}

/** `map` over a million inputs from a generator, results taken one by one. */
export const longMap: Benchmark = {
  name: 'long-map',
  run: (options) =>
    withClient(options.workers, async (client) => {
      const start = process.memoryUsage().heapUsed
      let peak = start
      const tookMs = await timeMs(async () => {
        let count = 0
        for await (const result of client.map(noop, numbers())) {
          if (result % SAMPLE_EVERY === 0) peak = Math.max(peak, process.memoryUsage().heapUsed)
          count += 1
        }
        if (count !== INPUTS) throw new Error(`${count} results for ${INPUTS} inputs`)
      })
      return [
        { name: 'map of 1,000,000, iterated', unit: 'tasks/s', value: (INPUTS / tookMs) * 1_000 },
        { name: 'peak client heap during the map', unit: 'MiB', value: (peak - start) / MIB },
      ]
    }),
}

function* numbers(): Generator<number> {
  for (let i = 0; i < INPUTS; i += 1) yield i
}

/** What a process has written, sockets included. */
function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}
