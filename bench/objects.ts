// Large values: how fast they reach a worker and come back, each through client, scheduler, agent
// and processor.

import { timeMs, type Benchmark } from './benchmark.js'
import { withClient } from './cluster.js'

const OBJECT_BYTES = 64 * 1024 * 1024
const MEGABYTE = 1_000_000

const sizeOf = (value: Uint8Array): number => value.byteLength
const makeBytes = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7)

/** 64 MiB as an argument, and as a result. */
export const objects: Benchmark = {
  name: 'objects',
  run: () =>
    withClient(1, async (client) => {
      await client.submit(sizeOf, makeBytes(MEGABYTE))
      const argument = makeBytes(OBJECT_BYTES)
      const thereMs = await timeMs(() => client.submit(sizeOf, argument))
      const backMs = await timeMs(() => client.submit(makeBytes, OBJECT_BYTES))
      return [
        { name: 'argument of 64 MiB', unit: 'MB/s', value: rate(thereMs) },
        { name: 'result of 64 MiB', unit: 'MB/s', value: rate(backMs) },
      ]
    }),
}

function rate(tookMs: number): number {
  return OBJECT_BYTES / MEGABYTE / (tookMs / 1_000)
}
