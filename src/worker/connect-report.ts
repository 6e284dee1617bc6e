// That a scheduler cannot be reached is said once, not by each worker at each attempt.

import type { Logger } from '../base/logger.js'

/** Shared by all workers of an agent, for they connect to the same address. */
export class ConnectReport {
  readonly #address: string
  #lastReason: string | undefined

  constructor(address: string) {
    this.#address = address
  }

  /** Warns if this is new. */
  onFailed(logger: Logger, reason: string): void {
    const level = reason === this.#lastReason ? 'debug' : 'warn'
    this.#lastReason = reason
    logger[level]('cannot connect to the scheduler; trying again', {
      address: this.#address,
      reason,
    })
  }

  /** Why the last attempt failed; undefined while there is a connection, or was no attempt. */
  get lastReason(): string | undefined {
    return this.#lastReason
  }

  /** The next failure is news again. */
  onConnected(): void {
    this.#lastReason = undefined
  }
}
