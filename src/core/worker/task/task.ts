// One task while a worker has it: the parts of its message that are kept, and its state.
// Consecutive tasks of a run are one entry for as long as the same happens to them
// (core/task-table.ts).

import { assert } from '../../../base/assert.js'
import { bytesToLatin1, copyOf } from '../../../base/bytes.js'
import { TaskTimeoutError } from '../../../base/errors.js'
import {
  type Identity,
  NO_TASK,
  type ObjectId,
  objectIdOf,
  taskId,
  type TaskId,
  taskLogFields,
  taskPhrase,
} from '../../../base/ids.js'
import type { HeapItem } from '../../../base/collection/indexed-heap.js'
import type { LogFields } from '../../../base/logger.js'
import type { InstantMs } from '../../../base/machine.js'
import {
  decode,
  encode,
  type OutputPlace,
  type Task,
  type TaskCapability,
  type TaskPast,
} from '../../../wire/message.js'
import { decodeTaskFlags, DEFAULT_TASK_FLAGS } from '../../../wire/metadata.js'
import { countOf, nthTaskId, slicePacked } from '../../../wire/run.js'
import type { Grant } from '../queue/units.js'
import type { TaskState } from './state.js'

// How long a task may run on a worker: its own limit, and the worker's limit for any task. Separate
// from the rest because agent and processor both report it.

/** How long a task may run. */
export interface TimeLimit {
  /** 0 = no limit. */
  readonly timeoutMs: number
  /** The limit is the worker's, which is shorter than the task's own. */
  readonly isWorkersLimit: boolean
}

/** The shorter of both limits, where 0 means no limit. */
export function timeLimitOf(ownMs: number, workersMs: number): TimeLimit {
  const isWorkersLimit = workersMs > 0 && (ownMs === 0 || workersMs < ownMs)
  return { timeoutMs: isWorkersLimit ? workersMs : ownMs, isWorkersLimit }
}

/** The error of a task that has exceeded its limit. */
export function timeoutErrorOf(id: TaskId, name: string, limit: TimeLimit): TaskTimeoutError {
  const allowed = limit.isWorkersLimit
    ? `the ${limit.timeoutMs} ms that its worker allows to any task`
    : `its ${limit.timeoutMs} ms`
  return new TaskTimeoutError(`${taskPhrase(id, name)} ran for longer than ${allowed}`)
}

const NO_IDS: readonly ObjectId[] = []

/** An object that the processor has, or that was requested for it. */
export interface ObjectEntry {
  isPresent: boolean
  /** Its size once it is present. */
  bytes: number
  /** Its name; empty until it is present. */
  name: string
  /** `WorkerObjectTable`'s number of look-ups when a task last needed it. */
  usedAt: number
  /**
   * Tasks that wait for it, including some that have ended meanwhile. Invariant: empty when
   * present.
   */
  waiters: WorkerTask[]
  /**
   * The expected duration of a call, if this is a function: in milliseconds, Infinity until it has
   * run.
   */
  expectedMs: number
}

/**
 * A task that the worker, or at least its processor, has not answered yet; or consecutive tasks of
 * a run, which then have the same state.
 */
export interface WorkerTask extends HeapItem, TimeLimit {
  /** The id of the first task. */
  readonly id: TaskId
  /** How many tasks it is. */
  count: number
  readonly source: Identity
  /** The latest Task message that includes it, in its own memory: see `bytesOf`. */
  bytes: Uint8Array
  /** Its place among the tasks of that message. */
  place: number
  /** How many tasks that message has. */
  messageCount: number
  /** Whether its arguments are packed: then so is its result. */
  readonly isPacked: boolean
  /** Its attempt number; the scheduler ignores answers with an older one. */
  attempt: number
  readonly priority: number
  /** Empty: the name of the function applies. */
  readonly name: string
  /** Where its output goes. */
  readonly output: OutputPlace
  /** The client that prints it. */
  readonly outputClient: Identity
  /** Some of its output was forwarded. */
  hasPrinted: boolean
  /** The task that submitted it; empty: none. */
  readonly parentId: TaskId
  /** The capabilities that it needs. */
  readonly needs: readonly TaskCapability[]
  /**
   * The units that it was assigned. Invariant: set while a task that needs units is in the
   * processor.
   */
  grant: Grant | undefined
  /** How many times the scheduler will run it again if it fails. */
  retries: number
  /** Its position, or that of its first task, among all tasks that arrived at this worker. */
  readonly order: number
  readonly serializerId: ObjectId
  readonly functionId: ObjectId
  /** The arguments that are objects. */
  argumentIds: readonly ObjectId[]
  state: TaskState | 'ended'
  /** The number of awaited objects. Invariant: 0 unless `fetching`. */
  missingCount: number
  /** `WorkerObjectTable.epoch` when the objects were last looked up. */
  epoch: number
  /** The entry of the function in that epoch. */
  functionEntry: ObjectEntry | undefined
  /** Its position, or that of its first task, among all tasks of this processor, from 0. */
  dispatchNumber: number
  /** The expected duration of one task when it was dispatched, in milliseconds. */
  expectedMs: number
  dispatchedAt: InstantMs
  /** The processor has reported that it started. If false, it may have started as well. */
  hasBegun: boolean
  /** When it started, once that is known. */
  begunAt: InstantMs | undefined
  /** The scheduler was notified that it has started. */
  isReported: boolean
  /** The processor was instructed to forget all objects after the task was dispatched. */
  isCutOff: boolean
  /** It only waits for its children. Invariant: it is in the processor. */
  isWaiting: boolean
  /** When it last began or stopped waiting. */
  waitsSince: InstantMs
  /** Its duration is not a measure of its function. */
  hasWaited: boolean
  /**
   * How many processors ended while they had this task, and no other task was the certain cause.
   */
  deaths: number
  /** How often it was waiting in a processor that ended. */
  lossCount: number
  /** It may have ended a processor: no other task runs next to it. */
  isCandidate: boolean
  /** The task whose result is one of its arguments; empty: there is none (links.ts). */
  after: TaskId
  /** That result, once it is known. */
  value: Uint8Array | undefined
  /** It was dispatched without that result. */
  wasTied: boolean
  /** The task that needs its result, if one was sent behind it; it may have ended. */
  follower: WorkerTask | undefined
}

/** Facts about a task that are not in its message. */
interface TaskFacts {
  /** Its position among all tasks that arrived at this worker. */
  readonly order: number
  readonly serializerId: ObjectId
  /** The worker's limit for any task; 0 = none. */
  readonly workersTimeoutMs: number
}

/** Creates the task of a message that has arrived. Copies everything that it keeps. */
export function workerTaskOf(task: Task, facts: TaskFacts): WorkerTask {
  const { order, serializerId, workersTimeoutMs } = facts
  // A spread in the literal below, which has some fifty properties, would take ten times as long.
  const { timeoutMs, isWorkersLimit } = timeLimitOf(task.timeoutMs, workersTimeoutMs)
  return {
    id: task.taskId,
    count: countOf(task),
    source: task.source,
    bytes: copyOf(encode(task)),
    place: 0,
    messageCount: countOf(task),
    isPacked: task.packed.byteLength > 0,
    attempt: task.attempt,
    priority: priorityOf(task.metadata),
    name: task.name,
    output: task.output,
    outputClient: task.outputClient === '' ? task.source : task.outputClient,
    hasPrinted: false,
    parentId: task.parentTaskId,
    timeoutMs,
    isWorkersLimit,
    needs: mergedNeeds(task.capabilities),
    grant: undefined,
    retries: task.retries,
    order,
    serializerId,
    functionId: task.funcObjectId,
    argumentIds: argumentIdsOf(task),
    state: 'fetching',
    missingCount: 0,
    epoch: -1,
    functionEntry: undefined,
    dispatchNumber: -1,
    expectedMs: 0,
    dispatchedAt: 0,
    hasBegun: false,
    begunAt: undefined,
    isReported: false,
    isCutOff: false,
    isWaiting: false,
    waitsSince: 0,
    hasWaited: false,
    deaths: 0,
    lossCount: 0,
    isCandidate: false,
    after: afterOf(task),
    value: undefined,
    wasTied: false,
    follower: undefined,
    heapIndex: -1,
  }
}

/** Whether other objects are the arguments of a task that is sent again. */
export function hasOtherObjects(task: WorkerTask, message: Task): boolean {
  const ids = argumentIdsOf(message)
  const { argumentIds } = task
  return ids.length !== argumentIds.length || ids.some((id, at) => id !== argumentIds[at])
}

/** The scheduler has sent a task again that is still here: stores the new version. */
export function renew(task: WorkerTask, message: Task): void {
  const after = afterOf(message)
  const isUntied = isTied(task) && after === ''
  const isSame = message.attempt === task.attempt && !hasOtherObjects(task, message)
  if (isSame && !isUntied) return
  task.bytes = copyOf(encode(message))
  task.argumentIds = argumentIdsOf(message)
  if (after !== task.after) task.value = undefined
  task.after = after
  task.place = 0
  task.messageCount = countOf(message)
  task.attempt = message.attempt
  task.retries = message.retries
}

/** The encoded Task of exactly these tasks, with the result that it needs if that is known. */
export function bytesOf(task: WorkerTask): Uint8Array {
  const { bytes, place, count, messageCount, value } = task
  if (count === messageCount && value === undefined) return bytes
  const message = decode(bytes)
  assert(message.kind === 'task', 'the bytes of a task are another message')
  return encode(
    value === undefined ? partOf(message, place, place + count) : withValue(message, value),
  )
}

/** Whether it needs the result of another task that is not known yet. */
export function isTied({ after, value }: WorkerTask): boolean {
  return after !== '' && value === undefined
}

/** The task whose result is an argument of a Task; empty: there is none. */
function afterOf({ functionArgs }: Task): TaskId {
  for (const { type, data } of functionArgs) {
    if (type === 'task') return taskId(bytesToLatin1(data))
  }
  return NO_TASK
}

/** The same Task with the result in place of the task that has it. */
function withValue(message: Task, value: Uint8Array): Task {
  const functionArgs = message.functionArgs.map((argument) =>
    argument.type === 'task' ? ({ type: 'sharedInline', data: value } as const) : argument,
  )
  return { ...message, functionArgs, bytes: undefined }
}

/** The tasks `from` up to, not including, `to` of the Task of a run. */
export function partOf(message: Task, from: number, to: number): Task {
  return {
    ...message,
    bytes: undefined,
    taskId: nthTaskId(message.taskId, from),
    count: to - from,
    packed: slicePacked(message.packed, countOf(message), from, to),
  }
}

/** Shortens an entry to its first `count` tasks, and returns an entry for the others. */
export function cutTask(task: WorkerTask, count: number): WorkerTask {
  const rest: WorkerTask = {
    ...task,
    id: nthTaskId(task.id, count),
    count: task.count - count,
    place: task.place + count,
    order: task.order + count,
    dispatchNumber: task.dispatchNumber + count,
    heapIndex: -1,
  }
  task.count = count
  return rest
}

/** The ids of the tasks of an entry. */
export function idsOf({ id, count }: WorkerTask): readonly TaskId[] {
  return Array.from({ length: count }, (_, n) => nthTaskId(id, n))
}

/** What is known of the earlier attempts of one of its tasks. */
export function pastOf({ attempt, retries }: WorkerTask, taskId: TaskId): TaskPast {
  return { taskId, attempt, retries }
}

/** The same for each of its tasks. */
export function pastsOf(task: WorkerTask): readonly TaskPast[] {
  return idsOf(task).map((id) => pastOf(task, id))
}

/** How many tasks some entries are. */
export function taskCountOf(entries: Iterable<WorkerTask>): number {
  let count = 0
  for (const entry of entries) count += entry.count
  return count
}

/** Whether the processor has the task. */
export function isOut({ state }: WorkerTask): boolean {
  return state === 'dispatched' || state === 'abandoned' || state === 'canceling'
}

/** The displayed name of a task. Empty: unknown. */
export function titleOf({ name, functionEntry }: WorkerTask): string {
  return name === '' ? (functionEntry?.name ?? '') : name
}

/** The beginning of a sentence: `task 00ff… (price)`. */
export function describeTask(task: WorkerTask): string {
  return taskPhrase(task.id, titleOf(task))
}

/** The fields of a task in log lines. Attempts count from 1, as in `currentTask()`. */
export function fieldsOf(task: WorkerTask): LogFields {
  const fields = { ...taskLogFields(task.id, titleOf(task)), attempt: task.attempt + 1 }
  return task.count === 1 ? fields : { ...fields, tasks: task.count }
}

/** Higher priority first, then the order of arrival. */
export function runsBefore(a: WorkerTask, b: WorkerTask): boolean {
  return a.priority === b.priority ? a.order < b.order : a.priority > b.priority
}

/** Flags of the wrong length, which would end a 1.9.9 worker, are ignored. */
function priorityOf(metadata: Uint8Array): number {
  const flags = metadata.byteLength === 5 ? decodeTaskFlags(metadata) : DEFAULT_TASK_FLAGS
  return flags.priority
}

/** Adds up the units of a name that occurs more than once. */
function mergedNeeds(capabilities: readonly TaskCapability[]): readonly TaskCapability[] {
  if (capabilities.length < 2) return capabilities
  const units = new Map<string, number>()
  for (const { name, value } of capabilities) {
    units.set(name, (units.get(name) ?? 0) + Math.max(value, 0))
  }
  return [...units].map(([name, value]) => ({ name, value }))
}

function argumentIdsOf(task: Task): readonly ObjectId[] {
  let ids: ObjectId[] | undefined
  for (const { type, data } of task.functionArgs) {
    if (type === 'objectID' || type === 'sharedObjectID') (ids ??= []).push(objectIdOf(data))
  }
  return ids ?? NO_IDS
}
