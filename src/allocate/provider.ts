// What an allocator needs of whatever starts its workers.

import { randomBytes } from 'node:crypto'
import type { ListedUnit } from '../core/allocate/events.js'

/** Starts, lists and ends units. Its methods reject with an error for people. */
export interface Provider {
  /** Rejects with `ConfigError` if it lacks something that will not come by waiting. */
  open?(): Promise<void>
  /** Has `onChange` called when the next list may differ, if the provider is notified of that. */
  subscribe?(onChange: () => void): void
  /** Ends what it has open. */
  close?(): void
  /**
   * Starts units. Resolves with those that were started, and why the others were not; '' if there
   * are no others.
   */
  start(count: number): Promise<StartedUnits>
  /**
   * All units of this allocator that have not ended, also those from before a restart. `signal`:
   * nobody waits for them any more.
   */
  list(signal?: AbortSignal): Promise<readonly ListedUnit[]>
  /** Ends units: their workers get SIGTERM, and drain. */
  cancel(units: readonly ListedUnit[]): Promise<void>
  /** The end of what a unit has written, which has just ended or is to; '' if that is not known. */
  output(unit: ListedUnit): Promise<string>
}

/** The answer to `start`. */
export interface StartedUnits {
  readonly units: readonly ListedUnit[]
  readonly problem: string
}

/** What `newUnitKey` returns. */
export const UNIT_KEY: RegExp = /^[\da-f]{8}$/

/** The key of a unit to which its provider gives none: 8 hexadecimal digits. */
export function newUnitKey(): string {
  return randomBytes(4).toString('hex')
}
