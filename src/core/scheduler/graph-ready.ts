// The nodes of a graph that could run, by number: the smallest is wanted. A set of bits, with a bit
// above for each word that is not zero, and so on: everything takes as many steps as there are
// storeys (four for a million nodes), however many nodes are ready.

import { assert } from '../../base/assert.js'
import { NONE } from './graph-index.js'

const WORD_BITS = 32

/** A set of small numbers that knows its smallest. */
export class ReadySet {
  /** The bits themselves, then one storey upon the other. Invariant: the last has one word. */
  #storeys: Uint32Array[] = [new Uint32Array(1)]
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The smallest number; `NONE` if there is none. */
  get first(): number {
    if (this.#size === 0) return NONE
    let at = 0
    for (let storey = this.#storeys.length - 1; storey >= 0; storey -= 1) {
      const word = (this.#storeys[storey] as Uint32Array)[at] as number
      at = at * WORD_BITS + lowestBit(word)
    }
    return at
  }

  has(number: number): boolean {
    const word = (this.#storeys[0] as Uint32Array)[number >>> 5] ?? 0
    return ((word >>> (number & 31)) & 1) === 1
  }

  /** Adds a number that is not in the set. */
  add(number: number): void {
    if (number >>> 5 >= (this.#storeys[0] as Uint32Array).length) this.#grow(number)
    this.#size += 1
    let at = number
    for (const words of this.#storeys) {
      const before = words[at >>> 5] as number
      words[at >>> 5] = before | (1 << (at & 31))
      if (before !== 0) return
      at >>>= 5
    }
  }

  /** Takes a number out that is in the set. */
  remove(number: number): void {
    this.#size -= 1
    let at = number
    for (const words of this.#storeys) {
      const after = (words[at >>> 5] as number) & ~(1 << (at & 31))
      words[at >>> 5] = after
      if (after !== 0) return
      at >>>= 5
    }
  }

  /** Throws if a storey does not tell of the one below. */
  checkInvariants(): void {
    let count = 0
    for (const [storey, words] of this.#storeys.entries()) {
      const above = this.#storeys[storey + 1]
      for (const [index, word] of words.entries()) {
        if (storey === 0) count += bitCount(word)
        const bit = (((above?.[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1
        assert(above === undefined || bit === (word !== 0), 'a ready node is not seen from above')
      }
    }
    assert(count === this.#size, 'the ready nodes are miscounted')
  }

  #grow(number: number): void {
    const old = this.#storeys[0] as Uint32Array
    let words = new Uint32Array(Math.max(old.length * 2, (number >>> 5) + 1))
    words.set(old)
    this.#storeys = [words]
    while (words.length > 1) {
      words = storeyAbove(words)
      this.#storeys.push(words)
    }
  }
}

function storeyAbove(words: Uint32Array): Uint32Array<ArrayBuffer> {
  const above = new Uint32Array(Math.ceil(words.length / WORD_BITS))
  for (const [index, word] of words.entries()) {
    if (word !== 0) above[index >>> 5] = (above[index >>> 5] as number) | (1 << (index & 31))
  }
  return above
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word)
}

function bitCount(word: number): number {
  let count = 0
  for (let rest = word; rest !== 0; rest &= rest - 1) count += 1
  return count
}
