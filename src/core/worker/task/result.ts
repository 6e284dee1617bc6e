// TaskResults that an agent creates, or encodes again from its processor's answer.

import { NO_BYTES } from '../../../base/bytes.js'
import type { Identity, TaskId } from '../../../base/ids.js'
import { PLAIN_RESULT, type TaskError, type TaskResult } from '../../../wire/message.js'
import { encodeProfileResult } from '../../../wire/metadata.js'
import { contentBytes, fileOf } from '../../../wire/object-content.js'
import { countOf, layoutOf, nthTaskId, sliceProfiles, slicePacked } from '../../../wire/run.js'
import type { WorkerTask } from './task.js'

/** The same result, to be encoded again, with inline content and this part of its error. */
export function withoutBytes(result: TaskResult, error: readonly TaskError[]): TaskResult {
  const { taskId, status, metadata, inlineResults, worker, attempt, count, packed, isInFile } =
    result
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
    count,
    packed,
    isInFile,
  }
}

/** The size of a result that is not packed. */
export function bytesOf({ inlineResults, isInFile }: TaskResult): number {
  return contentBytes(isInFile ? 'file' : 'object', inlineResults)
}

/** The results `from` up to, not including, `to` of tasks that were answered together. */
export function partOfResult(result: TaskResult, from: number, to: number): TaskResult {
  const count = countOf(result)
  if (from === 0 && to === count) return result
  const { taskId, metadata, packed } = result
  return {
    ...result,
    bytes: undefined,
    taskId: nthTaskId(taskId, from),
    count: to - from,
    metadata: sliceProfiles(metadata, count, from, to),
    packed: packed.byteLength === 0 ? packed : slicePacked(packed, count, from, to),
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

/** A result for `count` consecutive tasks that contains nothing but its status. */
export function statusOnly(
  taskId: TaskId,
  status: 'canceled' | 'notFound',
  count: number,
): TaskResult {
  return {
    kind: 'taskResult',
    taskId,
    status,
    metadata: NO_BYTES,
    results: [],
    ...PLAIN_RESULT,
    count: count === 1 ? PLAIN_RESULT.count : count,
  }
}

/** Length of a profile result, with and without anything but the duration. */
const PROFILE_BYTES = 16
const DURATION_BYTES = 4

/**
 * A result consists of the chunks of one value, so at least one, or of one packed value for each
 * task. Only a task that was stopped, lacks a result, or has lost an object may be skipped.
 * `tasks`: the entries that it is about. `hasAll`: whether the processor has all objects of a task.
 */
export function isAnswerTo(
  tasks: readonly WorkerTask[],
  result: TaskResult,
  hasAll: (task: WorkerTask) => boolean,
): boolean {
  const { metadata, status, inlineResults, results, packed, isInFile } = result
  const count = countOf(result)
  const { byteLength } = metadata
  const isProfile = byteLength === PROFILE_BYTES * count || byteLength === DURATION_BYTES * count
  if (byteLength !== 0 && !isProfile) return false
  if (status === 'canceled') {
    return tasks.every((one) => one.wasTied || one.state === 'canceling' || !hasAll(one))
  }
  if (packed.byteLength > 0) {
    const isPlain = inlineResults.length === 0 && results.length === 0
    const arePacked = tasks.every(({ isPacked }) => isPacked)
    return status === 'success' && isPlain && arePacked && arePackedValues(packed, count)
  }
  if (isInFile && fileOf(inlineResults) === undefined) return false
  const isRun = status === 'success' || status === 'failed'
  return isRun && count === 1 && inlineResults.length > 0 && results.length <= 1
}

function arePackedValues(packed: Uint8Array, count: number): boolean {
  try {
    layoutOf(packed, count)
    return true
  } catch {
    return false
  }
}
