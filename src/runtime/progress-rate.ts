// How fast something goes on, from a few samples: over the second half of the time that it has
// taken. So it follows what has changed, is steady for slow tasks, and forgets a slow start.

/** More samples than this are thinned out. */
const MAX_SAMPLES = 64

interface Sample {
  readonly atMs: number
  readonly done: number
}

/** Measures one rate. */
export class ProgressRate {
  readonly #startMs: number
  #samples: Sample[]

  /** Begins at `atMs` with nothing done. */
  constructor(atMs: number) {
    this.#startMs = atMs
    this.#samples = [{ atMs, done: 0 }]
  }

  /** So much is done by now; neither ever goes back. */
  add(done: number, atMs: number): void {
    this.#samples.push({ atMs, done })
    if (this.#samples.length <= MAX_SAMPLES) return
    const last = this.#samples.length - 1
    this.#samples = this.#samples.filter((_, index) => index % 2 === 0 || index === last)
  }

  /** Since the beginning. Undefined while nothing is done or no time has passed. */
  get overallPerSecond(): number | undefined {
    return between({ atMs: this.#startMs, done: 0 }, this.#samples.at(-1))
  }

  /** Lately. Undefined while nothing is done or no time has passed. */
  get perSecond(): number | undefined {
    const last = this.#samples.at(-1) as Sample
    const middleMs = (this.#startMs + last.atMs) / 2
    const middle = this.#samples.findLast(({ atMs }) => atMs <= middleMs)
    return between(middle, last) ?? this.overallPerSecond
  }
}

function between(first: Sample | undefined, last: Sample | undefined): number | undefined {
  if (first === undefined || last === undefined) return undefined
  const isMeasured = last.done > first.done && last.atMs > first.atMs
  return isMeasured ? ((last.done - first.done) * 1_000) / (last.atMs - first.atMs) : undefined
}
