// When a heartbeat is due, and what its echoes tell: docs/protocol.md#heartbeat.

import type { InstantMs } from '../../base/machine.js'

/** A 1.9.9 field of 32 bits. */
const MAX_LATENCY_US = 2 ** 32 - 1

/** The rhythm of one peer's heartbeats: never two without an echo between them. */
export class Heartbeat {
  readonly #intervalMs: number
  #isConnected = false
  #sentAt: InstantMs | undefined
  #nextAt: InstantMs = 0
  #latencyUs = 0

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** Half of the last round trip in microseconds; 0 before the first echo. */
  get latencyUs(): number {
    return this.#latencyUs
  }

  /** When the next one is due; undefined while an echo or the connection is missing. */
  get dueAt(): InstantMs | undefined {
    return this.#isConnected && this.#sentAt === undefined ? this.#nextAt : undefined
  }

  /** The first one of a connection is due at once. */
  onConnected(now: InstantMs): void {
    this.#isConnected = true
    this.#sentAt = undefined
    this.#nextAt = now
  }

  /** Echoes of a lost connection will not come. */
  onDisconnected(): void {
    this.#isConnected = false
    this.#sentAt = undefined
  }

  /** A heartbeat is on its way. */
  onSent(now: InstantMs): void {
    this.#sentAt = now
    this.#nextAt = now + this.#intervalMs
  }

  /** One that nobody waits for says nothing about the latency. */
  onEcho(now: InstantMs): void {
    if (this.#sentAt === undefined) return
    const halfMs = (now - this.#sentAt) / 2
    this.#latencyUs = Math.min(Math.max(Math.trunc(halfMs * 1000), 0), MAX_LATENCY_US)
    this.#sentAt = undefined
  }
}
