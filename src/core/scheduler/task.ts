// What happens to tasks: they arrive, are assigned, end, are taken back or cancelled.
// docs/protocol.md#task, docs/protocol.md#cancel

import { asBuffer, copyOf, NO_BYTES } from '../../base/bytes.js'
import { ProtocolError } from '../../base/errors.js'
import { idToHex, type Identity, type TaskId } from '../../base/ids.js'
import { decodeTaskFlags } from '../../wire/task-flags.js'
import type { Task, TaskCancel, TaskResult, TaskStatus } from '../../wire/message.js'
import type { ClientEntry, TaskEntry } from './entries.js'
import { adopt, leaveParent, releaseChildren } from './family.js'
import { publishTask } from './publication.js'
import type { SchedulerState } from './state.js'
import { extraOf, nextAttempt, readExtra } from './task-extra.js'
import type { TaskCause } from './task-state.js'
import type { WorkerPool } from './worker-pool.js'
import { PLAIN_RESULT } from '../../wire/plain.js'

/** A client submits a task. One that it has already submitted is ignored: it was sent again. */
export function onTask(state: SchedulerState, client: ClientEntry, message: Task): void {
  const known = state.tasks.get(message.taskId)
  if (known !== undefined && !givesWay(state, known, client)) return
  const pool = state.pools[client.runtime]
  const limit = state.options.maxTasksWaiting
  if (limit >= 0 && pool.overflow >= limit) {
    sendStatus(state, client, message.taskId, 'noWorker')
    return
  }
  const task = newTask(state, client, message)
  if (task === undefined) {
    const fields = { task: idToHex(message.taskId), client: client.identity }
    state.output.log('warn', 'refused a task with malformed flags', fields)
    sendStatus(state, client, message.taskId, 'canceled')
    return
  }
  const parent = message.parentTaskId === '' ? undefined : state.tasks.get(message.parentTaskId)
  state.tasks.set(task.id, task)
  client.tasks.add(task)
  pool.queue.push(task)
  publishTask(state, task, 'inactive')
  if (parent !== undefined) adopt(parent, task)
  // What a task submits while it is being cancelled has no chance.
  if (parent?.state === 'canceling') cancelTask(state, task, true)
}

/** A worker tells how a task ended. Only the worker that has the task is listened to. */
export function onTaskResult(state: SchedulerState, from: Identity, message: TaskResult): void {
  const task = state.tasks.get(message.taskId)
  const worker = task?.worker
  if (task === undefined || worker === undefined || worker.identity !== from) {
    const fields = { task: idToHex(message.taskId), worker: from, status: message.status }
    state.output.log('debug', 'ignored the result of a task that this worker does not have', fields)
    // Result objects are made for one result: nobody will ask for these.
    state.objects.drop(message.results)
    return
  }
  const pool = state.pools[task.runtime]
  const cause = causeOf(task, message.status)
  if (cause !== 'gaveUp') measure(pool, task, message.metadata)
  const next = state.lifecycle.next(task.id, task.state, cause)
  pool.release(task)
  if (cause === 'retried') retry(state, task, message)
  else if (next === 'inactive') waitInFront(state, task)
  else endTask(state, task, readableResult(state, task, message))
}

/** Whether a task of the same id goes, so that `client` can submit it. */
function givesWay(state: SchedulerState, known: TaskEntry, client: ClientEntry): boolean {
  if (known.client === client) return false
  if (vacates(state, known)) return true
  refuseForeignId(state, client, known.id)
  return false
}

/**
 * Takes the id away from a task whose client had been given up, and is back before its tasks have
 * been cancelled. False: its client is there.
 */
export function vacates(state: SchedulerState, task: TaskEntry): boolean {
  if (task.client === undefined) forget(state, task)
  else if (task.client.hasLeft) cancelTask(state, task, true)
  else return false
  return true
}

/** What a result means for a task that its worker has. */
function causeOf(task: TaskEntry, status: TaskStatus): TaskCause {
  if (status === 'canceled' || status === 'notFound') return 'gaveUp'
  if (status !== 'failed' || task.state !== 'running') return 'finished'
  return task.extra !== undefined && task.extra.retriesLeft > 0 ? 'retried' : 'finished'
}

/** A client wants a task cancelled. For an unknown task there is no answer. */
export function onTaskCancel(
  state: SchedulerState,
  client: ClientEntry,
  message: TaskCancel,
): void {
  const task = state.tasks.get(message.taskId)
  if (cancelTarget(client, task, message.taskId)) return
  if (task === undefined || task.client !== client || task.node !== undefined) {
    count(state, 'notFound')
    const fields = { task: idToHex(message.taskId), client: client.identity }
    state.output.log('debug', 'ignored the cancel of an unknown task', fields)
    return
  }
  cancelTask(state, task, message.flags.force)
}

/** Whether the client has a graph of which this is a target, which it then does not want. */
function cancelTarget(client: ClientEntry, task: TaskEntry | undefined, id: TaskId): boolean {
  if (task?.node !== undefined) return task.client === client && task.node.graph.cancelTarget(id)
  if (task !== undefined) return false
  for (const graph of client.graphs.values()) {
    if (graph.cancelTarget(id)) return true
  }
  return false
}

/**
 * Cancels a task for its client, and all that runs inside of it: at once if it waits, else its
 * worker is asked. May be called again, to add force.
 */
export function cancelTask(state: SchedulerState, task: TaskEntry, force: boolean): void {
  const { worker, state: before } = task
  const next = state.lifecycle.next(task.id, before, 'cancelled')
  if (next === 'ended') {
    // The queue has dropped what belongs to a client that has left.
    if (task.client?.hasLeft === true) task.place = undefined
    else state.pools[task.runtime].queue.remove(task)
    endTask(state, task, statusResult(task.id, 'canceled'))
    return
  }
  task.state = next
  if (before !== 'canceling') publishTask(state, task, 'canceling')
  const isNews = before !== 'canceling' || (force && task.extra?.isForced !== true)
  if (worker !== undefined && isNews) {
    if (force) extraOf(task).isForced = true
    const flags = { force, retrieveTaskObject: false }
    state.output.send(worker.identity, { kind: 'taskCancel', taskId: task.id, flags })
  }
  cancelChildren(state, task)
}

/**
 * The worker of some tasks is gone: they wait again, in front of all others. With `isLost` it went
 * without a word, perhaps because of one of them: a task may do so only a few times.
 */
export function takeTasksBack(
  state: SchedulerState,
  tasks: readonly TaskEntry[],
  isLost: boolean,
): void {
  // Backwards, because each goes in front: in the end they stand as they were assigned.
  for (const task of tasks.toReversed()) {
    // A client inside of the worker has gone with it.
    if (task.client?.hasLeft === true) cancelTask(state, task, true)
    const isWornOut = isLost && task.state === 'running' && hasWornOut(task)
    const cause = isWornOut ? 'wornOut' : 'workerLost'
    const next = state.lifecycle.next(task.id, task.state, cause)
    if (next === 'inactive') {
      if (task.runtime === 'javascript') task.bytes = nextAttempt(task.bytes)
      waitInFront(state, task)
    } else endTask(state, task, statusResult(task.id, isWornOut ? 'workerDied' : 'canceled'))
  }
}

/** Counts a lost worker. True: that was one too many. */
function hasWornOut(task: TaskEntry): boolean {
  const extra = extraOf(task)
  extra.deaths += 1
  return extra.deaths >= extra.deathLimit
}

/** Sends out tasks for as long as some wait and some worker has room. Called after each event. */
export function assignWaiting(state: SchedulerState, pool: WorkerPool): void {
  for (let choice = pool.next(); choice !== undefined; choice = pool.next()) {
    const { task, worker } = choice
    task.state = 'running'
    state.lifecycle.next(task.id, 'inactive', 'assigned')
    pool.assign(task, worker)
    task.node?.graph.onTaken(task)
    state.output.forward(worker.identity, 'task', task.bytes)
    publishTask(state, task, 'running')
  }
}

/** Tells a client how a task of its ended that has no other result. */
export function sendStatus(
  state: SchedulerState,
  client: ClientEntry,
  id: TaskId,
  status: TaskStatus,
): void {
  count(state, status)
  state.output.send(client.identity, statusResult(id, status))
}

/** Undefined when the flags are malformed: they would bring a 1.9.9 worker down. */
export function newTask(
  state: SchedulerState,
  client: ClientEntry,
  message: Task,
): TaskEntry | undefined {
  const priority = priorityOf(message.metadata)
  if (priority === undefined || (client.runtime === 'python' && priority < 0)) return undefined
  return {
    id: message.taskId,
    client,
    runtime: client.runtime,
    priority,
    function: state.objects.get(message.funcObjectId),
    bytes: message.bytes === undefined ? NO_BYTES : copyOf(message.bytes),
    state: 'inactive',
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

/** The task did not come to its end: it waits in front of its client's others. */
function waitInFront(state: SchedulerState, task: TaskEntry): void {
  cancelChildren(state, task)
  task.state = 'inactive'
  state.pools[task.runtime].queue.putBack(task)
  publishTask(state, task, 'inactive')
}

/** The task has failed and may try again: it waits behind its client's others. */
function retry(state: SchedulerState, task: TaskEntry, failure: TaskResult): void {
  // Nobody will ask for the error.
  state.objects.drop(failure.results)
  cancelChildren(state, task)
  extraOf(task).retriesLeft -= 1
  task.bytes = nextAttempt(task.bytes)
  task.state = 'inactive'
  state.pools[task.runtime].queue.push(task)
  publishTask(state, task, 'inactive')
}

/** What was submitted inside of a task, and inside of that and so on, has to end. */
function cancelChildren(state: SchedulerState, task: TaskEntry): void {
  if (task.extra?.children === undefined) return
  state.orphans.addChildren(task)
  cancelOrphans(state)
}

/** Cancels some of those that have to end; `state.orphans` has what is left. */
export function cancelOrphans(state: SchedulerState): void {
  state.orphans.drain((child) => {
    if ('cancel' in child) child.cancel()
    else if (state.tasks.get(child.id) === child) cancelTask(state, child, true)
  })
}

/** The task has left the tables: its children go on if it has succeeded, and only then. */
function leaveFamily(state: SchedulerState, task: TaskEntry, status: TaskStatus): void {
  leaveParent(task)
  if (status === 'success') releaseChildren(task)
  else cancelChildren(state, task)
}

/** The task leaves the tables; its client, if it is still there, gets the result. */
function endTask(state: SchedulerState, task: TaskEntry, result: TaskResult): void {
  count(state, result.status)
  state.tasks.delete(task.id)
  publishTask(state, task, result.status, result.metadata)
  task.client?.tasks.delete(task)
  if (task.node === undefined) answer(state, task.client, result)
  else task.node.graph.onEnded(task, result)
  if (task.extra !== undefined) leaveFamily(state, task, result.status)
}

function answer(state: SchedulerState, client: ClientEntry | undefined, result: TaskResult): void {
  if (client === undefined || client.hasLeft) return
  if (result.bytes === undefined) state.output.send(client.identity, result)
  else state.output.forward(client.identity, 'taskResult', result.bytes)
}

/** A result that its client could not read, or would die of, is replaced by one that it can. */
function readableResult(state: SchedulerState, task: TaskEntry, message: TaskResult): TaskResult {
  const { status, metadata, results, inlineResults } = message
  const hasEnded = status === 'success' || status === 'failed'
  const isKnown = hasEnded || status === 'canceled' || status === 'notFound'
  const isOne = !hasEnded || results.length === 1 || inlineResults.length > 0
  const hasProfile = metadata.byteLength === 0 || metadata.byteLength === 16
  if ((isKnown || status === 'workerDied') && isOne && hasProfile) return message
  const fields = { task: idToHex(task.id), status, results: results.length }
  state.output.log('warn', 'a worker sent a result that is none', fields)
  return statusResult(task.id, 'canceled')
}

/** The task leaves the tables and nobody is told. */
function forget(state: SchedulerState, task: TaskEntry): void {
  state.pools[task.runtime].release(task)
  state.tasks.delete(task.id)
  leaveParent(task)
}

/** A result without content. */
export function statusResult(taskId: TaskId, status: TaskStatus): TaskResult {
  const { inlineResults, worker, failedTaskId, attempt } = PLAIN_RESULT
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
  }
}

/** Counts a task that has ended, for the monitors. */
export function count(state: SchedulerState, status: TaskStatus): void {
  state.ended.set(status, (state.ended.get(status) ?? 0) + 1)
}

/** The duration is the first thing in a result's metadata. docs/protocol.md#profile */
function measure(pool: WorkerPool, task: TaskEntry, metadata: Uint8Array): void {
  if (metadata.byteLength !== 16) return
  const seconds = asBuffer(metadata).readFloatBE(0)
  if (seconds >= 0 && Number.isFinite(seconds)) pool.measure(task, seconds)
}

function refuseForeignId(state: SchedulerState, client: ClientEntry, id: TaskId): void {
  const fields = { task: idToHex(id), client: client.identity }
  state.output.log('warn', 'refused a task whose id another client uses', fields)
  sendStatus(state, client, id, 'notFound')
}
