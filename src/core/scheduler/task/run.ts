// Runs: consecutive tasks of a client that differ only in their arguments. They are one entry, and
// what happens to all of them is handled once; `TaskTable` cuts the entry where it happens to some.
// docs/protocol.md#runs

import { assert } from '../../../base/assert.js'
import { copyOf, latin1ToBytes, NO_BYTES } from '../../../base/bytes.js'
import { ProtocolError } from '../../../base/errors.js'
import type { TaskId } from '../../../base/ids.js'
import { decode, encode, type Task, type TaskResult } from '../../../wire/message.js'
import {
  countOf,
  layoutOf,
  MAX_RUN_TASKS,
  mayBeginRun,
  nthTaskId,
  sliceProfiles,
  slicePacked,
} from '../../../wire/run.js'
import type { RunPart, TaskEntry } from '../entries.js'
import { adopt } from './family.js'

/** Whether the ids, the count and the packed values of a Task agree. */
export function isValidRun({ taskId, count, packed }: Task): boolean {
  if (count <= 1 && packed.byteLength === 0) return true
  if (count > MAX_RUN_TASKS || (count > 1 && !mayBeginRun(taskId, count))) return false
  return hasLayout(packed, Math.max(count, 1))
}

function hasLayout(packed: Uint8Array, count: number): boolean {
  try {
    layoutOf(packed, count)
    return true
  } catch (error) {
    if (error instanceof ProtocolError) return false
    throw error
  }
}

/** The part of a Task of several tasks, in its own memory; undefined for a Task of one. */
export function runPartOf(message: Task): RunPart | undefined {
  if (countOf(message) === 1) return undefined
  const bytes = message.bytes === undefined ? encode(message) : copyOf(message.bytes)
  const task = decode(bytes)
  assert(task.kind === 'task', 'a run without a Task')
  return { task, from: 0 }
}

/** The Task for a worker. */
export function taskBytes(entry: TaskEntry): Uint8Array {
  const { part, count, extra } = entry
  if (part === undefined) return latin1ToBytes(entry.encoded)
  const { task, from } = part
  const whole = countOf(task)
  const { attempt = 0, retriesLeft: retries = task.retries } = extra ?? {}
  if (count === whole && attempt === task.attempt && task.bytes !== undefined) return task.bytes
  const packed = count === whole ? task.packed : slicePacked(task.packed, whole, from, from + count)
  return encode({ ...task, taskId: entry.id, count, packed, attempt, retries, bytes: undefined })
}

/** Shortens an entry to its first `count` tasks. Returns an entry for the others. */
export function cutTask(entry: TaskEntry, count: number): TaskEntry {
  const { part, extra, place } = entry
  assert(part !== undefined, 'a single task cannot be cut')
  const share = count / entry.count
  const rest: TaskEntry = {
    ...entry,
    id: nthTaskId(entry.id, count),
    count: entry.count - count,
    part: { task: part.task, from: part.from + count },
    expectedSeconds: entry.expectedSeconds * (1 - share),
    extra: extra && { ...extra, attempts: extra.attempts?.slice(), parent: undefined },
    place: undefined,
  }
  entry.count = count
  entry.expectedSeconds *= share
  rest.node = entry.node?.graph.onCut(entry, rest)
  if (place !== undefined) rest.place = place.queue?.insertAfter(rest, place)
  if (extra?.parent !== undefined) adopt(extra.parent, rest)
  return rest
}

/** The part of a TaskResult about `count` of its tasks, from task `from`. */
export function resultPart(message: TaskResult, from: number, count: number): TaskResult {
  const whole = countOf(message)
  if (count === whole) return message
  const { packed, metadata } = message
  return {
    ...message,
    taskId: nthTaskId(message.taskId, from),
    count,
    packed: packed.byteLength === 0 ? NO_BYTES : slicePacked(packed, whole, from, from + count),
    metadata: sliceProfiles(metadata, whole, from, from + count),
    bytes: undefined,
  }
}

/** Whether the results and profiles of a TaskResult are as many as its tasks. */
export function isValidResult({ status, count, packed, metadata }: TaskResult): boolean {
  const tasks = Math.max(count, 1)
  if (packed.byteLength > 0 && !hasLayout(packed, tasks)) return false
  const hasResults = status !== 'success' || packed.byteLength > 0 || count <= 1
  const bytes = metadata.byteLength / tasks
  return hasResults && (bytes === 0 || bytes === 4 || bytes === 16)
}

/** The ids of all tasks of an entry. */
export function idsOf({ id, count }: TaskEntry): readonly TaskId[] {
  return Array.from({ length: count }, (_, index) => nthTaskId(id, index))
}
