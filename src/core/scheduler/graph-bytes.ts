// Byte strings of any length in a few large arrays: ids, arguments and results of a graph's nodes.
// A million arrays of their own would cost a hundred bytes each before they hold anything.

import { latin1Slice, latin1Write } from '../../base/bytes.js'

/** Small enough that a few strings that live long do not hold much of what was around them. */
const CHUNK_BYTES = 32 * 1024
const FIRST_CHUNK_BYTES = 256

/** Strings begin at multiples of this, so that 32 bits can tell where in 16 GiB. */
const UNIT_BYTES = 4
const UNIT_BITS = 13
const UNITS = 1 << UNIT_BITS

/** The length in front of each string. */
const HEADER_BYTES = 4

interface Chunk {
  readonly bytes: Buffer
  /** The same memory. */
  readonly words: Uint32Array
  used: number
  /** How many strings in it have not been released. */
  live: number
}

/** Byte strings by number. The number is never 0. */
export class ByteStore {
  readonly #chunks: (Chunk | undefined)[] = []
  /** Places in `#chunks` that can be used again. */
  readonly #vacant: number[] = []
  /** Where the next string goes; -1 before the first. */
  #open = -1

  /** How many bytes are allocated. */
  get capacity(): number {
    return this.#chunks.reduce((sum, chunk) => sum + (chunk?.bytes.byteLength ?? 0), 0)
  }

  /** Makes room for a string, which the caller writes (`buffer`, `start`). */
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

  /** Keeps a copy of a latin1 string. */
  addLatin1(text: string): number {
    const handle = this.reserve(text.length)
    latin1Write(this.buffer(handle), text, this.start(handle))
    return handle
  }

  /** The array that the string is in. */
  buffer(handle: number): Buffer {
    return (this.#chunks[(handle - 1) >>> UNIT_BITS] as Chunk).bytes
  }

  /** Where in that array the string begins. */
  start(handle: number): number {
    return ((handle - 1) & (UNITS - 1)) * UNIT_BYTES + HEADER_BYTES
  }

  /** How many bytes the string has. */
  length(handle: number): number {
    const chunk = this.#chunks[(handle - 1) >>> UNIT_BITS] as Chunk
    return chunk.words[(handle - 1) & (UNITS - 1)] as number
  }

  /** The first four bytes of a string that `setHead` has written. */
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

  /** Whether the string is this one, of one character per byte. */
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

  /** The string will not be asked for any more. Its number may be given to another. */
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

  /** A string that is longer than a chunk gets one to itself, and the open one stays open. */
  #addChunk(size: number): number {
    const usual = Math.min(CHUNK_BYTES, FIRST_CHUNK_BYTES * 2 ** Math.min(this.#chunks.length, 8))
    const slot = this.#vacant.pop() ?? this.#chunks.length
    const bytes = Buffer.allocUnsafeSlow(Math.max(size, usual))
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / UNIT_BYTES)
    this.#chunks[slot] = { bytes, words, used: 0, live: 0 }
    if (size <= CHUNK_BYTES) this.#leaveOpen(slot)
    return slot
  }

  /** What was open is full; if nothing in it lives any more it would never be released. */
  #leaveOpen(next: number): void {
    const before = this.#open
    this.#open = next
    const chunk = this.#chunks[before]
    if (chunk === undefined || chunk.live > 0) return
    this.#chunks[before] = undefined
    this.#vacant.push(before)
  }
}
