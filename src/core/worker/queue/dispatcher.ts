// The queue of a worker and the tasks in its processor: which task is dispatched next, and which
// have been answered.

import { assert } from '../../../base/assert.js'
import { IndexedHeap } from '../../../base/collection/indexed-heap.js'
import type { InstantMs } from '../../../base/machine.js'
import type { WorkerTurn } from '../events.js'
import { type ObjectEntry, runsBefore, taskCountOf, type WorkerTask } from '../task/task.js'
import type { HostConcurrency } from './concurrency.js'
import type { HostUnits } from './units.js'

// How many tasks a processor may have at a time. One while no durations are known or tasks are
// long, so that no task is stuck behind another; ten milliseconds of work while tasks are tiny, so
// that the processor never waits for its agent.

/** Most work that is dispatched ahead of time, in milliseconds. */
const MAX_WORK_MS = 10

/** Most tasks in a processor at a time. */
const MAX_TASKS = 2048

/** Part of an entry is dispatched only while the window holds less work than this. */
const LOW_WORK_MS = MAX_WORK_MS / 2

/** The weight of a new measurement against earlier ones when a function turns out to be quicker. */
const WEIGHT = 0.25

/** How long some calls of one function took, in milliseconds. */
export interface Durations {
  readonly count: number
  readonly meanMs: number
  readonly longestMs: number
}

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

  /**
   * How many tasks of this entry may be dispatched now. A function that was never measured runs
   * alone.
   */
  roomFor(task: WorkerTask): number {
    const expectedMs = task.functionEntry?.expectedMs ?? Infinity
    const least = this.#count === 0 ? 1 : 0
    if (this.#count >= this.#limit || this.#unmeasuredCount > 0) return least
    const byWork = expectedMs > 0 ? (MAX_WORK_MS - this.#workMs) / expectedMs : Infinity
    const room = Math.max(least, Math.min(Math.floor(byWork), this.#limit - this.#count))
    if (room >= task.count) return task.count
    return this.#workMs > LOW_WORK_MS ? least : room
  }

  /** How many tasks of this entry would run before all tasks here that have not started. */
  urgentRoomFor(task: WorkerTask): number {
    if (task.priority <= this.#topPriority) return 0
    const expectedMs = task.functionEntry?.expectedMs ?? Infinity
    const room = Math.max(1, Math.floor(MAX_WORK_MS / expectedMs))
    return Math.min(room, task.count, MAX_TASKS - this.#count)
  }

  /** The task is dispatched, or no longer waits. */
  add(task: WorkerTask): void {
    task.expectedMs = task.functionEntry?.expectedMs ?? Infinity
    this.#count += task.count
    if (task.priority > this.#topPriority) this.#topPriority = task.priority
    if (task.expectedMs === Infinity) this.#unmeasuredCount += task.count
    else this.#workMs += task.expectedMs * task.count
  }

  /** The processor has finished the task, or the task waits. */
  remove(task: WorkerTask): void {
    this.#count -= task.count
    if (task.expectedMs === Infinity) this.#unmeasuredCount -= task.count
    else this.#workMs -= task.expectedMs * task.count
    if (this.#count > 0) return
    // Start from zero when empty, so that rounding errors do not accumulate.
    this.#workMs = 0
    this.#topPriority = -Infinity
  }

  /**
   * Learns from calls of one function. A long call closes the window immediately; each short one
   * doubles it.
   */
  learn(entry: ObjectEntry | undefined, { count, meanMs, longestMs }: Durations): void {
    const isLong = longestMs > MAX_WORK_MS
    this.#limit = isLong ? 1 : Math.min(this.#limit * 2 ** count, MAX_TASKS)
    if (entry === undefined) return
    const { expectedMs } = entry
    const isQuicker = meanMs < expectedMs && expectedMs !== Infinity
    const weight = 1 - (1 - WEIGHT) ** count
    entry.expectedMs = isQuicker ? expectedMs + weight * (meanMs - expectedMs) : meanMs
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
   * `isLimited`: and unless there are as few as the window allows.
   */
  checkInvariants(tasks: readonly WorkerTask[], isLimited: boolean): void {
    const total = taskCountOf(tasks)
    assert(total === this.#count, 'the window does not count the tasks in the processor')
    const measured = tasks.filter(({ expectedMs }) => expectedMs !== Infinity)
    const workMs = measured.reduce((sum, task) => sum + task.expectedMs * task.count, 0)
    assert(Math.abs(workMs - this.#workMs) < 1e-6, 'the total work of the window is wrong')
    const isCounted = this.#unmeasuredCount === total - taskCountOf(measured)
    assert(isCounted, 'the window miscounts unmeasured tasks')
    assert(
      !tasks.some(({ priority }) => priority > this.#topPriority),
      'the highest priority of the window is wrong',
    )
    // Tasks that continue after waiting, or are more urgent, may exceed the limits.
    const [first] = tasks
    if (!isLimited) return
    if (tasks.some((task) => task.hasWaited || task.priority !== first?.priority)) return
    assert(total <= MAX_TASKS, 'too many tasks are in the window')
    if (total < 2) return
    assert(workMs <= MAX_WORK_MS + 1e-6, 'too much work is in the window')
    assert(measured.length === tasks.length, 'an unmeasured task does not run alone')
  }
}

/** The tasks of a processor, in dispatch order. */
class DispatchedTasks {
  /** Rising dispatch numbers. */
  readonly #entries: WorkerTask[] = []

  /** The entries, which may be cut meanwhile. */
  get entries(): readonly WorkerTask[] {
    return this.#entries
  }

  /** The entry that includes the task with this dispatch number. */
  at(dispatchNumber: number): WorkerTask | undefined {
    const entry = this.#entries[this.#lastUpTo(dispatchNumber)]
    const isIncluded = entry !== undefined && dispatchNumber < entry.dispatchNumber + entry.count
    return isIncluded ? entry : undefined
  }

  has(task: WorkerTask): boolean {
    return this.at(task.dispatchNumber) === task
  }

  /** Adds an entry that was just dispatched, or has just been cut from another one. */
  add(task: WorkerTask): void {
    this.#entries.splice(this.#lastUpTo(task.dispatchNumber) + 1, 0, task)
  }

  remove(task: WorkerTask): void {
    const index = this.#lastUpTo(task.dispatchNumber)
    assert(this.#entries[index] === task, 'a task is not in the processor')
    this.#entries.splice(index, 1)
  }

  /** Removes and returns all entries. */
  takeAll(): WorkerTask[] {
    return this.#entries.splice(0)
  }

  #lastUpTo(dispatchNumber: number): number {
    let from = 0
    let to = this.#entries.length
    if (to > 0 && (this.#entries[to - 1] as WorkerTask).dispatchNumber <= dispatchNumber)
      return to - 1
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#entries[middle] as WorkerTask).dispatchNumber <= dispatchNumber) from = middle + 1
      else to = middle
    }
    return from - 1
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
  readonly #unanswered = new DispatchedTasks()
  /** Invariant: the unanswered tasks that are not waiting. */
  readonly #window = new DispatchWindow()
  /** The number of tasks that are waiting for others. */
  #waitingCount = 0
  readonly #units: HostUnits | undefined
  readonly #concurrency: HostConcurrency | undefined
  #dispatchCount = 0

  /**
   * `units`: those of its agent. `concurrency`: how many tasks run at a time, one by one, instead
   * of what the window allows.
   */
  constructor(units?: HostUnits, concurrency?: HostConcurrency) {
    this.#units = units
    this.#concurrency = concurrency
  }

  /** The number of queued tasks. */
  get queuedCount(): number {
    return taskCountOf(this.#queue.items) + taskCountOf(this.#candidates.items)
  }

  /** The number of tasks in the processor that are not waiting for others. */
  get activeCount(): number {
    return this.#window.count
  }

  /** The number of tasks in the processor that only wait for their children. */
  get waitingCount(): number {
    return this.#waitingCount
  }

  /** Whether the processor has no task. */
  get isEmpty(): boolean {
    return this.#unanswered.entries.length === 0
  }

  /** The tasks in the processor, in dispatch order. */
  unanswered(): readonly WorkerTask[] {
    return this.#unanswered.entries
  }

  /** The entry in the processor that includes the task with this dispatch number. */
  at(dispatchNumber: number): WorkerTask | undefined {
    return this.#unanswered.at(dispatchNumber)
  }

  /** Whether an entry is in the processor. */
  has(task: WorkerTask): boolean {
    return this.#unanswered.has(task)
  }

  /** Whether no task was dispatched after this one. */
  isLast({ dispatchNumber, count }: WorkerTask): boolean {
    return dispatchNumber + count === this.#dispatchCount
  }

  /** An entry was cut; `rest` has the tasks after it. */
  onCut(task: WorkerTask, rest: WorkerTask): void {
    if (task.state === 'queued') this.#heapOf(rest).add(rest)
    else if (task.state !== 'fetching' && this.has(task)) this.#unanswered.add(rest)
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
    if (candidate === undefined || this.#concurrency !== undefined) return undefined
    if (this.roomFor(candidate, true) === 0) return undefined
    const turnAt = this.#candidatesTurnAt
    return turnAt > now ? turnAt : undefined
  }

  /**
   * The next task to dispatch. Candidates go one at a time: while one waits, tasks run that arrived
   * later and are not candidates, but not before this worker has finished all the tasks in its
   * processor.
   */
  nextAt(now: InstantMs): WorkerTask | undefined {
    const [candidate, other] = [this.#candidates.first, this.#queue.first]
    if (candidate === undefined) return other
    // Beside tasks that may wait for children, the most urgent task: see `#hasSlot`.
    if (this.#concurrency === undefined || this.#window.count === 0)
      return now < this.#candidatesTurnAt ? other : candidate
    return other !== undefined && other.priority >= candidate.priority ? other : candidate
  }

  /**
   * How many tasks of this entry the processor may have now; `isOneByOne`: only if all others are
   * waiting. Tasks that use units of their own are entries of their own.
   */
  roomFor(task: WorkerTask, isOneByOne: boolean): number {
    const slots = this.#concurrency
    if (slots !== undefined) return this.#hasSlot(slots, task, isOneByOne) ? 1 : 0
    if (isOneByOne) return this.#window.count === 0 ? 1 : 0
    const room = this.#window.roomFor(task)
    // While tasks wait, the processor starts whatever it has: that should be the most urgent task.
    const isUrgent = room === 0 && this.#waitingCount > 0
    const most = isUrgent ? this.#window.urgentRoomFor(task) : room
    return task.needs.some(({ value }) => value > 0) ? Math.min(most, 1) : most
  }

  /** Assigns to a task the units that it needs. False while there are too few. */
  takeUnits(task: WorkerTask): boolean {
    if (task.needs.length === 0 || this.#units === undefined) return true
    task.grant ??= this.#units.take(this, task.needs)
    return task.grant !== undefined
  }

  /** Gives up the claim to a slot. */
  withdrawClaim(): void {
    this.#concurrency?.withdraw(this)
  }

  /** Moves the task, which must be the next one, to the processor. */
  handOver(task: WorkerTask, turn: WorkerTurn): void {
    this.remove(task)
    if (task.isCandidate) this.#candidatesOut.add(task)
    task.dispatchNumber = this.#dispatchCount
    this.#dispatchCount += task.count
    task.dispatchedAt = turn.now
    task.hasBegun = false
    task.begunAt = undefined
    task.isReported = false
    task.isCutOff = false
    task.isWaiting = false
    task.hasWaited = false
    this.#unanswered.add(task)
    this.#window.add(task)
    this.#concurrency?.take(this, task.priority, turn)
  }

  /** A task in the processor waits for its children, or continues. False if that is not new. */
  setWaiting(task: WorkerTask, isWaiting: boolean, now: InstantMs): boolean {
    if (task.isWaiting === isWaiting) return false
    task.isWaiting = isWaiting
    task.waitsSince = now
    task.hasWaited = true
    task.hasBegun = true
    this.#waitingCount += isWaiting ? task.count : -task.count
    if (isWaiting) this.#window.remove(task)
    else this.#window.add(task)
    return true
  }

  /** The processor has finished the task. */
  take(task: WorkerTask): void {
    this.#unanswered.remove(task)
    this.#giveUnitsBack(task)
    this.#concurrency?.giveBack(this, task.priority)
    this.#candidatesOut.delete(task)
    if (task.isWaiting) this.#waitingCount -= task.count
    else this.#window.remove(task)
    task.isWaiting = false
  }

  /** The worker has ended. */
  giveAllUnitsBack(): void {
    this.#units?.giveBackAll(this)
    this.#concurrency?.giveBackAll(this)
  }

  /** With candidates, tasks run alone, but for children that those that run may wait for. */
  #hasSlot(slots: HostConcurrency, { priority }: WorkerTask, isOneByOne: boolean): boolean {
    const mayRun = !isOneByOne || this.#window.count === 0 || slots.isAboveOwn(this, priority)
    if (!mayRun) this.withdrawClaim()
    return mayRun && slots.hasRoom(this, priority)
  }

  #giveUnitsBack(task: WorkerTask): void {
    const { grant } = task
    task.grant = undefined
    if (grant !== undefined) this.#units?.giveBack(this, grant)
  }

  /** Learns from the durations of calls of the task's function. */
  learn(task: WorkerTask, durations: Durations): void {
    this.#window.learn(task.functionEntry, durations)
  }

  /** The processor is gone. Returns the tasks that it had not answered, in order. */
  takeAll(): WorkerTask[] {
    const tasks = this.#unanswered.takeAll()
    for (const task of tasks) {
      this.#giveUnitsBack(task)
      this.#concurrency?.giveBack(this, task.priority)
    }
    this.#waitingCount = 0
    this.#candidatesOut.clear()
    this.#window.clear()
    this.#dispatchCount = 0
    return tasks
  }

  /** Throws if queue, window and states disagree. */
  checkInvariants(): void {
    this.#queue.checkInvariants()
    this.#candidates.checkInvariants()
    const unanswered = this.#unanswered.entries
    const isLimited = this.#concurrency === undefined
    this.#window.checkInvariants(
      unanswered.filter((task) => !task.isWaiting),
      isLimited,
    )
    this.#concurrency?.checkInvariants(this, taskCountOf(unanswered))
    const waiting = taskCountOf(unanswered.filter((task) => task.isWaiting))
    assert(waiting === this.#waitingCount, 'the waiting tasks are miscounted')
    let last = -1
    for (const task of unanswered) {
      const hasUnits = task.needs.length === 0 || task.grant !== undefined
      assert(hasUnits || this.#units === undefined, 'a task runs without its units')
      assert(
        task.state !== 'queued' && task.state !== 'fetching',
        'a task in the processor has the wrong state',
      )
      assert(task.dispatchNumber > last, 'tasks are not in dispatch order')
      last = task.dispatchNumber + task.count - 1
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
