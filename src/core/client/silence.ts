// How long the scheduler has said nothing. Apart from the machine, because of one trap: while this
// process itself stood still, whatever came in the meantime has not been read yet.

import type { InstantMs } from '../../base/machine.js'

/** A tick that comes this much too late shows that the process stood still. */
const MAX_LATENESS_MS = 1_000

/**
 * The time since anything was heard from the scheduler, or since there is something to wait for.
 */
export class Silence {
  readonly #timeoutMs: number
  #since: InstantMs = 0

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** When the silence has lasted too long. */
  get deadline(): InstantMs {
    return this.#since + this.#timeoutMs
  }

  /** Something came from the scheduler. */
  heard(now: InstantMs): void {
    this.#since = now
  }

  /** There was nothing to wait for, and now there is. */
  start(now: InstantMs): void {
    this.#since = now
  }

  /** Time passed; a tick was due at `due`. Time in which nobody could listen does not count. */
  tick(now: InstantMs, due: InstantMs): void {
    const latenessMs = now - due
    if (latenessMs > MAX_LATENESS_MS) this.#since = Math.min(now, this.#since + latenessMs)
  }
}
