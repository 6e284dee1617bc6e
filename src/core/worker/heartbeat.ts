// When a heartbeat is due, and what its echoes tell: docs/protocol.md#heartbeat.

import type { InstantMs } from '../../base/machine.js'

/** A 1.9.9 field of 32 bits. */
const MAX_LATENCY_US = 2 ** 32 - 1

/**
 * The rhythm of one peer's heartbeats. A scheduler of ours gets one every interval: a large message
 * may be in the way of an echo. Any other gets never two without an echo between them.
 */
export class Heartbeat {
  readonly #intervalMs: number
  #isConnected = false
  /** Whether echoes need not be waited for. */
  #isSteady = false
  /** When those were sent that have no echo yet. Each has one, in order. */
  #sentAt: InstantMs[] = []
  #nextAt: InstantMs = 0
  #latencyUs = 0

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** Half of the last round trip in microseconds; 0 before the first echo. */
  get latencyUs(): number {
    return this.#latencyUs
  }

  /** When the next one is due; undefined while the connection, or an echo it needs, is missing. */
  get dueAt(): InstantMs | undefined {
    const isFree = this.#isSteady || this.#sentAt.length === 0
    return this.#isConnected && isFree ? this.#nextAt : undefined
  }

  /** The first one of a connection is due at once. */
  onConnected(now: InstantMs): void {
    this.#isConnected = true
    this.#sentAt = []
    this.#nextAt = now
  }

  /** Echoes of a lost connection will not come. */
  onDisconnected(): void {
    this.#isConnected = false
    this.#isSteady = false
    this.#sentAt = []
  }

  /** A heartbeat is on its way. */
  onSent(now: InstantMs): void {
    this.#sentAt.push(now)
    this.#nextAt = now + this.#intervalMs
  }

  /** One that nobody waits for says nothing about the latency. */
  onEcho(now: InstantMs, isSteady: boolean): void {
    this.#isSteady = isSteady
    const sentAt = this.#sentAt.shift()
    if (sentAt === undefined) return
    const halfMs = (now - sentAt) / 2
    this.#latencyUs = Math.min(Math.max(Math.trunc(halfMs * 1000), 0), MAX_LATENCY_US)
  }
}
