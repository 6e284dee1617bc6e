// Graphs of no-op calls, of four shapes and several sizes: the cost of a node must not depend on
// the number of nodes. A chain shows the cost of one step from call to call.

import type { Client } from 'scaler-ts'
import { timeMs, type Benchmark, type BenchOptions, type Sample } from './benchmark.js'
import { withClient } from './cluster.js'

const WIDTH = 100
const INPUTS = 3
const WARM_UP_TASKS = 5_000
/** The number of nodes to measure, in one graph or in several, one after the other. */
const MEASURED_NODES = 20_000
/** Longer chains are skipped: their steps run one after the other. */
const MAX_CHAIN = 100_000

const noop = (...inputs: readonly unknown[]): number => inputs.length

type Graph = Record<string, unknown>

/** A graph and the keys to request, which need all of it. */
export interface Sketch {
  readonly graph: Graph
  readonly keys: readonly string[]
}

/** Nodes per second: each shape in each of the chosen sizes. */
export const graphs: Benchmark = {
  name: 'graph',
  run: (options) =>
    withClient(options.workers, async (client) => {
      await client.map(noop, Array(WARM_UP_TASKS).keys())
      return measureAll(client, options)
    }),
}

async function measureAll(client: Client, { graphNodes }: BenchOptions): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const [shape, make] of Object.entries({ layers, chain, random, flat })) {
    const sizes = graphNodes.filter((nodes) => shape !== 'chain' || nodes <= MAX_CHAIN)
    const costs: number[] = []
    for (const nodes of sizes) {
      const cost = await nodeCostUs(client, make(nodes), nodes)
      costs.push(cost)
      const name = `graph, ${shape} of ${count(nodes)}`
      samples.push({ name, unit: 'nodes/s', value: 1_000_000 / cost })
      samples.push({ name: `${name}, per node`, unit: 'µs', value: cost })
    }
    samples.push(...growth(shape, sizes, costs))
  }
  return samples
}

/**
 * The cost of a node in the second pass, in microseconds: in the first, compilers are at work. A
 * small graph is run repeatedly, since a single run is too short to measure on a busy machine.
 */
async function nodeCostUs(client: Client, sketch: Sketch, nodes: number): Promise<number> {
  const runs = Math.ceil(MEASURED_NODES / nodes)
  await repeat(client, sketch, runs)
  return ((await timeMs(() => repeat(client, sketch, runs))) * 1_000) / (runs * nodes)
}

async function repeat(client: Client, { graph, keys }: Sketch, runs: number): Promise<void> {
  for (let run = 0; run < runs; run += 1) await client.get(graph, keys)
}

/** How much more a node costs in the largest graph than in the smallest. */
function growth(shape: string, sizes: readonly number[], costs: readonly number[]): Sample[] {
  const [small, large] = [Math.min(...sizes), Math.max(...sizes)]
  const [cheap, dear] = [small, large].map((nodes) => costs[sizes.indexOf(nodes)])
  if (small === large || cheap === undefined || dear === undefined) return []
  const name = `graph, ${shape}, cost per node, ${count(large)} : ${count(small)}`
  return [{ name, unit: 'times', value: dear / cheap }]
}

function count(nodes: number): string {
  return nodes.toLocaleString('en')
}

/** Layers of 100; each node needs two neighbours of the layer before. */
function layers(nodes: number): Sketch {
  const graph: Graph = { start: 0 }
  for (let i = 0; i < nodes; i += 1) {
    const layer = Math.floor(i / WIDTH) * WIDTH
    const beside = ((i + 1) % WIDTH) + layer - WIDTH
    graph[`n${i}`] = layer === 0 ? [noop, 'start'] : [noop, `n${i - WIDTH}`, `n${beside}`]
  }
  const last = Math.max(0, nodes - WIDTH)
  return { graph, keys: Array.from({ length: nodes - last }, (_, i) => `n${last + i}`) }
}

/** Half of the nodes are values, the others calls of these; all are requested. */
function flat(nodes: number): Sketch {
  const graph: Graph = {}
  for (let i = 0; i < nodes / 2; i += 1) {
    graph[`c${i}`] = i
    graph[`n${i}`] = [noop, `c${i}`]
  }
  return { graph, keys: Object.keys(graph) }
}

/** Each node needs the one before. */
function chain(nodes: number): Sketch {
  const graph: Graph = { n0: [noop] }
  for (let i = 1; i < nodes; i += 1) graph[`n${i}`] = [noop, `n${i - 1}`]
  return { graph, keys: [`n${nodes - 1}`] }
}

/** Each node needs three random earlier ones; nodes that no other needs are requested. */
export function random(nodes: number): Sketch {
  const graph: Graph = { n0: [noop] }
  const isNeeded = new Uint8Array(nodes)
  let seed = 7
  const below = (count: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((seed / 2 ** 32) * count)
  }
  for (let i = 1; i < nodes; i += 1) {
    const inputs = Array.from({ length: INPUTS }, () => below(i))
    for (const input of inputs) isNeeded[input] = 1
    graph[`n${i}`] = [noop, ...inputs.map((input) => `n${input}`)]
  }
  const keys: string[] = []
  for (let i = 0; i < nodes; i += 1) if (isNeeded[i] === 0) keys.push(`n${i}`)
  return { graph, keys }
}
