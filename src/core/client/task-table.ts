// The tasks of a client that have not ended, or whose results are kept in the cluster. Where lines
// for DEBUG are written, each change is one.

import { assert } from '../../base/assert.js'
import { taskLogFields, type ObjectId, type TaskId } from '../../base/ids.js'
import { Lifecycle } from '../../base/lifecycle.js'
import { spokenName } from '../../wire/object-content.js'
import { ResultInput, type StoredResult, type TaskRecord } from './task-record.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './task-state.js'
import type { Turn } from './turn.js'

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
  readonly #turn: Turn<Owner>
  readonly #tellsTasks: boolean

  constructor(turn: Turn<Owner>, tellsTasks: boolean) {
    this.#turn = turn
    this.#tellsTasks = tellsTasks
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
    if (this.#tellsTasks) this.#tell(task, 'task submitted')
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
    if (this.#tellsTasks && next !== task.state) this.#tell(task, STEPS[cause])
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
