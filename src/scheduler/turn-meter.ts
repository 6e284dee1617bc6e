// How long the event loop of the scheduler works before it looks for new input: the time for which
// a message may have to wait. Measured from the first message of a turn to its end.

import { Histogram } from '../base/histogram.js'

/** The bounds of measured times, in milliseconds. */
const [SHORTEST_MS, LONGEST_MS] = [0.01, 600_000]

/** A sample covers the turns since this many samples, so about ten seconds. */
const SAMPLES = 10

/** Measures turns; a few hundred nanoseconds for each. */
export class TurnMeter {
  #begunAt: number | undefined
  #current = new Histogram(SHORTEST_MS, LONGEST_MS)
  readonly #recent: Histogram[] = []
  readonly #all = this.#new()
  readonly #now: () => number
  readonly #atEnd: (callback: () => void) => void

  /** `now`, `atEnd`: the clock in milliseconds, and how to be called at the end of the turn. */
  constructor(
    now: () => number = () => performance.now(),
    atEnd: (callback: () => void) => void = (callback) => void setImmediate(callback),
  ) {
    this.#now = now
    this.#atEnd = atEnd
  }

  /** All turns since the start, in milliseconds. */
  get total(): Histogram {
    return this.#all
  }

  /** There is work in this turn. May be called again in the same turn. */
  begin(): void {
    if (this.#begunAt !== undefined) return
    this.#begunAt = this.#now()
    this.#atEnd(this.#end)
  }

  /** The 99th percentile in milliseconds; 0 if there was no work. Called once a second. */
  sample(): number {
    this.#recent.push(this.#current)
    this.#current =
      this.#recent.length > SAMPLES ? (this.#recent.shift() as Histogram) : this.#new()
    this.#current.clear()
    const all = this.#new()
    for (const each of this.#recent) all.addAll(each)
    return all.quantile(0.99)
  }

  #new(): Histogram {
    return new Histogram(SHORTEST_MS, LONGEST_MS)
  }

  readonly #end = (): void => {
    if (this.#begunAt === undefined) return
    const tookMs = this.#now() - this.#begunAt
    this.#current.add(tookMs)
    this.#all.add(tookMs)
    this.#begunAt = undefined
  }
}
