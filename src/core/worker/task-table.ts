// The tasks of a worker by id, and the only way in which their state changes. Where lines for DEBUG
// are written, each change is one.

import { assert } from '../../base/assert.js'
import type { TaskId } from '../../base/ids.js'
import { Lifecycle } from '../../base/lifecycle.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './task-state.js'
import type { Output } from './output.js'
import { fieldsOf, type WorkerTask } from './worker-task.js'

const STEPS: Readonly<Record<TaskCause, string>> = {
  objectsPresent: 'task waits for its turn',
  objectsLost: 'task waits for its objects again',
  objectMissing: 'task failed: an object that it needs does not exist',
  handedOver: 'task given to the processor',
  answered: 'the processor is done with a task',
  requeued: 'task waits for a processor again',
  blamed: 'task failed: its processor ended',
  cancelled: 'task cancelled',
  timedOut: 'task has run for too long',
  disconnected: 'task has lost its scheduler',
  sentAgain: 'task sent again while it runs',
}

/** One that was not wanted any more when its processor ended is not tried again. */
function stepText(cause: TaskCause, next: TaskState | 'ended'): string {
  return cause === 'requeued' && next === 'ended' ? 'task ended with its processor' : STEPS[cause]
}

/** All tasks that the scheduler may still ask about, and those that were abandoned. */
export class TaskTable {
  /** Invariant: state is `fetching`, `queued`, `dispatched` or `abandoned`. */
  readonly #tasks = new Map<TaskId, WorkerTask>()
  readonly #lifecycle = new Lifecycle(TASK_TRANSITIONS)
  readonly #output: Output
  readonly #tellsTasks: boolean
  #suspectCount = 0

  constructor(output: Output, tellsTasks: boolean) {
    this.#output = output
    this.#tellsTasks = tellsTasks
  }

  /** How many tasks there are. */
  get size(): number {
    return this.#tasks.size
  }

  /** Whether some task may have ended a processor. */
  get hasSuspects(): boolean {
    return this.#suspectCount > 0
  }

  /** The task of this id, unless it is unknown or was cancelled. */
  get(id: TaskId): WorkerTask | undefined {
    return this.#tasks.get(id)
  }

  /** All tasks in order of arrival. */
  values(): IterableIterator<WorkerTask> {
    return this.#tasks.values()
  }

  /** Adds a task whose id is not here. */
  add(task: WorkerTask): void {
    this.#tasks.set(task.id, task)
    if (this.#tellsTasks) this.#tell(task, 'task received')
  }

  /** Changes the state of a task. One that has ended or was cancelled leaves the table. */
  change(task: WorkerTask, cause: TaskCause): TaskState | 'ended' {
    assert(task.state !== 'ended', 'a task that has ended changes its state')
    const next = this.#lifecycle.next(task.id, task.state, cause)
    if (this.#tellsTasks) this.#tell(task, stepText(cause, next))
    if (next === 'ended' || next === 'canceling') this.#forget(task)
    task.state = next
    return next
  }

  /** From now on the task runs with nothing else beside it. */
  suspect(task: WorkerTask): void {
    if (task.isSuspect) return
    task.isSuspect = true
    this.#suspectCount += 1
  }

  /** Throws if a task is here that should not be, or suspects are miscounted. */
  checkInvariants(): void {
    let suspects = 0
    for (const [id, task] of this.#tasks) {
      assert(task.id === id, 'a task is kept under the id of another')
      assert(task.state !== 'ended' && task.state !== 'canceling', 'a task is kept too long')
      if (task.isSuspect) suspects += 1
    }
    assert(suspects === this.#suspectCount, 'the suspects are miscounted')
  }

  #tell(task: WorkerTask, text: string): void {
    this.#output.log('debug', text, fieldsOf(task))
  }

  /** A cancelled task has left already when its processor is done with it. */
  #forget(task: WorkerTask): void {
    if (this.#tasks.get(task.id) === task) this.#tasks.delete(task.id)
    if (!task.isSuspect) return
    task.isSuspect = false
    this.#suspectCount -= 1
  }
}
