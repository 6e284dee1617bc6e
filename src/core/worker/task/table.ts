// The tasks of a worker by id, and the only way to change their state. With DEBUG lines, each
// change is logged.

import { assert } from '../../../base/assert.js'
import type { TaskId } from '../../../base/ids.js'
import { Lifecycle } from '../../../base/lifecycle.js'
import { placeInBlock } from '../../../wire/run.js'
import { TaskTable } from '../../task-table.js'
import type { WorkerTurn } from '../events.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './state.js'
import { cutTask, fieldsOf, isOut, type WorkerTask } from './task.js'

const STEPS: Readonly<Record<TaskCause, string>> = {
  objectsPresent: 'task waits for its turn',
  objectsLost: 'task waits for its objects again',
  objectMissing: 'task failed: an object that it needs does not exist',
  handedOver: 'task passed to the processor',
  answered: 'task answered by the processor',
  requeued: 'task waits for a processor again',
  blamed: 'task failed: its processor ended',
  cancelled: 'task cancelled',
  timedOut: 'task exceeded its time limit',
  disconnected: 'task lost its scheduler',
  sentAgain: 'task sent again while running',
}

/** A task that was no longer needed when its processor ended is not retried. */
function stepText(cause: TaskCause, next: TaskState | 'ended'): string {
  return cause === 'requeued' && next === 'ended' ? 'task ended with its processor' : STEPS[cause]
}

/** All tasks that the worker or its processor has. */
export class WorkerTaskTable {
  /**
   * The tasks that the scheduler may still refer to, and abandoned ones. Invariant: state is
   * `fetching`, `queued`, `dispatched` or `abandoned`.
   */
  readonly #tasks: TaskTable<WorkerTask>
  /** Invariant: state is `canceling`. Tasks with the same ids may have arrived since. */
  readonly #canceling: TaskTable<WorkerTask>
  readonly #lifecycle = new Lifecycle(TASK_TRANSITIONS)
  readonly #turn: WorkerTurn
  readonly #logsTasks: boolean
  readonly #onLeft: (task: WorkerTask) => void
  /** How many tasks are candidates. */
  #candidateCount = 0

  /**
   * `onCut`: an entry was shortened, and `rest` has the tasks after it. `onLeft`: a task with a
   * follower has ended or was cancelled.
   */
  constructor(
    turn: WorkerTurn,
    logsTasks: boolean,
    onCut: (task: WorkerTask, rest: WorkerTask) => void,
    onLeft: (task: WorkerTask) => void,
  ) {
    this.#turn = turn
    this.#logsTasks = logsTasks
    this.#onLeft = onLeft
    const cut = (task: WorkerTask, count: number): WorkerTask => {
      const rest = cutTask(task, count)
      onCut(task, rest)
      return rest
    }
    this.#tasks = new TaskTable(cut)
    this.#canceling = new TaskTable(cut)
  }

  /** The number of tasks, without cancelled ones. */
  get size(): number {
    return this.#tasks.size
  }

  /** The number of cancelled tasks in the processor. */
  get cancelingCount(): number {
    return this.#canceling.size
  }

  /** Whether any task may have ended a processor. */
  get hasCandidates(): boolean {
    return this.#candidateCount > 0
  }

  /** The task with this id, unless it is unknown or was cancelled. */
  get(id: TaskId): WorkerTask | undefined {
    return this.#tasks.get(id)
  }

  /** The entry that includes this task, unless that is unknown or was cancelled. */
  peek(id: TaskId): WorkerTask | undefined {
    return this.#tasks.peek(id)
  }

  /** The entries of consecutive tasks, without unknown and cancelled ones. */
  range(id: TaskId, count: number): readonly WorkerTask[] {
    return this.#tasks.range(id, count)
  }

  /** Whether any of these tasks is known and was not cancelled. */
  hasAny(id: TaskId, count: number): boolean {
    return this.#tasks.hasAny(id, count)
  }

  /** The entry of the processor that includes this task, even if it was cancelled. */
  peekOut(id: TaskId): WorkerTask | undefined {
    const task = this.#canceling.peek(id) ?? this.#tasks.peek(id)
    return task !== undefined && isOut(task) ? task : undefined
  }

  /** The task with this id in the processor, even if it was cancelled. */
  getOut(id: TaskId): WorkerTask | undefined {
    return this.#canceling.get(id) ?? (this.peekOut(id) && this.#tasks.get(id))
  }

  /** The entries of consecutive tasks that are in the processor, in order. */
  rangeOut(id: TaskId, count: number): readonly WorkerTask[] {
    const awaited = this.#tasks.range(id, count).filter(isOut)
    if (!this.isStillOut(id, count)) return awaited
    return [...this.#canceling.range(id, count), ...awaited].sort(
      (a, b) => placeInBlock(a.id) - placeInBlock(b.id),
    )
  }

  /** Whether cancelled runs of any of these tasks are still in the processor. */
  isStillOut(id: TaskId, count: number): boolean {
    return this.#canceling.size > 0 && this.#canceling.hasAny(id, count)
  }

  /** Makes the first `count` tasks of an entry one of their own, which it then is. */
  cut(task: WorkerTask, count: number): void {
    if (count < task.count) this.#tableOf(task).cut(task, count)
  }

  /** Makes the tasks of an entry from the n-th on, counted from 0, one of their own; returns it. */
  separateFrom(task: WorkerTask, n: number): WorkerTask {
    return n === 0 ? task : this.#tableOf(task).cut(task, n)
  }

  /** The same with the n-th task alone. */
  separate(task: WorkerTask, n: number): WorkerTask {
    const one = this.separateFrom(task, n)
    this.cut(one, 1)
    return one
  }

  /** Makes each task of an entry one of its own. */
  separateAll(task: WorkerTask): readonly WorkerTask[] {
    const all = [task]
    for (let last = task; last.count > 1; all.push(last)) last = this.separateFrom(last, 1)
    return all
  }

  /** All entries, without cancelled ones. */
  values(): Iterable<WorkerTask> {
    return this.#tasks.values()
  }

  /** Adds an entry none of whose ids is in the table. */
  add(task: WorkerTask): void {
    this.#tasks.add(task)
    if (this.#logsTasks) this.#log(task, 'task received')
  }

  /**
   * Changes the state of a task. A task that has ended or was cancelled is removed from the tasks
   * that the scheduler may refer to.
   */
  change(task: WorkerTask, cause: TaskCause): TaskState | 'ended' {
    assert(task.state !== 'ended', 'the state of an ended task changes')
    const next = this.#lifecycle.next(task.id, task.state, cause)
    if (this.#logsTasks) this.#log(task, stepText(cause, next))
    if (next === 'ended') this.#forget(task)
    if (next === 'canceling' && task.state !== 'canceling') {
      this.#forget(task)
      this.#canceling.add(task)
    }
    task.state = next
    const hasLeft = next === 'ended' || next === 'canceling'
    if (hasLeft && task.follower !== undefined && cause !== 'disconnected') this.#onLeft(task)
    return next
  }

  /** From now on, no other task runs next to each of these. */
  markCandidate(task: WorkerTask): void {
    if (task.isCandidate) return
    task.isCandidate = true
    this.#candidateCount += task.count
  }

  /** Throws if the table has a task that it should not have, or candidates are miscounted. */
  checkInvariants(): void {
    let candidates = 0
    this.#tasks.checkInvariants()
    this.#canceling.checkInvariants()
    for (const task of this.#tasks.values()) {
      assert(
        task.state !== 'ended' && task.state !== 'canceling',
        'a task is still in the table after its end',
      )
      if (task.isCandidate) candidates += task.count
    }
    for (const { state } of this.#canceling.values()) {
      assert(state === 'canceling', 'a task that was not cancelled is listed as cancelled')
    }
    assert(candidates === this.#candidateCount, 'the candidates are miscounted')
  }

  #tableOf({ state }: WorkerTask): TaskTable<WorkerTask> {
    return state === 'canceling' ? this.#canceling : this.#tasks
  }

  #log(task: WorkerTask, text: string): void {
    this.#turn.log('debug', text, fieldsOf(task))
  }

  #forget(task: WorkerTask): void {
    this.#tableOf(task).delete(task)
    if (!task.isCandidate) return
    task.isCandidate = false
    this.#candidateCount -= task.count
  }
}
