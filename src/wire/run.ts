// Runs: consecutive tasks in one message, which differ only in their arguments, and their results.
// Schedulers and workers cut them without decoding a value. docs/protocol.md#runs
//
//   packed = length of the head (u32) │ head │ offsets (u32 × (count + 1)) │ entries
//
// The head is shared by all entries. Entry k is the part of the entries between offsets k and
// k + 1, both relative to the first offset: a part of a run keeps its offsets as they are.

import { asBuffer } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { taskId, type TaskId } from '../base/ids.js'
import type { TaskArgument } from './message.js'

/** The most tasks in a run. A run lies within a block of this many ids. */
export const MAX_RUN_TASKS = 4096

const ID_LENGTH = 16
const OFFSET_BYTES = 4

/** The number at the end of an id. */
function numberIn(id: TaskId): number {
  return id.charCodeAt(ID_LENGTH - 2) * 256 + id.charCodeAt(ID_LENGTH - 1)
}

/** The number in the last four bytes of an id that can be in a run. */
export function numberAtEnd(id: TaskId): number {
  const upper = id.charCodeAt(ID_LENGTH - 4) * 256 + id.charCodeAt(ID_LENGTH - 3)
  return upper * 65_536 + numberIn(id)
}

/** The position of an id in its block: 0 to 4,095. */
export function placeInBlock(id: TaskId): number {
  // Without `numberIn`: it is called several times for each task, also before V8 inlines calls.
  return (id.charCodeAt(ID_LENGTH - 2) * 256 + id.charCodeAt(ID_LENGTH - 1)) % MAX_RUN_TASKS
}

/** Whether an id can be that of a task in a run: its first and last two bytes are the same. */
export function isBlockId(id: TaskId): boolean {
  return (
    id.length === ID_LENGTH &&
    id.charCodeAt(0) === id.charCodeAt(14) &&
    id.charCodeAt(1) === id.charCodeAt(15)
  )
}

/** The name of the block of an id that can be in a run: the same for all ids of the block. */
export function blockNameOf(id: TaskId): string {
  return id.slice(2, 14) + String.fromCharCode(numberIn(id) - placeInBlock(id))
}

/** Whether the name of an id's block is `name`; faster than `blockNameOf`. */
export function isInBlock(id: TaskId, name: string): boolean {
  // From the end: ids of one client differ there.
  for (let index = 11; index >= 0; index -= 1) {
    if (id.charCodeAt(index + 2) !== name.charCodeAt(index)) return false
  }
  return numberIn(id) - placeInBlock(id) === name.charCodeAt(12)
}

/** Whether a run of `count` tasks may begin with this id. */
export function mayBeginRun(id: TaskId, count: number): boolean {
  return isBlockId(id) && placeInBlock(id) + count <= MAX_RUN_TASKS
}

/** The id of task `n` of a run, counted from 0, whose first task has this id. */
export function nthTaskId(first: TaskId, n: number): TaskId {
  if (n === 0) return first
  const number = numberIn(first) + n
  const digits = String.fromCharCode(number >>> 8, number & 0xff)
  return taskId(digits + first.slice(2, 14) + digits)
}

/** The position of a task among `count` tasks from `first` on; -1: it is not one of them. */
export function positionIn(first: TaskId, count: number, id: TaskId): number {
  if (id === first) return 0
  if (count === 1 || !isBlockId(id) || !isInBlock(id, blockNameOf(first))) return -1
  const distance = placeInBlock(id) - placeInBlock(first)
  return distance > 0 && distance < count ? distance : -1
}

/** How many tasks a message is about: its `count`, which is 0 for one. */
export function countOf(message: { readonly count: number }): number {
  return message.count === 0 ? 1 : message.count
}

/** The `count` of a message about this many tasks. */
export function countField(tasks: number): number {
  return tasks === 1 ? 0 : tasks
}

/** Where the entries of packed bytes are. */
interface PackedLayout {
  /** Where the head begins and ends. */
  readonly headAt: number
  readonly headEnd: number
  /** Where the entries begin; entry k begins `offset(k) - offset(0)` later. */
  readonly entriesAt: number
}

/** Checks packed bytes, without a look at the entries themselves. Throws `ProtocolError`. */
export function layoutOf(packed: Uint8Array, count: number): PackedLayout {
  const bytes = asBuffer(packed)
  const length = bytes.byteLength
  if (length < OFFSET_BYTES) throw new ProtocolError('packed values without a head')
  const headEnd = OFFSET_BYTES + bytes.readUInt32LE(0)
  const entriesAt = headEnd + OFFSET_BYTES * (count + 1)
  if (entriesAt > length) throw new ProtocolError('packed values are too short for their count')
  const view = new DataView(bytes.buffer, bytes.byteOffset, length)
  const first = view.getUint32(headEnd, true)
  let last = first
  for (let at = headEnd; at < entriesAt; at += OFFSET_BYTES) {
    const offset = view.getUint32(at, true)
    if (offset < last) throw new ProtocolError('packed values whose offsets decrease')
    last = offset
  }
  if (entriesAt + last - first !== length) {
    throw new ProtocolError('packed values whose last offset is not their end')
  }
  return { headAt: OFFSET_BYTES, headEnd, entriesAt }
}

/** The entries `from` up to, not including, `to` of checked packed bytes; a copy. */
export function slicePacked(
  packed: Uint8Array,
  count: number,
  from: number,
  to: number,
): Uint8Array {
  const bytes = asBuffer(packed)
  const headEnd = OFFSET_BYTES + bytes.readUInt32LE(0)
  const entriesAt = headEnd + OFFSET_BYTES * (count + 1)
  const offsetAt = (index: number): number => headEnd + OFFSET_BYTES * index
  const first = bytes.readUInt32LE(headEnd)
  const begin = entriesAt + bytes.readUInt32LE(offsetAt(from)) - first
  const end = entriesAt + bytes.readUInt32LE(offsetAt(to)) - first
  const offsetsLength = OFFSET_BYTES * (to - from + 1)
  const slice = Buffer.allocUnsafe(headEnd + offsetsLength + end - begin)
  bytes.copy(slice, 0, 0, headEnd)
  bytes.copy(slice, headEnd, offsetAt(from), offsetAt(to + 1))
  bytes.copy(slice, headEnd + offsetsLength, begin, end)
  return slice
}

// Values that are passed on: what a scheduler writes as the arguments of nodes, and reads of their
// results. The other kinds are of no concern to it.

/** An argument in `functionArgs`, by its number. */
const INPUT = 12
/** The bytes of a result, as an argument of type `sharedInline` has them. */
const SHARED = 14
/** The bytes of any value, as an argument of type `inline` has them. */
const ANY = 15
const INPUT_BYTES = 2
const PREFIX_BYTES = 5

const FIRST_BYTES = 1024
/** Up to this length, bytes are faster copied one by one. */
const MAX_SHORT_BYTES = 32

/** Packs the arguments of tasks, none of type `task`. The objects of each are the same. */
export class ArgumentPacker {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0
  /** The ends of the entries. */
  readonly #ends: number[] = []
  /** How many objects the entry has. */
  #objects = 0

  /** How many entries are complete. */
  get count(): number {
    return this.#ends.length
  }

  /** The size of the entries, in bytes. */
  get byteLength(): number {
    return this.#length
  }

  /** Adds an argument to the entry. */
  add(argument: TaskArgument): void {
    const { type, data } = argument
    if (isObjectArgument(argument)) {
      this.#reserve(INPUT_BYTES)
      this.#bytes[this.#length] = INPUT
      this.#bytes[this.#length + 1] = this.#objects
      this.#length += INPUT_BYTES
      this.#objects += 1
    } else {
      this.#begin(type === 'sharedInline' ? SHARED : ANY, data.byteLength)
      this.#bytes.set(data, this.#length)
      this.#length += data.byteLength
    }
  }

  /** Adds an argument of type `sharedInline`: some of these bytes. */
  addShared(from: Uint8Array, start: number, end: number): void {
    const length = end - start
    this.#begin(SHARED, length)
    const bytes = this.#bytes
    const at = this.#length
    if (length > MAX_SHORT_BYTES) bytes.set(from.subarray(start, end), at)
    else for (let n = 0; n < length; n += 1) bytes[at + n] = from[start + n] as number
    this.#length = at + length
  }

  /** The entry is complete. */
  endEntry(): void {
    this.#ends.push(this.#length)
    this.#objects = 0
  }

  /** The complete entries. Call it once. */
  finish(): Uint8Array {
    const end = this.#ends.at(-1) ?? 0
    const entriesAt = OFFSET_BYTES + OFFSET_BYTES * (this.#ends.length + 1)
    const packed = Buffer.allocUnsafeSlow(entriesAt + end)
    packed.fill(0, 0, 2 * OFFSET_BYTES)
    for (const [index, offset] of this.#ends.entries()) {
      packed.writeUInt32LE(offset, OFFSET_BYTES * (index + 2))
    }
    this.#bytes.copy(packed, entriesAt, 0, end)
    return packed
  }

  #begin(kind: number, length: number): void {
    this.#reserve(PREFIX_BYTES + length)
    const bytes = this.#bytes
    const at = this.#length
    bytes[at] = kind
    bytes[at + 1] = length
    bytes[at + 2] = length >> 8
    bytes[at + 3] = length >> 16
    bytes[at + 4] = length >> 24
    this.#length = at + PREFIX_BYTES
  }

  #reserve(length: number): void {
    const needed = this.#length + length
    if (needed <= this.#bytes.byteLength) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.byteLength * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** Whether an argument is an object, not a value. */
export function isObjectArgument({ type }: TaskArgument): boolean {
  return type === 'objectID' || type === 'sharedObjectID'
}

/** Values of checked packed bytes, one in each entry, that are bytes of any kind. */
export class AnyValues {
  /** The bytes that the values are in. */
  readonly bytes: Buffer
  /** Where the last value that was found is. */
  start = 0
  end = 0
  readonly #headEnd: number
  readonly #entriesAt: number

  constructor(packed: Uint8Array, count: number) {
    this.bytes = asBuffer(packed)
    this.#headEnd = OFFSET_BYTES + this.bytes.readUInt32LE(0)
    const first = this.bytes.readUInt32LE(this.#headEnd)
    this.#entriesAt = this.#headEnd + OFFSET_BYTES * (count + 1) - first
  }

  /** Finds a value. False: the entry is of another kind. */
  find(index: number): boolean {
    const { bytes } = this
    const offsetAt = this.#headEnd + OFFSET_BYTES * index
    const at = this.#entriesAt + bytes.readUInt32LE(offsetAt)
    this.start = at + PREFIX_BYTES
    this.end = this.#entriesAt + bytes.readUInt32LE(offsetAt + OFFSET_BYTES)
    if (this.end < this.start || bytes[at] !== ANY) return false
    return bytes.readUInt32LE(at + 1) === this.end - this.start
  }
}

/** The profiles `from` up to, not including, `to` of the profiles of `count` tasks; a view. */
export function sliceProfiles(
  profiles: Uint8Array,
  count: number,
  from: number,
  to: number,
): Uint8Array {
  const stride = profiles.byteLength / count
  return profiles.subarray(stride * from, stride * to)
}
