// What monitors have not read yet is kept as the last items of a sequence.

/**
 * The last items of a sequence. Each has a number, counted from the very first one. Some may have
 * been left out.
 */
export class History<T> {
  readonly #capacity: number
  #items: (T | undefined)[] = []
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

  /** Adds an item, or a gap. */
  push(item: T | undefined): void {
    if (this.#items.length === 0) this.#items.length = this.#capacity
    this.#items[this.#end % this.#capacity] = item
    this.#end += 1
    this.#start = Math.max(this.#start, this.#end - this.#capacity)
  }

  /**
   * At most `most` items, starting with number `from`, which must not have been dropped; and the
   * number after them.
   */
  slice(from: number, most: number): { readonly items: readonly T[]; readonly to: number } {
    const items: T[] = []
    let to = from
    for (; to < this.#end && items.length < most; to += 1) {
      const item = this.#items[to % this.#capacity]
      if (item !== undefined) items.push(item)
    }
    return { items, to }
  }

  /** Drops all items; numbering continues. */
  clear(): void {
    this.#items = []
    this.#start = this.#end
  }
}
