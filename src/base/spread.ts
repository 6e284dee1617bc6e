// A map from ids that may have a million entries. A `Map` stands still for a tenth of a second when
// the millionth makes it grow, and again when it shrinks; this one is many small ones, and grows by
// one of them at a time (linear hashing).

/** On average a part has no more entries, and when a part is divided no more than twice as many. */
const PART_ENTRIES = 512

/** A map from strings whose ends differ. What is set meanwhile may be met by an iteration. */
export class SpreadMap<K extends string, V> {
  readonly #parts: Map<K, V>[] = [new Map<K, V>()]
  /** A power of 2: that many parts there were when the last doubling began. */
  #level = 1
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: K): V | undefined {
    return this.#partOf(key).get(key)
  }

  has(key: K): boolean {
    return this.#partOf(key).has(key)
  }

  /** Adds an entry, or replaces the value of one that is there. */
  set(key: K, value: V): void {
    const part = this.#partOf(key)
    const before = part.size
    part.set(key, value)
    this.#size += part.size - before
    if (this.#size > this.#parts.length * PART_ENTRIES) this.#split()
  }

  /** Returns whether the entry was there. */
  delete(key: K): boolean {
    const wasThere = this.#partOf(key).delete(key)
    if (wasThere) this.#size -= 1
    return wasThere
  }

  /** All values, in no particular order. */
  *values(): Generator<V, void, undefined> {
    for (const part of this.#parts) yield* part.values()
  }

  #partOf(key: K): Map<K, V> {
    const hash = hashOf(key)
    const part = hash & (2 * this.#level - 1)
    const index = part < this.#parts.length ? part : hash & (this.#level - 1)
    return this.#parts[index] as Map<K, V>
  }

  /** Divides a part into two. Both are made anew: taking entries out of a `Map` costs more. */
  #split(): void {
    const index = this.#parts.length - this.#level
    const whole = this.#parts[index] as Map<K, V>
    this.#parts[index] = new Map<K, V>()
    this.#parts.push(new Map<K, V>())
    for (const [key, value] of whole) this.#partOf(key).set(key, value)
    if (this.#parts.length === 2 * this.#level) this.#level *= 2
  }
}

/** Of the last four characters: in ids that are counted these are the number. */
function hashOf(key: string): number {
  const { length } = key
  let hash = length
  for (let at = Math.max(0, length - 4); at < length; at += 1)
    hash = hash * 256 + key.charCodeAt(at)
  hash = Math.imul(hash ^ (hash >>> 16), 0x9e37_79b1)
  return hash >>> 8
}

// A set of things that have ids and may be a million: as spread.ts, and for the same reason.

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
