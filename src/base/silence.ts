// How long a peer has been silent, and whether it must be considered lost. Separate because of one
// trap: while this process itself was suspended or busy, nothing that arrived was read, so that
// time must not count as the peer's silence.

import type { Alarm, InstantMs, Timing } from './machine.js'

/** A tick that is later than this shows that the process was suspended or busy. */
const MAX_LATENESS_MS = 1_000
/** Afterwards, there is this much time to read what has arrived, or to reconnect. */
const REPRIEVE_MS = 5_000
/** Before the peer is given up, there is this much time to read what has arrived. */
const LAST_LOOK_MS = 250

/** The silence of one peer. */
export class Silence {
  readonly #turn: Timing
  readonly #timeoutMs: number
  readonly #alarm: Alarm
  #since: InstantMs = 0
  /** The time is nearly over: what arrives until the deadline still counts. */
  #isLastLook = false
  #isTooLong = false

  constructor(turn: Timing, timeoutMs: number) {
    this.#turn = turn
    this.#timeoutMs = timeoutMs
    this.#alarm = turn.alarm(() => this.#look())
  }

  /** When the peer was last heard from, or the last `watch`; later if this process was stalled. */
  get since(): InstantMs {
    return this.#since
  }

  /** Whether the peer has been silent for the whole time while it was watched. */
  get isTooLong(): boolean {
    return this.#isTooLong
  }

  /** Something arrived from the peer. The alarm stays: it finds out when it rings. */
  heard(): void {
    this.#since = this.#turn.now
    this.#isLastLook = false
    this.#isTooLong = false
  }

  /** The silence counts from now on, until it has been too long. */
  watch(): void {
    this.heard()
    this.#alarm.setBy(this.#nextLook)
  }

  /** Must be called at each tick, before the alarms ring: shows whether this process stalled. */
  onTick(): void {
    const { now, nextAlarmAt = now } = this.#turn
    const latenessMs = now - nextAlarmAt
    if (latenessMs <= MAX_LATENESS_MS) return
    const least = now - this.#timeoutMs + REPRIEVE_MS
    this.#since = Math.min(now, Math.max(this.#since + latenessMs, least))
  }

  /** Some time before the deadline, and then the deadline itself. */
  get #nextLook(): InstantMs {
    const deadline = this.#since + this.#timeoutMs
    return this.#isLastLook ? deadline : deadline - this.#lastLookMs
  }

  get #lastLookMs(): number {
    return Math.min(LAST_LOOK_MS, this.#timeoutMs / 4)
  }

  /**
   * A thread that user code keeps busy may reach the deadline before it reads what arrived long
   * ago. So the first look never gives the peer up.
   */
  #look(): void {
    const { now } = this.#turn
    if (now >= this.#nextLook) {
      if (this.#isLastLook) {
        this.#isTooLong = true
        return
      }
      this.#isLastLook = true
      const isLate = now > this.#since + this.#timeoutMs
      const leftMs = isLate ? Math.min(REPRIEVE_MS, this.#timeoutMs) : this.#lastLookMs
      this.#since = Math.max(this.#since, now - this.#timeoutMs + leftMs)
    }
    this.#alarm.set(this.#nextLook)
  }
}
