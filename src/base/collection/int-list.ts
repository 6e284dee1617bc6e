// A growing list of integers: a graph of a million nodes has several of them, and an array of
// numbers would take more than twice the memory and be copied more often.

const FIRST_CAPACITY = 64

/** Signed 32-bit integers. */
export class IntList {
  #items: Int32Array = new Int32Array(FIRST_CAPACITY)
  #length = 0

  get length(): number {
    return this.#length
  }

  push(item: number): void {
    if (this.#length === this.#items.length) this.#grow()
    this.#items[this.#length] = item
    this.#length += 1
  }

  /** The item at an index; 0 outside the list. */
  at(index: number): number {
    return this.#items[index] ?? 0
  }

  /** Releases the memory reserved for more items. */
  trim(): void {
    this.#items = this.toArray()
  }

  /** All items, in an array of exactly that length. */
  toArray(): Int32Array {
    return this.#items.slice(0, this.#length)
  }

  #grow(): void {
    const items = new Int32Array(Math.max(FIRST_CAPACITY, this.#items.length * 2))
    items.set(this.#items)
    this.#items = items
  }
}
