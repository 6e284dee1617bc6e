// Answers from workers: how a task ended, or that it did not and is requeued.
// docs/protocol.md#task, docs/protocol.md#return

import { NO_BYTES } from '../../../base/bytes.js'
import { FEATURE_RECOVERY, FEATURE_REFUSALS, hasFeature } from '../../../base/features.js'
import { idToHex, type Identity } from '../../../base/ids.js'
import type { TaskResult, TaskStatus } from '../../../wire/message.js'
import { meanDurationMs } from '../../../wire/metadata.js'
import { countOf, MAX_RUN_TASKS, placeInBlock } from '../../../wire/run.js'
import { refusalFrom, refusalText } from '../../../wire/storage-refusal.js'
import { keepRecalled } from '../worker/balance.js'
import { addResultBytes } from '../worker/load.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'
import { rememberAttempt } from '../monitor/explain.js'
import { publishTask } from '../publication.js'
import { isValidResult, resultPart } from './run.js'
import { attemptOf, countAttempt, extraOf, taskFields } from './extra.js'
import type { SchedulerState } from '../state.js'
import { answerLink, loseLinks } from './links.js'
import { cancelChildren, endTask, hasWornOut, statusResult, waitInFront } from './task.js'
import type { TaskCause } from './state.js'
import { tellQueued } from './update.js'

/** Of a result that cannot be read: its tasks end as cancelled. */
const NO_CONTENT = {
  metadata: NO_BYTES,
  results: [],
  inlineResults: [],
  packed: NO_BYTES,
  bytes: undefined,
} as const

/**
 * A worker reports how a task, or consecutive ones, ended. Reports from other workers are ignored.
 */
export function onTaskResult(state: SchedulerState, from: Identity, message: TaskResult): void {
  const count = countOf(message)
  if (count === 1) {
    return onResultOf(state, from, withRefusal(state, message), state.tasks.get(message.taskId))
  }
  if (count > MAX_RUN_TASKS) {
    state.blame('ignored a malformed result of a run', { worker: from, tasks: count })
    return
  }
  const content = isValidResult(message) ? message : { ...message, ...NO_CONTENT }
  const { owed, late } = state.workers.get(from) ?? {}
  if ((owed?.size ?? 0) + (late?.size ?? 0) > 0) {
    for (let at = 0; at < count; at += 1) onTaskResult(state, from, resultPart(content, at, 1))
    return
  }
  for (const task of state.tasks.range(message.taskId, count)) {
    const at = placeInBlock(task.id) - placeInBlock(message.taskId)
    onResultOf(state, from, resultPart(content, at, task.count), task)
  }
}

/** A result that was not stored is a failure: in its place is the reason. */
function withRefusal({ objects }: SchedulerState, message: TaskResult): TaskResult {
  const [id] = message.results
  const entry = id === undefined ? undefined : objects.get(id)
  if (entry?.type !== 'refused') return message
  const error = { name: 'StorageFullError', message: refusalText(refusalFrom(entry.chunks)) }
  return { ...message, status: 'failed', error: [{ ...error, stack: '' }], bytes: undefined }
}

/** `task`: the entry of the tasks of the result. */
function onResultOf(
  state: SchedulerState,
  from: Identity,
  message: TaskResult,
  task: TaskEntry | undefined,
): void {
  const worker = task?.worker
  const sender = worker?.identity === from ? worker : state.workers.get(from)
  if (sender !== undefined && isAboutLink(state, sender, message, task)) return
  if (task === undefined || worker === undefined || worker !== sender) {
    const text = 'ignored the result of a task that this worker does not have'
    ignore(state, from, message, text)
    takeOwed(sender, message)
    takeLate(sender, message)
    return
  }
  if (takeOwed(worker, message)) {
    ignore(state, from, message, 'ignored the result of a task whose id was used before')
    return
  }
  if (takeLate(worker, message)) {
    ignore(state, from, message, 'ignored an answer about an earlier attempt')
    return
  }
  if (isGivenUp(message) && goesOn(state, task, message.status)) return
  if (isOutdated(task, worker, message)) {
    ignore(state, from, message, 'ignored the result of an earlier attempt')
    return
  }
  const pool = state.pools[task.runtime]
  if (isResultLost(state, task, message)) return loseResult(state, task, worker)
  const cause = causeOf(task, message.status)
  if (cause !== 'gaveUp') measure(state, task, message)
  const next = state.lifecycle.next(task.id, task.state, cause)
  if (cause === 'retried') expectLate(worker, task)
  // A task that is given back is not a sign of progress.
  pool.release(task, next === 'inactive' && cause === 'gaveUp' ? worker.movedAt : undefined)
  const hasValue = message.status === 'success' && message.inlineResults.length === 1
  if (!hasValue) loseLinks(state, task, worker)
  if (cause === 'retried') retry(state, task, worker, message)
  else if (next === 'inactive') waitInFront(state, task)
  else endTask(state, task, readableResult(state, task, message), worker)
}

/** Whether a worker answers a task that it got as a link, and not the task that it is now. */
function isAboutLink(
  state: SchedulerState,
  sender: WorkerEntry,
  message: TaskResult,
  task: TaskEntry | undefined,
): boolean {
  const { status, taskId } = message
  const isReturned = status === 'canceled' && sender.lostLinks?.delete(taskId) === true
  return isReturned || (task?.worker !== sender && answerLink(state, sender, message))
}

/** Whether a worker answers that it drops a task, does not have it, or has begun it. */
function isGivenUp({ status }: TaskResult): boolean {
  return status === 'canceled' || status === 'notFound'
}

/**
 * Whether a worker's answer leaves a task unchanged. `notFound` means that the task had begun when
 * the worker was asked to give it back. If it was cancelled since, another answer will follow.
 */
function goesOn({ turn }: SchedulerState, task: TaskEntry, status: TaskStatus): boolean {
  const { extra } = task
  if (extra !== undefined && extra.unanswered > 0) extra.unanswered -= 1
  if (status === 'canceled') return false
  keepRecalled(task, turn.now)
  return task.state === 'running' || (extra !== undefined && extra.unanswered > 0)
}

/** Whether an answer refers to a forgotten task whose id has been reused since. */
function takeOwed(worker: WorkerEntry | undefined, message: TaskResult): boolean {
  const owed = worker?.owed?.get(message.taskId)
  if (owed === undefined) return false
  if (!isGivenUp(message)) return true
  if (owed > 1) worker?.owed?.set(message.taskId, owed - 1)
  else worker?.owed?.delete(message.taskId)
  return true
}

/** A task is retried before its worker has answered all requests about this attempt. */
function expectLate(worker: WorkerEntry, { id, extra }: TaskEntry): void {
  if (extra === undefined || extra.unanswered === 0) return
  worker.late ??= new Map()
  worker.late.set(id, (worker.late.get(id) ?? 0) + extra.unanswered)
}

/**
 * Whether an answer says that an earlier attempt is no longer on the worker, which may have a newer
 * one since. Such answers arrive before any result of the newer attempt.
 */
function takeLate(worker: WorkerEntry | undefined, { taskId, status }: TaskResult): boolean {
  const count = worker?.late?.get(taskId)
  if (count === undefined) return false
  if (status === 'notFound' && count > 1) worker?.late?.set(taskId, count - 1)
  else worker?.late?.delete(taskId)
  return status === 'notFound'
}

/** Whether a worker that reports attempts reports a different one than it was assigned. */
function isOutdated(task: TaskEntry, worker: WorkerEntry, message: TaskResult): boolean {
  const { status, attempt } = message
  if (attempt === attemptOf(task) || (status !== 'success' && status !== 'failed')) return false
  return hasFeature(worker.heartbeat.features, FEATURE_RECOVERY)
}

/** Drops a result with its objects, which no client will request. */
function ignore(state: SchedulerState, from: Identity, message: TaskResult, text: string): void {
  const { taskId, status, attempt } = message
  const task = state.tasks.peek(taskId)
  const about = task === undefined ? { task: idToHex(taskId) } : taskFields(task)
  state.turn.log('debug', text, { ...about, worker: from, status, attempt: attempt + 1 })
  state.objects.drop(message.results)
}

/** The state change that a result causes for an assigned task. */
function causeOf(task: TaskEntry, status: TaskStatus): TaskCause {
  if (status === 'canceled' || status === 'notFound') return 'gaveUp'
  if (status !== 'failed' || task.state !== 'running') return 'finished'
  return task.extra !== undefined && task.extra.retriesLeft > 0 ? 'retried' : 'finished'
}

/**
 * Whether the object of a result was lost before the result arrived: with its server, or because
 * its file is missing. The shell makes such a result one that is `canceled` and has an object,
 * which no worker sends.
 */
function isResultLost(
  { objects, lostEarly }: SchedulerState,
  { count }: TaskEntry,
  { results: [id], status }: TaskResult,
): boolean {
  if (count !== 1 || id === undefined) return false
  const isLost = lostEarly.delete(id) || status === 'canceled'
  return isLost && objects.get(id) === undefined
}

/** Counts like the loss of the worker. docs/protocol.md#servers */
function loseResult(state: SchedulerState, task: TaskEntry, worker: WorkerEntry): void {
  const isWornOut = task.state === 'running' && hasWornOut(task, worker)
  const isOver = isWornOut || task.state === 'canceling'
  state.lifecycle.next(task.id, task.state, isOver ? 'finished' : 'gaveUp')
  loseLinks(state, task, worker)
  expectLate(worker, task)
  state.pools[task.runtime].release(task)
  if (!isOver || isWornOut) {
    rememberAttempt(task, worker.identity, 'workerLost', state.turn.now)
  }
  if (isOver) {
    return endTask(
      state,
      task,
      statusResult(task.id, isWornOut ? 'workerDied' : 'canceled'),
      worker,
    )
  }
  countAttempt(task)
  waitInFront(state, task)
}

/** Requeues a failed task that may be retried, after the other tasks of its client. */
function retry(
  state: SchedulerState,
  task: TaskEntry,
  worker: WorkerEntry,
  failure: TaskResult,
): void {
  rememberAttempt(task, worker.identity, 'failed', state.turn.now)
  // No client will request the error.
  state.objects.drop(failure.results)
  cancelChildren(state, task)
  extraOf(task).retriesLeft -= 1
  countAttempt(task)
  task.state = 'inactive'
  task.changedAt = state.turn.now
  tellQueued(state, task)
  state.pools[task.runtime].queue.push(task)
  publishTask(state, task, 'inactive')
}

/** Replaces a malformed result, which its client could not read or would crash on. */
function readableResult(state: SchedulerState, task: TaskEntry, message: TaskResult): TaskResult {
  const { status, results, inlineResults, packed } = message
  const hasEnded = status === 'success' || status === 'failed'
  const isKnown = hasEnded || status === 'canceled' || status === 'notFound'
  const hasOwn = results.length === 1 || inlineResults.length > 0 || packed.byteLength > 0
  const isOne = !hasEnded || hasOwn
  const isWhole = task.count > 1 || isValidResult(message)
  // A client that cannot read the reason would wait for the object forever.
  const [id] = results
  const isRefused = id !== undefined && state.objects.get(id)?.type === 'refused'
  if (isRefused && !hasFeature(task.client?.features ?? 0, FEATURE_REFUSALS)) {
    state.objects.drop(results)
    return statusResult(task.id, 'canceled')
  }
  if ((isKnown || status === 'workerDied') && isOne && isWhole) return message
  const fields = { ...taskFields(task), status, results: results.length }
  state.blame('a worker sent a malformed result', fields)
  return statusResult(task.id, 'canceled', task.count)
}

/** Records the durations in a result's metadata, and its length. docs/protocol.md#profile-result */
function measure(
  { pools, objects }: SchedulerState,
  task: TaskEntry,
  { metadata, results: [id] }: TaskResult,
): void {
  const bytes = id === undefined ? 0 : (objects.get(id)?.bytes ?? 0)
  if (task.function !== undefined) addResultBytes(task.function, bytes)
  const meanMs = meanDurationMs(metadata, task.count)
  if (meanMs !== undefined) pools[task.runtime].measure(task, meanMs / 1000)
}
