// How long the scheduler has said nothing. Apart from the machine, because of one trap: while this
// process itself stood still, whatever came in the meantime has not been read yet.

import type { InstantMs } from '../../base/machine.js'

/** A tick that comes this much too late shows that the process stood still. */
const MAX_LATENESS_MS = 1_000
/** What came meanwhile has to be read after that, or the connection to be made again. */
const REPRIEVE_MS = 5_000
/** Before the scheduler is given up, what has come and was not read yet gets so much time. */
const LAST_LOOK_MS = 250

/**
 * The time since anything was heard from the scheduler, or since there is something to wait for.
 */
export class Silence {
  readonly #timeoutMs: number
  #since: InstantMs = 0
  /** The time was over once: what comes until the deadline still counts. */
  #isLastLook = false

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** When anything was heard last, or since when there is something to wait for. */
  get since(): InstantMs {
    return this.#since
  }

  /** When the silence has lasted too long. */
  get deadline(): InstantMs {
    return this.#since + this.#timeoutMs
  }

  /** Something came from the scheduler. */
  heard(now: InstantMs): void {
    this.#since = now
    this.#isLastLook = false
  }

  /** There was nothing to wait for, and now there is. */
  start(now: InstantMs): void {
    this.#since = now
    this.#isLastLook = false
  }

  /** When `isTooLong` must be asked: some time before the deadline, and then. */
  get nextLook(): InstantMs {
    return this.#isLastLook ? this.deadline : this.deadline - this.#lastLookMs
  }

  /**
   * Whether the silence has lasted too long. A thread that user code keeps busy can meet its
   * deadline before it reads what has come long ago: so never when it is asked for the first time.
   */
  isTooLong(now: InstantMs): boolean {
    if (now < this.nextLook) return false
    if (this.#isLastLook) return true
    this.#isLastLook = true
    // Whoever comes too late has been kept from it, and its connection may be lost by now.
    const leftMs = now > this.deadline ? Math.min(REPRIEVE_MS, this.#timeoutMs) : this.#lastLookMs
    this.#since = Math.max(this.#since, now - this.#timeoutMs + leftMs)
    return false
  }

  get #lastLookMs(): number {
    return Math.min(LAST_LOOK_MS, this.#timeoutMs / 4)
  }

  /** Time passed; a tick was due at `due`. Time in which nobody could listen does not count. */
  tick(now: InstantMs, due: InstantMs): void {
    const latenessMs = now - due
    if (latenessMs <= MAX_LATENESS_MS) return
    const least = now - this.#timeoutMs + REPRIEVE_MS
    this.#since = Math.min(now, Math.max(this.#since + latenessMs, least))
  }
}
