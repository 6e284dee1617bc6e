// The events of the chaos, by time: the faults, their targets, and the output of the programs.

/** An event. */
export interface JournalEntry {
  readonly atMs: number
  readonly text: string
}

/** Older events are dropped: long enough for all of the life of a task that is late. */
const KEPT_MS = 100_000

/** The last events. */
export class Journal {
  readonly #entries: JournalEntry[] = []
  readonly #now: () => number
  #first = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** Records an event. */
  add(text: string): void {
    const atMs = this.#now()
    this.#entries.push({ atMs, text })
    while ((this.#entries[this.#first]?.atMs ?? atMs) < atMs - KEPT_MS) this.#first += 1
    if (this.#first < 10_000) return
    this.#entries.splice(0, this.#first)
    this.#first = 0
  }

  /** One line each. */
  lines(): string[] {
    return this.#entries.slice(this.#first).map(({ atMs, text }) => `${seconds(atMs)} ${text}`)
  }
}

/** `12.345`, aligned. */
export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3).padStart(8)
}
