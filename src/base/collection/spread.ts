// A map from ids that may have a million entries. A `Map` blocks for a tenth of a second when the
// millionth entry makes it grow, and again when it shrinks; this one consists of many small maps,
// and grows by one of them at a time (linear hashing).

/**
 * The average number of entries in a part, at most; a part that is split has at most twice as many.
 */
const PART_ENTRIES = 512

/** The part of `count` parts, possibly many, that entries with this hash are in. */
export function partOf(hash: number, count: number): number {
  const level = levelOf(count)
  const part = hash & (2 * level - 1)
  return part < count ? part : hash & (level - 1)
}

/** The part that has to be split when another one is added to `count` parts. */
export function partToSplit(count: number): number {
  return count - levelOf(count)
}

/** The number of parts when the last doubling began: the largest power of 2 up to `count`. */
function levelOf(count: number): number {
  return 1 << (31 - Math.clz32(count))
}

/** A map from strings whose ends differ. An iteration may include entries set meanwhile. */
export class SpreadMap<K extends string, V> {
  readonly #parts: Map<K, V>[] = [new Map<K, V>()]
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

  /** Adds an entry, or replaces the value of an existing one. */
  set(key: K, value: V): void {
    const part = this.#partOf(key)
    const before = part.size
    part.set(key, value)
    this.#size += part.size - before
    if (this.#size > this.#parts.length * PART_ENTRIES) this.#split()
  }

  /** Returns whether the entry existed. */
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
    return this.#parts[partOf(hashOf(key), this.#parts.length)] as Map<K, V>
  }

  /** Splits a part into two new maps: removing entries from a `Map` costs more. */
  #split(): void {
    const index = partToSplit(this.#parts.length)
    const whole = this.#parts[index] as Map<K, V>
    this.#parts[index] = new Map<K, V>()
    this.#parts.push(new Map<K, V>())
    for (const [key, value] of whole) this.#partOf(key).set(key, value)
  }
}

/** Hashes the last four characters: in ids with a counter these are its lowest bytes. */
function hashOf(key: string): number {
  const { length } = key
  let hash = length
  for (let at = Math.max(0, length - 4); at < length; at += 1)
    hash = hash * 256 + key.charCodeAt(at)
  hash = Math.imul(hash ^ (hash >>> 16), 0x9e37_79b1)
  return hash >>> 8
}
