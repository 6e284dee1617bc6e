// A binary heap that tracks the position of each item, so that a rank can change in O(log n).

/** A place in a heap. The heap writes `index`; -1 = not in a heap. */
export interface HeapItem {
  heapIndex: number
}

/** The item that ranks first by `isBefore`, with updates and removal in O(log n). */
export class IndexedHeap<T extends HeapItem> {
  readonly #items: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  /** `isBefore` must be a strict order over the fields that `update` is called for. */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  get size(): number {
    return this.#items.length
  }

  /** All items, in no meaningful order. */
  get items(): readonly T[] {
    return this.#items
  }

  /** The item that ranks first. */
  get first(): T | undefined {
    return this.#items[0]
  }

  /** The item that would rank first without the first one. */
  get second(): T | undefined {
    const [, left, right] = this.#items
    if (left === undefined || right === undefined) return left
    return this.#isBefore(right, left) ? right : left
  }

  /** Adds an item that is in no heap. */
  add(item: T): void {
    item.heapIndex = this.#items.length
    this.#items.push(item)
    this.#up(item.heapIndex)
  }

  /** Must be called after a field that the order reads has changed. */
  update(item: T): void {
    this.#up(item.heapIndex)
    this.#down(item.heapIndex)
  }

  /** Removes an item. */
  remove(item: T): void {
    const index = item.heapIndex
    const last = this.#items.pop()
    item.heapIndex = -1
    if (last === undefined || last === item) return
    this.#items[index] = last
    last.heapIndex = index
    this.update(last)
  }

  /** Throws if the order or the indices are broken. */
  checkInvariants(): void {
    for (const [index, item] of this.#items.entries()) {
      const parent = this.#items[(index - 1) >> 1]
      if (item.heapIndex !== index)
        throw new Error(`heap item ${index} has index ${item.heapIndex}`)
      if (index > 0 && parent !== undefined && this.#isBefore(item, parent)) {
        throw new Error(`heap item ${index} ranks before its parent`)
      }
    }
  }

  #up(start: number): void {
    let index = start
    const item = this.#items[index] as T
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.#items[parentIndex] as T
      if (!this.#isBefore(item, parent)) break
      this.#place(parent, index)
      index = parentIndex
    }
    this.#place(item, index)
  }

  #down(start: number): void {
    let index = start
    const item = this.#items[index] as T
    for (;;) {
      let childIndex = 2 * index + 1
      let child = this.#items[childIndex]
      if (child === undefined) break
      const right = this.#items[childIndex + 1]
      if (right !== undefined && this.#isBefore(right, child)) {
        child = right
        childIndex += 1
      }
      if (!this.#isBefore(child, item)) break
      this.#place(child, index)
      index = childIndex
    }
    this.#place(item, index)
  }

  #place(item: T, index: number): void {
    this.#items[index] = item
    item.heapIndex = index
  }
}
