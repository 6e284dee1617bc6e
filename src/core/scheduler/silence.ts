// How long a worker may be silent before it is taken for gone: soon enough to lose little time, but
// never before three times the longest silence from which it has come back lately. So a slow link
// or a machine with too much to do costs patience, not workers.

import type { InstantMs } from '../../base/machine.js'

/** So many times its longest silence is a worker waited for. */
const PATIENCE = 3

/** After so long the longest silence counts half. */
const HALF_LIFE_MS = 30_000

/** The bounds of the patience with a worker, in milliseconds. */
export interface SilenceBounds {
  /** What a worker may always be silent for. */
  readonly leastMs: number
  /** What none may be silent for. Where it is less than the other, it counts. */
  readonly mostMs: number
}

/** Follows the signs of life of one worker. */
export class Silence {
  #lastHeard: InstantMs
  /** The longest silence of this half-life. */
  #longestMs = 0
  /** That of those before, of which the older count less. */
  #earlierMs = 0
  #turnsAt: InstantMs

  constructor(now: InstantMs) {
    this.#lastHeard = now
    this.#turnsAt = now + HALF_LIFE_MS
  }

  /** Anything has come from the worker. */
  heard(now: InstantMs): void {
    const silenceMs = now - this.#lastHeard
    if (silenceMs > this.#longestMs) this.#longestMs = silenceMs
    this.#lastHeard = now
    if (now >= this.#turnsAt) this.#turn(now)
  }

  /** For so long the scheduler itself has read nothing: that was no silence of the worker. */
  forgive(ms: number, now: InstantMs): void {
    this.#lastHeard = Math.min(now, this.#lastHeard + ms)
  }

  /** How long the worker may be silent now. */
  patienceMs({ leastMs, mostMs }: SilenceBounds): number {
    const longestMs = Math.max(this.#longestMs, this.#earlierMs)
    return Math.min(mostMs, Math.max(leastMs, PATIENCE * longestMs))
  }

  /** Whether the worker has been silent for longer than that. */
  isTooLong(now: InstantMs, bounds: SilenceBounds): boolean {
    return now - this.#lastHeard > this.patienceMs(bounds)
  }

  #turn(now: InstantMs): void {
    this.#earlierMs = Math.max(this.#longestMs, this.#earlierMs / 2)
    this.#longestMs = 0
    this.#turnsAt = now + HALF_LIFE_MS
  }
}
