// What the nodes of a graph are: the one place that tells calls from values.

import type { AnyFunction } from '../function-objects.js'
import { Literal } from './literal.js'

/** A call: the function, then its arguments. */
export type CallNode = readonly [fn: AnyFunction, ...args: readonly unknown[]]

/** Whether a node is a call; else it is a value. */
export function isCall(node: unknown): node is CallNode {
  return Array.isArray(node) && typeof node[0] === 'function'
}

/** What a node or an argument stands for: what `literal` was given, or itself. */
export function plainValue(node: unknown): unknown {
  return node instanceof Literal ? node.value : node
}
