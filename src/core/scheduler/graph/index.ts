// From the ids of a graph's nodes to their numbers 0, 1, 2, … and back.
//
// The ids of our clients end with a number, have their other bytes in common, and may be in runs
// (wire/run.ts). They are neither stored nor looked up: only the nodes of such numbers are listed,
// in blocks. All other ids are in a hash table that grows by one bucket at a time (linear hashing):
// a `Map` would block for a tenth of a second when the millionth entry makes it grow.

import { assert } from '../../../base/assert.js'
import { bytesToLatin1, latin1Slice, latin1ToBytes } from '../../../base/bytes.js'
import { taskId, type TaskId } from '../../../base/ids.js'
import { partOf, partToSplit } from '../../../base/collection/spread.js'
import { isBlockId, numberAtEnd } from '../../../wire/run.js'
import { ByteStore, Records } from './store.js'

/** No such node. */
export const NONE = -1

const USUAL_LENGTH = 16
const NUMBER_LENGTH = 4
const FIRST_BUCKETS = 16

/** The fields of an id's record. */
const HASH = 0
/** The next record in its bucket, plus 1. */
const NEXT = 1
/** The id itself if it has the usual length, otherwise its handle in a store. */
const ID = 2
const NODE = 6
const ID_FIELDS = 7

/** The lowest bit of a hash: the id is in a store. */
const IS_STORED = 1

/** Larger numbers in ids are not looked at: the list of blocks stays short. */
const MAX_NUMBER: number = 2 ** 24
const BLOCK_BITS = 10
const BLOCK_NUMBERS: number = 2 ** BLOCK_BITS
const PLACE_MASK: number = BLOCK_NUMBERS - 1
/** The size of the smallest block, in numbers. */
const FIRST_ROOM = 16
/** This many blocks may always exist; beyond them, one for each few nodes. */
const FREE_BLOCKS = 1024
const NODES_PER_BLOCK = 64

/** The nodes of numbers below `MAX_NUMBER`: a block has those of 1,024 consecutive numbers. */
class Numbers {
  /** The nodes plus 1. */
  readonly #blocks: (Int32Array | undefined)[] = []
  #blockCount = 0

  /** The node of a number; `NONE` if it has none. */
  get(number: number): number {
    return (this.#blocks[number >>> BLOCK_BITS]?.[number & PLACE_MASK] ?? 0) - 1
  }

  /**
   * Sets the node of a number. Returns false if its block does not exist: a client with numbers
   * that are far apart could make a scheduler use kilobytes for each.
   */
  set(number: number, node: number): boolean {
    const at = number >>> BLOCK_BITS
    const place = number & PLACE_MASK
    let block = this.#blocks[at]
    if (block === undefined) {
      if (this.#blockCount > FREE_BLOCKS + node / NODES_PER_BLOCK) return false
      this.#blockCount += 1
      while (this.#blocks.length < at) this.#blocks.push(undefined)
    }
    if (block === undefined || place >= block.length) {
      const larger = new Int32Array(Math.min(BLOCK_NUMBERS, Math.max(FIRST_ROOM, 2 * place)))
      if (block !== undefined) larger.set(block)
      block = larger
      this.#blocks[at] = block
    }
    block[place] = node + 1
    return true
  }
}

/** The place of a node without a number is this plus its record. */
const OTHER: number = 2 ** 31

/** The ids of the nodes of one graph. */
export class NodeIndex {
  /** An id of a numbered node; undefined before the first. */
  #pattern: TaskId | undefined
  /** The same in bytes. */
  #id: Buffer = Buffer.alloc(0)
  readonly #numbers = new Numbers()
  /** By node: its number plus 1, or `OTHER` and its record. */
  readonly #places = new Records(1)
  readonly #others = new Records(ID_FIELDS)
  /** The first record of each bucket, plus 1. */
  readonly #buckets = new Records(1)
  /** Ids of unusual length. */
  #ids: ByteStore | undefined

  constructor() {
    for (let count = 0; count < FIRST_BUCKETS; count += 1) this.#buckets.add()
  }

  /** The number of nodes. */
  get count(): number {
    return this.#places.count
  }

  /** The number of a node; `NONE` for an unknown one. */
  find(id: TaskId): number {
    const number = this.#isNumbered(id) ? numberAtEnd(id) : MAX_NUMBER
    const node = this.atNumber(number)
    if (node !== NONE) return node
    return this.#others.count === 0 ? NONE : this.#search(id)
  }

  /** The same for an id in bytes. */
  findBytes(id: Uint8Array): number {
    const node = this.atNumber(this.#numberInBytes(id))
    if (node !== NONE || this.#others.count === 0) return node
    return this.#search(taskId(bytesToLatin1(id)))
  }

  /** Adds a node with a new id and returns its number, which is the next one. */
  add(id: TaskId): number {
    const node = this.#places.add()
    if (this.#pattern === undefined && isBlockId(id)) this.#begin(id)
    const number = this.#isNumbered(id) ? numberAtEnd(id) : MAX_NUMBER
    if (number < MAX_NUMBER && this.#numbers.set(number, node))
      this.#places.set(node, 0, number + 1)
    else this.#addOther(node, id)
    return node
  }

  /** The number in the id of a node; `NONE` if its id cannot be in a run. */
  numberOf(node: number): number {
    const place = this.#places.get(node, 0)
    return place < OTHER ? place - 1 : NONE
  }

  /** The node with this number in its id; `NONE` if there is none. */
  atNumber(number: number): number {
    return number < MAX_NUMBER ? this.#numbers.get(number) : NONE
  }

  /** The id of a node. */
  idOf(node: number): TaskId {
    const place = this.#places.get(node, 0)
    if (place < OTHER) {
      this.#id.writeUInt32BE(place - 1, USUAL_LENGTH - NUMBER_LENGTH)
      this.#id.writeUInt16BE((place - 1) & 0xffff, 0)
      return taskId(latin1Slice(this.#id, 0, USUAL_LENGTH))
    }
    const record = place - OTHER
    const isStored = (this.#others.get(record, HASH) & IS_STORED) !== 0
    if (!isStored) return taskId(this.#others.text(record, ID, USUAL_LENGTH))
    assert(this.#ids !== undefined, 'a stored id is missing')
    return taskId(this.#ids.latin1(this.#others.get(record, ID)))
  }

  /** Throws if a node cannot be found. */
  checkInvariants(): void {
    for (let node = 0; node < this.count; node += 1) {
      const id = this.idOf(node)
      assert(this.find(id) === node, 'a node is not found by its id')
      assert(this.findBytes(latin1ToBytes(id)) === node, 'a node is not found by its bytes')
    }
  }

  /** Takes the common part from the id of the first numbered node. */
  #begin(id: TaskId): void {
    this.#pattern = id
    this.#id = latin1ToBytes(id)
  }

  /** Whether an id may be that of a numbered node. */
  #isNumbered(id: TaskId): boolean {
    const pattern = this.#pattern
    if (pattern === undefined || !isBlockId(id)) return false
    for (let at = 2; at < USUAL_LENGTH - NUMBER_LENGTH; at += 1) {
      if (id.charCodeAt(at) !== pattern.charCodeAt(at)) return false
    }
    return true
  }

  /** The number in the id of what may be a numbered node; too large a number for other ids. */
  #numberInBytes(id: Uint8Array): number {
    const pattern = this.#id
    if (id.length !== USUAL_LENGTH || pattern.length === 0) return MAX_NUMBER
    for (let at = 2; at < USUAL_LENGTH - NUMBER_LENGTH; at += 1) {
      if (id[at] !== pattern[at]) return MAX_NUMBER
    }
    if (id[0] !== id[USUAL_LENGTH - 2] || id[1] !== id[USUAL_LENGTH - 1]) return MAX_NUMBER
    let number = 0
    for (let at = USUAL_LENGTH - NUMBER_LENGTH; at < USUAL_LENGTH; at += 1) {
      number = number * 256 + (id[at] as number)
    }
    return number
  }

  #addOther(node: number, id: TaskId): void {
    const record = this.#others.add()
    if (id.length === USUAL_LENGTH) this.#others.setText(record, ID, id)
    else this.#others.set(record, ID, (this.#ids ??= new ByteStore()).addLatin1(id))
    const hash = hashOf(id)
    this.#others.set(record, HASH, hash)
    this.#others.set(record, NODE, node)
    this.#places.set(node, 0, OTHER + record)
    this.#link(this.#bucketOf(hash), record)
    if (this.#others.count > this.#buckets.count) this.#split()
  }

  #search(id: TaskId): number {
    const hash = hashOf(id)
    let entry = this.#buckets.get(this.#bucketOf(hash), 0)
    while (entry !== 0) {
      const record = entry - 1
      const isSame = this.#others.get(record, HASH) === hash && this.#hasId(record, id)
      if (isSame) return this.#others.get(record, NODE)
      entry = this.#others.get(record, NEXT)
    }
    return NONE
  }

  /** Compares ids with equal hashes, which include whether the length is the usual one. */
  #hasId(record: number, id: TaskId): boolean {
    if (id.length === USUAL_LENGTH) return this.#others.hasText(record, ID, id)
    return this.#ids?.equalsLatin1(this.#others.get(record, ID), id) === true
  }

  #bucketOf(hash: number): number {
    return partOf(hash >>> 1, this.#buckets.count)
  }

  #link(bucket: number, record: number): void {
    this.#others.set(record, NEXT, this.#buckets.get(bucket, 0))
    this.#buckets.set(bucket, 0, record + 1)
  }

  /** Adds a bucket, and moves its entries from the bucket that held them until now. */
  #split(): void {
    const source = partToSplit(this.#buckets.count)
    this.#buckets.add()
    let entry = this.#buckets.get(source, 0)
    this.#buckets.set(source, 0, 0)
    while (entry !== 0) {
      const record = entry - 1
      entry = this.#others.get(record, NEXT)
      this.#link(this.#bucketOf(this.#others.get(record, HASH)), record)
    }
  }
}

/** 32 bits, of which the lowest says whether the id is in a store. */
function hashOf(id: TaskId): number {
  let hash = id.length
  for (let index = 0; index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x9e37_79b1)
    hash ^= hash >>> 15
  }
  return (id.length === USUAL_LENGTH ? hash & ~IS_STORED : hash | IS_STORED) >>> 0
}

// The ready nodes of a graph by number, for finding the smallest. A bit set with a second level
// that has a bit for each word that is not zero, and so on: each operation takes as many steps as
// there are levels (four for a million nodes), however many nodes are ready.

const WORD_BITS = 32

/** A set of small numbers with fast access to its smallest. */
export class ReadySet {
  /** The bits, then the levels above. Invariant: the last level has one word. */
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

  /** Removes a number that is in the set. */
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

  /** Throws if a level disagrees with the one below. */
  checkInvariants(): void {
    let count = 0
    for (const [storey, words] of this.#storeys.entries()) {
      const above = this.#storeys[storey + 1]
      for (const [index, word] of words.entries()) {
        if (storey === 0) count += bitCount(word)
        const bit = (((above?.[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1
        assert(above === undefined || bit === (word !== 0), 'a level disagrees with the one below')
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
