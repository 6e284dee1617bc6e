// That a scheduler cannot be reached is said at a bounded rate, not by each worker at each attempt.

import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'

/** Each reason is told at once, and then so often while it lasts. */
const INTERVAL_MS = 60_000

/** What answers is a publisher. */
const MONITORS = /cannot talk to a "X?PUB"/
const MONITORS_HINT =
  'this is the address for monitors; workers need the one for clients and workers'

/** Shared by all workers of an agent, for they connect to the same address. */
export class ConnectReport {
  readonly #address: string
  readonly #recurrences = new Map<string, Recurrence>()
  #lastReason: string | undefined

  constructor(address: string) {
    this.#address = address
  }

  /** Warns if this is new, or was not said for long. */
  onFailed(logger: Logger, reason: string): void {
    this.#lastReason = reason
    let recurrence = this.#recurrences.get(reason)
    if (recurrence === undefined) {
      recurrence = new Recurrence(INTERVAL_MS)
      this.#recurrences.set(reason, recurrence)
    }
    const attempts = recurrence.note(performance.now())
    const hint = MONITORS.test(reason) ? { hint: MONITORS_HINT } : {}
    const fields = {
      address: this.#address,
      reason,
      ...hint,
      ...(attempts > 1 ? { attempts } : {}),
    }
    const level = attempts > 0 ? 'warn' : 'debug'
    logger[level]('cannot connect to the scheduler; trying again', fields)
  }

  /** Why the last attempt failed; undefined while there is a connection, or was no attempt. */
  get lastReason(): string | undefined {
    return this.#lastReason
  }

  /** The next failure is news again. */
  onConnected(): void {
    this.#lastReason = undefined
    this.#recurrences.clear()
  }
}
