// How long a worker may be silent before it is considered lost: short enough to lose little time,
// but at least three times its longest recent pause. A slow link or an overloaded machine delays
// the detection instead of losing workers.

import type { InstantMs } from '../../../base/machine.js'

/** A worker may be silent for this many times its longest pause. */
const PATIENCE = 3

/** Time after which the longest pause counts half. */
const HALF_LIFE_MS = 30_000

/** The limits for the silence of a worker, in milliseconds. */
export interface SilenceBounds {
  /** The silence that is always allowed. */
  readonly leastMs: number
  /** The silence that is never exceeded. Takes precedence over `leastMs`. */
  readonly mostMs: number
}

/** Tracks the silence of one worker. */
export class WorkerSilence {
  #lastHeard: InstantMs
  /** The longest pause in the current half-life. */
  #longestMs = 0
  /** The longest earlier pause; older ones count less. */
  #earlierMs = 0
  #turnsAt: InstantMs

  constructor(now: InstantMs) {
    this.#lastHeard = now
    this.#turnsAt = now + HALF_LIFE_MS
  }

  /** A message arrived from the worker. */
  heard(now: InstantMs): void {
    const silenceMs = now - this.#lastHeard
    if (silenceMs > this.#longestMs) this.#longestMs = silenceMs
    this.#lastHeard = now
    if (now >= this.#turnsAt) this.#turn(now)
  }

  /** The scheduler itself was stalled this long, which does not count as silence. */
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
    // A whole number, as it was at first: with a fraction, V8 would rebuild all these objects, and
    // those of thousands of workers in one turn.
    this.#earlierMs = Math.ceil(Math.max(this.#longestMs, this.#earlierMs / 2))
    this.#longestMs = 0
    this.#turnsAt = now + HALF_LIFE_MS
  }
}
