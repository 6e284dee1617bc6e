// A table of the scheduler that a monitor receives in parts, some rows with each state, and who is
// in it as far as that was told.

import type { Identity } from '../../base/ids.js'

/** A row of a table that comes in parts, and the round in which it was listed last. */
interface Row<Report, Info> {
  readonly report: Report
  readonly info: Info
  readonly round: number
  /** False: it was listed, and the change that says so is still to come. */
  readonly isTold: boolean
}

/** A table of the scheduler that is listed in parts: once all parts have come, it is complete. */
export class Rows<Report, Info> {
  readonly #rows = new Map<Identity, Row<Report, Info>>()
  /** Told, and no longer listed: the change that says so is still to come. */
  readonly #gone = new Map<Identity, Info>()
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

  /** One row has come, or left. Returns whether that was not told. */
  note(id: Identity, report: Report, hasLeft: boolean): boolean {
    const wasGone = this.#gone.delete(id)
    const wasTold = wasGone || this.#rows.get(id)?.isTold === true
    if (hasLeft) this.#rows.delete(id)
    else this.#set(id, report, true)
    return wasTold === hasLeft
  }

  /**
   * One part, which starts with row `first` of `total`. Returns who has come, and who has left;
   * nobody if there will be changes that say so.
   */
  update(
    part: readonly (readonly [Identity, Report])[],
    { first, total }: { readonly first: number; readonly total: number },
    hasChanges: boolean,
  ): { readonly joined: readonly Info[]; readonly left: readonly Info[] } {
    if (first === 0) this.#round += 1
    const joined: Info[] = []
    for (const [id, report] of part) {
      const wasTold = this.#gone.delete(id) || this.#rows.get(id)?.isTold === true
      const info = this.#set(id, report, wasTold || !hasChanges)
      if (!wasTold && !hasChanges) joined.push(info)
    }
    if (first + part.length < total) return { joined, left: [] }
    this.#isComplete = true
    this.#dropOld()
    if (hasChanges) return { joined, left: [] }
    const left = [...this.#gone.values()]
    this.#gone.clear()
    return { joined, left }
  }

  #set(id: Identity, report: Report, isTold: boolean): Info {
    const info = this.#read(report)
    this.#rows.set(id, { report, info, round: this.#round, isTold })
    return info
  }

  #dropOld(): void {
    for (const [id, { info, round, isTold }] of this.#rows) {
      if (round === this.#round) continue
      this.#rows.delete(id)
      if (isTold) this.#gone.set(id, info)
    }
  }
}
