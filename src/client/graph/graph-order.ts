// The order in which the calls of a graph had best run: depth first, so that what a call needs is
// made shortly before it and can be freed soon, and the longest path first, as it takes longest.

import { isCall } from './graph-node.js'
import type { GraphReading } from './graph-reading.js'
import { walkGraph } from './graph-walk.js'

/** Few inputs are sorted where they stand. */
const SHORT = 16

/** The numbers of all calls, each after its inputs. Throws `GraphCycleError`. */
export function orderCalls(reading: GraphReading): Int32Array {
  const { nodes, requested, starts } = reading
  const heights = heightsOf(reading, walkGraph(reading, reading.inputs, requested))
  const inputs = reading.inputs.slice()
  for (let node = 0; node < nodes.length; node += 1) {
    sortByHeight(inputs, starts[node] ?? 0, starts[node + 1] ?? 0, heights)
  }
  const roots = requested.slice()
  sortByHeight(roots, 0, roots.length, heights)
  return walkGraph(reading, inputs, roots).filter((node) => isCall(nodes[node]))
}

/** By node: how many calls are on the longest path that ends with it. */
function heightsOf({ nodes, starts, inputs }: GraphReading, order: Int32Array): Int32Array {
  const heights = new Int32Array(nodes.length)
  for (const node of order) {
    let height = 0
    const end = starts[node + 1] ?? 0
    for (let at = starts[node] ?? 0; at < end; at += 1) {
      const inputHeight = heights[inputs[at] ?? 0] ?? 0
      if (inputHeight > height) height = inputHeight
    }
    heights[node] = isCall(nodes[node]) ? height + 1 : 0
  }
  return heights
}

/** Sorts a part of some nodes, highest first; those of one height keep their order. */
function sortByHeight(nodes: Int32Array, start: number, end: number, heights: Int32Array): void {
  if (end - start > SHORT) {
    const sorted = Array.from(nodes.subarray(start, end))
    sorted.sort((one, other) => (heights[other] ?? 0) - (heights[one] ?? 0))
    nodes.set(sorted, start)
    return
  }
  for (let at = start + 1; at < end; at += 1) {
    const node = nodes[at] ?? 0
    const height = heights[node] ?? 0
    let to = at
    for (; to > start && (heights[nodes[to - 1] ?? 0] ?? 0) < height; to -= 1) {
      nodes[to] = nodes[to - 1] ?? 0
    }
    nodes[to] = node
  }
}
