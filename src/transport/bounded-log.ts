// Something that may happen over and over is said at a bounded rate: the first of each kind at
// once, then one line a minute with how many there were, whoever did them.

import { Recurrence } from '../base/recurrence.js'

const INTERVAL_MS = 60_000

/** Counts what happens, by its kind. */
export class BoundedLog<Kind, Item> {
  readonly #tell: (item: Item, count: number) => void
  readonly #intervalMs: number
  readonly #recurrences = new Map<Kind, Recurrence>()
  readonly #last = new Map<Kind, Item>()
  #timer: NodeJS.Timeout | undefined

  /** `tell` gets the last of a kind, and how many there were since the last line; never 0. */
  constructor(tell: (item: Item, count: number) => void, intervalMs: number = INTERVAL_MS) {
    this.#tell = tell
    this.#intervalMs = intervalMs
  }

  /** It has happened: says so, now or later. The kinds are few. */
  note(kind: Kind, item: Item): void {
    let recurrence = this.#recurrences.get(kind)
    if (recurrence === undefined) {
      recurrence = new Recurrence(this.#intervalMs)
      this.#recurrences.set(kind, recurrence)
    }
    this.#last.set(kind, item)
    this.#tellIf(item, recurrence.note(performance.now()))
    this.#timer ??= setTimeout(() => this.#look(), this.#intervalMs).unref()
  }

  /** Says nothing any more of what was noted. */
  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    this.#timer = undefined
    for (const [kind, recurrence] of this.#recurrences) {
      const last = this.#last.get(kind)
      if (last !== undefined) this.#tellIf(last, recurrence.look(performance.now()))
    }
  }

  #tellIf(item: Item, count: number): void {
    if (count > 0) this.#tell(item, count)
  }
}
