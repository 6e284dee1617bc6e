// How tasks arrive: new ones are queued, repeats are ignored, what cannot be accepted is refused.
// docs/protocol.md#task

import { bytesToLatin1 } from '../../../base/bytes.js'
import { ProtocolError } from '../../../base/errors.js'
import type { TaskId } from '../../../base/ids.js'
import { encode, type Task } from '../../../wire/message.js'
import { decodeTaskFlags } from '../../../wire/metadata.js'
import { countOf, nthTaskId, placeInBlock, slicePacked } from '../../../wire/run.js'
import type { ClientEntry, TaskEntry } from '../entries.js'
import { publishTask, refusedFields } from '../publication.js'
import type { SchedulerState } from '../state.js'
import { roomFor, spendRoom } from '../worker/waiting-limit.js'
import { largestInput } from '../worker/nearness.js'
import { extraOf, readExtra } from './extra.js'
import { adopt } from './family.js'
import { addChild, parentLink } from './links.js'
import { isValidRun, runPartOf } from './run.js'
import { cancelTask, forget, redeemLease, sendStatus, statusResult } from './task.js'
import { tellAgain } from './update.js'

const NO_TASKS: readonly TaskId[] = []

/** A client submits tasks. Tasks that it has already submitted are ignored as a repeat. */
export function onTask(state: SchedulerState, client: ClientEntry, message: Task): void {
  const { taskId } = message
  const count = countOf(message)
  spendRoom(state, client, count)
  if (!isValidRun(message)) {
    const fields = { ...refusedFields(state, client, message), tasks: count }
    state.blame('refused a malformed run of tasks', fields)
    // Its tasks do not count as ended: there may be none.
    state.output.send(client.identity, statusResult(taskId, 'canceled', count))
    return
  }
  if (!state.tasks.hasAny(taskId, count)) return addTasks(state, client, message)
  let next = 0
  for (const known of state.tasks.range(taskId, count)) {
    const from = count === 1 ? 0 : placeInBlock(known.id) - placeInBlock(taskId)
    const repeat = partOf(message, from, known.count)
    const isGone = givesWay(state, known, client, repeat)
    if (from > next) addTasks(state, client, partOf(message, next, from - next))
    if (isGone) addTasks(state, client, repeat)
    next = from + known.count
  }
  if (next < count) addTasks(state, client, partOf(message, next, count - next))
}

/** Adds tasks that are not known, as far as there is room. */
function addTasks(state: SchedulerState, client: ClientEntry, message: Task): void {
  const count = countOf(message)
  const parent = message.parentTaskId === '' ? undefined : state.tasks.get(message.parentTaskId)
  const link = parent === undefined ? parentLink(client, message.parentTaskId) : undefined
  const leased = leasedAmong(state, message)
  // Neither a task that a worker already has nor one that a parent waits for adds to the load.
  const isNew = parent === undefined && link === undefined && leased.length === 0
  const room = isNew ? roomFor(state, client, count) : count
  if (room < count) {
    sendStatus(
      state,
      client,
      statusResult(nthTaskId(message.taskId, room), 'noWorker', count - room),
    )
    if (room === 0) return
  }
  const task = newTask(state, client, partOf(message, 0, room))
  if (task === undefined) {
    const fields = refusedFields(state, client, message)
    state.blame('refused a task with malformed flags or arguments', fields)
    sendStatus(state, client, statusResult(message.taskId, 'canceled', room))
    return
  }
  const input = largestInput(state.objects, message.functionArgs)
  if (input !== undefined) extraOf(task).input = input
  state.tasks.add(task)
  client.taskCount += task.count
  const pool = state.pools[client.runtime]
  const mayReturn = message.mayHaveRun && state.turn.now < state.settledAt
  if (mayReturn && leased.length < count) pool.hold(task, state.settledAt)
  else pool.queue.push(task)
  publishTask(state, task, 'inactive')
  if (parent !== undefined) adopt(parent, task)
  if (link !== undefined) addChild(link, task)
  for (const id of leased) {
    const one = state.tasks.get(id)
    if (one !== undefined) redeemLease(state, one)
  }
  // A task submitted by a parent that is being cancelled is cancelled with it.
  if (parent?.state === 'canceling') cancelTask(state, task, true)
}

/** The tasks of a message for which a worker holds a lease. */
function leasedAmong({ leases }: SchedulerState, message: Task): readonly TaskId[] {
  if (leases.size === 0) return NO_TASKS
  const ids = Array.from({ length: countOf(message) }, (_, at) => nthTaskId(message.taskId, at))
  return ids.filter((id) => leases.has(id))
}

/** The Task for `count` of the tasks of a message, from task `from`. */
function partOf(message: Task, from: number, count: number): Task {
  const whole = countOf(message)
  if (count === whole) return message
  const packed = slicePacked(message.packed, whole, from, from + count)
  const id = nthTaskId(message.taskId, from)
  return { ...message, taskId: id, count, packed, bytes: undefined }
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
 * Undefined for invalid tasks, such as malformed flags, which would crash a 1.9.9 worker. Only a
 * node can need the result of another task.
 */
export function newTask(
  state: SchedulerState,
  client: ClientEntry,
  message: Task,
): TaskEntry | undefined {
  const priority = priorityOf(message.metadata)
  if (priority === undefined || (client.runtime === 'python' && priority < 0)) return undefined
  const requirement = state.requirements.of(message.capabilities)
  if (requirement === 'refused') return undefined
  if (message.functionArgs.some(({ type }) => type === 'task')) return undefined
  const fn = state.objects.get(message.funcObjectId)
  if (fn !== undefined) state.functions.of(fn)
  const part = runPartOf(message)
  return {
    id: message.taskId,
    count: countOf(message),
    part,
    client,
    runtime: client.runtime,
    priority,
    requirement,
    function: fn,
    encoded: part === undefined ? encodedFrom(message) : '',
    state: 'inactive',
    changedAt: state.turn.now,
    expectedSeconds: 0,
    worker: undefined,
    place: undefined,
    extra: readExtra(message),
    node: undefined,
  }
}

/** The encoded Task. What was cut out of a run is encoded again. */
function encodedFrom(message: Task): string {
  if (message.bytes !== undefined) return bytesToLatin1(message.bytes)
  return message.packed.byteLength === 0 ? '' : bytesToLatin1(encode(message))
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

function refuseForeignId(state: SchedulerState, client: ClientEntry, message: Task): void {
  const fields = refusedFields(state, client, message)
  state.blame('refused a task whose id another client uses', fields)
  sendStatus(state, client, statusResult(message.taskId, 'notFound', countOf(message)))
}
