// What an allocator needs of whatever starts its workers.

import type { ListedUnit } from '../core/allocate/events.js'

/** Starts, lists and ends units. Its methods reject with an error for people. */
export interface Provider {
  /** Rejects with `ConfigError` if it lacks something that will not come by waiting. */
  open?(): Promise<void>
  /**
   * Starts units. Resolves with those that were started, and why the others were not; '' if there
   * are no others.
   */
  start(count: number): Promise<StartedUnits>
  /** All units of this allocator that have not ended, also those from before a restart. */
  list(): Promise<readonly ListedUnit[]>
  /** Ends units: their workers get SIGTERM, and drain. */
  cancel(units: readonly ListedUnit[]): Promise<void>
  /** The end of what a unit has written that has ended; '' if that is not known. */
  output(unit: ListedUnit): Promise<string>
}

/** The answer to `start`. */
export interface StartedUnits {
  readonly units: readonly ListedUnit[]
  readonly problem: string
}
