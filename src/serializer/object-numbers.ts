// Objects by the order in which they were met. Most are met once: so a set is kept, and numbers are
// only counted when one is asked for.

/** Gives objects numbers, from 0. */
export class ObjectNumbers {
  #seen = new Set<object>()
  #counted = new Map<object, number>()
  /** Goes on through `#seen` whenever more objects have to be counted. */
  #uncounted: Iterator<object, undefined> | undefined

  get size(): number {
    return this.#seen.size
  }

  /** All, in their order. */
  get all(): Iterable<object> {
    return this.#seen
  }

  /** Forgets all. */
  clear(): void {
    if (this.#seen.size === 0) return
    this.#seen = new Set()
    this.#uncounted = undefined
    if (this.#counted.size > 0) this.#counted = new Map()
  }

  /** Gives an object the next number. Returns false if it has one. */
  add(object: object): boolean {
    const { size } = this.#seen
    this.#seen.add(object)
    return this.#seen.size > size
  }

  /** Takes the number of the object that got the last one. */
  remove(object: object): void {
    this.#seen.delete(object)
  }

  has(object: object): boolean {
    return this.#seen.has(object)
  }

  /** The number of an object that has one. */
  of(object: object): number {
    let number = this.#counted.get(object)
    if (number !== undefined) return number
    this.#uncounted ??= this.#seen.values()
    for (;;) {
      const next = this.#uncounted.next()
      if (next.done === true) return -1
      number = this.#counted.size
      this.#counted.set(next.value, number)
      if (next.value === object) return number
    }
  }
}
