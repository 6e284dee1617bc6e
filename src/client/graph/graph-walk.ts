// A walk through a graph, depth first: every node after its inputs, each node once. Without
// recursion: a chain may be as long as it likes.

import { GraphCycleError } from '../../base/errors.js'
import type { GraphReading } from './graph-reading.js'

const NEW = 0
const OPEN = 1
const DONE = 2

/**
 * All nodes that `roots` need, in the order in which a walk leaves them that takes roots and inputs
 * in the given order. `inputs` are those of `reading`, those of each node in any order. Throws
 * `GraphCycleError`.
 */
export function walkGraph(
  { keys, starts }: GraphReading,
  inputs: Int32Array,
  roots: Int32Array,
): Int32Array {
  const count = keys.length
  const states = new Uint8Array(count)
  /** By node: where its next input stands. */
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
