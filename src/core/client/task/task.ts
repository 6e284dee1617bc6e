// The tasks of a client that have not ended, or whose results are kept in the cluster. Where lines
// for DEBUG are written, each change is one.

import { assert } from '../../../base/assert.js'
import type { FifoNode } from '../../../base/fifo.js'
import {
  type Identity,
  type ObjectId,
  type SchedulerId,
  type TaskId,
  taskLogFields,
} from '../../../base/ids.js'
import { Lifecycle } from '../../../base/lifecycle.js'
import { spokenName } from '../../../wire/object-content.js'
import type { TaskOptions, ClientTurn } from '../events.js'
import type { ClientObject } from '../objects.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './state.js'

// What a client knows of one task that is not over and done with.

/** What a TaskResult said about a result that is an object. */
export interface StoredResult {
  readonly objectId: ObjectId
  readonly isSuccess: boolean
  readonly metadata: Uint8Array
  readonly worker: Identity
  /** The node of a graph that has failed, if it was another one. */
  readonly failedTaskId: TaskId | undefined
  /** A connection was lost since: if the scheduler does not have it, the task runs again. */
  isUnacknowledged: boolean
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
  /** To whom its end is reported. Undefined: only other tasks need its result. */
  owner: Owner | undefined
  readonly options: TaskOptions
  function: ClientObject
  /** Attachments of the function come last. */
  args: readonly TaskInput<Owner>[]
  /** Which arguments are results of other tasks that have come here; undefined = none. */
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
  /** Invariant: set exactly when the state is waiting and it is not a target of a graph. */
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

const STEPS: Readonly<Record<TaskCause, string>> = {
  inputsReady: 'task has all results that it needs',
  inputMissing: 'task waits for a result that it needs',
  taskSent: 'task sent to the scheduler',
  resultArrived: 'result of a task arrived',
  resultStored: 'result of a task is kept in the cluster',
  refused: 'task refused, or taken back, by the scheduler',
  wanted: 'result of a task asked for',
  contentArrived: 'result of a task arrived',
  contentShared: 'result of a task arrived, and stays in the cluster',
  contentMissing: 'result of a task is no longer in the cluster',
  contentLost: 'result of a task lost: it runs again',
  forgotten: 'task will be sent again',
  givenUp: 'task given up',
}

/** The tasks of one client, in order of submission. */
export class TaskTable<Owner> {
  readonly #tasks = new Map<TaskId, TaskRecord<Owner>>()
  /** Tasks by the objects that hold their results. Invariant: state is stored or fetching. */
  readonly #stored = new Map<ObjectId, TaskRecord<Owner>>()
  /** How many are stored, and not being fetched. */
  #restingCount = 0
  readonly #lifecycle = new Lifecycle(TASK_TRANSITIONS)
  readonly #turn: ClientTurn<Owner>
  readonly #logsTasks: boolean

  constructor(turn: ClientTurn<Owner>, logsTasks: boolean) {
    this.#turn = turn
    this.#logsTasks = logsTasks
  }

  /** Tasks that somebody waits for. */
  get openCount(): number {
    return this.#tasks.size - this.#restingCount
  }

  /** Whether there are results that the scheduler has to keep. */
  get hasStored(): boolean {
    return this.#stored.size > 0
  }

  get(id: TaskId): TaskRecord<Owner> | undefined {
    return this.#tasks.get(id)
  }

  /** Whether a task is still in the table. */
  has(task: TaskRecord<Owner>): boolean {
    return this.#tasks.get(task.taskId) === task
  }

  add(task: TaskRecord<Owner>): void {
    const { taskId } = task
    assert(!this.#tasks.has(taskId), 'a task id was used twice')
    this.#tasks.set(taskId, task)
    if (this.#logsTasks) this.#tell(task, 'task submitted')
  }

  /** Oldest first. Tasks may end while iterating. */
  values(): IterableIterator<TaskRecord<Owner>> {
    return this.#tasks.values()
  }

  /** The task whose result is in an object. */
  storedIn(id: ObjectId): TaskRecord<Owner> | undefined {
    return this.#stored.get(id)
  }

  /** The task that waits for an object. */
  waitingFor(id: ObjectId): TaskRecord<Owner> | undefined {
    const task = this.#stored.get(id)
    return task?.state === 'fetching' ? task : undefined
  }

  /** Gives a task its next state. The caller keeps what belongs to the state. */
  change(task: TaskRecord<Owner>, cause: TaskCause): TaskState | 'ended' {
    const next = this.#lifecycle.next(task.taskId, task.state, cause)
    if (this.#logsTasks && next !== task.state) this.#tell(task, STEPS[cause])
    if (task.state === 'stored') this.#restingCount -= 1
    if (next === 'stored') this.#restingCount += 1
    if (cause === 'taskSent') task.hasBegun = false
    if (next === 'ended') this.#tasks.delete(task.taskId)
    else task.state = next
    return next
  }

  /** The result of a task is an object. */
  keep(task: TaskRecord<Owner>, result: StoredResult): void {
    task.result = result
    this.#stored.set(result.objectId, task)
  }

  /** The object is of no use any more. Returns which it was, if there was one. */
  stopKeeping(task: TaskRecord<Owner>): ObjectId | undefined {
    const { result } = task
    if (result === undefined) return undefined
    this.#stored.delete(result.objectId)
    task.result = undefined
    return result.objectId
  }

  #tell({ taskId, options, function: fn }: TaskRecord<Owner>, text: string): void {
    const name = options.name === '' ? spokenName(fn.value.name) : options.name
    this.#turn.log('debug', text, taskLogFields(taskId, name))
  }

  /** Throws if the table disagrees with itself. */
  checkInvariants(): void {
    let stored = 0
    let resting = 0
    for (const [id, task] of this.#tasks) {
      const { state, result } = task
      const isStored = state === 'stored' || state === 'fetching'
      const isPlaced = state === 'waiting' && task.graph === undefined
      assert(task.taskId === id, 'a task under a foreign id')
      assert(isPlaced === (task.place !== undefined), 'a task out of place')
      assert((state === 'blocked') === task.unready > 0, 'a task that is blocked by nothing')
      if (state === 'blocked') assert(task.unready === unreadyInputs(task), 'what a task waits for')
      assert(isStored === (result !== undefined), 'a result that is kept without reason')
      if (state === 'stored') resting += 1
      if (result === undefined) continue
      stored += 1
      assert(this.#stored.get(result.objectId) === task, 'a result without its task')
    }
    assert(stored === this.#stored.size, 'results of tasks that are not there')
    assert(resting === this.#restingCount, 'results that nobody has asked for')
  }
}

function unreadyInputs<Owner>({ args }: TaskRecord<Owner>): number {
  const inputs = args.filter((argument) => argument instanceof ResultInput)
  return new Set(inputs.filter((input) => !input.isReady)).size
}
