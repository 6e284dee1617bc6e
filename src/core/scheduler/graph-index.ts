// From the ids of a graph's nodes to their numbers 0, 1, 2, … and back.
//
// Our clients number the nodes of a graph themselves: the last four bytes of an id are the number
// of its node. Where that is so the number is read off the id. All other ids are in a hash table
// that grows by one bucket at a time (linear hashing): a `Map` stands still for a tenth of a second
// when the millionth entry makes it grow.

import { assert } from '../../base/assert.js'
import { asBuffer, bytesToLatin1 } from '../../base/bytes.js'
import { taskId, type TaskId } from '../../base/ids.js'
import { ByteStore } from './graph-bytes.js'
import { Records } from './graph-records.js'

/** No such node. */
export const NONE = -1

/** The fields of a node that are the index's: the first ones of its record. */
const HASH = 0
/** The next node in its bucket plus 1. */
const NEXT = 1
/** The id itself if it has the usual length, else its number in a store. */
const ID = 2
/** How many fields those are. */
export const INDEX_FIELDS = 6

const USUAL_LENGTH = 16
const NUMBER_AT: number = USUAL_LENGTH - 4
const FIRST_BUCKETS = 16

/** The ids of the nodes of one graph. */
export class NodeIndex {
  readonly #nodes: Records
  /** The first node of each bucket plus 1. */
  readonly #buckets = new Records(1)
  /** A power of 2: that many buckets there were when the last doubling began. */
  #level = FIRST_BUCKETS
  /** How many nodes are in the hash table. */
  #hashed = 0
  /** Ids of unusual length. */
  #ids: ByteStore | undefined

  /** Uses the first `INDEX_FIELDS` of each record. */
  constructor(nodes: Records) {
    this.#nodes = nodes
    for (let count = 0; count < FIRST_BUCKETS; count += 1) this.#buckets.add()
  }

  /** The number of a node; `NONE` for an unknown one. */
  find(id: TaskId): number {
    const number = numberIn(id)
    if (number < this.#nodes.count && this.#nodes.hasText(number, ID, id)) return number
    return this.#hashed === 0 ? NONE : this.#search(id)
  }

  /** The same for an id in bytes. */
  findBytes(id: Uint8Array): number {
    if (id.byteLength === USUAL_LENGTH) {
      const number = asBuffer(id).readUInt32BE(NUMBER_AT)
      if (number < this.#nodes.count && this.#nodes.hasBytes(number, ID, id)) return number
    }
    return this.#hashed === 0 ? NONE : this.#search(taskId(bytesToLatin1(id)))
  }

  /** Takes up a node, the next one in order, whose id nobody has. */
  add(node: number, id: TaskId): void {
    if (isUsual(id)) this.#nodes.setText(node, ID, id)
    if (numberIn(id) === node) return
    if (!isUsual(id)) this.#nodes.set(node, ID, (this.#ids ??= new ByteStore()).addLatin1(id))
    const hash = hashOf(id)
    this.#nodes.set(node, HASH, hash)
    this.#link(this.#bucketOf(hash), node)
    this.#hashed += 1
    if (this.#hashed > this.#buckets.count) this.#split()
  }

  /** The id of a node. */
  idOf(node: number): TaskId {
    const isStored = (this.#nodes.get(node, HASH) & 1) === 1
    if (!isStored) return this.#nodes.text(node, ID, USUAL_LENGTH) as TaskId
    assert(this.#ids !== undefined, 'an id is nowhere')
    return this.#ids.latin1(this.#nodes.get(node, ID)) as TaskId
  }

  /** Throws if a node cannot be found. */
  checkInvariants(): void {
    for (let node = 0; node < this.#nodes.count; node += 1) {
      const id = this.idOf(node)
      assert(this.find(id) === node, 'a node is not found by its id')
      assert(this.findBytes(Buffer.from(id, 'latin1')) === node, 'a node is not found by its bytes')
    }
  }

  #search(id: TaskId): number {
    const hash = hashOf(id)
    let entry = this.#buckets.get(this.#bucketOf(hash), 0)
    while (entry !== 0) {
      const node = entry - 1
      if (this.#nodes.get(node, HASH) === hash && this.#hasId(node, id)) return node
      entry = this.#nodes.get(node, NEXT)
    }
    return NONE
  }

  /** Called with an equal hash, which says whether the id is of the usual length. */
  #hasId(node: number, id: TaskId): boolean {
    if (isUsual(id)) return this.#nodes.hasText(node, ID, id)
    return this.#ids?.equalsLatin1(this.#nodes.get(node, ID), id) === true
  }

  #bucketOf(hash: number): number {
    const bits = hash >>> 1
    const bucket = bits & (2 * this.#level - 1)
    return bucket < this.#buckets.count ? bucket : bits & (this.#level - 1)
  }

  #link(bucket: number, node: number): void {
    this.#nodes.set(node, NEXT, this.#buckets.get(bucket, 0))
    this.#buckets.set(bucket, 0, node + 1)
  }

  /** Adds a bucket: it takes what is its own from the one that stood for it until now. */
  #split(): void {
    const bucket = this.#buckets.add()
    const source = bucket - this.#level
    let entry = this.#buckets.get(source, 0)
    this.#buckets.set(source, 0, 0)
    while (entry !== 0) {
      const node = entry - 1
      entry = this.#nodes.get(node, NEXT)
      this.#link(this.#bucketOf(this.#nodes.get(node, HASH)), node)
    }
    if (this.#buckets.count === 2 * this.#level) this.#level *= 2
  }
}

function isUsual(id: TaskId): boolean {
  return id.length === USUAL_LENGTH
}

/** The number at the end of an id of usual length, which may be any; else one that no node has. */
function numberIn(id: TaskId): number {
  if (!isUsual(id)) return Infinity
  const upper = id.charCodeAt(NUMBER_AT) * 256 + id.charCodeAt(NUMBER_AT + 1)
  return upper * 65_536 + id.charCodeAt(NUMBER_AT + 2) * 256 + id.charCodeAt(NUMBER_AT + 3)
}

/** 32 bits, of which the lowest says whether the id is stored elsewhere. */
function hashOf(id: TaskId): number {
  let hash = id.length
  for (let index = 0; index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x9e37_79b1)
    hash ^= hash >>> 15
  }
  return ((hash & ~1) | (isUsual(id) ? 0 : 1)) >>> 0
}
