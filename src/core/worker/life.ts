// How a worker leaves: first it drains, that is, running tasks may finish. Then it sends
// DisconnectRequest and waits for the acknowledgement, which shows that the scheduler has read
// everything sent before.

import type { Alarm, InstantMs, Timing } from '../../base/machine.js'

/** How long a leaving worker waits for the acknowledgement, in milliseconds. */
const LEAVE_TIMEOUT_MS = 1_000

/** How long a draining worker waits for a lost connection: reconnecting takes under a second. */
const RETURN_TIMEOUT_MS = 3_000

/** The same while the results of a drain are being sent: progress is reported once a second. */
const DELIVERY_TIMEOUT_MS = 3_000

/** `staying`: it has not been asked to leave. */
type DeparturePhase = 'staying' | 'draining' | 'leaving'

/** The last phases of a worker's life. */
export class Departure {
  readonly #turn: Timing
  /** When the current phase times out. Invariant: not set while `staying`. */
  readonly #alarm: Alarm
  #phase: DeparturePhase = 'staying'
  /** When draining times out while there is a connection. */
  #drainEndAt: InstantMs = Infinity
  #drainMs = 0
  /** Whether results may still be on their way. */
  #isPatient = false

  constructor(turn: Timing) {
    this.#turn = turn
    // It only has to cause a tick, at which the machine asks whether the phase is overdue.
    this.#alarm = turn.alarm(() => {})
  }

  get phase(): DeparturePhase {
    return this.#phase
  }

  /** Whether the current phase has timed out. */
  get isOverdue(): boolean {
    return this.#phase !== 'staying' && !this.#alarm.isSet
  }

  /** How long running tasks get to finish; 0 while `staying`. */
  get drainMs(): number {
    return this.#drainMs
  }

  /** Running tasks get this time, from now, to finish. It may be changed while they do. */
  drain(drainMs: number): void {
    this.#phase = 'draining'
    this.#drainMs = drainMs
    this.#drainEndAt = this.#turn.now + drainMs
    this.#alarm.set(this.#drainEndAt)
  }

  /** The connection was lost: there may be no scheduler left to drain for. */
  onDisconnected(): void {
    if (this.#phase !== 'draining') return
    this.#alarm.set(Math.min(this.#drainEndAt, this.#turn.now + RETURN_TIMEOUT_MS))
  }

  /** There is a connection again. */
  onConnected(): void {
    if (this.#phase === 'draining') this.#alarm.set(this.#drainEndAt)
  }

  /**
   * The scheduler is being notified. After a drain, results may still be on their way. No other
   * part of the worker has anything left to do.
   */
  leave(isPatient: boolean): void {
    this.#phase = 'leaving'
    this.#isPatient = isPatient
    this.#turn.ringOnly(this.#alarm)
    this.#alarm.set(this.#turn.now + (isPatient ? DELIVERY_TIMEOUT_MS : LEAVE_TIMEOUT_MS))
  }

  /** The scheduler is alive, and bytes are moving. */
  onProgress(): void {
    if (this.#isPatient) this.#alarm.set(this.#turn.now + DELIVERY_TIMEOUT_MS)
  }
}

/**
 * How long a worker waits for the gateway through which it passes tasks on, in milliseconds.
 * Afterwards its tasks go to other workers.
 */
const OUTAGE_MS = 10_000

/** The time without a gateway, after there was one. */
export class Outage {
  readonly #turn: Timing
  readonly #alarm: Alarm
  #isLong = false

  /** `onLong` is called once in each outage. */
  constructor(turn: Timing, onLong: () => void) {
    this.#turn = turn
    this.#alarm = turn.alarm(() => {
      this.#isLong = true
      onLong()
    })
  }

  /** Whether the tasks were given to others. */
  get isLong(): boolean {
    return this.#isLong
  }

  /** The gateway has ended. May be called again before the next one is ready. */
  begin(): void {
    if (!this.#isLong) this.#alarm.setBy(this.#turn.now + OUTAGE_MS)
  }

  /** There is a gateway. */
  end(): void {
    this.#isLong = false
    this.#alarm.clear()
  }
}

/** How a worker leaves. */
export interface Leaving {
  /** Whether results may still be on their way. */
  readonly isPatient?: boolean
  /** Whether results and output are no longer awaited. */
  readonly isUrgent?: boolean
}
