// Whether a scheduler stays responsive while it receives the largest of the graphs: how long the
// no-op tasks of another client take meanwhile, and how long the turns of its event loop are.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client } from 'scaler-ts'
import type { Benchmark, Sample } from './benchmark.js'
import { withClient } from './cluster.js'
import { random } from './graph.js'
import { measureTurns } from './turns.js'

const PROGRAM = fileURLToPath(new URL('round-trip-program.js', import.meta.url))

/** Round trips of another client, and the scheduler's turns, each in a separate run. */
export const responsiveness: Benchmark = {
  name: 'responsive',
  run: async ({ workers, graphNodes }) => {
    const nodes = Math.max(...graphNodes)
    return [...(await roundTrips(workers, nodes)), ...(await turns(workers, nodes))]
  },
}

async function roundTrips(workers: number, nodes: number): Promise<readonly Sample[]> {
  const times = await withClient(workers, async (client, { address }) => {
    const { graph, keys } = random(nodes)
    const other = fork(PROGRAM, [address])
    await once(other, 'message')
    await client.get(graph, keys)
    other.send('stop')
    const [told] = (await once(other, 'message')) as [number[]]
    return told.toSorted((a, b) => a - b)
  })
  const at = (share: number): number | undefined => times[Math.floor((times.length - 1) * share)]
  const name = `during a graph of ${nodes.toLocaleString('en')}, round trip`
  return [
    { name: `${name}, median`, unit: 'ms', value: at(0.5) },
    { name: `${name}, p99`, unit: 'ms', value: at(0.99) },
    { name: `${name}, longest`, unit: 'ms', value: at(1) },
  ]
}

function turns(workers: number, nodes: number): Promise<readonly Sample[]> {
  return measureTurns('', [], async (cluster, count) => {
    await cluster.startWorkers(workers)
    const client = await Client.connect(cluster.address)
    try {
      const { graph, keys } = random(nodes)
      await count(async () => void (await client.get(graph, keys)))
    } finally {
      await client.close()
    }
  })
}
