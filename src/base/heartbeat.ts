// When a peer of the scheduler sends heartbeats, and what their echoes show.
// docs/protocol.md#heartbeat

import type { Alarm, InstantMs, Timing } from './machine.js'

/** The field is 32 bits wide in 1.9.9. */
const MAX_LATENCY_US = 2 ** 32 - 1

/**
 * The heartbeats of one peer. A scheduler of ours gets one per interval: echoes may be delayed by a
 * long message, and the scheduler must see that the peer is alive. A 1.9.9 scheduler gets none
 * while an echo is outstanding.
 */
export class Heartbeat {
  readonly #turn: Timing
  readonly #intervalMs: number
  readonly #send: () => void
  readonly #alarm: Alarm
  /** When the heartbeats without an echo were sent. Echoes arrive in the same order. */
  #unanswered: InstantMs[] = []
  #lastEchoAt: InstantMs | undefined
  #answeredSentAt: InstantMs = -Infinity
  /** Whether the scheduler of this connection is one of ours, as far as is known. */
  #isOurs = false
  #latencyUs = 0

  /** `send` is called whenever a heartbeat must be sent. */
  constructor(turn: Timing, intervalMs: number, send: () => void) {
    this.#turn = turn
    this.#intervalMs = intervalMs
    this.#send = send
    this.#alarm = turn.alarm(() => this.#onDue())
  }

  /** Half of the last round trip in whole microseconds; 0 before the first echo. */
  get latencyUs(): number {
    return this.#latencyUs
  }

  /** When the oldest heartbeat without an echo was sent; undefined if there is none. */
  get unansweredSince(): InstantMs | undefined {
    return this.#unanswered[0]
  }

  /** When the last heartbeat was sent that has an echo: what was sent before it has arrived. */
  get answeredSentAt(): InstantMs {
    return this.#answeredSentAt
  }

  /** There is a new connection: sends its first heartbeat. */
  start(): void {
    this.#unanswered = []
    this.#lastEchoAt = undefined
    this.#answeredSentAt = -Infinity
    this.#isOurs = false
    this.sendNow()
  }

  /** There is no connection. */
  stop(): void {
    this.#unanswered = []
    this.#alarm.clear()
  }

  /** Sends a heartbeat now; the next one is due an interval later. */
  sendNow(): void {
    this.#unanswered.push(this.#turn.now)
    this.#alarm.set(this.#turn.now + this.#intervalMs)
    this.#send()
  }

  /** Sends a heartbeat now, unless there is no connection or an echo is outstanding. */
  hasten(): void {
    if (this.#alarm.isSet && this.#unanswered.length === 0) this.sendNow()
  }

  /**
   * The scheduler answered the oldest heartbeat. Returns the time since the previous echo of this
   * connection; 0 if there was none, or if no echo was outstanding.
   */
  onEcho(isOurs: boolean): number {
    this.#isOurs = isOurs
    const sentAt = this.#unanswered.shift()
    if (sentAt === undefined) return 0
    this.#answeredSentAt = sentAt
    const { now } = this.#turn
    const halfUs = ((now - sentAt) * 1000) / 2
    this.#latencyUs = Math.min(Math.max(Math.floor(halfUs), 0), MAX_LATENCY_US)
    const pauseMs = now - (this.#lastEchoAt ?? now)
    this.#lastEchoAt = now
    return pauseMs
  }

  #onDue(): void {
    if (this.#isOurs || this.#unanswered.length === 0) this.sendNow()
    else this.#alarm.set(this.#turn.now + this.#intervalMs)
  }
}

/** The most things that are remembered; the oldest are forgotten first. */
const MAX_UNCONFIRMED = 100_000

/** What was sent, until the echo of a later heartbeat shows that the scheduler has read it. */
export class Unconfirmed<T> {
  /** In the order in which they were sent. */
  readonly #sentAt = new Map<T, InstantMs>()

  add(item: T, now: InstantMs): void {
    this.#sentAt.delete(item)
    this.#sentAt.set(item, now)
    for (const oldest of this.#sentAt.keys()) {
      if (this.#sentAt.size <= MAX_UNCONFIRMED) break
      this.#sentAt.delete(oldest)
    }
  }

  /** Returns whether it was there. */
  delete(item: T): boolean {
    return this.#sentAt.delete(item)
  }

  /** The scheduler has read everything that was sent before this time. */
  confirm(sentBefore: InstantMs): void {
    for (const [item, sentAt] of this.#sentAt) {
      if (sentAt >= sentBefore) return
      this.#sentAt.delete(item)
    }
  }

  /** Removes and returns all, oldest first. */
  takeAll(): T[] {
    const items = [...this.#sentAt.keys()]
    this.#sentAt.clear()
    return items
  }
}
