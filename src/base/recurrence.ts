// Something that may happen over and over is told at a bounded rate: the first time at once, then
// once per interval, with how often it was. About time alone.

import type { InstantMs } from './machine.js'

/** Counts one kind of thing that happens. */
export class Recurrence {
  readonly #intervalMs: number
  #toldAt: InstantMs = -Infinity
  #untold = 0

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** It has happened. Returns how often since it was told last if it is to be told now, else 0. */
  note(now: InstantMs): number {
    this.#untold += 1
    return now - this.#toldAt < this.#intervalMs ? 0 : this.#tell(now)
  }

  /** As `note`, when it has not happened: 0 if there is nothing to tell, or it is too early. */
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
