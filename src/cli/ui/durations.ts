// How long the tasks of each function took, as far as their ends were reported here.

import { Histogram } from '../../base/histogram.js'
import type { TaskEnded } from '../../client/monitor/cluster-info.js'

/** The bounds of durations in milliseconds: a microsecond to two weeks. */
const [SHORTEST_MS, LONGEST_MS] = [0.001, 1_209_600_000]
/** Functions that are counted; those beyond are not. */
const MAX_FUNCTIONS = 1_000
/** Each bar stands for as many buckets, which makes it 1.46 times as long as the one before. */
const STEP = 4

/** How many tasks took more than `from` and at most `to` milliseconds. */
export interface DurationBar {
  readonly from: number
  readonly to: number
  readonly count: number
}

/** The durations of all functions. */
export class Durations {
  readonly #byFunction = new Map<string, Histogram>()

  add({ function: name, durationMs }: TaskEnded): void {
    if (durationMs === undefined) return
    let durations = this.#byFunction.get(name)
    if (durations === undefined) {
      if (this.#byFunction.size >= MAX_FUNCTIONS) return
      durations = new Histogram(SHORTEST_MS, LONGEST_MS)
      this.#byFunction.set(name, durations)
    }
    durations.add(durationMs)
  }

  /** From the first bar that is not empty to the last one. */
  of(name: string): readonly DurationBar[] {
    const bars: DurationBar[] = []
    let [last, before] = [0, 0]
    for (const [to, count] of this.#byFunction.get(name)?.cumulative(STEP) ?? []) {
      bars.push({ from: last, to, count: count - before })
      last = to
      before = count
    }
    const first = bars.findIndex(({ count }) => count > 0)
    const end = bars.findLastIndex(({ count }) => count > 0)
    return first < 0 ? [] : bars.slice(first, end + 1)
  }
}
