// The queue of a worker and the tasks that its processor has: who goes next, and who is answered.

import { assert } from '../../../base/assert.js'
import type { TaskId } from '../../../base/ids.js'
import { IndexedHeap } from '../../../base/indexed-heap.js'
import type { InstantMs } from '../../../base/machine.js'
import { type ObjectEntry, runsBefore, type WorkerTask } from '../task/task.js'
import type { HostUnits } from './units.js'

// How many tasks a processor may have at once. One while nothing is known or tasks are long, so
// that none is stuck behind another; some milliseconds of work while they are tiny, so that the
// processor never waits for its agent.

/** Most work that is handed over ahead of time, in milliseconds. */
const MAX_WORK_MS = 5

/** Most tasks that a processor has at once. */
const MAX_TASKS = 512

/** What a new measurement weighs against the earlier ones when a function turns out quicker. */
const WEIGHT = 0.25

/** The tasks that the processor has not answered and that do not wait, counted and weighed. */
class DispatchWindow {
  #limit = 1
  #count = 0
  /** Of those that were measured. */
  #workMs = 0
  #unmeasuredCount = 0
  /** No task in the window has a higher one. */
  #topPriority = -Infinity

  /** How many tasks there are. */
  get count(): number {
    return this.#count
  }

  /** Whether this task may be handed over now. A function that was never measured runs alone. */
  hasRoomFor(task: WorkerTask): boolean {
    if (this.#count === 0) return true
    if (this.#count >= this.#limit || this.#unmeasuredCount > 0) return false
    return this.#workMs + (task.functionEntry?.expectedMs ?? Infinity) <= MAX_WORK_MS
  }

  /** Whether the task would run before all that is here and has not begun. */
  isOutrankedBy(task: WorkerTask): boolean {
    return task.priority > this.#topPriority && this.#count < MAX_TASKS
  }

  /** The task is handed over, or does not wait any more. */
  add(task: WorkerTask): void {
    task.expectedMs = task.functionEntry?.expectedMs ?? Infinity
    this.#count += 1
    if (task.priority > this.#topPriority) this.#topPriority = task.priority
    if (task.expectedMs === Infinity) this.#unmeasuredCount += 1
    else this.#workMs += task.expectedMs
  }

  /** The processor is done with the task, or it waits. */
  remove(task: WorkerTask): void {
    this.#count -= 1
    if (task.expectedMs === Infinity) this.#unmeasuredCount -= 1
    else this.#workMs -= task.expectedMs
    if (this.#count > 0) return
    // With none left the sum starts afresh: rounding errors do not stay.
    this.#workMs = 0
    this.#topPriority = -Infinity
  }

  /** Learns from the duration of a call. Long ones shut the window at once, tiny ones open it. */
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

  /** Throws unless this is what `tasks`, all that the processor has, amounts to. */
  checkInvariants(tasks: readonly WorkerTask[]): void {
    assert(tasks.length === this.#count, 'the window counts other tasks than the processor has')
    const measured = tasks.filter(({ expectedMs }) => expectedMs !== Infinity)
    const workMs = measured.reduce((sum, task) => sum + task.expectedMs, 0)
    assert(Math.abs(workMs - this.#workMs) < 1e-6, 'the window weighs its tasks wrongly')
    const isCounted = this.#unmeasuredCount === tasks.length - measured.length
    assert(isCounted, 'the window miscounts what was never measured')
    assert(!tasks.some(({ priority }) => priority > this.#topPriority), 'a priority is not known')
    // What goes on after it has waited comes on top, and so does what is more urgent.
    const [first] = tasks
    if (tasks.some((task) => task.hasWaited || task.priority !== first?.priority)) return
    assert(tasks.length <= MAX_TASKS, 'the window is wider than it may be')
    if (tasks.length < 2) return
    assert(workMs <= MAX_WORK_MS + 1e-6, 'more work is handed over than may be')
    assert(measured.length === tasks.length, 'what was never measured has company')
  }
}

/** How long a waiting candidate has the processor for itself and what it waits for. */
const CANDIDATE_PATIENCE_MS = 2_000

/** Orders tasks into the processor. It does not know why a task may not go: its owner does. */
export class Dispatcher {
  /** Invariant: the tasks in state `queued` that are not candidates. */
  readonly #queue = new IndexedHeap<WorkerTask>(runsBefore)
  /** Invariant: those that are. */
  readonly #candidates = new IndexedHeap<WorkerTask>(runsBefore)
  /** Tasks that were candidates when the processor got them. */
  readonly #candidatesOut = new Set<WorkerTask>()
  /** What the processor has, in the order in which it got it. */
  readonly #unanswered = new Map<TaskId, WorkerTask>()
  /** Invariant: the unanswered tasks that do not wait. */
  readonly #window = new DispatchWindow()
  readonly #units: HostUnits | undefined
  #dispatchCount = 0

  /** `units`: those of its agent. */
  constructor(units?: HostUnits) {
    this.#units = units
  }

  /** How many tasks wait for their turn. */
  get queuedCount(): number {
    return this.#queue.size + this.#candidates.size
  }

  /** How many tasks the processor has that do not wait for others. */
  get activeCount(): number {
    return this.#window.count
  }

  /** How many tasks the processor has that only wait for tasks of their own. */
  get waitingCount(): number {
    return this.#unanswered.size - this.#window.count
  }

  /** Whether the processor has nothing. */
  get isEmpty(): boolean {
    return this.#unanswered.size === 0
  }

  /** What the processor has, in the order in which it got it. */
  unanswered(): Iterable<WorkerTask> {
    return this.#unanswered.values()
  }

  /** The task of this id that the processor has: also one that was cancelled. */
  get(id: TaskId): WorkerTask | undefined {
    return this.#unanswered.get(id)
  }

  /** The task waits for its turn. */
  add(task: WorkerTask): void {
    this.#heapOf(task).add(task)
  }

  /** The task does not wait any more. */
  remove(task: WorkerTask): void {
    this.#heapOf(task).remove(task)
  }

  /** When time alone may change what `nextAt` returns; undefined: never. */
  turnAt(now: InstantMs): InstantMs | undefined {
    const candidate = this.#candidates.first
    if (candidate === undefined || !this.hasRoomFor(candidate, true)) return undefined
    const turnAt = this.#candidatesTurnAt
    return turnAt > now ? turnAt : undefined
  }

  /**
   * The task whose turn it is. One candidate at a time: while it waits, it is for others, that came
   * later and are none. But these may not come before this worker has done all that it has.
   */
  nextAt(now: InstantMs): WorkerTask | undefined {
    const candidate = this.#candidates.first
    if (candidate === undefined || now < this.#candidatesTurnAt) return this.#queue.first
    return candidate
  }

  /**
   * Whether the processor may have this task now; one by one: nothing else but tasks that wait. One
   * that was cancelled and has come again waits until its first run is over: answers only say which
   * task they are about.
   */
  hasRoomFor(task: WorkerTask, isOneByOne: boolean): boolean {
    if (this.#unanswered.has(task.id)) return false
    return this.#hasPlaceFor(task, isOneByOne)
  }

  /** Gives a task the units that it needs. False while there are too few. */
  takeUnits(task: WorkerTask): boolean {
    if (task.needs.length === 0 || this.#units === undefined) return true
    task.grant ??= this.#units.take(this, task.needs)
    return task.grant !== undefined
  }

  #hasPlaceFor(task: WorkerTask, isOneByOne: boolean): boolean {
    if (this.#window.count === 0) return true
    if (isOneByOne) return false
    if (this.#window.hasRoomFor(task)) return true
    // While tasks wait, the processor begins what it has: that should be the most urgent.
    return this.waitingCount > 0 && this.#window.isOutrankedBy(task)
  }

  /** The processor gets the task, which is `next`. */
  handOver(task: WorkerTask, now: InstantMs): void {
    this.remove(task)
    if (task.isCandidate) this.#candidatesOut.add(task)
    task.dispatchNumber = this.#dispatchCount
    this.#dispatchCount += 1
    task.dispatchedAt = now
    task.hasBegun = false
    task.begunAt = undefined
    task.isTold = false
    task.isCutOff = false
    task.isWaiting = false
    task.hasWaited = false
    this.#unanswered.set(task.id, task)
    this.#window.add(task)
  }

  /** A task that the processor has waits for tasks of its own, or goes on. False if that is old. */
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

  /** The processor is done with the task. */
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

  /** The processor is gone: what it had not answered, in order. */
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
      assert(task.id === id, 'an unanswered task is kept under the id of another')
      const hasUnits = task.needs.length === 0 || task.grant !== undefined
      assert(hasUnits || this.#units === undefined, 'a task runs without its units')
      assert(task.state !== 'queued' && task.state !== 'fetching', 'a waiting task was handed over')
      assert(task.dispatchNumber > last, 'tasks were handed over out of order')
      last = task.dispatchNumber
    }
    assert(last < this.#dispatchCount, 'a task was handed over that was not counted')
  }

  /** When the next candidate may go; those that the processor has keep it back. */
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
