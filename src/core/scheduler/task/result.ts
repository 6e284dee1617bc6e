// What workers answer: how a task ended, or that it did not and has to wait again.
// docs/protocol.md#task, docs/protocol.md#return

import { FEATURE_RECOVERY, hasFeature } from '../../../base/features.js'
import { idToHex, type Identity } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type { TaskResult, TaskStatus } from '../../../wire/message.js'
import { durationMsOf } from '../../../wire/metadata.js'
import { keepRecalled } from '../worker/balance.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'
import { rememberAttempt } from '../monitor/explain.js'
import { publishTask } from '../publication.js'
import { attemptOf, countAttempt, extraOf, taskFields } from './extra.js'
import type { SchedulerState } from '../state.js'
import { cancelChildren, endTask, statusResult, waitInFront } from './task.js'
import type { TaskCause } from './state.js'
import { tellQueued } from './update.js'
import type { WorkerPool } from '../worker/pool.js'

/** A worker tells how a task ended. Only the worker that has the task is listened to. */
export function onTaskResult(state: SchedulerState, from: Identity, message: TaskResult): void {
  const task = state.tasks.get(message.taskId)
  const worker = task?.worker
  if (task === undefined || worker === undefined || worker.identity !== from) {
    const text = 'ignored the result of a task that this worker does not have'
    ignore(state, from, message, text)
    takeOwed(state.workers.get(from), message)
    takeLate(state.workers.get(from), message)
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
  if (isGivenUp(message) && goesOn(task, message.status, state.now)) return
  if (isOutdated(task, worker, message)) {
    ignore(state, from, message, 'ignored the result of an earlier attempt')
    return
  }
  const pool = state.pools[task.runtime]
  const cause = causeOf(task, message.status)
  if (cause !== 'gaveUp') measure(pool, task, message.metadata)
  const next = state.lifecycle.next(task.id, task.state, cause)
  if (cause === 'retried') expectLate(worker, task)
  // What a worker gives back tells nothing of how it gets on.
  pool.release(task, next === 'inactive' && cause === 'gaveUp' ? worker.movedAt : state.now)
  if (cause === 'retried') retry(state, task, worker, message)
  else if (next === 'inactive') waitInFront(state, task)
  else endTask(state, task, readableResult(state, task, message), worker)
}

/** Whether a worker answers that it drops a task, or that it does not have or has begun it. */
function isGivenUp({ status }: TaskResult): boolean {
  return status === 'canceled' || status === 'notFound'
}

/**
 * Whether an answer of a worker changes nothing for a task. `notFound` says that it had been begun
 * when its worker was asked to give it back. What has been cancelled since gets a further answer.
 */
function goesOn(task: TaskEntry, status: TaskStatus, now: InstantMs): boolean {
  const { extra } = task
  if (extra !== undefined && extra.unanswered > 0) extra.unanswered -= 1
  if (status === 'canceled') return false
  keepRecalled(task, now)
  return task.state === 'running' || (extra !== undefined && extra.unanswered > 0)
}

/** Whether a worker tells of a task that is forgotten, under an id that was used again since. */
function takeOwed(worker: WorkerEntry | undefined, message: TaskResult): boolean {
  const owed = worker?.owed?.get(message.taskId)
  if (owed === undefined) return false
  if (!isGivenUp(message)) return true
  if (owed > 1) worker?.owed?.set(message.taskId, owed - 1)
  else worker?.owed?.delete(message.taskId)
  return true
}

/** A task is tried again before its worker has answered all that it was asked of this attempt. */
function expectLate(worker: WorkerEntry, { id, extra }: TaskEntry): void {
  if (extra === undefined || extra.unanswered === 0) return
  worker.late ??= new Map()
  worker.late.set(id, (worker.late.get(id) ?? 0) + extra.unanswered)
}

/**
 * Whether a worker answers that it did not have an attempt any more: it may have another one since.
 * Before any result of that it has answered.
 */
function takeLate(worker: WorkerEntry | undefined, { taskId, status }: TaskResult): boolean {
  const count = worker?.late?.get(taskId)
  if (count === undefined) return false
  if (status === 'notFound' && count > 1) worker?.late?.set(taskId, count - 1)
  else worker?.late?.delete(taskId)
  return status === 'notFound'
}

/** Whether a worker that tells attempts tells of another one than it was given. */
function isOutdated(task: TaskEntry, worker: WorkerEntry, message: TaskResult): boolean {
  const { status, attempt } = message
  if (attempt === attemptOf(task) || (status !== 'success' && status !== 'failed')) return false
  return hasFeature(worker.heartbeat.features, FEATURE_RECOVERY)
}

/** Result objects are made for one result: nobody will ask for these. */
function ignore(state: SchedulerState, from: Identity, message: TaskResult, text: string): void {
  const { taskId, status, attempt } = message
  const task = state.tasks.get(taskId)
  const about = task === undefined ? { task: idToHex(taskId) } : taskFields(task)
  state.output.log('debug', text, { ...about, worker: from, status, attempt: attempt + 1 })
  state.objects.drop(message.results)
}

/** What a result means for a task that its worker has. */
function causeOf(task: TaskEntry, status: TaskStatus): TaskCause {
  if (status === 'canceled' || status === 'notFound') return 'gaveUp'
  if (status !== 'failed' || task.state !== 'running') return 'finished'
  return task.extra !== undefined && task.extra.retriesLeft > 0 ? 'retried' : 'finished'
}

/** The task has failed and may try again: it waits behind its client's others. */
function retry(
  state: SchedulerState,
  task: TaskEntry,
  worker: WorkerEntry,
  failure: TaskResult,
): void {
  rememberAttempt(task, worker.identity, 'failed', state.now)
  // Nobody will ask for the error.
  state.objects.drop(failure.results)
  cancelChildren(state, task)
  extraOf(task).retriesLeft -= 1
  countAttempt(task)
  task.state = 'inactive'
  task.changedAt = state.now
  tellQueued(state, task)
  state.pools[task.runtime].queue.push(task)
  publishTask(state, task, 'inactive')
}

/** A result that its client could not read, or would die of, is replaced by one that it can. */
function readableResult(state: SchedulerState, task: TaskEntry, message: TaskResult): TaskResult {
  const { status, metadata, results, inlineResults } = message
  const hasEnded = status === 'success' || status === 'failed'
  const isKnown = hasEnded || status === 'canceled' || status === 'notFound'
  const isOne = !hasEnded || results.length === 1 || inlineResults.length > 0
  const hasProfile = metadata.byteLength === 0 || metadata.byteLength === 16
  if ((isKnown || status === 'workerDied') && isOne && hasProfile) return message
  const fields = { ...taskFields(task), status, results: results.length }
  state.output.log('warn', 'a worker sent a result that is none', fields)
  return statusResult(task.id, 'canceled')
}

/** The duration is the first thing in a result's metadata. docs/protocol.md#profile */
function measure(pool: WorkerPool, task: TaskEntry, metadata: Uint8Array): void {
  const durationMs = durationMsOf(metadata)
  if (durationMs !== undefined) pool.measure(task, durationMs / 1000)
}
