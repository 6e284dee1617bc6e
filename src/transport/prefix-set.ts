// Subscriptions: prefixes of messages, counted, as the same one may be asked for more than once.

import { latin1Slice } from '../base/bytes.js'

/** What one entry costs beside the bytes of its prefix, roughly. */
const ENTRY_BYTES = 64

/** The prefixes of one subscriber, as latin1 strings. */
export class PrefixSet {
  readonly #counts = new Map<string, number>()
  /** How many prefixes there are of each length. */
  readonly #lengths = new Map<number, number>()
  #bytes = 0

  /** How many different prefixes there are. */
  get size(): number {
    return this.#counts.size
  }

  /** The memory that the set takes, roughly, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a prefix once more. Returns whether it is new. */
  add(prefix: string): boolean {
    const count = this.#counts.get(prefix) ?? 0
    this.#counts.set(prefix, count + 1)
    if (count > 0) return false
    this.#bytes += ENTRY_BYTES + prefix.length
    this.#lengths.set(prefix.length, (this.#lengths.get(prefix.length) ?? 0) + 1)
    return true
  }

  /** Takes a prefix back once. Returns whether it has left the set. */
  delete(prefix: string): boolean {
    const count = this.#counts.get(prefix)
    if (count === undefined) return false
    if (count > 1) {
      this.#counts.set(prefix, count - 1)
      return false
    }
    this.#counts.delete(prefix)
    this.#bytes -= ENTRY_BYTES + prefix.length
    const others = (this.#lengths.get(prefix.length) ?? 1) - 1
    if (others === 0) this.#lengths.delete(prefix.length)
    else this.#lengths.set(prefix.length, others)
    return true
  }

  /** Whether every message matches, and none need be looked at. */
  get matchesAll(): boolean {
    return this.#counts.has('')
  }

  /** Whether a message that begins with `bytes` (all of its first frame) matches. */
  matches(bytes: Buffer): boolean {
    if (this.matchesAll) return true
    for (const length of this.#lengths.keys()) {
      if (length <= bytes.length && this.#counts.has(latin1Slice(bytes, 0, length))) return true
    }
    return false
  }

  /** The different prefixes, in the order in which they were added. */
  [Symbol.iterator](): IterableIterator<string> {
    return this.#counts.keys()
  }
}
