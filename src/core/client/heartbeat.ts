// When to send heartbeats, and what their echoes tell. Apart from the machine, because the rules
// are about time alone. docs/protocol.md#heartbeat

import type { InstantMs } from '../../base/machine.js'

/**
 * Echoes that are further apart than this many intervals, and than `MIN_STALE_MS`, mean that one
 * of the two processes stood still. A scheduler drops a client that it has not heard of for long,
 * without a word.
 */
const STALE_INTERVALS = 5
const MIN_STALE_MS = 5_000

/** The heartbeats of one client: never a second one while the echo of the first is outstanding. */
export class Heartbeat {
  readonly #intervalMs: number
  #sentAt: InstantMs | undefined
  #nextAt: InstantMs | undefined
  #lastEchoAt: InstantMs | undefined
  #latencyUS = 0

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** Half of the last round trip in whole microseconds; 0 before the first echo. */
  get latencyUS(): number {
    return this.#latencyUS
  }

  /** When to look again; undefined while there is no connection. */
  get deadline(): InstantMs | undefined {
    return this.#nextAt
  }

  /** A new connection: what was sent over the last one does not count. */
  start(now: InstantMs): void {
    this.#sentAt = undefined
    this.#lastEchoAt = undefined
    this.#nextAt = now
  }

  /** There is no connection. */
  stop(): void {
    this.#sentAt = undefined
    this.#nextAt = undefined
  }

  /** What is to be done now. */
  poll(now: InstantMs): 'nothing' | 'send' | 'probe' {
    if (this.#nextAt === undefined || now < this.#nextAt) return 'nothing'
    this.#nextAt = now + this.#intervalMs
    if (this.#sentAt !== undefined) return 'probe'
    this.#sentAt = now
    return 'send'
  }

  /**
   * An echo came. Returns how long after the one before, if that is so long that the scheduler may
   * have forgotten this client (then another heartbeat is due at once), else 0.
   */
  echoed(now: InstantMs): number {
    if (this.#sentAt === undefined) return 0
    this.#latencyUS = Math.floor(((now - this.#sentAt) * 1000) / 2)
    this.#sentAt = undefined
    const last = this.#lastEchoAt
    this.#lastEchoAt = now
    const staleMs = Math.max(STALE_INTERVALS * this.#intervalMs, MIN_STALE_MS)
    if (last === undefined || now - last <= staleMs) return 0
    this.#nextAt = now
    return now - last
  }
}
