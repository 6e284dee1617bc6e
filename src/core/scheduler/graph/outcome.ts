// Why nodes of a graph failed, and what is told about those that depend on them: the same error,
// and whose it is. docs/protocol.md#graph

import { copyOf, latin1ToBytes, NO_BYTES } from '../../../base/bytes.js'
import { FEATURE_INLINE, hasFeature } from '../../../base/features.js'
import { type ObjectId, objectIdOf, type TaskId } from '../../../base/ids.js'
import { PLAIN_RESULT, type TaskArgument, type TaskResult } from '../../../wire/message.js'
import { statusResult } from '../task/task.js'
import { HOLDS_VALUE, IS_OBJECT, IS_TARGET } from './nodes.js'
import type { Failure, GraphTables } from './tables.js'

const NO_OBJECTS: readonly ObjectId[] = []

/** Keeps what others have to be told about a node that failed. */
export function failureOf(graph: GraphTables, result: TaskResult): Failure {
  const [id] = result.results
  const entry = id === undefined ? undefined : graph.state.objects.get(id)
  const metadata = copyOf(result.metadata)
  const inlineResults = result.inlineResults.map(copyOf)
  return {
    result: { ...result, metadata, inlineResults, bytes: undefined },
    error: entry && { type: entry.type, name: entry.name, chunks: entry.chunks },
  }
}

/**
 * The result of a node that has failed because of `failure`. The error of another node is repeated:
 * an object is copied for each, for the client deletes what it was sent.
 */
export function failedResult(graph: GraphTables, failure: Failure, id: TaskId): TaskResult {
  const { result } = failure
  if (result.taskId === id) return result
  const { status, inlineResults } = result
  const isOurs = hasFeature(graph.client.features, FEATURE_INLINE)
  const needsCopy = status === 'failed' && inlineResults.length === 0
  const copy = needsCopy ? copyError(graph, failure) : undefined
  // An error that nobody has any more: a client would wait for it for ever.
  if (needsCopy && copy === undefined) return statusResult(id, 'canceled')
  // A literal without spreads: this may happen a million times in a row.
  return {
    kind: 'taskResult',
    taskId: id,
    status,
    // It has not run: only a 1.9.9 client expects the profile of another here.
    metadata: isOurs ? NO_BYTES : result.metadata,
    results: copy === undefined ? NO_OBJECTS : [copy],
    inlineResults,
    worker: PLAIN_RESULT.worker,
    failedTaskId: isOurs ? result.taskId : PLAIN_RESULT.failedTaskId,
    attempt: 0,
    attempts: PLAIN_RESULT.attempts,
    error: PLAIN_RESULT.error,
  }
}

function copyError(graph: GraphTables, { error }: Failure): ObjectId | undefined {
  if (error === undefined) return undefined
  const { graphWork, objects } = graph.state
  const id = graphWork.nextCopyId()
  objects.create(graph.client, {
    objectIds: [id],
    objectTypes: [error.type],
    objectNames: [error.name],
    objectBytes: [error.chunks],
  })
  return id
}

// The results of nodes that have succeeded, wherever they are kept: small ones with the node, where
// all that need them look anyway; others, and what a client may ask for again, in the store.

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
