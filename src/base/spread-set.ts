// A set of things that have ids and may be a million: as spread-map.ts, and for the same reason.

import { SpreadMap } from './spread-map.js'

/** A set of things whose ids differ. What is added meanwhile may be met by an iteration. */
export class SpreadSet<T extends { readonly id: string }> {
  readonly #items = new SpreadMap<string, T>()

  get size(): number {
    return this.#items.size
  }

  has(item: T): boolean {
    return this.#items.get(item.id) === item
  }

  /** Adds an item; another one of the same id leaves. */
  add(item: T): void {
    this.#items.set(item.id, item)
  }

  /** Returns whether the item was there. */
  delete(item: T): boolean {
    return this.has(item) && this.#items.delete(item.id)
  }

  /** All items, in no particular order. */
  [Symbol.iterator](): Generator<T, void, undefined> {
    return this.#items.values()
  }
}
