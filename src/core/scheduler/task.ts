// What happens to tasks: they arrive, are assigned, end, are taken back or cancelled.
// docs/protocol.md#task, docs/protocol.md#cancel

import { asBuffer, copyOf, NO_BYTES } from '../../base/bytes.js'
import { ProtocolError } from '../../base/errors.js'
import { idToHex, type Identity, type TaskId } from '../../base/ids.js'
import { decodeTaskFlags } from '../../wire/task-flags.js'
import type { Task, TaskCancel, TaskResult, TaskStatus } from '../../wire/message.js'
import type { ClientEntry, TaskEntry, WorkerEntry } from './entries.js'
import { publishTask } from './publication.js'
import type { SchedulerState } from './state.js'
import type { WorkerPool } from './worker-pool.js'
import { PLAIN_RESULT } from '../../wire/plain.js'

/** A client submits a task. One that it has already submitted is ignored: it was sent again. */
export function onTask(state: SchedulerState, client: ClientEntry, message: Task): void {
  const known = state.tasks.get(message.taskId)
  if (known?.client === client) return
  if (known !== undefined && known.client !== undefined) {
    refuseForeignId(state, client, message.taskId)
    return
  }
  // Its client had been given up and is back before the worker has answered the cancel.
  if (known !== undefined) forget(state, known)
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
  state.tasks.set(task.id, task)
  client.tasks.add(task)
  pool.queue.push(task)
  publishTask(state, task, 'inactive')
  assignWaiting(state, pool)
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
  const hasGivenUp = message.status === 'canceled' || message.status === 'notFound'
  if (!hasGivenUp) measure(pool, task, message.metadata)
  const next = state.lifecycle.next(task.id, task.state, hasGivenUp ? 'gaveUp' : 'finished')
  pool.release(task)
  if (next === 'inactive') wait(state, task)
  else endTask(state, task, readableResult(state, task, message))
  assignWaiting(state, pool)
}

/** A client wants a task cancelled. For an unknown task there is no answer. */
export function onTaskCancel(
  state: SchedulerState,
  client: ClientEntry,
  message: TaskCancel,
): void {
  const task = state.tasks.get(message.taskId)
  if (task === undefined || task.client !== client) {
    count(state, 'notFound')
    const fields = { task: idToHex(message.taskId), client: client.identity }
    state.output.log('debug', 'ignored the cancel of an unknown task', fields)
    return
  }
  cancelTask(state, task, message.flags.force)
}

/** Cancels a task for its client: at once if it waits, else its worker is asked. */
export function cancelTask(state: SchedulerState, task: TaskEntry, force: boolean): void {
  const { worker, state: before } = task
  const next = state.lifecycle.next(task.id, before, 'cancelled')
  if (next === 'ended') {
    state.pools[task.runtime].queue.remove(task)
    endTask(state, task, statusResult(task.id, 'canceled'))
    return
  }
  task.state = next
  if (worker === undefined) return
  publishTask(state, task, 'canceling')
  const flags = { force, retrieveTaskObject: false }
  state.output.send(worker.identity, { kind: 'taskCancel', taskId: task.id, flags })
}

/** A worker is gone: its tasks wait again, in front of all others. */
export function takeTasksBack(state: SchedulerState, worker: WorkerEntry): void {
  const pool = state.pools[worker.runtime]
  // Backwards, because each goes in front: in the end they stand as they were assigned.
  for (const task of [...worker.assigned].reverse()) {
    const next = state.lifecycle.next(task.id, task.state, 'workerLost')
    worker.assigned.delete(task)
    task.worker = undefined
    if (next === 'inactive') wait(state, task)
    else endTask(state, task, statusResult(task.id, 'canceled'))
  }
  assignWaiting(state, pool)
}

/** Sends out tasks for as long as some wait and some worker has room. */
export function assignWaiting(state: SchedulerState, pool: WorkerPool): void {
  for (let choice = pool.next(); choice !== undefined; choice = pool.next()) {
    const { task, worker } = choice
    task.state = 'running'
    state.lifecycle.next(task.id, 'inactive', 'assigned')
    pool.assign(task, worker)
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
function newTask(state: SchedulerState, client: ClientEntry, message: Task): TaskEntry | undefined {
  const priority = priorityOf(message.metadata)
  if (priority === undefined || (client.runtime === 'python' && priority < 0)) return undefined
  return {
    id: message.taskId,
    client,
    runtime: client.runtime,
    priority,
    function: state.objects.get(message.funcObjectId),
    bytes: copyOf(message.bytes ?? NO_BYTES),
    state: 'inactive',
    expectedSeconds: 0,
    worker: undefined,
    place: undefined,
  }
}

function priorityOf(metadata: Uint8Array): number | undefined {
  try {
    return decodeTaskFlags(metadata).priority
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

/** The task waits in front of its client's others. */
function wait(state: SchedulerState, task: TaskEntry): void {
  task.state = 'inactive'
  state.pools[task.runtime].queue.putBack(task)
  publishTask(state, task, 'inactive')
}

/** The task leaves the tables; its client, if it is still there, gets the result. */
function endTask(state: SchedulerState, task: TaskEntry, result: TaskResult): void {
  count(state, result.status)
  state.tasks.delete(task.id)
  publishTask(state, task, result.status, result.metadata)
  const client = task.client
  if (client === undefined) return
  client.tasks.delete(task)
  if (client.hasLeft) return
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
}

function statusResult(taskId: TaskId, status: TaskStatus): TaskResult {
  return { kind: 'taskResult', taskId, status, metadata: NO_BYTES, results: [], ...PLAIN_RESULT }
}

function count(state: SchedulerState, status: TaskStatus): void {
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
