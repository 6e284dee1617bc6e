// Byte strings of any length in a few large arrays: ids, arguments and results of a graph's nodes.
// A million separate arrays would each cost a hundred bytes before they hold anything.

import {
  bytesToLatin1,
  copyOf,
  latin1Slice,
  latin1ToBytes,
  latin1Write,
  NO_BYTES,
} from '../../../base/bytes.js'
import { identity, type ObjectId, objectIdOf, type TaskId } from '../../../base/ids.js'
import {
  PLAIN_RESULT,
  type Task,
  type TaskArgument,
  type TaskResult,
} from '../../../wire/message.js'

/** Small enough that a few long-lived strings do not keep much released memory allocated. */
const CHUNK_BYTES = 32 * 1024
const FIRST_CHUNK_BYTES = 256

/** Strings are aligned to this, so that 32 bits can address 16 GiB. */
const UNIT_BYTES = 4
const UNIT_BITS = 13
const UNITS = 1 << UNIT_BITS

/** Each string is preceded by its length. */
const HEADER_BYTES = 4

interface Chunk {
  readonly bytes: Buffer
  /** The same memory. */
  readonly words: Uint32Array
  used: number
  /** The number of strings in it that are not released. */
  live: number
}

/** Byte strings by handle. A handle is never 0. */
export class ByteStore {
  readonly #chunks: (Chunk | undefined)[] = []
  /** Indexes in `#chunks` that can be reused. */
  readonly #vacant: number[] = []
  /** The chunk for the next string; -1 before the first. */
  #open = -1

  /** The allocated memory, in bytes. */
  get capacity(): number {
    return this.#chunks.reduce((sum, chunk) => sum + (chunk?.bytes.byteLength ?? 0), 0)
  }

  /** Reserves room for a string, which the caller writes (`buffer`, `start`). */
  reserve(length: number): number {
    const size = HEADER_BYTES + length + (-length & (UNIT_BYTES - 1))
    let slot = this.#open
    let chunk = this.#chunks[slot]
    if (chunk === undefined || chunk.used + size > chunk.bytes.byteLength) {
      slot = this.#addChunk(size)
      chunk = this.#chunks[slot] as Chunk
    }
    const at = chunk.used
    chunk.words[at / UNIT_BYTES] = length
    chunk.used = at + size
    chunk.live += 1
    return slot * UNITS + at / UNIT_BYTES + 1
  }

  /** Stores a copy of a latin1 string. */
  addLatin1(text: string): number {
    const handle = this.reserve(text.length)
    latin1Write(this.buffer(handle), text, this.start(handle))
    return handle
  }

  /** The array that the string is in. */
  buffer(handle: number): Buffer {
    return (this.#chunks[(handle - 1) >>> UNIT_BITS] as Chunk).bytes
  }

  /** The offset of the string in that array. */
  start(handle: number): number {
    return ((handle - 1) & (UNITS - 1)) * UNIT_BYTES + HEADER_BYTES
  }

  /** The length of the string, in bytes. */
  length(handle: number): number {
    const chunk = this.#chunks[(handle - 1) >>> UNIT_BITS] as Chunk
    return chunk.words[(handle - 1) & (UNITS - 1)] as number
  }

  /** The number that `setHead` wrote to the first four bytes of a string. */
  head(handle: number): number {
    const chunk = this.#chunks[(handle - 1) >>> UNIT_BITS] as Chunk
    return chunk.words[((handle - 1) & (UNITS - 1)) + 1] as number
  }

  /** Writes a number into the first four bytes. */
  setHead(handle: number, head: number): void {
    const chunk = this.#chunks[(handle - 1) >>> UNIT_BITS] as Chunk
    chunk.words[((handle - 1) & (UNITS - 1)) + 1] = head
  }

  /** The string as one character per byte. */
  latin1(handle: number): string {
    const start = this.start(handle)
    return latin1Slice(this.buffer(handle), start, start + this.length(handle))
  }

  /** Whether the string equals a text with one character per byte. */
  equalsLatin1(handle: number, text: string): boolean {
    const length = this.length(handle)
    if (length !== text.length) return false
    const buffer = this.buffer(handle)
    const start = this.start(handle)
    for (let index = 0; index < length; index += 1) {
      if (buffer[start + index] !== text.charCodeAt(index)) return false
    }
    return true
  }

  /** Releases a string. Its handle may be reused. */
  release(handle: number): void {
    const slot = (handle - 1) >>> UNIT_BITS
    const chunk = this.#chunks[slot] as Chunk
    chunk.live -= 1
    if (chunk.live > 0) return
    if (slot === this.#open) {
      chunk.used = 0
      return
    }
    this.#chunks[slot] = undefined
    this.#vacant.push(slot)
  }

  /** Adds a chunk. A string longer than a chunk gets its own, and the open one stays open. */
  #addChunk(size: number): number {
    const usual = Math.min(CHUNK_BYTES, FIRST_CHUNK_BYTES * 2 ** Math.min(this.#chunks.length, 8))
    const slot = this.#vacant.pop() ?? this.#chunks.length
    const bytes = Buffer.allocUnsafeSlow(Math.max(size, usual))
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / UNIT_BYTES)
    this.#chunks[slot] = { bytes, words, used: 0, live: 0 }
    if (size <= CHUNK_BYTES) this.#leaveOpen(slot)
    return slot
  }

  /** Replaces the open chunk, which is full. Frees it if all its strings are released. */
  #leaveOpen(next: number): void {
    const before = this.#open
    this.#open = next
    const chunk = this.#chunks[before]
    if (chunk === undefined || chunk.live > 0) return
    this.#chunks[before] = undefined
    this.#vacant.push(before)
  }
}

// The arguments of nodes: the name, the arguments that are not results of other nodes, and the
// positions of those that are. Most nodes have only inputs, and take no space here.

/** The types of arguments by number, which is in the low bits of each argument's head. */
const TYPES: readonly TaskArgument['type'][] = [
  'task',
  'objectID',
  'inline',
  'sharedObjectID',
  'sharedInline',
]
const INPUT = 0
const TYPE_BITS = 3

const NUMBER_BYTES = 4

/** Names and arguments of nodes by handle. 0: no name, and only inputs. */
export class NodeArgumentStore {
  readonly #store = new ByteStore()

  /** Stores the name and arguments of a task, for `read`. */
  add(task: Task): number {
    const { name, functionArgs } = task
    if (name === '' && functionArgs.every((argument) => argument.type === 'task')) return 0
    const nameBytes = Buffer.byteLength(name)
    let length = NUMBER_BYTES + nameBytes + NUMBER_BYTES * functionArgs.length
    for (const { type, data: bytes } of functionArgs) {
      if (type !== 'task') length += bytes.byteLength
    }
    const handle = this.#store.reserve(length)
    const buffer = this.#store.buffer(handle)
    let at = buffer.writeUInt32LE(nameBytes, this.#store.start(handle))
    at += buffer.write(name, at, 'utf8')
    for (const argument of functionArgs) at = writeArgument(buffer, at, argument)
    return handle
  }

  /** `inputs`: returns the arguments that are results of other nodes, `inputCount` in all. */
  read(
    handle: number,
    inputCount: number,
    inputs: (index: number) => TaskArgument,
  ): Pick<Task, 'name' | 'functionArgs'> {
    const functionArgs: TaskArgument[] = []
    if (handle === 0) {
      for (let index = 0; index < inputCount; index += 1) functionArgs.push(inputs(index))
      return { name: '', functionArgs }
    }
    const buffer = this.#store.buffer(handle)
    const start = this.#store.start(handle)
    const end = start + this.#store.length(handle)
    let at = start + NUMBER_BYTES + buffer.readUInt32LE(start)
    const name = buffer.toString('utf8', start + NUMBER_BYTES, at)
    let input = 0
    while (at < end) {
      const head = buffer.readUInt32LE(at)
      at += NUMBER_BYTES
      const type = TYPES[head & ((1 << TYPE_BITS) - 1)]
      const next = at + (head >>> TYPE_BITS)
      if (type === undefined || type === 'task') {
        functionArgs.push(inputs(input))
        input += 1
      } else {
        functionArgs.push({ type, data: buffer.subarray(at, next) })
      }
      at = next
    }
    return { name, functionArgs }
  }

  release(handle: number): void {
    this.#store.release(handle)
  }
}

/** Writes one argument, and returns the offset of the next. */
function writeArgument(buffer: Buffer, at: number, argument: TaskArgument): number {
  if (argument.type === 'task') return buffer.writeUInt32LE(INPUT, at)
  const { type, data: bytes } = argument
  const head = bytes.byteLength * 2 ** TYPE_BITS + TYPES.indexOf(type)
  const start = buffer.writeUInt32LE(head, at)
  buffer.set(bytes, start)
  return start + bytes.byteLength
}

// Consecutive records of a few 32-bit words each: a table of a million rows without objects. It
// grows by chunks, so that growing never copies much memory at a time.

const CHUNK_BITS = 12
const CHUNK_RECORDS = 1 << CHUNK_BITS
const RECORD_MASK = CHUNK_RECORDS - 1
const FIRST_RECORDS = 16
const WORD_BYTES = 4

/** Rows of unsigned 32-bit numbers. Rows are never removed. */
export class Records {
  readonly #stride: number
  readonly #chunks: Uint32Array[] = []
  /** The same memory. */
  readonly #bytes: Buffer[] = []
  #count = 0

  /** `stride`: the number of fields of each record. */
  constructor(stride: number) {
    this.#stride = stride
  }

  get count(): number {
    return this.#count
  }

  /** Adds a record of zeros and returns its index. */
  add(): number {
    const index = this.#count
    const chunk = this.#chunks[index >>> CHUNK_BITS]
    const end = ((index & RECORD_MASK) + 1) * this.#stride
    if (chunk === undefined || end > chunk.length) this.#grow(chunk)
    this.#count = index + 1
    return index
  }

  /** One number of a record. */
  get(index: number, field: number): number {
    const chunk = this.#chunks[index >>> CHUNK_BITS] as Uint32Array
    return chunk[(index & RECORD_MASK) * this.#stride + field] as number
  }

  /** Replaces one number of a record. */
  set(index: number, field: number, value: number): void {
    const chunk = this.#chunks[index >>> CHUNK_BITS] as Uint32Array
    chunk[(index & RECORD_MASK) * this.#stride + field] = value
  }

  /** Adds to one number of a record and returns the sum. */
  increase(index: number, field: number, by: number): number {
    const chunk = this.#chunks[index >>> CHUNK_BITS] as Uint32Array
    const at = (index & RECORD_MASK) * this.#stride + field
    const sum = (chunk[at] as number) + by
    chunk[at] = sum
    return sum
  }

  /** The memory that contains a record. */
  buffer(index: number): Buffer {
    return this.#bytes[index >>> CHUNK_BITS] as Buffer
  }

  /** The offset of one number of a record in that memory, in bytes. */
  start(index: number, field: number): number {
    return ((index & RECORD_MASK) * this.#stride + field) * WORD_BYTES
  }

  /** The text from `field` on, with four characters per number. */
  text(index: number, field: number, length: number): string {
    const start = this.start(index, field)
    return latin1Slice(this.buffer(index), start, start + length)
  }

  /** Writes a latin1 string over the numbers from `field` on. */
  setText(index: number, field: number, text: string): void {
    latin1Write(this.buffer(index), text, this.start(index, field))
  }

  /** Whether `setText` wrote this text there. */
  hasText(index: number, field: number, text: string): boolean {
    const bytes = this.buffer(index)
    const start = this.start(index, field)
    for (let at = 0; at < text.length; at += 1) {
      if (bytes[start + at] !== text.charCodeAt(at)) return false
    }
    return true
  }

  /** Adds or enlarges a chunk. Only the first one starts small, because most graphs are. */
  #grow(first: Uint32Array | undefined): void {
    const isFirst = this.#count < CHUNK_RECORDS
    const records = isFirst ? Math.max(FIRST_RECORDS, this.#count * 2) : CHUNK_RECORDS
    const chunk = new Uint32Array(Math.min(records, CHUNK_RECORDS) * this.#stride)
    if (first !== undefined) chunk.set(first)
    const place = this.#count >>> CHUNK_BITS
    this.#chunks[place] = chunk
    this.#bytes[place] = Buffer.from(chunk.buffer)
  }
}

// The results of nodes, while they are needed as an input of a node, or by a client that lost its
// connection and requests them again. Small results are stored here; for large ones, the object id.

/** The head of each value: bit 0 = an object, then 15 and 16 bits of metadata and worker length. */
const HEAD_BYTES = 4
const MAX_METADATA_BYTES = 0x7fff
const MAX_WORKER_BYTES = 0xffff

/** Results by handle, which is never 0. */
export class ValueStore {
  readonly #store = new ByteStore()

  /** The allocated memory, in bytes. */
  get capacity(): number {
    return this.#store.capacity
  }

  /**
   * Stores the value of a result with status success. `isWhole`: stores the other fields as well,
   * so that `resultOf` returns the same result.
   */
  add(result: TaskResult, isWhole: boolean): number {
    const [inline] = result.inlineResults
    const value = inline ?? latin1ToBytes(result.results[0] ?? '')
    const isFit = isWhole && result.metadata.byteLength <= MAX_METADATA_BYTES
    const metadata = isFit ? result.metadata : NO_BYTES
    const worker = isWhole && result.worker.length <= MAX_WORKER_BYTES ? result.worker : ''
    const lengths = metadata.byteLength * 2 + worker.length * 2 ** 16
    const total = HEAD_BYTES + metadata.byteLength + worker.length + value.byteLength
    const handle = this.#store.reserve(total)
    this.#store.setHead(handle, (inline === undefined ? 1 : 0) + lengths)
    const buffer = this.#store.buffer(handle)
    let at = this.#store.start(handle) + HEAD_BYTES
    if (isWhole) {
      buffer.set(metadata, at)
      at += metadata.byteLength
      at += buffer.write(worker, at, 'latin1')
    }
    buffer.set(value, at)
    return handle
  }

  /** Stores a value alone. */
  addBytes(value: Uint8Array): number {
    const handle = this.#store.reserve(HEAD_BYTES + value.byteLength)
    this.#store.setHead(handle, 0)
    this.#store.buffer(handle).set(value, this.#store.start(handle) + HEAD_BYTES)
    return handle
  }

  /** The value, or the id of its object. The bytes are a view. */
  valueOf(handle: number): { readonly isObject: boolean; readonly data: Buffer } {
    const head = this.#store.head(handle)
    return { isObject: (head & 1) === 1, data: this.#valueOf(handle, head) }
  }

  /** The id of the object; undefined for a value that is stored here. */
  objectIdOf(handle: number): ObjectId | undefined {
    const head = this.#store.head(handle)
    return (head & 1) === 1 ? objectIdOf(this.#valueOf(handle, head)) : undefined
  }

  /** The result itself. */
  resultOf(handle: number, taskId: TaskId): TaskResult {
    const head = this.#store.head(handle)
    const start = this.#store.start(handle) + HEAD_BYTES
    const workerAt = start + ((head >>> 1) & MAX_METADATA_BYTES)
    const buffer = this.#store.buffer(handle)
    const id = this.objectIdOf(handle)
    return {
      kind: 'taskResult',
      taskId,
      status: 'success',
      ...PLAIN_RESULT,
      metadata: copyOf(buffer.subarray(start, workerAt)),
      results: id === undefined ? [] : [id],
      inlineResults: id === undefined ? [copyOf(this.#valueOf(handle, head))] : [],
      worker: identity(bytesToLatin1(buffer.subarray(workerAt, workerAt + (head >>> 16)))),
    }
  }

  /** Frees a value that is no longer needed. */
  release(handle: number): void {
    this.#store.release(handle)
  }

  #valueOf(handle: number, head: number): Buffer {
    const start = this.#store.start(handle)
    const skipped = HEAD_BYTES + ((head >>> 1) & MAX_METADATA_BYTES) + (head >>> 16)
    return this.#store.buffer(handle).subarray(start + skipped, start + this.#store.length(handle))
  }
}
