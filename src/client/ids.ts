// The ids that a client makes: those of its tasks, and those of its stored objects.

import { createHash, randomBytes } from 'node:crypto'
import { bytesToLatin1 } from '../base/bytes.js'
import { objectId, taskId, type Identity, type ObjectId, type TaskId } from '../base/ids.js'
import { MAX_RUN_TASKS } from '../wire/run.js'
import { objectIdFrom, SERIALIZER_SUFFIX } from '../wire/object-content.js'

const PREFIX_BYTES = 8
const DIGEST_BYTES = 16

/** The ids of the objects that one client stores (docs/protocol.md#object-ids). */
export class ObjectIds {
  readonly #prefix: string
  readonly #given = new WeakMap<object, ObjectId>()

  constructor(owner: Identity) {
    const digest = createHash('md5').update(owner, 'latin1').digest()
    this.#prefix = bytesToLatin1(digest.subarray(0, PREFIX_BYTES))
  }

  /** The id of the client's serializer. */
  get serializer(): ObjectId {
    return objectId(this.#prefix + SERIALIZER_SUFFIX)
  }

  /**
   * The id of some content: the same for the same bytes, unless it was given one. The id of a
   * function also depends on its attachments.
   */
  of(content: Uint8Array, attachmentIds: readonly ObjectId[] = []): ObjectId {
    const given = this.#given.get(content)
    if (given !== undefined) return given
    const hash = createHash('sha256').update(content)
    for (const id of attachmentIds) hash.update(id, 'latin1')
    const digest = hash.digest()
    return objectIdFrom(this.#prefix, bytesToLatin1(digest.subarray(0, DIGEST_BYTES)))
  }

  /** Gives this content an id of its own: hashing large ones takes longer than sending them. */
  give(content: object): ObjectId {
    const id = objectIdFrom(this.#prefix, bytesToLatin1(randomBytes(DIGEST_BYTES)))
    this.#given.set(content, id)
    return id
  }

  /** The id that this content was given. */
  givenTo(content: object): ObjectId {
    return this.#given.get(content) ?? this.give(content)
  }
}

/**
 * Makes task ids of 16 bytes: 8 random ones, the same for all, and a counter, whose lower half also
 * comes first. People tell ids apart by their beginnings, tables by their ends.
 */
export class TaskIds {
  /** Random bytes and the upper half of the counter. */
  #middle = ''
  readonly #random: string = bytesToLatin1(randomBytes(8))
  #upper = 0
  #lower = 0

  constructor() {
    this.#renewMiddle()
  }

  /** How many ids were taken. */
  get count(): number {
    return this.#upper * 2 ** 16 + this.#lower
  }

  /** An id that no other task has. */
  next(): TaskId {
    const lower = this.#lower
    const digits = String.fromCharCode(lower >>> 8, lower & 0xff)
    const id = taskId(digits + this.#middle + digits)
    this.#skip(1)
    return id
  }

  /** How many ids are left in the block of the next one. */
  get leftInBlock(): number {
    return MAX_RUN_TASKS - (this.#lower % MAX_RUN_TASKS)
  }

  /** The first of `count` consecutive ids in one block, which no other tasks have. */
  takeRun(count: number): TaskId {
    if (count > this.leftInBlock) this.#skip(this.leftInBlock)
    const id = this.next()
    this.#skip(count - 1)
    return id
  }

  /** Within a block. */
  #skip(count: number): void {
    if (count === 0) return
    this.#lower = (this.#lower + count) & 0xffff
    if (this.#lower > 0) return
    this.#upper += 1
    this.#renewMiddle()
  }

  #renewMiddle(): void {
    const upper = Buffer.allocUnsafe(4)
    upper.writeUInt32BE(this.#upper % 2 ** 32)
    this.#middle = this.#random + bytesToLatin1(upper)
  }
}
