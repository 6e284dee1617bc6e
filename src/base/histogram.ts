// How positive numbers are distributed, in constant space: counts in buckets that are each ten
// percent wider than the one before, so that quantiles are within five percent.

const GROWTH = 1.1
const LOG_GROWTH = Math.log(GROWTH)

/** A histogram. Values may have any unit. */
export class Histogram {
  readonly #min: number
  readonly #counts: Float64Array
  #count = 0
  #sum = 0

  /** Smaller values count as `min`, larger ones as `max`. */
  constructor(min: number, max: number) {
    this.#min = min
    this.#counts = new Float64Array(Math.ceil(Math.log(max / min) / LOG_GROWTH) + 1)
  }

  /** How many values it has. */
  get count(): number {
    return this.#count
  }

  /** The sum of its values, which is exact. */
  get sum(): number {
    return this.#sum
  }

  /** Adds a value `times` times. */
  add(value: number, times: number = 1): void {
    const bucket = value > this.#min ? Math.ceil(Math.log(value / this.#min) / LOG_GROWTH) : 0
    const last = this.#counts.length - 1
    const at = bucket < last ? bucket : last
    this.#counts[at] = (this.#counts[at] ?? 0) + times
    this.#count += times
    this.#sum += value * times
  }

  /** Adds all values of another one with the same bounds. */
  addAll(other: Histogram): void {
    // A loop over indexes: scrapes add up a thousand histograms.
    for (let at = 0; at < this.#counts.length; at += 1) {
      this.#counts[at] = (this.#counts[at] ?? 0) + (other.#counts[at] ?? 0)
    }
    this.#count += other.#count
    this.#sum += other.#sum
  }

  /** The value that `share` (0 to 1) of all values do not exceed; 0 if there are none. */
  quantile(share: number): number {
    if (this.#count === 0) return 0
    const rank = Math.max(1, Math.ceil(share * this.#count))
    let seen = 0
    for (const [at, count] of this.#counts.entries()) {
      seen += count
      // The geometric middle of the bucket.
      if (seen >= rank) return this.#min * GROWTH ** (at === 0 ? 0 : at - 0.5)
    }
    return 0
  }

  /**
   * Cumulative counts, as metrics have them: how many values do not exceed each bound. Every
   * `step`th bucket has a bound; values above the last bound are only in `count`.
   */
  cumulative(step: number): readonly (readonly [bound: number, count: number])[] {
    const bounds: (readonly [number, number])[] = []
    let seen = 0
    for (const [at, count] of this.#counts.entries()) {
      if (at === this.#counts.length - 1) break
      seen += count
      if (at % step === 0) bounds.push([this.#min * GROWTH ** at, seen])
    }
    return bounds
  }

  /** Forgets all values. */
  clear(): void {
    this.#counts.fill(0)
    this.#count = 0
    this.#sum = 0
  }
}
