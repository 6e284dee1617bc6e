// A buffer that grows: where serialized values are put together.

import { asBuffer } from '../../base/bytes.js'

const INITIAL_BYTES = 1024
const MAX_KEPT_BYTES = 65_536
const SHORT_TEXT = 63
/** One unit that needs two bytes. */
const TWO_BYTE = /[\u0100-\uffff]/

/** Whether every UTF-16 unit of `text` fits one byte. */
export function isLatin1(text: string): boolean {
  return !TWO_BYTE.test(text)
}

/** Appends numbers, texts and bytes to memory of its own. */
export class ByteWriter {
  #bytes: Buffer
  #view: DataView
  #length = 0

  constructor() {
    this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES)
    this.#view = new DataView(this.#bytes.buffer)
  }

  /** What was written since the last `clear`, in bytes. */
  get length(): number {
    return this.#length
  }

  /** The memory itself: good until the next write. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Forgets what was written. */
  clear(): void {
    this.#length = 0
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#resize(INITIAL_BYTES)
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** A non-negative safe integer, 7 bits per byte, lowest first. */
  varint(value: number): void {
    this.#reserve(8)
    let rest = value
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = rest > 0x7fff_ffff ? Math.floor(rest / 0x80) : rest >>> 7
    }
    this.#bytes[this.#length++] = rest
  }

  float64(value: number): void {
    this.#reserve(8)
    this.#view.setFloat64(this.#length, value, true)
    this.#length += 8
  }

  /** Bytes without their length. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.byteLength)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.byteLength
  }

  /** Numbers as float64, without their count. */
  float64s(values: readonly number[]): void {
    this.#reserve(values.length * 8)
    for (let index = 0; index < values.length; index += 1) {
      this.#view.setFloat64(this.#length, values[index] as number, true)
      this.#length += 8
    }
  }

  /** Length times two, plus one if each unit takes two bytes; then the units. Any string. */
  text(text: string): void {
    const { length } = text
    if (length > SHORT_TEXT) {
      this.#longText(text)
      return
    }
    this.#reserve(length + 1)
    const start = this.#length
    this.#bytes[start] = length << 1
    for (let index = 0; index < length; index += 1) {
      const unit = text.charCodeAt(index)
      if (unit > 0xff) {
        this.#wideText(text)
        return
      }
      this.#bytes[start + 1 + index] = unit
    }
    this.#length = start + 1 + length
  }

  #longText(text: string): void {
    if (!isLatin1(text)) {
      this.#wideText(text)
      return
    }
    this.varint(text.length * 2)
    this.#reserve(text.length)
    this.#length += this.#bytes.write(text, this.#length, 'latin1')
  }

  #wideText(text: string): void {
    this.varint(text.length * 2 + 1)
    this.#reserve(text.length * 2)
    this.#length += this.#bytes.write(text, this.#length, 'utf16le')
  }

  #reserve(byteCount: number): void {
    const needed = this.#length + byteCount
    if (needed > this.#bytes.length) this.#resize(Math.max(needed, this.#bytes.length * 2))
  }

  #resize(byteLength: number): void {
    const bytes = Buffer.allocUnsafeSlow(byteLength)
    bytes.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = asBuffer(bytes)
    this.#view = new DataView(bytes.buffer)
  }
}
