// The results of a map by position, without gaps in memory: results come in any order, and an
// array that is filled far beyond its end becomes slow.

import { assert } from '../base/assert.js'

const PENDING: unique symbol = Symbol('pending')
/** Taken slots are given back to memory in runs of at least this length. */
const MIN_DROPPED = 1024

/** Slots for the results of inputs 0, 1, 2, …, which can be taken from the front. */
export class MapSlots {
  #items: unknown[] = []
  /** How many slots were dropped from the front of `#items`. */
  #dropped = 0
  /** The first slot that was not taken. */
  #front = 0

  /** How many slots have been added. */
  get length(): number {
    return this.#dropped + this.#items.length
  }

  /** Adds an empty slot at the end. */
  add(): void {
    this.#items.push(PENDING)
  }

  /** Fills the slot of one input. */
  fill(index: number, value: unknown): void {
    const at = index - this.#dropped
    assert(this.#items[at] === PENDING, `a second result for input ${index}`)
    this.#items[at] = value
  }

  /** Whether `take` has something. */
  get isFrontFilled(): boolean {
    const at = this.#front - this.#dropped
    return at < this.#items.length && this.#items[at] !== PENDING
  }

  /** Takes the result at the front. Only if `isFrontFilled`. */
  take(): unknown {
    const at = this.#front - this.#dropped
    const value = this.#items[at]
    this.#items[at] = undefined
    this.#front += 1
    if (at + 1 >= MIN_DROPPED && (at + 1) * 2 >= this.#items.length) this.#drop(at + 1)
    return value
  }

  /** All filled slots that were not taken, as pairs of position and result. */
  entries(): (readonly [index: number, value: unknown])[] {
    const pairs: (readonly [number, unknown])[] = []
    for (let index = this.#front; index < this.length; index += 1) {
      const value = this.#items[index - this.#dropped]
      if (value !== PENDING) pairs.push([index, value])
    }
    return pairs
  }

  /** Whether the slot of an input is filled. Only while none was taken. */
  isFilled(index: number): boolean {
    return index < this.#items.length && this.#items[index] !== PENDING
  }

  /** All results, when every slot is filled and none was taken. Not a copy. */
  get values(): unknown[] {
    return this.#items
  }

  #drop(count: number): void {
    this.#items = this.#items.slice(count)
    this.#dropped += count
  }
}
