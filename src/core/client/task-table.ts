// The unfinished tasks of a client, and the results that are on their way as objects.

import { assert } from '../../base/assert.js'
import type { FifoNode } from '../../base/fifo.js'
import type { ObjectId, TaskId } from '../../base/ids.js'
import { Lifecycle } from '../../base/lifecycle.js'
import type { UnfinishedTask } from './events.js'
import type { ClientObject } from './object-table.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './task-state.js'

/** What a TaskResult said whose result has to be fetched. */
export interface StoredResult {
  readonly objectId: ObjectId
  readonly isSuccess: boolean
  readonly metadata: Uint8Array
  /** Whether it was requested again after a lost connection. */
  isRepeated: boolean
}

/**
 * An unfinished task. It does not keep the submission: that has large arguments, too, which are
 * in objects here, where equal ones share their memory.
 */
export interface TaskRecord<Owner> extends UnfinishedTask<Owner> {
  readonly flags: Uint8Array
  readonly function: ClientObject
  /**
   * Small arguments are bytes; the others are objects that this task uses. Attachments come last.
   */
  args: readonly (Uint8Array | ClientObject)[]
  /** What the arguments take that are bytes. */
  inlineBytes: number
  /** Roughly what sending all of it takes, in bytes. */
  readonly messageBytes: number
  state: TaskState
  /** Invariant: set exactly when the state is waiting. */
  place: FifoNode<TaskRecord<Owner>> | undefined
  /** Invariant: set exactly when the state is fetching; then `fetching` has it, too. */
  result: StoredResult | undefined
}

/** The unfinished tasks of one client, in order of submission. */
export class TaskTable<Owner> {
  readonly #tasks = new Map<TaskId, TaskRecord<Owner>>()
  /** Tasks whose result was requested. Invariant: state is 'fetching'. */
  readonly #fetching = new Map<ObjectId, TaskRecord<Owner>>()
  readonly #lifecycle = new Lifecycle(TASK_TRANSITIONS)

  get size(): number {
    return this.#tasks.size
  }

  get(id: TaskId): TaskRecord<Owner> | undefined {
    return this.#tasks.get(id)
  }

  add(task: TaskRecord<Owner>): void {
    const { taskId } = task
    assert(!this.#tasks.has(taskId), 'a task id was used twice')
    this.#tasks.set(taskId, task)
  }

  /** Oldest first. Tasks may end while iterating. */
  values(): IterableIterator<TaskRecord<Owner>> {
    return this.#tasks.values()
  }

  /** The task that waits for an object. */
  waitingFor(id: ObjectId): TaskRecord<Owner> | undefined {
    return this.#fetching.get(id)
  }

  /** Gives a task its next state. The caller keeps what belongs to the state. */
  change(task: TaskRecord<Owner>, cause: TaskCause): TaskState | 'ended' {
    const next = this.#lifecycle.next(task.taskId, task.state, cause)
    if (next === 'ended') this.#tasks.delete(task.taskId)
    else task.state = next
    return next
  }

  /** The result of a task has to be fetched. */
  expect(task: TaskRecord<Owner>, result: StoredResult): void {
    task.result = result
    this.#fetching.set(result.objectId, task)
  }

  /**
   * The result of a task came, or is not wanted any more. Returns which object it was in, if any.
   */
  stopExpecting(task: TaskRecord<Owner>): ObjectId | undefined {
    const { result } = task
    if (result === undefined) return undefined
    this.#fetching.delete(result.objectId)
    task.result = undefined
    return result.objectId
  }

  /** Throws if the table disagrees with itself. */
  checkInvariants(): void {
    let fetching = 0
    for (const [id, task] of this.#tasks) {
      const isFetching = task.state === 'fetching'
      assert(task.taskId === id, 'a task under a foreign id')
      assert((task.state === 'waiting') === (task.place !== undefined), 'a task out of place')
      assert(isFetching === (task.result !== undefined), 'a result that is not fetched')
      if (task.result === undefined) continue
      fetching += 1
      assert(this.#fetching.get(task.result.objectId) === task, 'a result without its task')
    }
    assert(fetching === this.#fetching.size, 'results of tasks that are not there')
  }
}
