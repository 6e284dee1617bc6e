// What a client knows of one task that is not over and done with.

import type { FifoNode } from '../../base/fifo.js'
import type { Identity, ObjectId, SchedulerId, TaskId } from '../../base/ids.js'
import type { ClientObject } from './object-table.js'
import type { TaskOptions } from './submission.js'
import type { TaskState } from './task-state.js'

/** What a TaskResult said whose result is an object. */
export interface StoredResult {
  readonly objectId: ObjectId
  readonly isSuccess: boolean
  readonly metadata: Uint8Array
  readonly worker: Identity
  /** The node of a graph that has failed, if it was another one. */
  readonly failedTaskId: TaskId | undefined
  /** A connection was lost since: if the scheduler does not have it, the task runs again. */
  isDoubtful: boolean
}

/** The result of one task as an argument of others: one for all of them. */
export class ResultInput<Owner> {
  readonly task: TaskRecord<Owner>
  /** Tasks with it as an argument whose own result is not there. */
  readonly users: Set<TaskRecord<Owner>> = new Set()
  /** The result, if it came inside of a message. Then its task has ended. */
  content: Uint8Array | undefined

  constructor(task: TaskRecord<Owner>) {
    this.task = task
  }

  /** Whether tasks that need it can be sent. */
  get isReady(): boolean {
    return this.content !== undefined || this.task.result?.isSuccess === true
  }
}

/** An argument: bytes that travel inside of the Task, or the object that has them. */
export type TaskInput<Owner> = Uint8Array | ClientObject | ResultInput<Owner>

/** Stands for the graph of a target. */
export interface TargetGraph<Owner> {
  /** The target can be sent (again): its state is `waiting`. */
  enqueue(target: TaskRecord<Owner>): void
  /** The scheduler has the target, and need not compute it any more. */
  recall(target: TaskRecord<Owner>): void
  /** The targets that need this one, directly or not, and have not ended; each once. */
  dependentsOf(target: TaskRecord<Owner>): readonly TaskRecord<Owner>[]
  /** A target has to wait for other tasks after all. */
  onBlocked(): void
  /** The target has left the table. */
  onTargetEnded(target: TaskRecord<Owner>): void
}

/**
 * A task that has not ended, or whose result is still needed. It does not keep the submission: that
 * has large arguments, too, which are in objects here, where equal ones share their memory.
 */
export interface TaskRecord<Owner> {
  readonly taskId: TaskId
  /** Who is told how it ends. Undefined: only tasks that need its result want it. */
  owner: Owner | undefined
  readonly options: TaskOptions
  function: ClientObject
  /** Attachments of the function come last. */
  args: readonly TaskInput<Owner>[]
  /** Which arguments are results of other tasks that came inside of messages; undefined = none. */
  sharedArgs: ReadonlySet<number> | undefined
  /** What the arguments take that are bytes. */
  inlineBytes: number
  /** Roughly what sending all of it takes, in bytes. */
  messageBytes: number
  state: TaskState
  /** A worker has begun it, as far as was heard since it was sent. */
  hasBegun: boolean
  /** How many results it waits for. Invariant: above 0 exactly when the state is blocked. */
  unready: number
  /** The first scheduler that it was sent to, as a task of its own; undefined = none was. */
  firstSentTo: SchedulerId | undefined
  /** Invariant: set exactly when the state is waiting, and it is no target of a graph. */
  place: FifoNode<TaskRecord<Owner>> | undefined
  /** Whether its inputs are kept for it. Not while its result is kept. */
  holdsInputs: boolean
  /** Invariant: set exactly when the state is stored or fetching. */
  result: StoredResult | undefined
  /** Its result as an argument of others; undefined while it never was one. */
  asInput: ResultInput<Owner> | undefined
  /** A target of a graph is sent by its graph. */
  graph: TargetGraph<Owner> | undefined
}

/** Whether other tasks need the result of this one. */
export function isNeeded<Owner>(task: TaskRecord<Owner>): boolean {
  return task.asInput !== undefined && task.asInput.users.size > 0
}
