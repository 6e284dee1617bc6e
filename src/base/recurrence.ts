// Reports a recurring event at a bounded rate: the first occurrence immediately, then once per
// interval with the number of occurrences. About time alone.

import type { InstantMs } from './machine.js'

/** Counts the occurrences of one event. */
export class Recurrence {
  readonly #intervalMs: number
  #toldAt: InstantMs = -Infinity
  #untold = 0

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** Records an occurrence. Returns the count since the last report if a report is due, else 0. */
  note(now: InstantMs): number {
    this.#untold += 1
    return now - this.#toldAt < this.#intervalMs ? 0 : this.#tell(now)
  }

  /** Like `note`, without an occurrence: 0 if there is nothing to report, or it is too early. */
  look(now: InstantMs): number {
    const isDue = this.#untold > 0 && now - this.#toldAt >= this.#intervalMs
    return isDue ? this.#tell(now) : 0
  }

  #tell(now: InstantMs): number {
    const count = this.#untold
    this.#untold = 0
    this.#toldAt = now
    return count
  }
}
