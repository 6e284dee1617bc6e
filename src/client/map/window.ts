// How many tasks of a map are in flight, if its user has set no limit. A map that is awaited needs
// all its results, so only memory limits it. A loop may be left at any time, and takes results at
// its own speed: the tasks ahead of it are limited by the work that they are, as measured.
//
//   unmeasured   4 tasks for each worker
//   then         50 ms of work for each worker, but at least 4 tasks
//                and no more than the number of tasks that were measured can justify

import { meanDurationMs } from '../../wire/metadata.js'
import type { WorkerCount } from './worker-count.js'

/** The limits without one of the user's (docs/client.md#iterating-over-results). */
export const DEFAULT_WINDOW = {
  /** More would only wait, and fill caches and tables. */
  maxTasks: 10_000,
  /** The fewest for each worker: one that runs, the others on the way there or back. */
  tasksPerWorker: 4,
  /** The work for each worker, in milliseconds. It covers round trips and the pauses of a loop. */
  workMs: 50,
} as const
/** While there are no workers, or their number is unknown. */
const ASSUMED_WORKERS = 4
/** How many more tasks each one that has returned allows. */
const GROWTH = 4
/** Weight of the newest duration in the moving average. */
const NEWEST_WEIGHT = 0.2

/** How the results of a map are used. */
interface Consumption {
  /** `none`: not known yet. */
  readonly use: 'none' | 'gather' | 'iterate'
  /** Whether a loop waits for its next result. */
  readonly isAwaited: boolean
  /** Results that have not been taken. */
  readonly readyCount: number
}

/** The window of one map. Other maps, even of the same function, do not influence it. */
export class MapWindow {
  readonly #limit: number | undefined
  readonly #workers: WorkerCount
  /** The moving average of the durations of its tasks. */
  #averageMs: number | undefined
  /** How many tasks have returned. */
  #returned = 0

  /** `limit`: the most tasks, as the user has set it; undefined: as the work is measured. */
  constructor(limit: number | undefined, workers: WorkerCount) {
    this.#limit = limit
    this.#workers = workers
  }

  /** The map begins. */
  begin(): void {
    if (this.#limit === undefined) this.#workers.begin()
  }

  /** The map has ended; called once. */
  end(): void {
    if (this.#limit === undefined) this.#workers.end()
  }

  /**
   * Whether another task may be in flight. Results that a loop has not taken count as well, but not
   * towards the work ahead of it if it waits for an earlier one.
   */
  hasRoom(inFlight: number, { use, isAwaited, readyCount }: Consumption): boolean {
    const count = use === 'iterate' ? inFlight + readyCount : inFlight
    if (this.#limit !== undefined) return count < this.#limit
    if (count >= this.#most) return false
    return use === 'gather' || (isAwaited ? inFlight : count) < this.#ahead
  }

  /** The most tasks in flight, whatever they are. */
  get #most(): number {
    return Math.max(DEFAULT_WINDOW.maxTasks, this.#least)
  }

  /** The most tasks that a loop may have ahead of it. */
  get #ahead(): number {
    const most = this.#most
    if (!this.#workers.isKnowable) return most
    const least = this.#least
    const trusted = Math.min(most, least + this.#returned * GROWTH)
    const average = this.#averageMs
    if (average === undefined) return trusted
    const measured = Math.floor((this.#workerCount * DEFAULT_WINDOW.workMs) / average)
    return Math.max(least, Math.min(trusted, measured))
  }

  /** `count` tasks have returned; `profiles` are theirs, or nothing. Read during the call only. */
  measure(profiles: Uint8Array, count: number): void {
    if (this.#limit !== undefined) return
    this.#returned += count
    const newest = meanDurationMs(profiles, count)
    if (newest === undefined) return
    const average = this.#averageMs ?? newest
    this.#averageMs = average + (1 - (1 - NEWEST_WEIGHT) ** count) * (newest - average)
  }

  /** The fewest that a loop may have ahead of it, however long they take. */
  get #least(): number {
    return this.#workerCount * DEFAULT_WINDOW.tasksPerWorker
  }

  get #workerCount(): number {
    return this.#workers.count || ASSUMED_WORKERS
  }
}
