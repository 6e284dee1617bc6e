// Workers of one runtime and the tasks that wait for them: which worker gets the next task. Pure
// bookkeeping; sending and state changes are the scheduler's.
//
// A worker holds some 20 ms of work, as measured for each function from the durations in results.
// Tiny tasks so never wait for a round trip. A task that takes longer, or whose function was never
// measured, goes only to a worker that has nothing: it is not stuck behind another, nor is another
// stuck behind it, while a worker idles.

import { assert } from '../../base/assert.js'
import { IndexedHeap } from '../../base/indexed-heap.js'
import type { TaskEntry, WorkerEntry } from './entries.js'
import { TaskQueue } from './task-queue.js'

/** How much measured work a worker holds, in seconds. */
const WINDOW_SECONDS = 0.02

/** No task counts for less, in seconds: rounding must not make thousands of them nothing. */
const MIN_TASK_SECONDS = 1e-6

/** Weight of the newest duration in the moving average. */
const NEWEST_WEIGHT = 0.2

/** The workers of one runtime. Choosing costs O(log workers). */
export class WorkerPool {
  readonly queue: TaskQueue = new TaskQueue()
  readonly #workers: IndexedHeap<WorkerEntry>
  readonly #maxTasks: number
  readonly #nestedPass: boolean
  #assignedCount = 0

  /**
   * `nestedPass`: tasks of a priority above 0 are children of tasks that wait for them, and are not
   * held up by the window, which their parents may fill. So it is with 1.9.9 workers, which suspend
   * a parent for its children; how many they hold is bounded by `perWorkerQueueSize` alone.
   */
  constructor(perWorkerQueueSize: number, nestedPass: boolean) {
    this.#maxTasks = perWorkerQueueSize
    this.#nestedPass = nestedPass
    this.#workers = new IndexedHeap((a, b) => this.#ranksBefore(a, b))
  }

  /**
   * How many tasks there are beyond what the workers may hold; below 0 while they may hold more.
   * (Tasks that a worker may hold mostly wait here, until it is their turn to be sent.)
   */
  get overflow(): number {
    return this.queue.size + this.#assignedCount - this.#workers.size * this.#maxTasks
  }

  add(worker: WorkerEntry): void {
    this.#workers.add(worker)
  }

  /** Takes a worker out; what it had is the caller's to put back. */
  remove(worker: WorkerEntry): void {
    this.#workers.remove(worker)
    this.#assignedCount -= worker.assigned.size
  }

  /** The next task and who shall have it; undefined while there is no task or no room. */
  next(): { readonly task: TaskEntry; readonly worker: WorkerEntry } | undefined {
    const choice = this.#choice()
    if (choice !== undefined) this.queue.take()
    return choice
  }

  /** Notes that a worker has got a task. */
  assign(task: TaskEntry, worker: WorkerEntry): void {
    task.worker = worker
    task.expectedSeconds = expectedSeconds(task)
    worker.load += task.expectedSeconds
    worker.assigned.add(task)
    this.#assignedCount += 1
    this.#workers.update(worker)
  }

  /** Notes that a worker no longer has its task. */
  release(task: TaskEntry): void {
    const worker = task.worker
    assert(worker !== undefined && worker.assigned.delete(task), 'a task is not with its worker')
    task.worker = undefined
    this.#assignedCount -= 1
    // An empty sum is none: rounding errors do not stay.
    worker.load = worker.assigned.size === 0 ? 0 : worker.load - task.expectedSeconds
    this.#workers.update(worker)
  }

  /** Follows the durations of a function's tasks, in seconds. */
  measure(task: TaskEntry, seconds: number): void {
    const entry = task.function
    if (entry === undefined) return
    const average = entry.averageSeconds ?? seconds
    entry.averageSeconds = average + NEWEST_WEIGHT * (seconds - average)
  }

  /** Throws if the pool disagrees with itself. */
  checkInvariants(): void {
    this.#workers.checkInvariants()
    this.queue.checkInvariants()
    assert(this.#choice() === undefined, 'a task waits while a worker has room')
  }

  #choice(): { readonly task: TaskEntry; readonly worker: WorkerEntry } | undefined {
    const worker = this.#workers.first
    const task = this.queue.first
    if (worker === undefined || task === undefined) return undefined
    return this.#hasRoom(worker, task) ? { task, worker } : undefined
  }

  #hasRoom(worker: WorkerEntry, task: TaskEntry): boolean {
    const { size } = worker.assigned
    if (size === 0) return true
    if (size >= this.#maxTasks) return false
    if (this.#nestedPass && task.priority > 0) return true
    return worker.load + expectedSeconds(task) <= WINDOW_SECONDS
  }

  /** Those that are full last; then least work, fewest tasks, order of registration. */
  #ranksBefore(a: WorkerEntry, b: WorkerEntry): boolean {
    const isAFull = a.assigned.size >= this.#maxTasks
    const isBFull = b.assigned.size >= this.#maxTasks
    if (isAFull !== isBFull) return isBFull
    if (a.load !== b.load) return a.load < b.load
    if (a.assigned.size !== b.assigned.size) return a.assigned.size < b.assigned.size
    return a.sequence < b.sequence
  }
}

/** A function that was never measured is taken to fill a window. */
function expectedSeconds(task: TaskEntry): number {
  return Math.max(task.function?.averageSeconds ?? WINDOW_SECONDS, MIN_TASK_SECONDS)
}
