// Workers on another continent: how much of their time is spent in users' functions although each
// message to and from them takes 20 ms.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client } from 'scaler-ts'
import type { Benchmark } from './benchmark.js'
import { BenchCluster } from './cluster.js'

const PROXY = fileURLToPath(new URL('delay-proxy.js', import.meta.url))
const DELAY_MS = 20
const TASK_MS = 1
/** Each pass takes so long on each worker that its ends, with a delay each, do not count. */
const PASS_MS = 2_500
/** The scheduler knows the round trip after the second heartbeat of a worker. */
const WARM_UP_MS = 5_000

/** Keeps a processor busy. Returns for how long: longer, if the machine is busy otherwise. */
const spin = (ms: number): number => {
  const start = performance.now()
  while (performance.now() < start + ms);
  return performance.now() - start
}

/** Busy tasks of 1 ms on workers behind a proxy. */
export const distantWorkers: Benchmark = {
  name: 'distant',
  run: async ({ workers }) => {
    const cluster = await BenchCluster.start()
    const proxy = fork(PROXY, [new URL(cluster.address).port, String(DELAY_MS)])
    try {
      const [port] = (await once(proxy, 'message')) as [number]
      await cluster.startWorkers(workers, `tcp://127.0.0.1:${port}`)
      const client = await Client.connect(cluster.address)
      const inputs = Array<number>((workers * PASS_MS) / TASK_MS).fill(TASK_MS)
      const warmUntil = performance.now() + WARM_UP_MS
      while (performance.now() < warmUntil) await client.map(spin, inputs.slice(0, 500))
      const start = performance.now()
      const spentMs = (await client.map(spin, inputs)).reduce((sum, ms) => sum + ms, 0)
      const tookMs = performance.now() - start
      await client.close()
      const name = `tasks of ${TASK_MS} ms on workers ${DELAY_MS} ms away, share of their time`
      return [{ name, unit: '', value: spentMs / workers / tookMs }]
    } finally {
      await cluster.stop()
      proxy.disconnect()
    }
  },
}
