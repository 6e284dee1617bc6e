// What monitors have not read yet is kept as the last items of a sequence.

/**
 * The last items of a sequence. Each has a number, counted from the very first one.
 */
export class History<T> {
  readonly #capacity: number
  #items: T[] = []
  #start = 0
  #end = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** The number of the oldest item that is kept. */
  get start(): number {
    return this.#start
  }

  /** The number that the next item gets. */
  get end(): number {
    return this.#end
  }

  push(item: T): void {
    if (this.#items.length === 0) this.#items.length = this.#capacity
    this.#items[this.#end % this.#capacity] = item
    this.#end += 1
    this.#start = Math.max(this.#start, this.#end - this.#capacity)
  }

  /** At most `most` items, starting with number `from`, which must not have been dropped. */
  slice(from: number, most: number): readonly T[] {
    const to = Math.min(this.#end, from + most)
    const items: T[] = []
    for (let number = from; number < to; number += 1) {
      items.push(this.#items[number % this.#capacity] as T)
    }
    return items
  }

  /** Drops all items; numbering continues. */
  clear(): void {
    this.#items = []
    this.#start = this.#end
  }
}

/** A part of a history. */
export interface News<T> {
  readonly items: readonly T[]
  readonly from: number
  readonly to: number
  readonly lost: number
}

/** What a reader gets that has requested nothing. */
export const NO_NEWS: News<never> = { items: [], from: 0, to: 0, lost: 0 }

/**
 * The next items of a history, at most `most`, for a reader that has all items before `next`;
 * undefined: none were requested.
 */
export function nextOf<T>(history: History<T>, next: number | undefined, most: number): News<T> {
  if (next === undefined) return NO_NEWS
  const from = Math.max(next, history.start)
  const items = history.slice(from, most)
  return { items, from, to: from + items.length, lost: from - next }
}
