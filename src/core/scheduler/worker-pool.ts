// Workers of one runtime and the tasks that wait for them: which worker gets the next task. Pure
// bookkeeping; sending and state changes are the scheduler's.
//
// Each worker has a window: as many tasks as keep it busy for some 20 ms, measured from the
// durations in its results. Tiny tasks so never wait for a round trip, and long ones are never
// stuck behind each other while another worker idles.

import { assert } from '../../base/assert.js'
import { IndexedHeap } from '../../base/indexed-heap.js'
import type { TaskEntry, WorkerEntry } from './entries.js'
import { TaskQueue } from './task-queue.js'

/** How much measured work a worker holds, in seconds. */
const WINDOW_SECONDS = 0.02

/**
 * What a worker holds before anything was measured, and while its tasks are long: a second one would
 * be stuck behind the first while another worker may idle.
 */
const MIN_WINDOW = 1

/** Weight of the newest duration in the moving average. */
const NEWEST_WEIGHT = 0.2

/** Relatively least loaded first, then fewest tasks, then order of registration. */
function ranksBefore(a: WorkerEntry, b: WorkerEntry): boolean {
  const aLoad = a.assigned.size * b.window
  const bLoad = b.assigned.size * a.window
  if (aLoad !== bLoad) return aLoad < bLoad
  if (a.assigned.size !== b.assigned.size) return a.assigned.size < b.assigned.size
  return a.sequence < b.sequence
}

/** The workers of one runtime. Choosing costs O(log workers). */
export class WorkerPool {
  readonly queue: TaskQueue = new TaskQueue()
  readonly #workers: IndexedHeap<WorkerEntry> = new IndexedHeap(ranksBefore)
  readonly #maxWindow: number
  readonly #nestedPass: boolean

  /**
   * `nestedPass`: tasks of a priority above 0 are children of tasks that wait for them, and are not
   * held up by the window, which their parents may fill. So it is with 1.9.9 workers, which suspend
   * a parent for its children; how many they hold is bounded by `perWorkerQueueSize` alone.
   */
  constructor(perWorkerQueueSize: number, nestedPass: boolean) {
    this.#maxWindow = perWorkerQueueSize
    this.#nestedPass = nestedPass
  }

  /** Whether a task of priority 0 could be sent out now. */
  get hasCapacity(): boolean {
    const first = this.#workers.first
    return first !== undefined && first.assigned.size < first.window
  }

  /** The window of a worker that nothing is known of yet. */
  get initialWindow(): number {
    return MIN_WINDOW
  }

  add(worker: WorkerEntry): void {
    this.#workers.add(worker)
  }

  remove(worker: WorkerEntry): void {
    this.#workers.remove(worker)
  }

  /** The next task and who shall have it; undefined while there is no task or no room. */
  next(): { readonly task: TaskEntry; readonly worker: WorkerEntry } | undefined {
    const worker = this.#workers.first
    const task = this.queue.first
    if (worker === undefined || task === undefined) return undefined
    if (worker.assigned.size >= this.#windowFor(task, worker)) return undefined
    this.queue.take()
    return { task, worker }
  }

  /** Notes that a worker has got a task. */
  assign(task: TaskEntry, worker: WorkerEntry): void {
    task.worker = worker
    worker.assigned.add(task)
    this.#workers.update(worker)
  }

  /** Notes that a worker no longer has its task. */
  release(task: TaskEntry): void {
    const worker = task.worker
    assert(worker !== undefined && worker.assigned.delete(task), 'a task is not with its worker')
    task.worker = undefined
    this.#workers.update(worker)
  }

  /** Follows the durations of a worker's tasks, in seconds. */
  measure(worker: WorkerEntry, seconds: number): void {
    const average = worker.averageTaskSeconds
    const newAverage =
      average === undefined ? seconds : average + NEWEST_WEIGHT * (seconds - average)
    worker.averageTaskSeconds = newAverage
    const fitting = Math.round(WINDOW_SECONDS / Math.max(newAverage, 1e-9))
    const window = Math.min(Math.max(fitting, MIN_WINDOW), this.#maxWindow)
    if (window === worker.window) return
    worker.window = window
    this.#workers.update(worker)
  }

  /** Throws if the pool disagrees with itself. */
  checkInvariants(): void {
    this.#workers.checkInvariants()
    this.queue.checkInvariants()
    assert(this.queue.size === 0 || !this.hasCapacity, 'a task waits while a worker has room')
  }

  #windowFor(task: TaskEntry, worker: WorkerEntry): number {
    return this.#nestedPass && task.priority > 0 ? this.#maxWindow : worker.window
  }
}
