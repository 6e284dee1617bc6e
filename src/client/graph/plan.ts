// The best order for the calls of a graph: depth first, so that inputs of a call are computed
// shortly before it and can be freed soon, and the longest path first, as it takes longest.

import { GraphCycleError } from '../../base/errors.js'
import { type GraphReading, isCall, readGraph } from './reading.js'

// A walk through a graph, depth first: every node after its inputs, each node once. Without
// recursion: chains may be arbitrarily long.

const NEW = 0
const OPEN = 1
const DONE = 2

/**
 * All nodes that `roots` need, in the order in which a walk leaves them that visits roots and
 * inputs in the given order. `inputs` are those of `reading`, those of each node in any order.
 * Throws `GraphCycleError`.
 */
function walkGraph(
  { keys, starts }: GraphReading,
  inputs: Int32Array,
  roots: Int32Array,
): Int32Array {
  const count = keys.length
  const states = new Uint8Array(count)
  /** By node: the position of its next input. */
  const cursors = starts.slice(0, count)
  /** The nodes that are open, outermost first. */
  const stack = new Int32Array(count)
  const order = new Int32Array(count)
  let left = 0
  for (const root of roots) {
    if (states[root] !== NEW) continue
    let depth = 0
    stack[0] = root
    states[root] = OPEN
    while (depth >= 0) {
      const node = stack[depth] ?? 0
      const at = cursors[node] ?? 0
      if (at === starts[node + 1]) {
        states[node] = DONE
        order[left] = node
        left += 1
        depth -= 1
        continue
      }
      cursors[node] = at + 1
      const input = inputs[at] ?? 0
      if (states[input] === DONE) continue
      if (states[input] === OPEN) throw cycleError(keys, stack.subarray(0, depth + 1), input)
      states[input] = OPEN
      depth += 1
      stack[depth] = input
    }
  }
  return order.subarray(0, left)
}

/** The part of the stack from `first` on is a circle: each needs the next, the last one `first`. */
function cycleError(keys: readonly string[], stack: Int32Array, first: number): GraphCycleError {
  const circle = Array.from(stack.subarray(stack.indexOf(first)), (node) => keys[node] ?? '')
  return new GraphCycleError([...circle, keys[first] ?? ''])
}

/** Few inputs are sorted in place. */
const SHORT = 16

/** The numbers of all calls, each after its inputs. Throws `GraphCycleError`. */
function orderCalls(reading: GraphReading): Int32Array {
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

/** Sorts a range of nodes, highest first; those of equal height keep their order. */
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

// From a graph and the requested keys to the nodes to compute, and their order. Pure.

/** The nodes to compute. */
export interface GraphPlan extends GraphReading {
  /** The numbers of all calls in the best order: each after its inputs. */
  readonly order: Int32Array
  /** By node: its place in `order`, -1 for values. */
  readonly positions: Int32Array
}

/**
 * The part of a graph that the requested keys need. Time and memory depend on that part only,
 * whatever else the graph contains. Throws `GraphKeyError`, `GraphCycleError`, and errors of
 * getters.
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
