// How a worker leaves: first it drains, that is, what has begun may end; then it says that it goes,
// and waits until the scheduler knows, which has read by then all that was sent before.

import { earliest } from '../../base/earliest.js'
import type { InstantMs } from '../../base/machine.js'

/** How long a leaving worker waits for the scheduler to say that it knows, in milliseconds. */
const LEAVE_TIMEOUT_MS = 1_000

/** How long one that drains waits for a lost connection: to come back takes less than a second. */
const RETURN_TIMEOUT_MS = 3_000

/** The same while the results of a drain are on their way: progress is told once a second. */
const DELIVERY_TIMEOUT_MS = 3_000

/** `staying`: it was not told to leave. */
export type DeparturePhase = 'staying' | 'draining' | 'leaving'

/** The last part of a worker's life. */
export class Departure {
  #phase: DeparturePhase = 'staying'
  /** When the present phase is over. Invariant: undefined while `staying`. */
  #endAt: InstantMs | undefined
  /** When a lost connection is given up. Invariant: undefined unless `draining`. */
  #returnBy: InstantMs | undefined
  /** Whether it is waited for results that are on their way. */
  #isPatient = false

  get phase(): DeparturePhase {
    return this.#phase
  }

  /** When something is due. */
  get deadline(): InstantMs | undefined {
    return earliest(this.#endAt, this.#returnBy)
  }

  /** The time for what runs begins. */
  drain(now: InstantMs, drainMs: number): void {
    this.#phase = 'draining'
    this.#endAt = now + drainMs
  }

  /** The connection is lost: nobody may be left to drain for. */
  onDisconnected(now: InstantMs): void {
    if (this.#phase === 'draining') this.#returnBy = now + RETURN_TIMEOUT_MS
  }

  /** It is back. */
  onConnected(): void {
    this.#returnBy = undefined
  }

  /** The scheduler is told. After a drain, results may still be on their way. */
  leave(now: InstantMs, isPatient: boolean): void {
    this.#phase = 'leaving'
    this.#returnBy = undefined
    this.#isPatient = isPatient
    this.#endAt = now + (isPatient ? DELIVERY_TIMEOUT_MS : LEAVE_TIMEOUT_MS)
  }

  /** The scheduler lives, and bytes move. */
  onProgress(now: InstantMs): void {
    if (this.#isPatient) this.#endAt = now + DELIVERY_TIMEOUT_MS
  }

  /** Whether the phase has taken too long. */
  isOver(now: InstantMs): boolean {
    const { deadline } = this
    return deadline !== undefined && now >= deadline
  }
}
