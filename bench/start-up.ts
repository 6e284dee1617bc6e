// From a cold start to the first result: how long a program waits that starts its own cluster.

import { Client } from 'scaler-ts'
import { timeMs, type Benchmark } from './benchmark.js'

const noop = (input: number): number => input

/** A local cluster, a client, one task. */
export const startUp: Benchmark = {
  name: 'start-up',
  run: async ({ workers }) => {
    let client: Client | undefined
    try {
      const tookMs = await timeMs(async () => {
        client = await Client.local({ workers })
        await client.submit(noop, 1)
      })
      return [{ name: 'start to first result', unit: 'ms', value: tookMs }]
    } finally {
      await client?.close()
    }
  },
}
