// Large values: how fast they reach a worker and come back, each through client, scheduler, agent
// and processor.

import { Client } from 'scaler-ts'
import { timeMs, type Benchmark } from './benchmark.js'
import { BenchCluster } from './cluster.js'

const OBJECT_BYTES = 64 * 1024 * 1024
const MEGABYTE = 1_000_000

const sizeOf = (value: Uint8Array): number => value.byteLength
const makeBytes = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7)

/** 64 MiB as an argument, and as a result. */
export const objects: Benchmark = {
  name: 'objects',
  run: async () => {
    const cluster = await BenchCluster.start()
    try {
      await cluster.startWorkers(1)
      const client = await Client.connect(cluster.address)
      try {
        await client.submit(sizeOf, makeBytes(MEGABYTE))
        const argument = makeBytes(OBJECT_BYTES)
        const thereMs = await timeMs(() => client.submit(sizeOf, argument))
        const backMs = await timeMs(() => client.submit(makeBytes, OBJECT_BYTES))
        return [
          { name: 'argument of 64 MiB', unit: 'MB/s', value: rate(thereMs) },
          { name: 'result of 64 MiB', unit: 'MB/s', value: rate(backMs) },
        ]
      } finally {
        await client.close()
      }
    } finally {
      await cluster.stop()
    }
  },
}

function rate(tookMs: number): number {
  return OBJECT_BYTES / MEGABYTE / (tookMs / 1_000)
}
