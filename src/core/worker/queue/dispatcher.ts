// The queue of a worker and the tasks in its processor: which task is dispatched next, and which
// have been answered.

import { assert } from '../../../base/assert.js'
import type { TaskId } from '../../../base/ids.js'
import { IndexedHeap } from '../../../base/indexed-heap.js'
import type { InstantMs } from '../../../base/machine.js'
import { type ObjectEntry, runsBefore, type WorkerTask } from '../task/task.js'
import type { HostUnits } from './units.js'

// How many tasks a processor may have at a time. One while no durations are known or tasks are
// long, so that no task is stuck behind another; a few milliseconds of work while tasks are tiny,
// so that the processor never waits for its agent.

/** Most work that is dispatched ahead of time, in milliseconds. */
const MAX_WORK_MS = 5

/** Most tasks in a processor at a time. */
const MAX_TASKS = 512

/** The weight of a new measurement against earlier ones when a function turns out to be quicker. */
const WEIGHT = 0.25

/** The unanswered tasks of the processor that are not waiting: their number and total work. */
class DispatchWindow {
  #limit = 1
  #count = 0
  /** Of the measured tasks. */
  #workMs = 0
  #unmeasuredCount = 0
  /** The highest priority of any task in the window. */
  #topPriority = -Infinity

  /** The number of tasks. */
  get count(): number {
    return this.#count
  }

  /** Whether this task may be dispatched now. A function that was never measured runs alone. */
  hasRoomFor(task: WorkerTask): boolean {
    if (this.#count === 0) return true
    if (this.#count >= this.#limit || this.#unmeasuredCount > 0) return false
    return this.#workMs + (task.functionEntry?.expectedMs ?? Infinity) <= MAX_WORK_MS
  }

  /** Whether the task would run before all tasks here that have not started. */
  isOutrankedBy(task: WorkerTask): boolean {
    return task.priority > this.#topPriority && this.#count < MAX_TASKS
  }

  /** The task is dispatched, or no longer waits. */
  add(task: WorkerTask): void {
    task.expectedMs = task.functionEntry?.expectedMs ?? Infinity
    this.#count += 1
    if (task.priority > this.#topPriority) this.#topPriority = task.priority
    if (task.expectedMs === Infinity) this.#unmeasuredCount += 1
    else this.#workMs += task.expectedMs
  }

  /** The processor has finished the task, or the task waits. */
  remove(task: WorkerTask): void {
    this.#count -= 1
    if (task.expectedMs === Infinity) this.#unmeasuredCount -= 1
    else this.#workMs -= task.expectedMs
    if (this.#count > 0) return
    // Start from zero when empty, so that rounding errors do not accumulate.
    this.#workMs = 0
    this.#topPriority = -Infinity
  }

  /**
   * Learns from the duration of a call. A long call closes the window immediately; each short one
   * doubles it.
   */
  learn(entry: ObjectEntry | undefined, durationMs: number): void {
    this.#limit = durationMs > MAX_WORK_MS ? 1 : Math.min(this.#limit * 2, MAX_TASKS)
    if (entry === undefined) return
    const { expectedMs } = entry
    const isQuicker = durationMs < expectedMs && expectedMs !== Infinity
    entry.expectedMs = isQuicker ? expectedMs + WEIGHT * (durationMs - expectedMs) : durationMs
  }

  /** The next processor starts with an empty window. */
  clear(): void {
    this.#limit = 1
    this.#count = 0
    this.#workMs = 0
    this.#unmeasuredCount = 0
    this.#topPriority = -Infinity
  }

  /**
   * Throws unless the counts match `tasks`, all tasks that are in the processor and not waiting.
   */
  checkInvariants(tasks: readonly WorkerTask[]): void {
    assert(tasks.length === this.#count, 'the window does not count the tasks in the processor')
    const measured = tasks.filter(({ expectedMs }) => expectedMs !== Infinity)
    const workMs = measured.reduce((sum, task) => sum + task.expectedMs, 0)
    assert(Math.abs(workMs - this.#workMs) < 1e-6, 'the total work of the window is wrong')
    const isCounted = this.#unmeasuredCount === tasks.length - measured.length
    assert(isCounted, 'the window miscounts unmeasured tasks')
    assert(
      !tasks.some(({ priority }) => priority > this.#topPriority),
      'the highest priority of the window is wrong',
    )
    // Tasks that continue after waiting, or are more urgent, may exceed the limits.
    const [first] = tasks
    if (tasks.some((task) => task.hasWaited || task.priority !== first?.priority)) return
    assert(tasks.length <= MAX_TASKS, 'too many tasks are in the window')
    if (tasks.length < 2) return
    assert(workMs <= MAX_WORK_MS + 1e-6, 'too much work is in the window')
    assert(measured.length === tasks.length, 'an unmeasured task does not run alone')
  }
}

/** How long a waiting candidate has the processor for itself and the tasks it waits for. */
const CANDIDATE_PATIENCE_MS = 2_000

/**
 * Decides the order in which tasks enter the processor. Whether a task may enter is up to the
 * owner.
 */
export class Dispatcher {
  /** Invariant: the `queued` tasks that are not candidates. */
  readonly #queue = new IndexedHeap<WorkerTask>(runsBefore)
  /** Invariant: the `queued` tasks that are candidates. */
  readonly #candidates = new IndexedHeap<WorkerTask>(runsBefore)
  /** Tasks that were candidates when they were dispatched. */
  readonly #candidatesOut = new Set<WorkerTask>()
  /** The tasks in the processor, in dispatch order. */
  readonly #unanswered = new Map<TaskId, WorkerTask>()
  /** Invariant: the unanswered tasks that are not waiting. */
  readonly #window = new DispatchWindow()
  readonly #units: HostUnits | undefined
  #dispatchCount = 0

  /** `units`: those of its agent. */
  constructor(units?: HostUnits) {
    this.#units = units
  }

  /** The number of queued tasks. */
  get queuedCount(): number {
    return this.#queue.size + this.#candidates.size
  }

  /** The number of tasks in the processor that are not waiting for others. */
  get activeCount(): number {
    return this.#window.count
  }

  /** The number of tasks in the processor that only wait for their children. */
  get waitingCount(): number {
    return this.#unanswered.size - this.#window.count
  }

  /** Whether the processor has no task. */
  get isEmpty(): boolean {
    return this.#unanswered.size === 0
  }

  /** The tasks in the processor, in dispatch order. */
  unanswered(): Iterable<WorkerTask> {
    return this.#unanswered.values()
  }

  /** The task with this id in the processor, even if it was cancelled. */
  get(id: TaskId): WorkerTask | undefined {
    return this.#unanswered.get(id)
  }

  /** Queues the task. */
  add(task: WorkerTask): void {
    this.#heapOf(task).add(task)
  }

  /** Takes the task out of the queue. */
  remove(task: WorkerTask): void {
    this.#heapOf(task).remove(task)
  }

  /** The next time at which the result of `nextAt` changes without an event; undefined: never. */
  turnAt(now: InstantMs): InstantMs | undefined {
    const candidate = this.#candidates.first
    if (candidate === undefined || !this.hasRoomFor(candidate, true)) return undefined
    const turnAt = this.#candidatesTurnAt
    return turnAt > now ? turnAt : undefined
  }

  /**
   * The next task to dispatch. Candidates go one at a time: while one waits, tasks run that arrived
   * later and are not candidates, but not before this worker has finished all the tasks in its
   * processor.
   */
  nextAt(now: InstantMs): WorkerTask | undefined {
    const candidate = this.#candidates.first
    if (candidate === undefined || now < this.#candidatesTurnAt) return this.#queue.first
    return candidate
  }

  /**
   * Whether the processor may have this task now; `isOneByOne`: only if all others are waiting. A
   * task that was cancelled and has arrived again waits until its first run has ended, because
   * answers contain only the task's id.
   */
  hasRoomFor(task: WorkerTask, isOneByOne: boolean): boolean {
    if (this.#unanswered.has(task.id)) return false
    return this.#hasPlaceFor(task, isOneByOne)
  }

  /** Assigns to a task the units that it needs. False while there are too few. */
  takeUnits(task: WorkerTask): boolean {
    if (task.needs.length === 0 || this.#units === undefined) return true
    task.grant ??= this.#units.take(this, task.needs)
    return task.grant !== undefined
  }

  #hasPlaceFor(task: WorkerTask, isOneByOne: boolean): boolean {
    if (this.#window.count === 0) return true
    if (isOneByOne) return false
    if (this.#window.hasRoomFor(task)) return true
    // While tasks wait, the processor starts whatever it has: that should be the most urgent task.
    return this.waitingCount > 0 && this.#window.isOutrankedBy(task)
  }

  /** Moves the task, which must be the next one, to the processor. */
  handOver(task: WorkerTask, now: InstantMs): void {
    this.remove(task)
    if (task.isCandidate) this.#candidatesOut.add(task)
    task.dispatchNumber = this.#dispatchCount
    this.#dispatchCount += 1
    task.dispatchedAt = now
    task.hasBegun = false
    task.begunAt = undefined
    task.isReported = false
    task.isCutOff = false
    task.isWaiting = false
    task.hasWaited = false
    this.#unanswered.set(task.id, task)
    this.#window.add(task)
  }

  /** A task in the processor waits for its children, or continues. False if that is not new. */
  setWaiting(task: WorkerTask, isWaiting: boolean, now: InstantMs): boolean {
    if (task.isWaiting === isWaiting) return false
    task.isWaiting = isWaiting
    task.waitsSince = now
    task.hasWaited = true
    task.hasBegun = true
    if (isWaiting) this.#window.remove(task)
    else this.#window.add(task)
    return true
  }

  /** The processor has finished the task. */
  take(task: WorkerTask): void {
    this.#unanswered.delete(task.id)
    this.#giveUnitsBack(task)
    this.#candidatesOut.delete(task)
    if (!task.isWaiting) this.#window.remove(task)
    task.isWaiting = false
  }

  /** The worker has ended. */
  giveAllUnitsBack(): void {
    this.#units?.giveBackAll(this)
  }

  #giveUnitsBack(task: WorkerTask): void {
    const { grant } = task
    task.grant = undefined
    if (grant !== undefined) this.#units?.giveBack(this, grant)
  }

  /** Learns from the duration of a call of the task's function. */
  learn(task: WorkerTask, durationMs: number): void {
    this.#window.learn(task.functionEntry, durationMs)
  }

  /** The processor is gone. Returns the tasks that it had not answered, in order. */
  takeAll(): WorkerTask[] {
    const tasks = [...this.#unanswered.values()]
    for (const task of tasks) this.#giveUnitsBack(task)
    this.#unanswered.clear()
    this.#candidatesOut.clear()
    this.#window.clear()
    this.#dispatchCount = 0
    return tasks
  }

  /** Throws if queue, window and states disagree. */
  checkInvariants(): void {
    this.#queue.checkInvariants()
    this.#candidates.checkInvariants()
    this.#window.checkInvariants([...this.#unanswered.values()].filter((task) => !task.isWaiting))
    let last = -1
    for (const [id, task] of this.#unanswered) {
      assert(task.id === id, 'an unanswered task has the wrong key')
      const hasUnits = task.needs.length === 0 || task.grant !== undefined
      assert(hasUnits || this.#units === undefined, 'a task runs without its units')
      assert(
        task.state !== 'queued' && task.state !== 'fetching',
        'a task in the processor has the wrong state',
      )
      assert(task.dispatchNumber > last, 'tasks are not in dispatch order')
      last = task.dispatchNumber
    }
    assert(last < this.#dispatchCount, 'a dispatch was not counted')
  }

  /** When the next candidate may run; candidates that are still in the processor delay it. */
  get #candidatesTurnAt(): InstantMs {
    let turnAt = -Infinity
    for (const { isWaiting, waitsSince } of this.#candidatesOut) {
      turnAt = Math.max(turnAt, isWaiting ? waitsSince + CANDIDATE_PATIENCE_MS : Infinity)
    }
    return turnAt
  }

  #heapOf({ isCandidate }: WorkerTask): IndexedHeap<WorkerTask> {
    return isCandidate ? this.#candidates : this.#queue
  }
}
