// TaskResults that an agent creates, or encodes again from its processor's answer.

import { NO_BYTES } from '../../../base/bytes.js'
import type { Identity, TaskId } from '../../../base/ids.js'
import { PLAIN_RESULT, type TaskError, type TaskResult } from '../../../wire/message.js'
import { encodeProfileResult } from '../../../wire/metadata.js'
import type { WorkerTask } from './task.js'

/** The same result, to be encoded again, with inline content and this part of its error. */
export function withoutBytes(result: TaskResult, error: readonly TaskError[]): TaskResult {
  const { taskId, status, metadata, inlineResults, worker, attempt } = result
  return {
    kind: 'taskResult',
    taskId,
    status,
    metadata,
    results: [],
    ...PLAIN_RESULT,
    inlineResults,
    worker,
    attempt,
    error,
  }
}

/** The TaskResult of a failed task whose processor did not report the failure. */
export function failureOf(
  { id, attempt }: WorkerTask,
  worker: Identity,
  error: { readonly bytes: Uint8Array; readonly text: TaskError },
  durationMs: number,
): TaskResult {
  const profile = { durationSeconds: durationMs / 1000, peakMemoryBytes: 0, cpuSeconds: 0 }
  return {
    kind: 'taskResult',
    taskId: id,
    status: 'failed',
    metadata: encodeProfileResult(profile),
    results: [],
    ...PLAIN_RESULT,
    inlineResults: [error.bytes],
    worker,
    attempt,
    error: [error.text],
  }
}

/** A result that contains nothing but its status. */
export function statusOnly(taskId: TaskId, status: 'canceled' | 'notFound'): TaskResult {
  return {
    kind: 'taskResult',
    taskId,
    status,
    metadata: NO_BYTES,
    results: [],
    ...PLAIN_RESULT,
  }
}
