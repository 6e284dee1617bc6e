// The life of tasks: they are assigned, finish, are taken back or cancelled. How they arrive is in
// arrival.ts, and answers from workers are handled in result.ts.
// docs/protocol.md#task, docs/protocol.md#cancel

import { NO_BYTES } from '../../../base/bytes.js'
import { FEATURE_OPERATORS, FEATURE_PEERS, hasFeature } from '../../../base/features.js'
import { idToHex, type TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import { durationMsOf, durationsOf, largestPeakBytes, peakBytesOf } from '../../../wire/metadata.js'
import { countField, countOf, MAX_RUN_TASKS, nthTaskId } from '../../../wire/run.js'
import {
  PLAIN_RESULT,
  type TaskCancel,
  type TaskError,
  type TaskResult,
  type TaskStatus,
} from '../../../wire/message.js'
import type { Child, ClientEntry, TaskEntry, WorkerEntry } from '../entries.js'
import { pastAttempts, rememberAttempt } from '../monitor/explain.js'
import { isGraph, leaveParent, releaseChildren } from './family.js'
import { publishTask } from '../publication.js'
import type { SchedulerState } from '../state.js'
import { catchUp, countAttempt, extraOf } from './extra.js'
import { forgetLinks, type Link, linksOf, release } from './links.js'
import { idsOf, taskBytes } from './run.js'
import { tellQueued } from './update.js'
import type { WorkerPool } from '../worker/pool.js'

/**
 * A client cancels a task that is not a node of a graph. The cancellation of an unknown task is not
 * answered.
 */
export function onTaskCancel(
  state: SchedulerState,
  client: ClientEntry,
  message: TaskCancel,
): void {
  const asked = Math.min(countOf(message), MAX_RUN_TASKS)
  const tasks = state.tasks.range(message.taskId, asked).filter((task) => {
    return task.client === client && task.node === undefined
  })
  const unknown = tasks.reduce((left, task) => left - task.count, asked)
  if (unknown > 0) {
    count(state, 'notFound', unknown)
    const fields = { task: idToHex(message.taskId), client: client.identity, tasks: unknown }
    state.turn.log('debug', 'ignored the cancel of an unknown task', fields)
  }
  for (const task of tasks) cancelTask(state, task, message.flags.force)
}

/**
 * Cancels a task with all tasks that it submitted: immediately if it is queued, otherwise through
 * its worker. May be called again to add force.
 */
export function cancelTask(state: SchedulerState, task: TaskEntry, force: boolean): void {
  const { worker, state: before } = task
  const next = state.lifecycle.next(task.id, before, 'cancelled')
  if (next === 'ended') {
    // The queue has already dropped the tasks of a client that has left.
    if (task.client?.hasLeft === true) task.place = undefined
    else state.pools[task.runtime].withdraw(task)
    endTask(state, task, statusResult(task.id, 'canceled', task.count))
    return
  }
  task.state = next
  if (before !== 'canceling') publishTask(state, task, 'canceling')
  const isNews = before !== 'canceling' || (force && task.extra?.isForced !== true)
  if (worker !== undefined && isNews) {
    const extra = extraOf(task)
    if (force) extra.isForced = true
    extra.unanswered += 1
    const flags = { force, retrieveTaskObject: false }
    const tasks = { taskId: task.id, count: countField(task.count) }
    state.output.send(worker.identity, { kind: 'taskCancel', ...tasks, flags })
  }
  cancelChildren(state, task)
}

/** What clients learn of a task that an operator has cancelled. docs/protocol.md#operators */
export const OPERATOR_ERROR: TaskError = {
  name: 'TaskCancelledError',
  message: 'by an operator',
  stack: '',
}

/** An operator cancels a task that is not a node of a graph: by force, or it would run on. */
export function operatorCancelTask(state: SchedulerState, task: TaskEntry): void {
  extraOf(task).isOrdered = true
  cancelTask(state, task, true)
}

/**
 * Requeues the tasks of a worker that has left, before all others. `isLost`: it disappeared without
 * notice, perhaps because of one of its tasks, so each task may lose only a few workers.
 */
export function takeTasksBack(
  state: SchedulerState,
  tasks: readonly TaskEntry[],
  worker: WorkerEntry,
  isLost: boolean,
): void {
  // In reverse, because each goes to the front: this restores the order of assignment.
  for (const task of tasks.toReversed()) {
    forgetLinks(state, task)
    // A client nested in the worker has left with it.
    if (task.client?.hasLeft === true) cancelTask(state, task, true)
    const counts = isLost && task.state === 'running' && !isKnownLoss(state, task, worker)
    const isWornOut = counts && hasWornOut(task, worker)
    const cause = isWornOut ? 'wornOut' : 'workerLost'
    const next = state.lifecycle.next(task.id, task.state, cause)
    if (next === 'inactive' || isWornOut) {
      rememberAttempt(task, worker.identity, 'workerLost', state.turn.now)
    }
    if (next === 'inactive') {
      if (task.runtime === 'javascript') countAttempt(task)
      waitInFront(state, task)
    } else {
      endTask(
        state,
        task,
        statusResult(task.id, isWornOut ? 'workerDied' : 'canceled', task.count),
        isLost ? worker : undefined,
      )
    }
  }
}

/**
 * Takes a task from a worker that was cut off, for which it waits until then before it goes to
 * another one. Its children continue; they end when it is assigned to a worker without it.
 */
export function expectBack(
  state: SchedulerState,
  task: TaskEntry,
  worker: WorkerEntry,
  until: InstantMs,
): void {
  forgetLinks(state, task)
  const next = state.lifecycle.next(task.id, task.state, 'workerLost')
  if (next !== 'inactive') {
    endTask(state, task, statusResult(task.id, 'canceled', task.count), worker)
    return
  }
  rememberAttempt(task, worker.identity, 'workerLost', state.turn.now)
  if (task.runtime === 'javascript') countAttempt(task)
  toQueue(state, task)
  state.pools[task.runtime].hold(task, until)
}

/** Within this time of each other, the losses of workers of one agent have one cause. */
const AGENT_LOSS_MS = 2_000

/**
 * Whether the last loss of this task was that of another worker of the same agent. When an agent is
 * killed, its workers are lost one after the other, and each may have been given the task.
 */
function isKnownLoss({ turn }: SchedulerState, task: TaskEntry, lost: WorkerEntry): boolean {
  const extra = extraOf(task)
  const { agentId } = lost.heartbeat
  const isKnown = agentId !== '' && agentId === extra.lostAgent
  if (isKnown && turn.now - extra.lostAt < AGENT_LOSS_MS) return true
  extra.lostAgent = agentId
  extra.lostAt = turn.now
  return false
}

/** Counts a lost worker, or result. Returns true if the task has reached its limit. */
export function hasWornOut(task: TaskEntry, lost: WorkerEntry): boolean {
  const extra = extraOf(task)
  extra.deaths += 1
  extra.lostWith = lost.identity
  return extra.deaths >= extra.deathLimit
}

/** Assigns the next queued task. Returns false if none is queued, or no worker has room for it. */
export function assignNext(state: SchedulerState, pool: WorkerPool): boolean {
  const choice = pool.next()
  if (choice === undefined) return false
  const { task, worker } = choice
  const slice = pool.sliceFor(task, worker)
  if (slice < task.count) pool.queue.putBack(state.tasks.cut(task, slice))
  cancelChildren(state, task)
  assign(state, task, worker)
  return true
}

/** Assigns a queued task to a worker that had begun it before, whatever its load. */
export function giveTo(state: SchedulerState, task: TaskEntry, worker: WorkerEntry): void {
  state.pools[task.runtime].withdraw(task)
  assign(state, task, worker)
}

/** Stops a task on a worker to which it is not, or no longer, assigned. */
export function stopAt(state: SchedulerState, worker: WorkerEntry, id: TaskId): void {
  const flags = { force: true, retrieveTaskObject: false }
  state.output.send(worker.identity, { kind: 'taskCancel', taskId: id, count: 0, flags })
}

/** If a worker holds a lease for this waiting task, it gets the task after the event. */
export function redeemLease(state: SchedulerState, task: TaskEntry): void {
  const past = state.leases.pastOf(task.id)
  const worker = state.leases.take(task.id)
  if (worker === undefined) return
  catchUp(task, past)
  if (worker.runtime === task.runtime) state.leases.put({ task, worker })
  else stopAt(state, worker, task.id)
}

/** Assigns one task to the worker that held its lease. Returns false if there is no such task. */
export function assignLeased(state: SchedulerState): boolean {
  const next = state.leases.next()
  if (next === undefined) return false
  const { task, worker } = next
  if (state.workers.get(worker.identity) !== worker) return true
  const isWaiting = task.state === 'inactive' && state.tasks.has(task)
  if (isWaiting && task.client?.hasLeft === false) giveTo(state, task, worker)
  else stopAt(state, worker, task.id)
  return true
}

/** The links behind a task are not needed: stops them, as their worker may have begun them. */
export function stopLinks(state: SchedulerState, task: TaskEntry): void {
  const links = linksOf(task)
  if (links !== undefined) stopAll(state, links.worker, links.clear())
}

/** The same for links that were removed from their list. */
export function stopAll(state: SchedulerState, worker: WorkerEntry, links: readonly Link[]): void {
  for (const link of links) {
    // Each, because the worker may be further than is known here.
    if (link.failure === undefined) stopAt(state, worker, link.id)
    release(state, link)
  }
}

function assign(state: SchedulerState, task: TaskEntry, worker: WorkerEntry): void {
  takeOver(state, task, worker)
  if (task.node !== undefined) {
    state.graphFacts.push({ type: 'taskAssigned', graph: task.node.graph, task })
  }
  state.output.forward(worker.identity, 'task', taskBytes(task))
}

/** Records that a task is assigned to a worker, which it was sent to. */
export function takeOver(state: SchedulerState, task: TaskEntry, worker: WorkerEntry): void {
  if (task.node !== undefined) task.node.links = undefined
  if (state.monitors.wantsEvents) extraOf(task).queuedAt = task.changedAt
  state.queueTimes.add(state.turn.now - task.changedAt, task.count)
  task.state = 'running'
  task.changedAt = state.turn.now
  state.lifecycle.next(task.id, 'inactive', 'assigned')
  state.pools[task.runtime].assign(task, worker)
  publishTask(state, task, 'running')
}

/** Sends a client a result that consists only of a status. */
export function sendStatus(state: SchedulerState, client: ClientEntry, result: TaskResult): void {
  count(state, result.status, countOf(result))
  state.output.send(client.identity, result)
}

/** Requeues an unfinished task before the other tasks of its client. */
export function waitInFront(state: SchedulerState, task: TaskEntry): void {
  cancelChildren(state, task)
  toQueue(state, task)
  state.pools[task.runtime].queue.putBack(task)
}

function toQueue(state: SchedulerState, task: TaskEntry): void {
  task.state = 'inactive'
  task.changedAt = state.turn.now
  tellQueued(state, task)
  publishTask(state, task, 'inactive')
}

/** Cancels the descendants of a task. */
export function cancelChildren(state: SchedulerState, task: TaskEntry): void {
  if (task.extra?.children === undefined) return
  state.ownerless.addChildren(task)
  state.ownerless.drain()
}

/** Cancels a child whose parent has failed, or a task whose client has left. */
export function cancelOwnerless(state: SchedulerState, child: Child): void {
  if (isGraph(child)) state.graphFacts.push({ type: 'parentFailed', graph: child })
  else if (state.tasks.has(child)) cancelTask(state, child, true)
}

/** The task has left the tables: its children continue only if it succeeded. */
function leaveFamily(state: SchedulerState, task: TaskEntry, status: TaskStatus): void {
  leaveParent(task)
  if (status === 'success') releaseChildren(task)
  else cancelChildren(state, task)
}

/**
 * Removes a finished task from the tables, and sends the result to its client if that has not left.
 * `worker`: the worker that had it.
 */
export function endTask(
  state: SchedulerState,
  task: TaskEntry,
  result: TaskResult,
  worker?: WorkerEntry,
): void {
  count(state, result.status, task.count)
  if (task.count === 1) countEnd(state, task, result, worker)
  else countEnds(state, task, result, worker)
  state.tasks.delete(task)
  publishTask(state, task, result.status, { metadata: result.metadata, worker })
  if (task.client !== undefined) task.client.taskCount -= task.count
  if (task.node === undefined) answer(state, task, result)
  else state.graphFacts.push({ type: 'taskEnded', graph: task.node.graph, task, result })
  if (task.extra !== undefined) leaveFamily(state, task, result.status)
}

function countEnd(
  state: SchedulerState,
  task: TaskEntry,
  result: TaskResult,
  worker: WorkerEntry | undefined,
): void {
  const durationMs = worker === undefined ? undefined : durationMsOf(result.metadata)
  const cost =
    durationMs === undefined ? undefined : { durationMs, peakBytes: peakBytesOf(result.metadata) }
  state.functions.count(task.function, result.status, cost)
  if (state.monitors.admit(result.status, 1) > 0) {
    state.monitors.onEnded(task, { result, worker, durationMs })
  }
}

function countEnds(
  state: SchedulerState,
  task: TaskEntry,
  result: TaskResult,
  worker: WorkerEntry | undefined,
): void {
  const { status, metadata } = result
  const { count: tasks } = task
  const durations = worker === undefined ? undefined : durationsOf(metadata, tasks)
  const costs =
    durations === undefined
      ? undefined
      : { durations, peakBytes: largestPeakBytes(metadata, tasks) }
  state.functions.countAll(task.function, status, tasks, costs)
  const seen = state.monitors.admit(status, tasks)
  for (let at = 0; at < seen; at += 1) {
    const one = { ...task, id: nthTaskId(task.id, at), count: 1 }
    state.monitors.onEnded(one, { result, worker, durationMs: durations?.[at] })
  }
}

function answer(state: SchedulerState, task: TaskEntry, result: TaskResult): void {
  const { client, extra } = task
  if (client === undefined) return state.objects.drop(result.results)
  if (client.hasLeft) return
  const { features } = client
  const hasPast = extra?.attempts !== undefined && hasFeature(features, FEATURE_PEERS)
  const isOrdered = extra?.isOrdered === true && result.status === 'canceled'
  const tellsWhy = isOrdered && hasFeature(features, FEATURE_OPERATORS)
  if (hasPast || tellsWhy) {
    const attempts = hasPast ? pastAttempts(task, state.turn.now) : result.attempts
    const error = tellsWhy ? [OPERATOR_ERROR] : result.error
    state.output.send(client.identity, { ...result, attempts, error, bytes: undefined })
  } else if (result.bytes === undefined) state.output.send(client.identity, result)
  else state.output.forward(client.identity, 'taskResult', result.bytes)
}

/** Removes a task from the tables without notifying its client. */
export function forget(state: SchedulerState, task: TaskEntry): void {
  const { worker, extra } = task
  stopLinks(state, task)
  if (worker !== undefined && extra !== undefined && extra.unanswered > 0) {
    worker.owed ??= new Map()
    for (const id of idsOf(task)) {
      worker.owed.set(id, (worker.owed.get(id) ?? 0) + extra.unanswered)
    }
  }
  state.pools[task.runtime].release(task)
  state.tasks.delete(task)
  leaveParent(task)
}

/** A result without content, of one or more consecutive tasks. */
export function statusResult(taskId: TaskId, status: TaskStatus, tasks: number = 1): TaskResult {
  const { inlineResults, worker, failedTaskId, attempt, attempts, error } = PLAIN_RESULT
  return {
    kind: 'taskResult',
    taskId,
    status,
    metadata: NO_BYTES,
    results: [],
    inlineResults,
    worker,
    failedTaskId,
    attempt,
    attempts,
    error,
    count: countField(tasks),
    packed: NO_BYTES,
    isInFile: false,
  }
}

/** Counts finished tasks, for the monitors. */
export function count(state: SchedulerState, status: TaskStatus, tasks: number = 1): void {
  state.ended.set(status, (state.ended.get(status) ?? 0) + tasks)
}
