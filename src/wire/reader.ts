// Walks a received message: framing, segments and pointers. The generated readers sit on top and
// know the layout. Nothing here trusts the bytes: for any input, reading ends with values or
// a ProtocolError, after work in proportion to their length.
//
// Positions are byte offsets into the whole frame. A struct that has been entered is three of them:
//
//   structAt        pointersAt            structEnd
//      | data section   | pointer section    |
//
// A field is there if it ends before its section does; otherwise the peer is older and the field
// has its default value. Longer sections are from newer peers; the rest of them is ignored.

import { asBuffer, latin1Slice, NO_BYTES } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import {
  FREE_BYTES,
  MAX_AMPLIFICATION,
  MAX_SEGMENTS,
  MAX_TEXT_BYTES,
  MIN_OBJECT_BYTES,
} from './limits.js'

const WORD = 8
const TWO_32 = 2 ** 32

/** The two low bits of a pointer. */
const STRUCT_POINTER = 0
const LIST_POINTER = 1
const FAR_POINTER = 2

/** Element size codes of a list pointer that ELEMENT_BYTES does not cover. */
const BIT_ELEMENTS = 1
const BYTE_ELEMENTS = 2
const POINTER_ELEMENTS = 6
const STRUCT_ELEMENTS = 7

/** Bytes of data per element, by element size code. */
const ELEMENT_BYTES: readonly number[] = [0, 0, 1, 2, 4, 8, 0]

/** The empty list. Shared: it has no content that could be changed. */
export const NO_ELEMENTS: readonly never[] = []

/** Reads one message. Not reusable. */
export class Reader {
  /** Where the data section of the struct entered last begins. */
  structAt = 0
  /** Where its pointer section begins. */
  pointersAt = 0
  /** Where it ends. */
  structEnd = 0

  /** Where the elements of the list entered last begin. */
  elementsAt = 0
  /** From one element to the next, in bytes. */
  stride = 0
  /** Size of each element's data section, in bytes. */
  elementDataBytes = 0
  /** Size of each element's pointer section, in bytes. */
  elementPointerBytes = 0

  readonly #bytes: Buffer
  /** Where the segments begin, and where the last one ends. Empty if there is only one. */
  #segments: readonly number[] = NO_ELEMENTS
  /** The segment of the target of the last pointer. */
  #segmentAt = 0
  #segmentEnd = 0
  /** That pointer's kind, upper half and target. */
  #kind = 0
  #upper = 0
  #target = 0
  #bytesLeft: number
  readonly #missing: number

  /**
   * Reads the framing. Throws `ProtocolError` if the segments are incomplete. `missing`: how many
   * bytes of the message are not there; nothing but byte strings, which are cut, may be in them.
   */
  constructor(bytes: Uint8Array, missing = 0) {
    const length = bytes.byteLength + missing
    this.#bytes = asBuffer(bytes)
    this.#bytesLeft = bytes.byteLength * MAX_AMPLIFICATION + FREE_BYTES
    this.#missing = missing
    if (length === 0 || length % WORD !== 0) {
      throw new ProtocolError(`message of ${length} bytes: not a positive multiple of 8`)
    }
    const lastSegment = this.#uint32(0)
    if (lastSegment === 0) {
      this.#segmentAt = WORD
      this.#segmentEnd = WORD + this.#uint32(4) * WORD
    } else {
      this.#readSegmentTable(lastSegment + 1)
    }
    const end = this.#segments.at(-1) ?? this.#segmentEnd
    if (end > length) {
      throw new ProtocolError(`message of ${length} bytes: its segments need ${end}`)
    }
    if (missing > 0) this.#segmentEnd = Math.min(this.#segmentEnd, bytes.byteLength)
    if (this.#segmentAt === this.#segmentEnd) {
      throw new ProtocolError('message without a root: its first segment is empty')
    }
  }

  /** Enters the root struct. */
  enterRoot(): this {
    const rootAt = this.#segmentAt
    return this.enterStruct(rootAt, rootAt + WORD)
  }

  /** Enters a struct at a known position: an element of a list. */
  enter(at: number, dataBytes: number, pointerBytes: number): this {
    this.structAt = at
    this.pointersAt = at + dataBytes
    this.structEnd = at + dataBytes + pointerBytes
    return this
  }

  /**
   * Enters the struct behind the pointer at `pointerAt`, in a section that ends at `sectionEnd`.
   * Without a pointer, or with a null pointer, all its fields have their default values.
   */
  enterStruct(pointerAt: number, sectionEnd: number): this {
    if (pointerAt >= sectionEnd || !this.#follow(pointerAt)) return this.enter(0, 0, 0)
    if (this.#kind !== STRUCT_POINTER) throw unexpected(pointerAt, 'a struct')
    const dataBytes = (this.#upper & 0xffff) * WORD
    const pointerBytes = (this.#upper >>> 16) * WORD
    this.#visit(dataBytes + pointerBytes)
    return this.enter(this.#target, dataBytes, pointerBytes)
  }

  /** Enters the list of structs behind a pointer and returns its length; 0 without a list. */
  enterStructList(pointerAt: number, sectionEnd: number): number {
    const count = this.#enterList(pointerAt, sectionEnd)
    if (this.stride < MIN_OBJECT_BYTES) this.#spend(count * (MIN_OBJECT_BYTES - this.stride))
    return count
  }

  /** Enters a list in which each element is a pointer, or a struct that begins with one. */
  enterPointerList(pointerAt: number, sectionEnd: number): number {
    const count = this.#enterList(pointerAt, sectionEnd)
    if (count === 0) return 0
    if (this.elementPointerBytes === 0) throw unexpected(pointerAt, 'a list of pointers')
    this.elementsAt += this.elementDataBytes
    return count
  }

  /** Enters a list in which each element is a 16-bit number, or begins with one. */
  enterUint16List(pointerAt: number, sectionEnd: number): number {
    const count = this.#enterList(pointerAt, sectionEnd)
    if (count > 0 && this.elementDataBytes < 2) throw unexpected(pointerAt, 'a list of enumerants')
    return count
  }

  /** The number at `at`; 0 if the section ends before it. */
  uint8(at: number, sectionEnd: number): number {
    return at < sectionEnd ? (this.#bytes[at] as number) : 0
  }

  /** The number at `at`; 0 if the section ends before it. */
  uint16(at: number, sectionEnd: number): number {
    if (at + 2 > sectionEnd) return 0
    return (this.#bytes[at] as number) | ((this.#bytes[at + 1] as number) << 8)
  }

  /** The number at `at`; 0 if the section ends before it. */
  uint32(at: number, sectionEnd: number): number {
    return at + 4 > sectionEnd ? 0 : this.#uint32(at)
  }

  /** The number at `at`; 0 if the section ends before it; at most 2^53-1. */
  uint64(at: number, sectionEnd: number): number {
    if (at + 8 > sectionEnd) return 0
    return Math.min(this.#uint32(at + 4) * TWO_32 + this.#uint32(at), Number.MAX_SAFE_INTEGER)
  }

  /** The number at `at`; 0 if the section ends before it; from -(2^53-1) to 2^53-1. */
  int64(at: number, sectionEnd: number): number {
    if (at + 8 > sectionEnd) return 0
    const value = this.#int32(at + 4) * TWO_32 + this.#uint32(at)
    return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(value, Number.MAX_SAFE_INTEGER))
  }

  /** The number at `at`; 0 if the section ends before it; any value, including NaN. */
  float64(at: number, sectionEnd: number): number {
    return at + 8 > sectionEnd ? 0 : this.#bytes.readDoubleLE(at)
  }

  /** The low 53 bits at `at`; none set if the section ends before it. */
  bitSet(at: number, sectionEnd: number): number {
    if (at + 8 > sectionEnd) return 0
    return (this.#uint32(at + 4) & 0x1f_ffff) * TWO_32 + this.#uint32(at)
  }

  /** Bit number `bit` of the section from `at`; false if the section ends before it. */
  bool(at: number, bit: number, sectionEnd: number): boolean {
    return ((this.uint8(at + (bit >> 3), sectionEnd) >> (bit & 7)) & 1) === 1
  }

  /** The byte string behind a pointer: a view of the message. */
  data(pointerAt: number, sectionEnd: number): Uint8Array {
    const length = this.#followBytes(pointerAt, sectionEnd)
    return length === 0 ? NO_BYTES : this.#bytes.subarray(this.#target, this.#target + length)
  }

  /** The byte string behind a pointer, one character per byte. */
  id(pointerAt: number, sectionEnd: number): string {
    const length = this.#followBytes(pointerAt, sectionEnd)
    if (length === 0) return ''
    checkTextLength(length)
    return latin1Slice(this.#bytes, this.#target, this.#target + length)
  }

  /** The text behind a pointer. Invalid UTF-8 becomes U+FFFD. */
  text(pointerAt: number, sectionEnd: number): string {
    const length = this.#followBytes(pointerAt, sectionEnd)
    if (length === 0) return ''
    checkTextLength(length)
    const end = this.#target + length - 1
    if (this.#bytes[end] !== 0) {
      throw new ProtocolError(`text at byte ${this.#target}: does not end with a zero byte`)
    }
    return textAt(this.#bytes, this.#target, end)
  }

  /**
   * Elements may be structs, numbers or pointers, whatever the schema says: all are read as
   * structs.
   */
  #enterList(pointerAt: number, sectionEnd: number): number {
    if (pointerAt >= sectionEnd || !this.#follow(pointerAt)) return 0
    if (this.#kind !== LIST_POINTER) throw unexpected(pointerAt, 'a list')
    const code = this.#upper & 7
    const count = this.#upper >>> 3
    if (code === STRUCT_ELEMENTS) return this.#enterTaggedList(pointerAt, count)
    if (code === BIT_ELEMENTS) throw unexpected(pointerAt, 'a list other than of bits')
    this.elementDataBytes = ELEMENT_BYTES[code] as number
    this.elementPointerBytes = code === POINTER_ELEMENTS ? WORD : 0
    this.stride = this.elementDataBytes + this.elementPointerBytes
    this.elementsAt = this.#target
    this.#visit(count * this.stride)
    return count
  }

  /** A list of structs begins with a tag with the number and size of the elements. */
  #enterTaggedList(pointerAt: number, words: number): number {
    this.#visit(WORD + words * WORD)
    const tagAt = this.#target
    const tag = this.#int32(tagAt)
    if ((tag & 3) !== STRUCT_POINTER) throw unexpected(pointerAt, 'a list of structs')
    const count = tag >>> 2
    const sizes = this.#int32(tagAt + 4)
    this.elementDataBytes = (sizes & 0xffff) * WORD
    this.elementPointerBytes = (sizes >>> 16) * WORD
    this.stride = this.elementDataBytes + this.elementPointerBytes
    this.elementsAt = tagAt + WORD
    if (count * this.stride > words * WORD) {
      throw new ProtocolError(`list at byte ${pointerAt}: ${count} elements do not fit into it`)
    }
    return count
  }

  /** Follows a pointer to bytes and returns their number. */
  #followBytes(pointerAt: number, sectionEnd: number): number {
    if (pointerAt >= sectionEnd || !this.#follow(pointerAt)) return 0
    if (this.#kind !== LIST_POINTER || (this.#upper & 7) !== BYTE_ELEMENTS) {
      throw unexpected(pointerAt, 'bytes')
    }
    const length = this.#upper >>> 3
    const present = this.#missing === 0 ? length : Math.max(0, length - this.#missing)
    const surcharge = length > 0 && length < MIN_OBJECT_BYTES ? MIN_OBJECT_BYTES - length : 0
    this.#visit(present, present + surcharge)
    return length
  }

  /**
   * Decodes a pointer; false for a null one. Its target still has to be visited. The pointer is
   * read in place: the first messages of a process are read before V8 inlines any calls.
   */
  #follow(at: number): boolean {
    const bytes = this.#bytes
    const lower =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)
    const upper =
      (bytes[at + 4] as number) |
      ((bytes[at + 5] as number) << 8) |
      ((bytes[at + 6] as number) << 16) |
      ((bytes[at + 7] as number) << 24)
    if (lower === 0 && upper === 0) return false
    this.#kind = lower & 3
    this.#upper = upper
    if (this.#kind === FAR_POINTER) {
      this.#followFar(lower)
      return true
    }
    if (this.#segments.length > 0) this.#findSegment(at)
    this.#target = at + WORD + (lower >> 2) * WORD
    return true
  }

  /** A far pointer leads to a landing pad: a pointer, or a far pointer and a tag. */
  #followFar(lower: number): void {
    const isDouble = (lower & 4) !== 0
    const padAt = this.#enterSegment(this.#upper >>> 0, lower >>> 3, isDouble ? 2 : 1)
    const pad = this.#int32(padAt)
    if (!isDouble) {
      this.#decode(padAt, pad, padAt + WORD + (pad >> 2) * WORD)
      return
    }
    if ((pad & 7) !== FAR_POINTER) throw unexpected(padAt, 'a far pointer')
    const tag = this.#int32(padAt + WORD)
    if (tag >> 2 !== 0) throw unexpected(padAt + WORD, 'a tag without an offset')
    this.#decode(padAt + WORD, tag, this.#enterSegment(this.#uint32(padAt + 4), pad >>> 3, 0))
  }

  #decode(at: number, lower: number, target: number): void {
    this.#kind = lower & 3
    this.#upper = this.#int32(at + 4)
    this.#target = target
    if (this.#kind === FAR_POINTER) throw unexpected(at, 'a landing pad')
  }

  /** The position of word `offset` of a segment, which must be followed by `words` words. */
  #enterSegment(index: number, offset: number, words: number): number {
    const segments = this.#segments
    if (segments.length === 0) {
      if (index !== 0) throw new ProtocolError(`far pointer into segment ${index} of 1`)
    } else {
      if (index >= segments.length - 1) {
        throw new ProtocolError(`far pointer into segment ${index} of ${segments.length - 1}`)
      }
      this.#segmentAt = segments[index] as number
      this.#segmentEnd = segments[index + 1] as number
    }
    const at = this.#segmentAt + offset * WORD
    if (at + words * WORD > this.#segmentEnd) {
      throw new ProtocolError(`far pointer to word ${offset} of segment ${index}: beyond its end`)
    }
    this.#spend(words * WORD)
    return at
  }

  /** Finds the segment that contains the byte `at`. */
  #findSegment(at: number): void {
    if (at >= this.#segmentAt && at < this.#segmentEnd) return
    const segments = this.#segments
    let low = 0
    let high = segments.length - 1
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((segments[middle] as number) <= at) low = middle
      else high = middle
    }
    this.#segmentAt = segments[low] as number
    this.#segmentEnd = segments[high] as number
  }

  /** The target must lie in its segment, unless it is empty; total costs, in bytes, are bounded. */
  #visit(bytes: number, cost = bytes): void {
    if (bytes > 0 && (this.#target < this.#segmentAt || this.#target + bytes > this.#segmentEnd)) {
      throw new ProtocolError(
        `pointer to ${bytes} bytes at byte ${this.#target}: outside of its segment`,
      )
    }
    this.#bytesLeft -= cost
    if (this.#bytesLeft < 0) throw pointsTooOften()
  }

  #spend(bytes: number): void {
    this.#bytesLeft -= bytes
    if (this.#bytesLeft < 0) throw pointsTooOften()
  }

  #readSegmentTable(count: number): void {
    const length = this.#bytes.byteLength
    if (count > MAX_SEGMENTS) throw new ProtocolError(`message of ${count} segments: too many`)
    const headerBytes = Math.ceil((4 + count * 4) / WORD) * WORD
    if (headerBytes > length) {
      throw new ProtocolError(`message of ${length} bytes: its segment table needs ${headerBytes}`)
    }
    const segments = [headerBytes]
    let end = headerBytes
    for (let index = 0; index < count; index += 1) {
      end += this.#uint32(4 + index * 4) * WORD
      segments.push(end)
    }
    this.#segments = segments
    this.#segmentAt = headerBytes
    this.#segmentEnd = segments[1] as number
  }

  #int32(at: number): number {
    const bytes = this.#bytes
    return (
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)
    )
  }

  #uint32(at: number): number {
    return this.#int32(at) >>> 0
  }
}

/** Longer texts are not cached. */
const MAX_CACHED_BYTES = 32

/** ASCII texts that were read before: names recur in message after message. */
const texts: string[] = Array.from({ length: 64 }, () => '')

/** Decodes UTF-8. */
function textAt(bytes: Buffer, start: number, end: number): string {
  const length = end - start
  if (length > MAX_CACHED_BYTES) return bytes.toString('utf8', start, end)
  let hash = length
  for (let at = start; at < end; at += 1) hash = (hash * 31 + (bytes[at] as number)) & 63
  const cached = texts[hash] as string
  if (isTextAt(bytes, start, cached, length)) return cached
  const text = bytes.toString('utf8', start, end)
  // Of valid UTF-8, only ASCII has as many characters as bytes.
  if (text.length === length && !text.includes('\u{FFFD}')) texts[hash] = text
  return text
}

/** Whether these bytes are an ASCII text. */
function isTextAt(bytes: Buffer, start: number, text: string, length: number): boolean {
  if (text.length !== length) return false
  for (let index = 0; index < length; index += 1) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}

function checkTextLength(bytes: number): void {
  if (bytes > MAX_TEXT_BYTES) {
    throw new ProtocolError(`id or text of ${bytes} bytes: longer than ${MAX_TEXT_BYTES}`)
  }
}

function pointsTooOften(): ProtocolError {
  return new ProtocolError('message points to the same bytes too often')
}

function unexpected(at: number, expected: string): ProtocolError {
  return new ProtocolError(`pointer at byte ${at}: does not lead to ${expected}`)
}
