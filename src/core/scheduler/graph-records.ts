// Records of a few 32-bit words each, one behind the other: a table of a million rows that costs no
// objects. It grows by chunks, so that growing never moves much at once.

import { latin1Slice, latin1Write } from '../../base/bytes.js'

const CHUNK_BITS = 12
const CHUNK_RECORDS = 1 << CHUNK_BITS
const RECORD_MASK = CHUNK_RECORDS - 1
const FIRST_RECORDS = 16
const WORD_BYTES = 4

/** Rows of unsigned 32-bit numbers. They are only ever added. */
export class Records {
  readonly #stride: number
  readonly #chunks: Uint32Array[] = []
  /** The same memory. */
  readonly #bytes: Buffer[] = []
  #count = 0

  /** `stride`: how many numbers each record has. */
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

  /** The memory that a record is in. */
  buffer(index: number): Buffer {
    return this.#bytes[index >>> CHUNK_BITS] as Buffer
  }

  /** Where in that memory one number of a record begins, in bytes. */
  start(index: number, field: number): number {
    return ((index & RECORD_MASK) * this.#stride + field) * WORD_BYTES
  }

  /** Four characters per number, from `field` on. */
  text(index: number, field: number, length: number): string {
    const start = this.start(index, field)
    return latin1Slice(this.buffer(index), start, start + length)
  }

  /** Writes a latin1 string over the numbers from `field` on. */
  setText(index: number, field: number, text: string): void {
    latin1Write(this.buffer(index), text, this.start(index, field))
  }

  /** Whether `text` is what `setText` has written there. */
  hasText(index: number, field: number, text: string): boolean {
    const bytes = this.buffer(index)
    const start = this.start(index, field)
    for (let at = 0; at < text.length; at += 1) {
      if (bytes[start + at] !== text.charCodeAt(at)) return false
    }
    return true
  }

  /** Only the first chunk begins small: most graphs are. */
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
