// Reads what writer.ts wrote and trusts none of it: each length is checked before it is used.

import { latin1Slice } from '../../base/bytes.js'
import { DeserializeError } from '../../base/errors.js'

/** Takes numbers, texts and bytes off the front. All methods throw `DeserializeError`. */
export class ByteReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  #offset: number
  #end: number

  constructor(bytes: Buffer, offset = 0) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#offset = offset
    this.#end = bytes.byteLength
  }

  /** Bytes not read yet. */
  get remaining(): number {
    return this.#end - this.#offset
  }

  byte(): number {
    this.#need(1)
    return this.#bytes[this.#offset++] as number
  }

  /** The next byte, which stays. */
  peek(): number {
    this.#need(1)
    return this.#bytes[this.#offset] as number
  }

  varint(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) break
      scale *= 0x80
    }
    if (!Number.isSafeInteger(value)) throw new DeserializeError('a length is out of range')
    return value
  }

  /** A count of things that take at least `bytesEach` bytes of what is left. */
  count(bytesEach: number): number {
    const count = this.varint()
    this.#need(count * bytesEach)
    return count
  }

  float64(): number {
    this.#need(8)
    this.#offset += 8
    return this.#view.getFloat64(this.#offset - 8, true)
  }

  /** What `ByteWriter.float64s` wrote, and the count before it. */
  float64s(): number[] {
    const values: number[] = []
    for (let left = this.count(8); left > 0; left -= 1) values.push(this.float64())
    return values
  }

  text(): string {
    const header = this.varint()
    const length = Math.floor(header / 2)
    const isWide = header % 2 === 1
    const start = this.#offset
    this.skip(isWide ? length * 2 : length)
    return isWide
      ? this.#bytes.toString('utf16le', start, this.#offset)
      : latin1Slice(this.#bytes, start, this.#offset)
  }

  /** A view of the next bytes, not a copy. */
  raw(byteLength: number): Buffer {
    const start = this.#offset
    this.skip(byteLength)
    return this.#bytes.subarray(start, this.#offset)
  }

  /** A view of the last bytes, which the other methods then no longer reach. */
  rawFromEnd(byteLength: number): Buffer {
    this.#need(byteLength)
    this.#end -= byteLength
    return this.#bytes.subarray(this.#end, this.#end + byteLength)
  }

  skip(byteLength: number): void {
    this.#need(byteLength)
    this.#offset += byteLength
  }

  #need(byteLength: number): void {
    if (byteLength <= this.#end - this.#offset) return
    throw new DeserializeError('the value ends too early')
  }
}
