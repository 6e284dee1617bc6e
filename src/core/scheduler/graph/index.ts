// From the ids of a graph's nodes to their numbers 0, 1, 2, … and back.
//
// Our clients number the nodes of a graph themselves: all ids share a prefix, and the last four
// bytes are the number of the node. Such ids are neither stored nor looked up: in a large graph
// each table lookup would miss all caches. All other ids are in a hash table that grows by one
// bucket at a time (linear hashing): a `Map` would block for a tenth of a second when the millionth
// entry makes it grow.

import { assert } from '../../../base/assert.js'
import { bytesToLatin1, latin1Slice, latin1ToBytes } from '../../../base/bytes.js'
import { taskId, type TaskId } from '../../../base/ids.js'
import { partOf, partToSplit } from '../../../base/spread.js'
import { ByteStore, Records } from './store.js'

/** No such node. */
export const NONE = -1

const USUAL_LENGTH = 16
const PREFIX_LENGTH: number = USUAL_LENGTH - 4
const FIRST_BUCKETS = 16
/** Larger than any node number. */
const NO_NODE: number = 2 ** 31 - 1

/** The fields of an id's record, which is empty for a numbered node. */
const HASH = 0
/** The next node in its bucket, plus 1. */
const NEXT = 1
/** The id itself if it has the usual length, otherwise its handle in a store. */
const ID = 2
const ID_FIELDS = 6

/** The two lowest bits of a hash: the hash is set; the id is in a store. */
const IS_HASH = 1
const IS_STORED = 2
const HASH_SHIFT = 2

/** The ids of the nodes of one graph. */
export class NodeIndex {
  #count = 0
  /** The common prefix of the ids of numbered nodes; undefined before the first. */
  #prefix: string | undefined
  /** The prefix with room for a number. */
  #id: Buffer = Buffer.alloc(0)
  /** The first node that has a record. Nodes before it are numbered. */
  #firstOther = NO_NODE
  /** Invariant: a record for each node from `#firstOther` on. */
  readonly #others = new Records(ID_FIELDS)
  /** The number of records that are not empty. */
  #hashed = 0
  /** The first node of each bucket, plus 1. */
  readonly #buckets = new Records(1)
  /** Ids of unusual length. */
  #ids: ByteStore | undefined

  constructor() {
    for (let count = 0; count < FIRST_BUCKETS; count += 1) this.#buckets.add()
  }

  /** The number of nodes. */
  get count(): number {
    return this.#count
  }

  /** The number of a node; `NONE` for an unknown one. */
  find(id: TaskId): number {
    const number = this.#numberIn(id)
    if (number < this.#count && this.#hashOf(number) === 0) return number
    return this.#hashed === 0 ? NONE : this.#search(id)
  }

  /** The same for an id in bytes. */
  findBytes(id: Uint8Array): number {
    const number = this.#numberInBytes(id)
    if (number < this.#count && this.#hashOf(number) === 0) return number
    return this.#hashed === 0 ? NONE : this.#search(taskId(bytesToLatin1(id)))
  }

  /** Adds a node with a new id and returns its number, which is the next one. */
  add(id: TaskId): number {
    const node = this.#count
    this.#count += 1
    if (this.#prefix === undefined && lastNumberIn(id) === node) this.#begin(id)
    if (this.#numberIn(id) !== node) this.#addOther(node, id)
    else if (this.#firstOther < node) this.#others.add()
    return node
  }

  /** The id of a node. */
  idOf(node: number): TaskId {
    const hash = this.#hashOf(node)
    if (hash === 0) {
      this.#id.writeUInt32BE(node, PREFIX_LENGTH)
      return taskId(latin1Slice(this.#id, 0, USUAL_LENGTH))
    }
    const record = node - this.#firstOther
    if ((hash & IS_STORED) === 0) return taskId(this.#others.text(record, ID, USUAL_LENGTH))
    assert(this.#ids !== undefined, 'a stored id is missing')
    return taskId(this.#ids.latin1(this.#others.get(record, ID)))
  }

  /** Throws if a node cannot be found. */
  checkInvariants(): void {
    for (let node = 0; node < this.#count; node += 1) {
      const id = this.idOf(node)
      assert(this.find(id) === node, 'a node is not found by its id')
      assert(this.findBytes(latin1ToBytes(id)) === node, 'a node is not found by its bytes')
    }
  }

  /** Takes the prefix from the first numbered node. */
  #begin(id: TaskId): void {
    this.#prefix = id.slice(0, PREFIX_LENGTH)
    this.#id = latin1ToBytes(id)
  }

  /** The number at the end of an id; an invalid one if the prefix differs. */
  #numberIn(id: TaskId): number {
    const prefix = this.#prefix
    return prefix !== undefined && id.startsWith(prefix) ? lastNumberIn(id) : Infinity
  }

  #numberInBytes(id: Uint8Array): number {
    const prefix = this.#id
    if (id.length !== USUAL_LENGTH || prefix.length === 0) return Infinity
    let number = 0
    for (let at = 0; at < PREFIX_LENGTH; at += 1) if (id[at] !== prefix[at]) return Infinity
    for (let at = PREFIX_LENGTH; at < USUAL_LENGTH; at += 1) {
      number = number * 256 + (id[at] as number)
    }
    return number
  }

  /** The hash of a node's id; 0 for a numbered node. */
  #hashOf(node: number): number {
    return node < this.#firstOther ? 0 : this.#others.get(node - this.#firstOther, HASH)
  }

  #addOther(node: number, id: TaskId): void {
    this.#firstOther = Math.min(this.#firstOther, node)
    const record = this.#others.add()
    if (id.length === USUAL_LENGTH) this.#others.setText(record, ID, id)
    else this.#others.set(record, ID, (this.#ids ??= new ByteStore()).addLatin1(id))
    const hash = hashOf(id)
    this.#others.set(record, HASH, hash)
    this.#link(this.#bucketOf(hash), node)
    this.#hashed += 1
    if (this.#hashed > this.#buckets.count) this.#split()
  }

  #search(id: TaskId): number {
    const hash = hashOf(id)
    let entry = this.#buckets.get(this.#bucketOf(hash), 0)
    while (entry !== 0) {
      const record = entry - 1 - this.#firstOther
      if (this.#others.get(record, HASH) === hash && this.#hasId(record, id)) return entry - 1
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
    return partOf(hash >>> HASH_SHIFT, this.#buckets.count)
  }

  #link(bucket: number, node: number): void {
    this.#others.set(node - this.#firstOther, NEXT, this.#buckets.get(bucket, 0))
    this.#buckets.set(bucket, 0, node + 1)
  }

  /** Adds a bucket, and moves its entries from the bucket that held them until now. */
  #split(): void {
    const source = partToSplit(this.#buckets.count)
    this.#buckets.add()
    let entry = this.#buckets.get(source, 0)
    this.#buckets.set(source, 0, 0)
    while (entry !== 0) {
      const node = entry - 1
      const record = node - this.#firstOther
      entry = this.#others.get(record, NEXT)
      this.#link(this.#bucketOf(this.#others.get(record, HASH)), node)
    }
  }
}

/** The number at the end of an id of the usual length; otherwise an invalid one. */
function lastNumberIn(id: TaskId): number {
  if (id.length !== USUAL_LENGTH) return Infinity
  const upper = id.charCodeAt(PREFIX_LENGTH) * 256 + id.charCodeAt(PREFIX_LENGTH + 1)
  return upper * 65_536 + id.charCodeAt(PREFIX_LENGTH + 2) * 256 + id.charCodeAt(PREFIX_LENGTH + 3)
}

/** 32 bits, never 0; the two lowest bits are flags. */
function hashOf(id: TaskId): number {
  let hash = id.length
  for (let index = 0; index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x9e37_79b1)
    hash ^= hash >>> 15
  }
  const marks = id.length === USUAL_LENGTH ? IS_HASH : IS_HASH | IS_STORED
  return ((hash & ~(IS_HASH | IS_STORED)) | marks) >>> 0
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
