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
import { extraOf } from './task-extra.js'
import { TaskQueue } from './task-queue.js'

/** How much measured work a worker holds, in seconds. */
const WINDOW_SECONDS = 0.02

/** No task counts for less, in seconds: rounding must not make thousands of them nothing. */
const MIN_TASK_SECONDS = 1e-6

/** Among how many workers that have an object the best is looked for. */
const MAX_HOLDERS = 16

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

  /** Takes a worker out. What it had, in order of assignment, is the caller's to put back. */
  remove(worker: WorkerEntry): readonly TaskEntry[] {
    this.#workers.remove(worker)
    this.#assignedCount -= activeCount(worker)
    const tasks = [...worker.assigned]
    worker.assigned.clear()
    for (const task of tasks) {
      task.worker = undefined
      forgetWait(task)
    }
    return tasks
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
    if (task.extra?.isWaiting === true) worker.waitingCount -= 1
    else this.#unload(worker, task)
    forgetWait(task)
    this.#workers.update(worker)
  }

  /** A task only waits for tasks of its own: it counts for nothing until it is resumed. */
  suspend(task: TaskEntry): void {
    const { worker } = task
    const extra = extraOf(task)
    assert(worker !== undefined, 'a task waits for others without a worker')
    if (extra.isWaiting) return
    extra.isWaiting = true
    extra.hasWaited = true
    worker.waitingCount += 1
    this.#unload(worker, task)
    this.#workers.update(worker)
  }

  /** The task goes on, even where its worker has got others meanwhile. */
  resume(task: TaskEntry): void {
    const { worker, extra } = task
    if (worker === undefined || extra?.isWaiting !== true) return
    extra.isWaiting = false
    worker.waitingCount -= 1
    worker.load += task.expectedSeconds
    this.#assignedCount += 1
    this.#workers.update(worker)
  }

  /**
   * Follows the durations of a function's tasks, in seconds. Those of tasks that have waited for
   * others say nothing of the function.
   */
  measure(task: TaskEntry, seconds: number): void {
    const entry = task.function
    if (entry === undefined || task.extra?.hasWaited === true) return
    const average = entry.averageSeconds ?? seconds
    entry.averageSeconds = average + NEWEST_WEIGHT * (seconds - average)
  }

  /** Throws if the pool disagrees with itself. */
  checkInvariants(): void {
    this.#workers.checkInvariants()
    this.queue.checkInvariants()
    assert(this.#choice() === undefined, 'a task waits while a worker has room')
  }

  #unload(worker: WorkerEntry, task: TaskEntry): void {
    this.#assignedCount -= 1
    // An empty sum is none: rounding errors do not stay.
    worker.load = activeCount(worker) === 0 ? 0 : worker.load - task.expectedSeconds
  }

  #choice(): { readonly task: TaskEntry; readonly worker: WorkerEntry } | undefined {
    const worker = this.#workers.first
    const task = this.queue.first
    if (worker === undefined || task === undefined) return undefined
    return this.#hasRoom(worker, task) ? { task, worker: this.#nearest(task, worker) } : undefined
  }

  /**
   * For a node of a graph: a worker that has the largest of its objects, if that has room, too, and
   * nobody idles for it. `first` is the one that ranks first.
   */
  #nearest(task: TaskEntry, first: WorkerEntry): WorkerEntry {
    const input = task.node?.input
    if (input === undefined) return first
    const isAnyoneIdle = activeCount(first) === 0
    let nearest: WorkerEntry | undefined
    let looks = MAX_HOLDERS
    for (const holder of input.holders) {
      if ((looks -= 1) < 0) break
      if (holder.runtime !== task.runtime || !this.#hasRoom(holder, task)) continue
      if (isAnyoneIdle && activeCount(holder) > 0) continue
      if (nearest === undefined || this.#ranksBefore(holder, nearest)) nearest = holder
    }
    return nearest ?? first
  }

  #hasRoom(worker: WorkerEntry, task: TaskEntry): boolean {
    const count = activeCount(worker)
    if (count === 0) return true
    if (count >= this.#maxTasks) return false
    if (this.#nestedPass && task.priority > 0) return true
    return worker.load + expectedSeconds(task) <= WINDOW_SECONDS
  }

  /** Those that are full last; then least work, fewest tasks, order of registration. */
  #ranksBefore(a: WorkerEntry, b: WorkerEntry): boolean {
    const countA = activeCount(a)
    const countB = activeCount(b)
    const isAFull = countA >= this.#maxTasks
    const isBFull = countB >= this.#maxTasks
    if (isAFull !== isBFull) return isBFull
    if (a.load !== b.load) return a.load < b.load
    if (countA !== countB) return countA < countB
    return a.sequence < b.sequence
  }
}

/** How many tasks a worker has to run; not those that only wait for others. */
export function activeCount(worker: WorkerEntry): number {
  return worker.assigned.size - worker.waitingCount
}

/** Throws if a worker's sums are not those of its tasks. */
export function checkLoad(worker: WorkerEntry): void {
  let waitingCount = 0
  let load = 0
  for (const task of worker.assigned) {
    if (task.extra?.isWaiting === true) waitingCount += 1
    else load += task.expectedSeconds
  }
  assert(waitingCount === worker.waitingCount, 'a worker miscounts its waiting tasks')
  assert(Math.abs(load - worker.load) < 1e-6, 'a worker has another load than its tasks')
}

/** Where a task runs next, it has not waited yet. */
function forgetWait(task: TaskEntry): void {
  if (task.extra === undefined) return
  task.extra.isWaiting = false
  task.extra.hasWaited = false
}

/** A function that was never measured is taken to fill a window. */
function expectedSeconds(task: TaskEntry): number {
  return Math.max(task.function?.averageSeconds ?? WINDOW_SECONDS, MIN_TASK_SECONDS)
}
