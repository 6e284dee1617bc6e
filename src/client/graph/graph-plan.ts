// From a graph and the requested keys to what has to be computed, and in which order. Pure.

import { orderCalls } from './graph-order.js'
import { readGraph, type GraphReading } from './graph-reading.js'

/** What has to be computed. */
export interface GraphPlan extends GraphReading {
  /** The numbers of all calls in the order in which they had best run: each after its inputs. */
  readonly order: Int32Array
  /** By node: its place in `order`, -1 for values. */
  readonly positions: Int32Array
}

/**
 * What the requested keys need of a graph. Takes time and memory in proportion to that, whatever
 * else the graph has. Throws `GraphKeyError`, `GraphCycleError`, and what a getter throws.
 */
export function planGraph(
  graph: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): GraphPlan {
  const reading = readGraph(graph, keys)
  const order = orderCalls(reading)
  const positions = new Int32Array(reading.nodes.length).fill(-1)
  for (let position = 0; position < order.length; position += 1) {
    positions[order[position] ?? 0] = position
  }
  return { ...reading, order, positions }
}
