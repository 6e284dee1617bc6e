// The recent past of a cluster as numbers: one value per series and second for the last hour, and
// one per minute for the last day. Its size does not depend on what happens.

/** How far back each resolution reaches. */
const LEVELS = [
  { stepMs: 1_000, slots: 3_600 },
  { stepMs: 60_000, slots: 1_440 },
] as const

/** Part of a history: one time per point, and a value per series. Null: nothing is known. */
export interface SeriesAnswer {
  /** The beginnings of the points, in milliseconds since 1970. */
  readonly times: readonly number[]
  /** How much time a point covers, in milliseconds. */
  readonly stepMs: number
  readonly series: Readonly<Record<string, readonly (number | null)[]>>
}

/** A query: a period in milliseconds since 1970, and the maximum number of points. */
export interface TimeWindow {
  readonly from: number
  readonly to: number
  readonly width: number
}

/** Samples of some series. */
export class History {
  readonly #names: readonly string[]
  readonly #levels: readonly Level[]

  constructor(names: readonly string[]) {
    this.#names = names
    this.#levels = LEVELS.map((size) => new Level(size, names.length))
  }

  /** Adds a sample. Series that it lacks are unknown at that time. */
  note(timeMs: number, sample: Readonly<Record<string, number | undefined>>): void {
    const values = this.#names.map((name) => sample[name] ?? Number.NaN)
    for (const level of this.#levels) level.note(timeMs, values)
  }

  /** The mean of each series in each part of a window; in the finest resolution that reaches it. */
  read({ from, to, width }: TimeWindow, nowMs: number): SeriesAnswer {
    const isFine = from >= nowMs - LEVELS[0].slots * LEVELS[0].stepMs
    const level = this.#levels[isFine ? 0 : 1]
    if (level === undefined) return { times: [], stepMs: 0, series: {} }
    const first = Math.max(from, nowMs - level.size.stepMs * level.size.slots)
    const perPoint = Math.max(1, Math.ceil((to - first) / level.size.stepMs / Math.max(1, width)))
    const stepMs = perPoint * level.size.stepMs
    const times: number[] = []
    for (let at = Math.floor(first / stepMs) * stepMs; at <= to; at += stepMs) times.push(at)
    const columns = this.#names.map((name, series) => {
      return [name, times.map((time) => level.mean(time, perPoint, series))] as const
    })
    return { times, stepMs, series: Object.fromEntries(columns) }
  }
}

/** One resolution: a ring of sums and counts. */
class Level {
  readonly size: { readonly stepMs: number; readonly slots: number }
  readonly #series: number
  /** Which step a slot holds. */
  readonly #steps: Float64Array
  readonly #sums: Float64Array
  readonly #counts: Float64Array

  constructor(size: { readonly stepMs: number; readonly slots: number }, series: number) {
    this.size = size
    this.#series = series
    this.#steps = new Float64Array(size.slots).fill(-1)
    this.#sums = new Float64Array(size.slots * series)
    this.#counts = new Float64Array(size.slots * series)
  }

  note(timeMs: number, values: readonly number[]): void {
    const step = Math.floor(timeMs / this.size.stepMs)
    const slot = step % this.size.slots
    const first = slot * this.#series
    if (this.#steps[slot] !== step) {
      this.#steps[slot] = step
      this.#sums.fill(0, first, first + this.#series)
      this.#counts.fill(0, first, first + this.#series)
    }
    for (const [at, value] of values.entries()) {
      if (Number.isNaN(value)) continue
      this.#sums[first + at] = (this.#sums[first + at] ?? 0) + value
      this.#counts[first + at] = (this.#counts[first + at] ?? 0) + 1
    }
  }

  mean(timeMs: number, steps: number, series: number): number | null {
    const first = Math.round(timeMs / this.size.stepMs)
    let [sum, count] = [0, 0]
    for (let step = first; step < first + steps; step += 1) {
      const slot = step % this.size.slots
      if (this.#steps[slot] !== step) continue
      sum += this.#sums[slot * this.#series + series] ?? 0
      count += this.#counts[slot * this.#series + series] ?? 0
    }
    return count === 0 ? null : Math.round((sum / count) * 100) / 100
  }
}
