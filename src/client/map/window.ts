// How far a map runs ahead: how many of its tasks are in flight, if its user has set no limit; how
// fast it pulls its inputs; and how many workers there are for it.
//
// A map that is awaited needs all its results, so only memory limits it. A loop may be left at any
// time, and takes results at its own speed: the tasks ahead of it are limited by the work that they
// are, as measured.
//
//   unmeasured   4 tasks for each worker
//   then         50 ms of work for each worker, but at least 4 tasks
//                and no more than the number of tasks that were measured can justify

import { meanDurationMs } from '../../wire/metadata.js'

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
   * How many more tasks may be in flight, if more than 0. Results that a loop has not taken count
   * as well, but not towards the work ahead of it if it waits for an earlier one.
   */
  roomFor(inFlight: number, { use, isAwaited, readyCount }: Consumption): number {
    const count = use === 'iterate' ? inFlight + readyCount : inFlight
    if (this.#limit !== undefined) return this.#limit - count
    const room = this.#most - count
    if (use === 'gather') return room
    return Math.min(room, this.#ahead - (isAwaited ? inFlight : count))
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

// How many inputs of a map are pulled from a synchronous iterator before the rest of the process
// gets its turn. The iterator is the user's, and may take any time for each input.

/** The time for pulling in one turn of the event loop, in milliseconds. */
const TURN_MS = 4
/** The time between two looks at the clock, about. */
const LOOK_MS = 0.5
const MAX_INPUTS_PER_LOOK = 64

/** Measures the pulls of one map. */
export class PullPace {
  readonly #now: () => number
  /** The time used up since the last `reset`, as far as it was measured. */
  #spentMs = 0
  #lookedAt = 0
  /** After how many inputs the clock is read: 1 for a slow iterator. */
  #perLook = 1
  #leftToLook = 1

  /** `now`: the time in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether no more inputs may be pulled in this turn. */
  get isSpent(): boolean {
    return this.#spentMs >= TURN_MS
  }

  /** A turn begins. */
  reset(): void {
    this.#spentMs = 0
  }

  /** Pulling begins. */
  begin(): void {
    this.#lookedAt = this.#now()
  }

  /** How many inputs may be pulled before `count` must be called. */
  get ahead(): number {
    return this.#leftToLook
  }

  /** So many inputs were pulled, at most `ahead`. */
  count(inputs: number): void {
    this.#leftToLook -= inputs
    if (this.#leftToLook > 0) return
    const tookMs = this.#look()
    if (tookMs > LOOK_MS) {
      this.#perLook = Math.max(1, Math.floor((this.#perLook * LOOK_MS) / tookMs))
    } else if (tookMs < LOOK_MS / 2) {
      this.#perLook = Math.min(this.#perLook * 2, MAX_INPUTS_PER_LOOK)
    }
    this.#leftToLook = this.#perLook
  }

  /** Pulling ends for now. */
  end(): void {
    this.#look()
  }

  /** Returns the time since the last look. */
  #look(): number {
    const now = this.#now()
    const tookMs = now - this.#lookedAt
    this.#lookedAt = now
    this.#spentMs += tookMs
    return tookMs
  }
}

// How many workers the scheduler has for this client. The scheduler reports it with the echo of a
// heartbeat that requests it, and only running maps need it. docs/protocol.md#report

/** A count that is older is requested again, in milliseconds: the usual interval of heartbeats. */
const FRESH_MS = 2_000

/** The number of workers, as far as one client knows it. */
export class WorkerCount {
  readonly #request: () => void
  readonly #now: () => number
  #users = 0
  #count: number | undefined
  #countedAt = -Infinity
  #isKnowable = true

  /** `request` makes the scheduler report now; `now`: the time in milliseconds. */
  constructor(request: () => void, now: () => number) {
    this.#request = request
    this.#now = now
  }

  /** The number of workers; undefined until the scheduler has reported it. */
  get count(): number | undefined {
    return this.#count
  }

  /** False: the scheduler is one that never reports it. */
  get isKnowable(): boolean {
    return this.#isKnowable
  }

  /** Whether heartbeats must request a report. */
  get isWanted(): boolean {
    return this.#users > 0
  }

  /** The count is needed until `end` was called once per call. */
  begin(): void {
    this.#users += 1
    if (this.#isKnowable && this.#now() - this.#countedAt >= FRESH_MS) this.#request()
  }

  /** See `begin`. */
  end(): void {
    this.#users -= 1
  }

  /** A scheduler has answered on a new connection. `reports`: whether it can report the number. */
  onOpen(reports: boolean): void {
    this.#isKnowable = reports
    this.#countedAt = -Infinity
    if (reports && this.isWanted) this.#request()
  }

  /** The scheduler has reported the number. Returns whether it has changed. */
  onCount(count: number): boolean {
    const hasChanged = count !== this.#count
    this.#count = count
    this.#countedAt = this.#now()
    return hasChanged
  }
}
