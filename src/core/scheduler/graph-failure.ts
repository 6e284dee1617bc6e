// Why nodes of a graph failed, and what is told about those that depend on them: the same error,
// and whose it is. docs/protocol.md#graph

import { copyOf, NO_BYTES } from '../../base/bytes.js'
import { FEATURE_INLINE, hasFeature } from '../../base/features.js'
import type { ObjectId, TaskId } from '../../base/ids.js'
import type { TaskResult } from '../../wire/message.js'
import { PLAIN_RESULT } from '../../wire/plain.js'
import type { Failure, GraphTables } from './graph-tables.js'
import { statusResult } from './task.js'

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
