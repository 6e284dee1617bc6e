// A table of the scheduler that a monitor receives in parts, some rows with each state.

import type { Identity } from '../../base/ids.js'

/** A row of a table that comes in parts, and the round in which it was listed last. */
interface Row<Report, Info> {
  readonly report: Report
  readonly info: Info
  round: number
}

/** A table of the scheduler that is listed in parts: once all parts have come, it is complete. */
export class Rows<Report, Info> {
  readonly #rows = new Map<Identity, Row<Report, Info>>()
  readonly #read: (report: Report) => Info
  #round = 0
  #isComplete = false

  constructor(read: (report: Report) => Info) {
    this.#read = read
  }

  /** Whether each row has been listed since the beginning. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  get reports(): readonly Report[] {
    return [...this.#rows.values()].map(({ report }) => report)
  }

  get infos(): readonly Info[] {
    return [...this.#rows.values()].map(({ info }) => info)
  }

  /** One row has come, or left. Returns whether that was not known. */
  note(id: Identity, report: Report, hasLeft: boolean): boolean {
    if (hasLeft) return this.#rows.delete(id)
    const isNew = !this.#rows.has(id)
    this.#rows.set(id, { report, info: this.#read(report), round: this.#round })
    return isNew
  }

  /** One part, which starts with row `first` of `total`. Returns who has come, and who has left. */
  update(
    part: readonly (readonly [Identity, Report])[],
    { first, total }: { readonly first: number; readonly total: number },
  ): { readonly joined: readonly Info[]; readonly left: readonly Info[] } {
    if (first === 0) this.#round += 1
    const joined: Info[] = []
    for (const [id, report] of part) {
      const isKnown = this.#rows.has(id)
      const row = { report, info: this.#read(report), round: this.#round }
      this.#rows.set(id, row)
      if (!isKnown) joined.push(row.info)
    }
    if (first + part.length < total) return { joined, left: [] }
    this.#isComplete = true
    return { joined, left: this.#dropOld() }
  }

  #dropOld(): readonly Info[] {
    const left: Info[] = []
    for (const [id, { info, round }] of this.#rows) {
      if (round === this.#round) continue
      this.#rows.delete(id)
      left.push(info)
    }
    return left
  }
}
