// The sums of the reports of the chaos clients, and the findings: every violation.

/** The outcomes of one kind of work. */
export interface KindCount {
  ended: number
  /** Failed because the chaos killed a process: not a finding. */
  collateral: number
  late: number
  longestMs: number
}

/** A line that a client writes. */
export type ClientReport =
  | { readonly event: 'progress' | 'done'; readonly counts: Readonly<Record<string, KindCount>> }
  | { readonly event: 'finding'; readonly kind: string; readonly text: string }
  | { readonly event: 'late'; readonly kind: string; readonly ms: number; readonly text: string }
  | { readonly event: 'slow'; readonly kind: string; readonly ms: number }
  | { readonly event: 'unfinished'; readonly what: readonly string[] }

/** A violation. */
export interface Finding {
  readonly atMs: number
  readonly text: string
}

/** Adds up. */
export class Tally {
  readonly findings: Finding[] = []
  readonly #latest = new Map<string, Readonly<Record<string, KindCount>>>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Records a violation. */
  find(text: string): void {
    this.findings.push({ atMs: this.#now(), text })
  }

  /** Adds a client's report. */
  report(client: string, report: ClientReport): void {
    if (report.event === 'progress' || report.event === 'done') {
      this.#latest.set(client, report.counts)
    } else if (report.event === 'finding') {
      this.find(`${client}, ${report.kind}: ${report.text}`)
    } else if (report.event === 'late') {
      this.find(`${client}, ${report.kind} was late, after ${report.ms} ms: ${report.text}`)
    }
  }

  /** The sums by kind, and of all. */
  sums(): Map<string, KindCount> {
    const all: KindCount = { ended: 0, collateral: 0, late: 0, longestMs: 0 }
    const sums = new Map<string, KindCount>()
    for (const counts of this.#latest.values()) {
      for (const [kind, count] of Object.entries(counts)) {
        const sum = sums.get(kind) ?? { ended: 0, collateral: 0, late: 0, longestMs: 0 }
        sums.set(kind, sum)
        for (const into of [sum, all]) add(into, count)
      }
    }
    return new Map([...sums.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1))).set('all', all)
  }
}

function add(into: KindCount, count: KindCount): void {
  into.ended += count.ended
  into.collateral += count.collateral
  into.late += count.late
  into.longestMs = Math.max(into.longestMs, count.longestMs)
}
