// When a part of an embedded cluster that has ended unexpectedly is started again. Apart, because
// it is about time alone.

/** Of deaths within this time the last ones count. */
const WINDOW_MS = 60_000
/** With so many of them, starting again does not help. */
const MAX_DEATHS = 10
const MIN_DELAY_MS = 100
const MAX_DELAY_MS = 5_000

/** The deaths of one part. */
export class RestartPolicy {
  #deaths: number[] = []
  #refusals = 0

  /**
   * It has died at `nowMs`. Returns how long to wait before it is started again, in milliseconds;
   * undefined: not any more.
   */
  delayAfterDeath(nowMs: number): number | undefined {
    this.#deaths = this.#deaths.filter((diedAt) => nowMs - diedAt < WINDOW_MS)
    this.#deaths.push(nowMs)
    if (this.#deaths.length >= MAX_DEATHS) return undefined
    return Math.min(MIN_DELAY_MS * 2 ** (this.#deaths.length - 1), MAX_DELAY_MS)
  }

  /**
   * The system refused to start it, which is no fault of its own and may pass at any time. Returns
   * how long to wait, in milliseconds.
   */
  delayAfterRefusal(): number {
    this.#refusals += 1
    return Math.min(MIN_DELAY_MS * 2 ** (this.#refusals - 1), MAX_DELAY_MS)
  }

  /** It runs. */
  onStarted(): void {
    this.#refusals = 0
  }
}
