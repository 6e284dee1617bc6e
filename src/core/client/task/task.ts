// The tasks of a client that have not ended, or whose results are kept in the cluster. With DEBUG
// lines, each change is logged.

import { assert } from '../../../base/assert.js'
import type { FifoNode } from '../../../base/collection/fifo.js'
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
import type { GraphRecord } from '../graph/record.js'
import type { ClientObject } from '../objects.js'
import { nthTaskId, placeInBlock, slicePacked } from '../../../wire/run.js'
import { TaskTable } from '../../task-table.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './state.js'

// The record of one unfinished task.

/** The parts of a TaskResult whose result is an object. */
export interface StoredResult {
  readonly objectId: ObjectId
  readonly isSuccess: boolean
  readonly metadata: Uint8Array
  readonly worker: Identity
  /** The node of a graph that failed, if it was another one. */
  readonly failedTaskId: TaskId | undefined
  /**
   * A connection was lost since: if the scheduler does not have the object, the task runs again.
   */
  isUnacknowledged: boolean
}

/** The result of one task as an argument of others, which share it. */
export class ResultInput<Owner> {
  readonly task: TaskRecord<Owner>
  /** Tasks that have it as an argument and whose own result has not arrived. */
  readonly users: Set<TaskRecord<Owner>> = new Set()
  /** The result, if it arrived in a message. Then its task has ended. */
  content: Uint8Array | undefined

  constructor(task: TaskRecord<Owner>) {
    this.task = task
  }

  /** Whether tasks that need it can be sent. */
  get isReady(): boolean {
    return this.content !== undefined || this.task.result?.isSuccess === true
  }
}

/** An argument: bytes that are part of the Task, or the object with the value. */
export type TaskInput<Owner> = Uint8Array | ClientObject | ResultInput<Owner>

/** The packed arguments of a submitted run. Tasks that are cut from it share them. */
interface PackedRun {
  readonly id: TaskId
  readonly count: number
  readonly packed: Uint8Array
}

/**
 * A task that has not ended, or whose result is still needed, or several of a run. It does not keep
 * the submission, whose large arguments are objects here, so that equal ones share memory.
 */
export interface TaskRecord<Owner> {
  /** The id of the task, or of the first one. */
  readonly id: TaskId
  /** More than 1 for consecutive tasks of a run: nothing has happened to one of them alone. */
  count: number
  /** Its arguments, if they are part of packed ones. Then it has no others. */
  run: PackedRun | undefined
  /** The owner to which its end is reported. Undefined: only other tasks need its result. */
  owner: Owner | undefined
  readonly options: TaskOptions
  function: ClientObject
  /** Attachments of the function come last. */
  args: readonly TaskInput<Owner>[]
  /** The arguments that are results of other tasks and have arrived here; undefined = none. */
  sharedArgs: ReadonlySet<number> | undefined
  /** The size of the arguments that are bytes. */
  inlineBytes: number
  /** The approximate size of its message and arguments, in bytes. */
  messageBytes: number
  state: TaskState
  /** A worker is known to have started it since it was sent. */
  hasBegun: boolean
  /** The number of results it waits for. Invariant: above 0 exactly when the state is blocked. */
  unready: number
  /** The first scheduler to which it was sent as a separate task; undefined = none. */
  firstSentTo: SchedulerId | undefined
  /** Invariant: set exactly when the state is waiting and it is not a target of a graph. */
  place: FifoNode<TaskRecord<Owner>> | undefined
  /** Whether its inputs are held. False while its result is kept. */
  holdsInputs: boolean
  /** Invariant: set exactly when the state is stored or fetching. */
  result: StoredResult | undefined
  /** Its result as an argument of others; undefined if it never was one. */
  asInput: ResultInput<Owner> | undefined
  /** Set for a target of a graph, which is sent by the graph. */
  graph: GraphRecord<Owner> | undefined
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
  refused: 'task refused or taken back by the scheduler',
  wanted: 'result of a task requested',
  contentArrived: 'result of a task arrived',
  contentShared: 'result of a task arrived, and stays in the cluster',
  contentMissing: 'result of a task is no longer in the cluster',
  contentLost: 'result of a task lost; it runs again',
  forgotten: 'task will be sent again',
  givenUp: 'task given up',
}

/** The tasks of one client, in order of submission. */
export class ClientTaskTable<Owner> {
  readonly #tasks = new TaskTable<TaskRecord<Owner>>((task, count) => this.#cut(task, count))
  /** Tasks by the objects that contain their results. Invariant: state is stored or fetching. */
  readonly #stored = new Map<ObjectId, TaskRecord<Owner>>()
  /** The number of stored tasks that are not being fetched. */
  #restingCount = 0
  readonly #lifecycle = new Lifecycle(TASK_TRANSITIONS)
  readonly #turn: ClientTurn<Owner>
  readonly #logsTasks: boolean
  /** Called when `rest` was cut off, which is equal to `task` in everything else. */
  onCut: (task: TaskRecord<Owner>, rest: TaskRecord<Owner>) => void = () => {}

  constructor(turn: ClientTurn<Owner>, logsTasks: boolean) {
    this.#turn = turn
    this.#logsTasks = logsTasks
  }

  /** The number of tasks whose result is awaited. */
  get openCount(): number {
    return this.#tasks.size - this.#restingCount
  }

  /** Whether the scheduler must keep any results. */
  get hasStored(): boolean {
    return this.#stored.size > 0
  }

  /** One task: if it is part of a run, it is cut out. */
  get(id: TaskId): TaskRecord<Owner> | undefined {
    return this.#tasks.get(id)
  }

  /** The record that includes a task, as it is. */
  peek(id: TaskId): TaskRecord<Owner> | undefined {
    return this.#tasks.peek(id)
  }

  /** The records of those of `count` consecutive tasks that are in the table, and of no others. */
  range(id: TaskId, count: number): readonly TaskRecord<Owner>[] {
    return this.#tasks.range(id, count)
  }

  /** Shortens a record to its first `count` tasks. */
  cut(task: TaskRecord<Owner>, count: number): void {
    this.#tasks.cut(task, count)
  }

  /** Whether a task is still in the table. */
  has(task: TaskRecord<Owner>): boolean {
    return this.#tasks.has(task)
  }

  add(task: TaskRecord<Owner>): void {
    assert(!this.#tasks.hasAny(task.id, task.count), 'a task id is used twice')
    this.#tasks.add(task)
    if (this.#logsTasks) this.#log(task, 'task submitted')
  }

  /** Mostly oldest first. Tasks may end while iterating. */
  *values(): Generator<TaskRecord<Owner>, void, undefined> {
    for (const task of this.#tasks.values()) if (this.#tasks.has(task)) yield task
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

  /** Changes the state of a task. The caller updates the fields that belong to the state. */
  change(task: TaskRecord<Owner>, cause: TaskCause): TaskState | 'ended' {
    const next = this.#lifecycle.next(task.id, task.state, cause)
    if (this.#logsTasks && next !== task.state) this.#log(task, STEPS[cause])
    if (task.state === 'stored') this.#restingCount -= 1
    if (next === 'stored') this.#restingCount += 1
    if (cause === 'taskSent') task.hasBegun = false
    if (next === 'ended') this.#tasks.delete(task)
    else task.state = next
    return next
  }

  /** The result of a task is an object. */
  keep(task: TaskRecord<Owner>, result: StoredResult): void {
    task.result = result
    this.#stored.set(result.objectId, task)
  }

  /** The object is no longer needed. Returns its id, if there was one. */
  stopKeeping(task: TaskRecord<Owner>): ObjectId | undefined {
    const { result } = task
    if (result === undefined) return undefined
    this.#stored.delete(result.objectId)
    task.result = undefined
    return result.objectId
  }

  #cut(task: TaskRecord<Owner>, count: number): TaskRecord<Owner> {
    const left = task.count - count
    const inlineBytes = Math.floor((task.inlineBytes * left) / task.count)
    const rest = { ...task, id: nthTaskId(task.id, count), count: left, inlineBytes }
    task.count = count
    task.inlineBytes -= inlineBytes
    this.onCut(task, rest)
    return rest
  }

  #log({ id, count, options, function: fn }: TaskRecord<Owner>, text: string): void {
    const name = options.name === '' ? spokenName(fn.value.name) : options.name
    const fields = taskLogFields(id, name)
    this.#turn.log('debug', text, count === 1 ? fields : { ...fields, tasks: count })
  }

  /** Throws if the table is inconsistent. */
  checkInvariants(): void {
    let stored = 0
    let resting = 0
    this.#tasks.checkInvariants()
    for (const task of this.#tasks.values()) {
      const { state, result, count } = task
      const isStored = state === 'stored' || state === 'fetching'
      const isPlaced = state === 'waiting' && task.graph === undefined
      assert(count === 1 || (!isStored && state !== 'blocked'), 'tasks of a run are not alone')
      assert(isPlaced === (task.place !== undefined), 'a task is queued in the wrong state')
      assert((state === 'blocked') === task.unready > 0, 'a blocked task waits for nothing')
      if (state === 'blocked')
        assert(task.unready === unreadyInputs(task), 'the number of missing results is wrong')
      assert(isStored === (result !== undefined), 'a result is kept in the wrong state')
      if (state === 'stored') resting += 1
      if (result === undefined) continue
      stored += 1
      assert(this.#stored.get(result.objectId) === task, 'a stored result belongs to another task')
    }
    assert(stored === this.#stored.size, 'results of unknown tasks are kept')
    assert(resting === this.#restingCount, 'the number of stored results is wrong')
  }
}

/** The packed arguments of all tasks of a record; undefined if they are not packed. */
export function packedOf<Owner>({ id, count, run }: TaskRecord<Owner>): Uint8Array | undefined {
  if (run === undefined || run.count === count) return run?.packed
  const from = placeInBlock(id) - placeInBlock(run.id)
  return slicePacked(run.packed, run.count, from, from + count)
}

function unreadyInputs<Owner>({ args }: TaskRecord<Owner>): number {
  const inputs = args.filter((argument) => argument instanceof ResultInput)
  return new Set(inputs.filter((input) => !input.isReady)).size
}
