// The consequences of a task's end: its owner is notified, its inputs are released, and tasks that
// need its result continue, or end in the same way. One end can cause many others, in chains of any
// length: they are processed from a list, not by recursion.

import { assert } from '../../../base/assert.js'
import { copyOf, NO_BYTES } from '../../../base/bytes.js'
import { identity, type ObjectId, type TaskId } from '../../../base/ids.js'
import {
  type Outcome,
  type TaskEndReason,
  type ClientTurn,
  endTask,
  finishTask,
} from '../events.js'
import type { TaskResult } from '../../../wire/message.js'
import { joinChunks } from '../../../wire/object-content.js'
import { countOf, nthTaskId, layoutOf, sliceProfiles, slicePacked } from '../../../wire/run.js'
import { taskCancelMessage } from '../messages.js'
import type { ClientObjectTable } from '../objects.js'
import type { Sender } from '../sender.js'
import type { TaskInputs } from './inputs.js'
import {
  isNeeded,
  ResultInput,
  type StoredResult,
  type TaskRecord,
  type ClientTaskTable,
} from './task.js'
import type { InstantMs } from '../../../base/machine.js'
import { ProtocolError } from '../../../base/errors.js'

// Finished tasks that must run again: another result, made from theirs, was lost. The inputs of a
// task stay in its record as long as a result that was made from its own is kept.

/**
 * Adds to the table the tasks that must run before a task in it can run: they are waiting, and hold
 * no inputs. Returns them; undefined if one of them cannot run again. Works for chains of any
 * length.
 */
export function resubmit<Owner>(
  task: TaskRecord<Owner>,
  tasks: ClientTaskTable<Owner>,
): readonly TaskRecord<Owner>[] | undefined {
  const found = new Set<TaskRecord<Owner>>()
  const open = [task]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const argument of next.args) {
      if (!(argument instanceof ResultInput) || argument.content !== undefined) continue
      const source = argument.task
      if (tasks.has(source) || found.has(source)) continue
      // Only its graph had its inputs.
      if (source.graph !== undefined) return undefined
      found.add(source)
      open.push(source)
    }
  }
  const resubmitted = [...found].toReversed()
  for (const source of resubmitted) {
    source.owner = undefined
    source.state = 'waiting'
    source.unready = 0
    tasks.add(source)
  }
  return resubmitted
}

/** The parts of the core that handle tasks. */
interface TaskParts<Owner> {
  readonly tasks: ClientTaskTable<Owner>
  readonly objects: ClientObjectTable
  readonly inputs: TaskInputs<Owner>
  readonly sender: Sender<Owner>
  readonly unacknowledged: UnacknowledgedTasks<Owner>
}

/** How tasks end that will not run because another one has ended in this way. */
type SharedEnd =
  | { readonly failedTaskId: TaskId; readonly payload: Uint8Array }
  | { readonly failedTaskId: TaskId; readonly reason: TaskEndReason; readonly detail: string }

/** A failure of a task that did not run. */
const NOT_RUN = { isSuccess: false, metadata: NO_BYTES, worker: identity('') }

/** Ends tasks. */
export class ClientTaskEnds<Owner> {
  readonly #turn: ClientTurn<Owner>
  readonly #parts: TaskParts<Owner>
  /** Tasks that must end because of others. Empty between events, like `#unneeded`. */
  #failedByDependency: (readonly [task: TaskRecord<Owner>, end: SharedEnd])[] = []
  /** Tasks that are probably no longer needed. */
  #unneeded: TaskRecord<Owner>[] = []
  /** Whether cancelling may kill running tasks: false for 1.9.9 workers, which are slow at it. */
  mayForce = true
  /** Called before a scheduler is requested to drop a task that it has. */
  onRecall: (task: TaskRecord<Owner>) => void = () => {}

  constructor(turn: ClientTurn<Owner>, parts: TaskParts<Owner>) {
    this.#turn = turn
    this.#parts = parts
  }

  /** Tasks have ended, or are about to: reports the workers that had them before. */
  reportAttempts({ taskId: first, count, attempts }: TaskResult): void {
    for (let at = 0; at < countOf({ count }); at += 1) {
      const taskId = nthTaskId(first, at)
      const owner = this.#parts.tasks.get(taskId)?.owner
      if (owner !== undefined) this.#turn.act({ type: 'reportAttempts', owner, taskId, attempts })
    }
  }

  /** A task, already removed from the table, has returned or thrown. */
  finish(task: TaskRecord<Owner>, outcome: Outcome): void {
    if (isNeeded(task)) this.#passOn(task, outcome)
    this.#leave(task)
    const { owner } = task
    if (owner !== undefined) finishTask(this.#turn, { owner, taskId: task.id }, outcome)
    this.#process()
  }

  /** Tasks of a run, already removed from the table, have returned: `packed` has their values. */
  finishRun(
    task: TaskRecord<Owner>,
    { packed, metadata, worker }: Pick<TaskResult, 'packed' | 'metadata' | 'worker'>,
  ): void {
    this.#leave(task)
    const { owner, id: taskId, count } = task
    if (owner !== undefined) {
      this.#turn.act({ type: 'finishRun', owner, taskId, count, packed, metadata, worker })
    }
    this.#process()
  }

  /** A task, already removed from the table, has ended in another way. */
  end(task: TaskRecord<Owner>, reason: TaskEndReason, detail: string, failedTaskId?: TaskId): void {
    if (isNeeded(task) || task.graph !== undefined) {
      this.#failDependents(task, { failedTaskId: failedTaskId ?? task.id, reason, detail })
    }
    this.#leave(task)
    const { owner } = task
    if (owner !== undefined) {
      const { id: taskId, count } = task
      endTask(this.#turn, { owner, taskId, count }, { reason, detail, failedTaskId })
    }
    this.#process()
  }

  /** A task can be sent (again): its state is `waiting`. */
  enqueue(task: TaskRecord<Owner>): void {
    if (task.graph === undefined) this.#parts.sender.enqueue(task)
    else task.graph.enqueue(task)
  }

  /** Requests that the scheduler drop a task that it has. */
  recall(task: TaskRecord<Owner>): void {
    if (task.state !== 'sent') return
    this.onRecall(task)
    if (task.graph !== undefined) return task.graph.recall(task)
    this.#parts.sender.cancel(taskCancelMessage(task.id, this.mayForce, task.count))
  }

  /** Gives up all tasks that have not ended; their results may be in the cluster. */
  giveUp(reason: TaskEndReason, detail: string): void {
    for (const task of this.#parts.tasks.values()) {
      if (task.state === 'stored') continue
      this.recall(task)
      this.abandon(task, reason, detail)
    }
  }

  /** Ends a task on the client's side. */
  abandon(task: TaskRecord<Owner>, reason: TaskEndReason, detail: string): void {
    this.#forgetResult(task)
    this.#parts.tasks.change(task, 'givenUp')
    this.end(task, reason, detail)
  }

  /** The end of a task is no longer reported. */
  disown(task: TaskRecord<Owner>): void {
    task.owner = undefined
    this.#unneeded.push(task)
    this.#process()
  }

  /** The result of a task is kept in the cluster: its inputs can be released. */
  rest(task: TaskRecord<Owner>): void {
    const { inputs, sender, unacknowledged } = this.#parts
    unacknowledged.delete(task)
    sender.withdraw(task)
    task.unready = 0
    inputs.letGo(task, this.#unneeded)
    if (task.result?.isSuccess === true && task.asInput !== undefined) this.#onReady(task.asInput)
    this.#process()
  }

  /** The inputs of the task can be released. */
  letGo(task: TaskRecord<Owner>): void {
    this.#parts.inputs.letGo(task, this.#unneeded)
    this.#process()
  }

  /** Throws if anything was left behind. */
  checkInvariants(): void {
    assert(this.#failedByDependency.length === 0, 'tasks that must end were left behind')
    assert(this.#unneeded.length === 0, 'unneeded tasks were left behind')
  }

  #passOn(task: TaskRecord<Owner>, { isSuccess, payload, failedTaskId }: Outcome): void {
    const { asInput: input } = task
    if (!isSuccess || input === undefined) {
      return this.#failDependents(task, { failedTaskId: failedTaskId ?? task.id, payload })
    }
    input.content = copyOf(payload)
    this.#onReady(input)
  }

  /** A result has arrived: tasks that waited for nothing else can be sent. */
  #onReady(input: ResultInput<Owner>): void {
    const { tasks, inputs } = this.#parts
    for (const user of input.users) {
      if (user.state !== 'blocked') continue
      user.unready -= 1
      if (user.unready > 0) continue
      tasks.change(user, 'inputsReady')
      inputs.settle(user)
      this.enqueue(user)
    }
  }

  /**
   * Tasks that wait for the result of a failed task end in the same way; if it was cancelled, even
   * those that have its result and run.
   */
  #failDependents(task: TaskRecord<Owner>, end: SharedEnd): void {
    const isCancelled = 'reason' in end && end.reason === 'cancelled'
    for (const user of task.asInput?.users ?? []) {
      if (isCancelled || user.state === 'blocked') this.#failedByDependency.push([user, end])
    }
    if (!isCancelled) return
    for (const target of task.graph?.dependentsOf(task) ?? [])
      this.#failedByDependency.push([target, end])
  }

  /** Ends the tasks that must end, and those that must end because of that. */
  #process(): void {
    // Both lists grow meanwhile.
    for (;;) {
      const failed = this.#failedByDependency
      const unneeded = this.#unneeded
      if (failed.length === 0 && unneeded.length === 0) return
      this.#failedByDependency = []
      this.#unneeded = []
      for (const [task, end] of failed) this.#endAlike(task, end)
      for (const task of unneeded) this.#release(task)
    }
  }

  #endAlike(task: TaskRecord<Owner>, end: SharedEnd): void {
    const { tasks } = this.#parts
    if (!tasks.has(task)) return
    this.recall(task)
    tasks.change(task, 'givenUp')
    this.#failDependents(task, end)
    this.#leave(task)
    const { owner } = task
    if (owner === undefined) return
    const { failedTaskId } = end
    const about = { owner, taskId: task.id, count: 1 }
    if ('reason' in end) endTask(this.#turn, about, end)
    else finishTask(this.#turn, about, { ...NOT_RUN, payload: end.payload, failedTaskId })
  }

  /** Ends a task whose end is not reported, if no other task needs it. */
  #release(task: TaskRecord<Owner>): void {
    const { tasks } = this.#parts
    if (!tasks.has(task) || task.owner !== undefined || isNeeded(task)) return
    // Other nodes of its graph may need it again, if its result is lost: it was not cancelled.
    if (task.graph === undefined) this.recall(task)
    this.#forgetResult(task)
    tasks.change(task, 'givenUp')
    this.#leave(task)
  }

  #forgetResult(task: TaskRecord<Owner>): void {
    const objectId = this.#parts.tasks.stopKeeping(task)
    if (objectId !== undefined) this.#parts.objects.removeResult(objectId)
  }

  #leave(task: TaskRecord<Owner>): void {
    const { inputs, sender, unacknowledged } = this.#parts
    sender.withdraw(task)
    inputs.letGo(task, this.#unneeded)
    unacknowledged.delete(task)
    task.graph?.onTargetEnded(task)
  }
}

// Tasks that a 1.9.9 scheduler had before a connection was lost: it cannot report on them, nor may
// they be sent to it again, so they are given up some time later.

/** Those tasks, and when they are given up. Invariant: their state is sent. */
export class UnacknowledgedTasks<Owner> {
  readonly #givenUpAt = new Map<TaskRecord<Owner>, InstantMs>()

  /** When the first one is given up; undefined if there is none. */
  get nextAt(): InstantMs | undefined {
    const [first] = this.#givenUpAt.values()
    return first
  }

  /** A task that was added before keeps its time. */
  add(task: TaskRecord<Owner>, givenUpAt: InstantMs): void {
    if (!this.#givenUpAt.has(task)) this.#givenUpAt.set(task, givenUpAt)
  }

  delete(task: TaskRecord<Owner>): void {
    if (this.#givenUpAt.size > 0) this.#givenUpAt.delete(task)
  }

  /** The tasks that are given up by now. They are not removed. */
  due(now: InstantMs): TaskRecord<Owner>[] {
    const due: TaskRecord<Owner>[] = []
    for (const [task, givenUpAt] of this.#givenUpAt) {
      if (givenUpAt > now) break
      due.push(task)
    }
    return due
  }

  /** Throws if it contains a task that does not belong here. */
  checkInvariants(tasks: ClientTaskTable<Owner>): void {
    for (const task of this.#givenUpAt.keys()) {
      assert(tasks.has(task), 'an ended task is unacknowledged')
      assert(task.state === 'sent', 'an unacknowledged task was not sent')
    }
  }
}

// A TaskResult about several tasks: checked, and taken apart.

/** What is wrong with the packed values of a result; '' = nothing. */
export function layoutErrorOf({ packed, metadata }: TaskResult, count: number): string {
  const { byteLength } = metadata
  if (byteLength !== 0 && byteLength !== 4 * count && byteLength !== 16 * count) {
    return 'the profiles of a result are not those of its tasks'
  }
  try {
    layoutOf(packed, count)
    return ''
  } catch (error) {
    if (error instanceof ProtocolError) return error.message
    throw error
  }
}

/** The result of some of its tasks. */
export function partOf(message: TaskResult, from: number, to: number): TaskResult {
  const count = countOf(message)
  if (from === 0 && to === count) return message
  const packed = slicePacked(message.packed, count, from, to)
  return { ...message, packed, metadata: sliceProfiles(message.metadata, count, from, to) }
}

// What a TaskResult says: what records of tasks keep of it, and what refusals mean.

/** What is kept of a result that is an object. */
export function storedResult(objectId: ObjectId, message: TaskResult): StoredResult {
  return {
    objectId,
    isSuccess: message.status === 'success',
    metadata: copyOf(message.metadata),
    worker: message.worker,
    failedTaskId: failedTaskOf(message),
    isUnacknowledged: false,
  }
}

/** The node that failed, if it was not the task itself. */
export function failedTaskOf({ failedTaskId }: TaskResult): TaskId | undefined {
  return failedTaskId === '' ? undefined : failedTaskId
}

/** The meaning of a scheduler's refusals. */
export const REFUSALS = {
  canceled: 'dropped',
  notFound: 'notFound',
  workerDied: 'workerDied',
  noWorker: 'noWorker',
} as const

/** The content of an object in one piece; the error if that is too long. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array | ProtocolError {
  try {
    return joinChunks(chunks)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
}
