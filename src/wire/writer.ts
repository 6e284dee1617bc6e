// Writes a message into one segment: structs, lists and byte strings in sequence, depth first,
// which is the layout that the official implementation produces. The caller has measured the
// message (measure.ts), so nothing here grows or checks for room.

import { assert } from '../base/assert.js'
import { latin1Write } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { codeOf, MAX_SHORT_TEXT, utf8Length } from './measure.js'
import { MAX_CONTIGUOUS_BYTES, MAX_POINTER_WORDS } from './limits.js'

const WORD = 8
const TWO_32 = 2 ** 32
const MAX_DISTANCE = MAX_POINTER_WORDS * WORD

const STRUCT_POINTER = 0
const LIST_POINTER = 1
const EMPTY_STRUCT_POINTER = -4

const BYTE_ELEMENTS = 2
const TWO_BYTE_ELEMENTS = 3
const POINTER_ELEMENTS = 6
const STRUCT_ELEMENTS = 7

const PADDING: Uint8Array = new Uint8Array(WORD)

/** A byte string that is not copied, and the position of its pointer. */
interface ReferencedBytes {
  readonly pointerAt: number
  readonly bytes: Uint8Array
}

/** Writes one message. Not reusable. */
export class Writer {
  readonly #bytes: Buffer
  /** Byte strings of at least this length are referenced. */
  readonly #referenceFrom: number
  #referenced: ReferencedBytes[] | undefined
  /** Where the next object goes. */
  #top = 2 * WORD

  /** `words` as measured, with the same `referenceFrom`. Throws `ProtocolError` if too long. */
  constructor(words: number, referenceFrom: number) {
    const length = WORD + words * WORD
    if (length > MAX_CONTIGUOUS_BYTES) {
      throw new ProtocolError(`message of ${length} bytes: longer than ${MAX_CONTIGUOUS_BYTES}`)
    }
    this.#bytes = Buffer.allocUnsafe(length)
    this.#referenceFrom = referenceFrom
    this.#int32(0, 0)
    this.#int32(4, words)
  }

  /** The message: one array if no byte string is referenced, otherwise pieces in order. */
  finish(): Uint8Array | readonly Uint8Array[] {
    assert(this.#top === this.#bytes.byteLength, 'a message was not measured as it was written')
    return this.#referenced === undefined ? this.#bytes : this.#pieces(this.#referenced)
  }

  /** Adds a struct and returns its position: data section zeroed, pointers still to be written. */
  struct(pointerAt: number, dataWords: number, pointers: number): number {
    const at = this.#top
    const size = dataWords + pointers
    if (size === 0) {
      // Without a size it has no position: by convention it points back at its own pointer.
      this.#int32(pointerAt, EMPTY_STRUCT_POINTER)
      this.#int32(pointerAt + 4, 0)
      return at
    }
    this.#pointer(pointerAt, at, STRUCT_POINTER, dataWords | (pointers << 16))
    this.#top = at + size * WORD
    this.zero(at, dataWords)
    return at
  }

  /** Adds a list of structs and returns the position of the first. The structs are not written. */
  structList(pointerAt: number, count: number, dataWords: number, pointers: number): number {
    const tagAt = this.#top
    const words = count * (dataWords + pointers)
    this.#pointer(pointerAt, tagAt, LIST_POINTER, words * 8 + STRUCT_ELEMENTS)
    this.#int32(tagAt, count << 2)
    this.#int32(tagAt + 4, dataWords | (pointers << 16))
    this.#top = tagAt + WORD + words * WORD
    return tagAt + WORD
  }

  /** Zeroes `words` words from `at`. */
  zero(at: number, words: number): void {
    const bytes = this.#bytes
    const end = at + words * WORD
    for (let index = at; index < end; index += 1) bytes[index] = 0
  }

  /** Clamped to the field's range. */
  uint8(at: number, value: number): void {
    this.#bytes[at] = clamp(value, 0, 0xff)
  }

  /** Clamped to the field's range. */
  uint16(at: number, value: number): void {
    const number = clamp(value, 0, 0xffff)
    this.#bytes[at] = number
    this.#bytes[at + 1] = number >>> 8
  }

  /** Clamped to the field's range. */
  uint32(at: number, value: number): void {
    this.#int32(at, clamp(value, 0, 0xffff_ffff))
  }

  /** Clamped to 0 to 2^53-1. */
  uint64(at: number, value: number): void {
    this.#int64(at, clamp(value, 0, Number.MAX_SAFE_INTEGER))
  }

  /** Clamped to -(2^53-1) to 2^53-1. */
  int64(at: number, value: number): void {
    this.#int64(at, clamp(value, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER))
  }

  /** Any number, including NaN. */
  float64(at: number, value: number): void {
    this.#bytes.writeDoubleLE(value, at)
  }

  /** Like `uint64`: more than 53 bits are not supported. */
  bitSet(at: number, value: number): void {
    this.uint64(at, value)
  }

  /** Sets bit number `bit` of the section from `at`; it has been zero. */
  bool(at: number, bit: number, value: boolean): void {
    const byteAt = at + (bit >> 3)
    if (value) this.#bytes[byteAt] = (this.#bytes[byteAt] as number) | (1 << (bit & 7))
  }

  /** Adds a byte string. */
  data(pointerAt: number, value: Uint8Array): void {
    const length = value.byteLength
    if (length >= this.#referenceFrom) {
      this.#referenced ??= []
      this.#referenced.push({ pointerAt, bytes: value })
      return
    }
    const at = this.#byteString(pointerAt, length)
    if (length > 0) this.#bytes.set(value, at)
  }

  /** Adds an id: one byte per character. */
  id(pointerAt: number, value: string): void {
    const at = this.#byteString(pointerAt, value.length)
    if (value !== '') latin1Write(this.#bytes, value, at)
  }

  /** Adds a text: UTF-8 and a zero byte, even for the empty text. */
  text(pointerAt: number, value: string): void {
    const length = utf8Length(value)
    const at = this.#byteString(pointerAt, length + 1)
    const bytes = this.#bytes
    if (length === value.length && length <= MAX_SHORT_TEXT) {
      for (let index = 0; index < length; index += 1) bytes[at + index] = value.charCodeAt(index)
    } else bytes.write(value, at, length, 'utf8')
    bytes[at + length] = 0
  }

  /** Adds a list of byte strings. */
  dataList(pointerAt: number, values: readonly Uint8Array[]): void {
    let at = this.#pointerList(pointerAt, values.length)
    for (const value of values) {
      this.data(at, value)
      at += WORD
    }
  }

  /** Adds a list of lists of byte strings. */
  dataListList(pointerAt: number, values: readonly (readonly Uint8Array[])[]): void {
    let at = this.#pointerList(pointerAt, values.length)
    for (const value of values) {
      this.dataList(at, value)
      at += WORD
    }
  }

  /** Adds a list of ids. */
  idList(pointerAt: number, values: readonly string[]): void {
    let at = this.#pointerList(pointerAt, values.length)
    for (const value of values) {
      this.id(at, value)
      at += WORD
    }
  }

  /** Adds a list of enumerants, whose numbers are their positions in `names`. */
  enumList<Name extends string>(
    pointerAt: number,
    values: readonly Name[],
    names: readonly Name[],
    field: string,
  ): void {
    const count = values.length
    let at = this.#top
    this.#pointer(pointerAt, at, LIST_POINTER, count * 8 + TWO_BYTE_ELEMENTS)
    const words = Math.ceil(count / 4)
    this.zero(at, words)
    this.#top = at + words * WORD
    for (const value of values) {
      this.uint16(at, codeOf(names, value, field))
      at += 2
    }
  }

  /** Puts the referenced byte strings after everything else, and sets their pointers. */
  #pieces(referenced: readonly ReferencedBytes[]): readonly Uint8Array[] {
    const pieces: Uint8Array[] = [this.#bytes]
    let end = this.#bytes.byteLength
    for (const { pointerAt, bytes } of referenced) {
      const length = bytes.byteLength
      this.#pointer(pointerAt, end, LIST_POINTER, length * 8 + BYTE_ELEMENTS)
      pieces.push(bytes)
      const padding = -length & (WORD - 1)
      if (padding > 0) pieces.push(PADDING.subarray(0, padding))
      end += length + padding
    }
    this.#int32(4, end / WORD - 1)
    return pieces
  }

  #pointerList(pointerAt: number, count: number): number {
    const at = this.#top
    this.#pointer(pointerAt, at, LIST_POINTER, count * 8 + POINTER_ELEMENTS)
    this.#top = at + count * WORD
    return at
  }

  /** Reserves room for bytes, padded with zeros to the next word, and returns its position. */
  #byteString(pointerAt: number, length: number): number {
    const at = this.#top
    this.#pointer(pointerAt, at, LIST_POINTER, length * 8 + BYTE_ELEMENTS)
    const padding = -length & (WORD - 1)
    const end = at + length + padding
    for (let index = at + length; index < end; index += 1) this.#bytes[index] = 0
    this.#top = end
    return at
  }

  /** Sets a pointer, in place like the reader, which says why. */
  #pointer(at: number, target: number, kind: number, upper: number): void {
    const distance = target - at - WORD
    if (distance > MAX_DISTANCE) {
      throw new ProtocolError(`message of more than ${target} bytes: too long for its pointers`)
    }
    // Words in the upper 30 bits: half of the bytes. Unsigned, as bit 31 may be set.
    const lower = (distance >>> 1) | kind
    const bytes = this.#bytes
    bytes[at] = lower
    bytes[at + 1] = lower >>> 8
    bytes[at + 2] = lower >>> 16
    bytes[at + 3] = lower >>> 24
    bytes[at + 4] = upper
    bytes[at + 5] = upper >>> 8
    bytes[at + 6] = upper >>> 16
    bytes[at + 7] = upper >>> 24
  }

  #int64(at: number, value: number): void {
    this.#int32(at, value)
    this.#int32(at + 4, Math.floor(value / TWO_32))
  }

  #int32(at: number, value: number): void {
    const bytes = this.#bytes
    bytes[at] = value
    bytes[at + 1] = value >>> 8
    bytes[at + 2] = value >>> 16
    bytes[at + 3] = value >>> 24
  }
}

function clamp(value: number, low: number, high: number): number {
  // NaN becomes zero.
  return value >= low ? (value <= high ? Math.trunc(value) : high) : value < low ? low : 0
}
