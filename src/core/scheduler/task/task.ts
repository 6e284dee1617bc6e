// The life of tasks: they arrive, are assigned, finish, are taken back or cancelled. Answers from
// workers are handled in result.ts. docs/protocol.md#task, docs/protocol.md#cancel

import { copyOf, NO_BYTES } from '../../../base/bytes.js'
import { ProtocolError } from '../../../base/errors.js'
import {
  FEATURE_INLINE,
  FEATURE_OPERATORS,
  FEATURE_PEERS,
  hasFeature,
} from '../../../base/features.js'
import { idToHex, type TaskId } from '../../../base/ids.js'
import { decodeTaskFlags, durationMsOf, peakBytesOf } from '../../../wire/metadata.js'
import {
  PLAIN_RESULT,
  type Task,
  type TaskCancel,
  type TaskError,
  type TaskResult,
  type TaskStatus,
} from '../../../wire/message.js'
import type { Child, ClientEntry, TaskEntry, WorkerEntry } from '../entries.js'
import { pastAttempts, rememberAttempt } from '../monitor/explain.js'
import { adopt, isGraph, leaveParent, releaseChildren } from './family.js'
import { publishTask, refusedFields } from '../publication.js'
import { spendRoom, takesMore } from '../worker/load.js'
import type { SchedulerState } from '../state.js'
import { countAttempt, extraOf, readExtra } from './extra.js'
import { tellAgain, tellQueued } from './update.js'
import type { WorkerPool } from '../worker/pool.js'

/** A client submits a task. A task that it has already submitted is ignored as a repeat. */
export function onTask(state: SchedulerState, client: ClientEntry, message: Task): void {
  const known = state.tasks.get(message.taskId)
  spendRoom(state, client)
  if (known !== undefined && !givesWay(state, known, client, message)) return
  const pool = state.pools[client.runtime]
  const parent = message.parentTaskId === '' ? undefined : state.tasks.get(message.parentTaskId)
  // Neither a task that a worker already has nor one that a parent waits for adds to the load.
  const isNew = parent === undefined && !state.leases.has(message.taskId)
  if (isNew && !takesMore(state, client)) {
    sendStatus(state, client, message.taskId, 'noWorker')
    return
  }
  const task = newTask(state, client, message)
  if (task === undefined) {
    const fields = refusedFields(state, client, message)
    state.turn.log('warn', 'refused a task with malformed flags', fields)
    sendStatus(state, client, message.taskId, 'canceled')
    return
  }
  state.tasks.set(task.id, task)
  client.tasks.add(task)
  const mayReturn = message.mayHaveRun && state.turn.now < state.settledAt
  if (mayReturn && !state.leases.has(task.id)) pool.hold(task, state.settledAt)
  else pool.queue.push(task)
  publishTask(state, task, 'inactive')
  if (state.leases.size > 0) redeemLease(state, task)
  if (parent !== undefined) adopt(parent, task)
  // A task submitted by a parent that is being cancelled is cancelled with it.
  if (parent?.state === 'canceling') cancelTask(state, task, true)
}

/** Whether the known task of the same id is removed, so that `client` can submit it. */
function givesWay(
  state: SchedulerState,
  known: TaskEntry,
  client: ClientEntry,
  message: Task,
): boolean {
  if (known.client === client) {
    tellAgain(state, known)
    return false
  }
  if (vacates(state, known)) return true
  refuseForeignId(state, client, message)
  return false
}

/**
 * Frees the id of a task whose client was given up and reconnected before its tasks were cancelled.
 * Returns false if the client of the task is still registered.
 */
export function vacates(state: SchedulerState, task: TaskEntry): boolean {
  if (task.client === undefined) forget(state, task)
  else if (task.client.hasLeft) cancelTask(state, task, true)
  else return false
  return true
}

/**
 * A client cancels a task that is not a node of a graph. The cancellation of an unknown task is not
 * answered.
 */
export function onTaskCancel(
  state: SchedulerState,
  client: ClientEntry,
  message: TaskCancel,
): void {
  const task = state.tasks.get(message.taskId)
  if (task === undefined || task.client !== client || task.node !== undefined) {
    count(state, 'notFound')
    const fields = { task: idToHex(message.taskId), client: client.identity }
    state.turn.log('debug', 'ignored the cancel of an unknown task', fields)
    return
  }
  cancelTask(state, task, message.flags.force)
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
    endTask(state, task, statusResult(task.id, 'canceled'))
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
    state.output.send(worker.identity, { kind: 'taskCancel', taskId: task.id, count: 0, flags })
  }
  cancelChildren(state, task)
}

/** What clients learn of a task that an operator has cancelled. docs/protocol.md#operators */
export const OPERATOR_ERROR: TaskError = {
  name: 'TaskCancelledError',
  message: 'by an operator',
  stack: '',
}

/** An operator cancels a task that is not a node of a graph. */
export function operatorCancelTask(state: SchedulerState, task: TaskEntry): void {
  extraOf(task).isOrdered = true
  cancelTask(state, task, hasFeature(task.worker?.heartbeat.features ?? 0, FEATURE_INLINE))
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
    // A client nested in the worker has left with it.
    if (task.client?.hasLeft === true) cancelTask(state, task, true)
    const isWornOut = isLost && task.state === 'running' && hasWornOut(task, worker)
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
        statusResult(task.id, isWornOut ? 'workerDied' : 'canceled'),
        isLost ? worker : undefined,
      )
    }
  }
}

/** Counts a lost worker. Returns true if the task has reached its limit. */
function hasWornOut(task: TaskEntry, lost: WorkerEntry): boolean {
  const extra = extraOf(task)
  extra.deaths += 1
  extra.lostWith = lost.identity
  return extra.deaths >= extra.deathLimit
}

/** Assigns the next queued task. Returns false if none is queued, or no worker has room for it. */
export function assignNext(state: SchedulerState, pool: WorkerPool): boolean {
  if (assignLeased(state)) return true
  const choice = pool.next()
  if (choice === undefined) return false
  assign(state, choice.task, choice.worker)
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
  const worker = state.leases.take(task.id)
  if (worker === undefined) return
  if (worker.runtime === task.runtime) state.leases.put({ task, worker })
  else stopAt(state, worker, task.id)
}

/** Assigns one task to the worker that held its lease. Returns false if there is no such task. */
function assignLeased(state: SchedulerState): boolean {
  const next = state.leases.next()
  if (next === undefined) return false
  const { task, worker } = next
  if (state.workers.get(worker.identity) !== worker) return true
  const isWaiting = task.state === 'inactive' && state.tasks.get(task.id) === task
  if (isWaiting && task.client?.hasLeft === false) giveTo(state, task, worker)
  else stopAt(state, worker, task.id)
  return true
}

function assign(state: SchedulerState, task: TaskEntry, worker: WorkerEntry): void {
  if (state.monitors.wantsEvents) extraOf(task).queuedAt = task.changedAt
  state.queueTimes.add(state.turn.now - task.changedAt)
  task.state = 'running'
  task.changedAt = state.turn.now
  state.lifecycle.next(task.id, 'inactive', 'assigned')
  state.pools[task.runtime].assign(task, worker)
  if (task.node !== undefined) {
    state.graphFacts.push({ type: 'taskAssigned', graph: task.node.graph, task })
  }
  state.output.forward(worker.identity, 'task', task.bytes)
  publishTask(state, task, 'running')
}

/** Sends a client a task result that consists only of a status. */
export function sendStatus(
  state: SchedulerState,
  client: ClientEntry,
  id: TaskId,
  status: TaskStatus,
): void {
  count(state, status)
  state.output.send(client.identity, statusResult(id, status))
}

/** Undefined for invalid tasks, such as malformed flags, which would crash a 1.9.9 worker. */
export function newTask(
  state: SchedulerState,
  client: ClientEntry,
  message: Task,
): TaskEntry | undefined {
  const priority = priorityOf(message.metadata)
  if (priority === undefined || (client.runtime === 'python' && priority < 0)) return undefined
  const requirement = state.requirements.of(message.capabilities)
  if (requirement === 'refused') return undefined
  const fn = state.objects.get(message.funcObjectId)
  if (fn !== undefined) state.functions.of(fn)
  return {
    id: message.taskId,
    client,
    runtime: client.runtime,
    priority,
    requirement,
    function: fn,
    bytes: message.bytes === undefined ? NO_BYTES : copyOf(message.bytes),
    state: 'inactive',
    changedAt: state.turn.now,
    expectedSeconds: 0,
    worker: undefined,
    place: undefined,
    extra: readExtra(message),
    node: undefined,
  }
}

/** The priority in task flags; undefined for malformed ones. */
export function priorityOf(metadata: Uint8Array): number | undefined {
  try {
    return decodeTaskFlags(metadata).priority
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

/** Requeues an unfinished task before the other tasks of its client. */
export function waitInFront(state: SchedulerState, task: TaskEntry): void {
  cancelChildren(state, task)
  task.state = 'inactive'
  task.changedAt = state.turn.now
  tellQueued(state, task)
  state.pools[task.runtime].queue.putBack(task)
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
  else if (state.tasks.get(child.id) === child) cancelTask(state, child, true)
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
  const durationMs = worker === undefined ? undefined : durationMsOf(result.metadata)
  count(state, result.status)
  const cost =
    durationMs === undefined ? undefined : { durationMs, peakBytes: peakBytesOf(result.metadata) }
  state.functions.count(task.function, result.status, cost)
  if (state.monitors.wants(result.status)) {
    state.monitors.onEnded(task, { result, worker, durationMs })
  }
  state.tasks.delete(task.id)
  publishTask(state, task, result.status, { metadata: result.metadata, worker })
  task.client?.tasks.delete(task)
  if (task.node === undefined) answer(state, task, result)
  else state.graphFacts.push({ type: 'taskEnded', graph: task.node.graph, task, result })
  if (task.extra !== undefined) leaveFamily(state, task, result.status)
}

function answer(state: SchedulerState, task: TaskEntry, result: TaskResult): void {
  const { client, extra } = task
  if (client === undefined || client.hasLeft) return
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
function forget(state: SchedulerState, task: TaskEntry): void {
  const { worker, extra } = task
  if (worker !== undefined && extra !== undefined && extra.unanswered > 0) {
    worker.owed ??= new Map()
    worker.owed.set(task.id, (worker.owed.get(task.id) ?? 0) + extra.unanswered)
  }
  state.pools[task.runtime].release(task)
  state.tasks.delete(task.id)
  leaveParent(task)
}

/** A result without content. */
export function statusResult(taskId: TaskId, status: TaskStatus): TaskResult {
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
    count: 0,
    packed: NO_BYTES,
  }
}

/** Counts a finished task, for the monitors. */
export function count(state: SchedulerState, status: TaskStatus): void {
  state.ended.set(status, (state.ended.get(status) ?? 0) + 1)
}

function refuseForeignId(state: SchedulerState, client: ClientEntry, message: Task): void {
  const fields = refusedFields(state, client, message)
  state.turn.log('warn', 'refused a task whose id another client uses', fields)
  sendStatus(state, client, message.taskId, 'notFound')
}
