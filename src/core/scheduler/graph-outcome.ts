// The results of nodes that have succeeded, wherever they are kept: small ones with the node, where
// all that need them look anyway; others, and what a client may ask for again, in the store.

import { copyOf, latin1ToBytes } from '../../base/bytes.js'
import { type ObjectId, objectIdOf } from '../../base/ids.js'
import type { TaskArgument, TaskResult } from '../../wire/message.js'
import { statusResult } from './task.js'
import { HOLDS_VALUE, IS_OBJECT, IS_TARGET } from './graph-table.js'
import type { GraphTables } from './graph-tables.js'

/** Keeps the value of a node's result; of a target also what was told about it. */
export function keepValue({ nodes, values }: GraphTables, node: number, result: TaskResult): void {
  const isWhole = nodes.has(node, IS_TARGET)
  const [inline] = result.inlineResults
  const value = inline ?? latin1ToBytes(result.results[0] ?? '')
  if (!isWhole && nodes.putValue(node, value, inline === undefined)) return
  nodes.setOutcome(node, values.add(result, isWhole))
}

/** The value as an argument of a node that needs it. Its bytes are a view. */
export function argumentOf(graph: GraphTables, node: number): TaskArgument {
  const { nodes, values, client } = graph
  const { isObject, data } = nodes.has(node, HOLDS_VALUE)
    ? { isObject: nodes.has(node, IS_OBJECT), data: nodes.valueOf(node) }
    : values.valueOf(nodes.outcomeOf(node))
  // Others do not know of shared values.
  if (client.runtime !== 'javascript') return { type: isObject ? 'objectID' : 'inline', data }
  return { type: isObject ? 'sharedObjectID' : 'sharedInline', data }
}

/** The id of the object that is the value; undefined for a value that is kept here. */
export function objectOf({ nodes, values }: GraphTables, node: number): ObjectId | undefined {
  if (!nodes.has(node, HOLDS_VALUE)) return values.objectIdOf(nodes.outcomeOf(node))
  return nodes.has(node, IS_OBJECT) ? objectIdOf(nodes.valueOf(node)) : undefined
}

/** The result that has the value, for a client that asks for it. */
export function resultOf(graph: GraphTables, node: number): TaskResult {
  const { nodes, values } = graph
  const id = nodes.idOf(node)
  if (!nodes.has(node, HOLDS_VALUE)) return values.resultOf(nodes.outcomeOf(node), id)
  const object = objectOf(graph, node)
  const plain = statusResult(id, 'success')
  if (object !== undefined) return { ...plain, results: [object] }
  return { ...plain, inlineResults: [copyOf(nodes.valueOf(node))] }
}

/** Nothing needs the value any more. */
export function releaseValue({ nodes, values }: GraphTables, node: number): void {
  if (!nodes.has(node, HOLDS_VALUE)) values.release(nodes.outcomeOf(node))
  nodes.setOutcome(node, 0)
}
