// Time for the shells. Machines never see it: they are told the time with each event.

import type { InstantMs } from '../base/machine.js'

/** A source of instants and timers; tests pass one that they move by hand. */
export interface Clock {
  /** Milliseconds since some point; never goes back, whatever happens to the date. */
  now(): InstantMs
  /** Calls `callback` once, not before `delayMs` from now. Returns how to take that back. */
  after(delayMs: number, callback: () => void): () => void
}

/** The longest delay that Node's timers take; a longer one is waited for in steps by the driver. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** The machine's monotonic clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
