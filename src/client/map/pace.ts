// How many inputs of a map are pulled from a synchronous iterator before the rest of the process
// gets its turn. The iterator is the user's, and may take any time for each input.

/** The time for pulling in one turn of the event loop, in milliseconds. */
const TURN_MS = 4
/** The time between two looks at the clock, about. */
const LOOK_MS = 0.5
const MAX_INPUTS_PER_LOOK = 64

/** Measures the pulls of one map. */
export class PullPace {
  readonly #now: () => number
  /** The time used up since the last `reset`, as far as it was measured. */
  #spentMs = 0
  #lookedAt = 0
  /** After how many inputs the clock is read: 1 for a slow iterator. */
  #perLook = 1
  #leftToLook = 1

  /** `now`: the time in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether no more inputs may be pulled in this turn. */
  get isSpent(): boolean {
    return this.#spentMs >= TURN_MS
  }

  /** A turn begins. */
  reset(): void {
    this.#spentMs = 0
  }

  /** Pulling begins. */
  begin(): void {
    this.#lookedAt = this.#now()
  }

  /** An input was pulled. */
  count(): void {
    this.#leftToLook -= 1
    if (this.#leftToLook > 0) return
    const tookMs = this.#look()
    if (tookMs > LOOK_MS) {
      this.#perLook = Math.max(1, Math.floor((this.#perLook * LOOK_MS) / tookMs))
    } else if (tookMs < LOOK_MS / 2) {
      this.#perLook = Math.min(this.#perLook * 2, MAX_INPUTS_PER_LOOK)
    }
    this.#leftToLook = this.#perLook
  }

  /** Pulling ends for now. */
  end(): void {
    this.#look()
  }

  /** Returns the time since the last look. */
  #look(): number {
    const now = this.#now()
    const tookMs = now - this.#lookedAt
    this.#lookedAt = now
    this.#spentMs += tookMs
    return tookMs
  }
}
