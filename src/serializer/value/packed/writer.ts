// Writes the arguments, or the results, of many tasks into one run: a few bytes for each of the
// small plain values that most tasks have, and the keys of their objects once for the whole run.
// Any other value is written by the serializer: whatever must be shared, is of a class, or is more
// than its properties. The choice is made for each value, and both ways arrive as the same value.
// docs/protocol.md#runs

import { types } from 'node:util'
import { bufferOf, isDetached, maxByteLengthOf } from '../../bytes/binary.js'
import { arrayForm } from '../array-form.js'
import {
  ARRAY,
  BIGINT,
  BINARY,
  FALSE,
  INTEGER,
  NULL,
  NUMBER,
  OBJECT,
  SERIALIZED,
  SHORT_TEXT,
  SMALL_INTEGER,
  TEXT,
  TRUE,
  UNDEFINED,
} from './reader.js'
import { isWellFormed, WrittenShapes } from './shapes.js'
import { engineShapes, TYPED_ARRAYS } from '../shape.js'

/** Objects in one value; more are left to the serializer, which finds shared ones faster. */
const MAX_OBJECTS = 24
const MAX_ELEMENTS = 1024
/** Up to this length, strings are faster written by hand. */
const MAX_SHORT_TEXT = 48
/** The longest string or bytes that are written here. */
const MAX_BYTES = 65_536
const INITIAL_BYTES = 4096
const MAX_KEPT_BYTES = 262_144
/** Entries of at least this size get memory of their own. */
const MIN_OWN_BYTES = 512
type Fields = Readonly<Record<string, unknown>>

/** Writes the values that are more than plain. */
export interface ValueTarget {
  /** Throws `SerializeError`. */
  serialize(value: unknown): Uint8Array
  /**
   * Whether an object is sent by its name. Undefined: all values are written by `serialize`.
   */
  readonly isNamed?: ((object: object) => boolean) | undefined
}

const float = new Float64Array(1)
const floatBytes = new Uint8Array(float.buffer)

/**
 * Writes one run: `beginEntry`, the values of one task, `endEntry`, for each task; then `finish`.
 * If `value` throws or returns bytes, `dropEntry` removes the entry.
 */
export class PackedWriter {
  readonly #target: ValueTarget
  /** Where entries are written while there is room. */
  readonly #memory: Buffer
  #bytes: Buffer
  #length = 0
  /** The ends of the entries. */
  #ends: number[] = []
  #isOpen = false
  readonly #shapes: WrittenShapes
  /** The number of shapes before the entry. */
  #entryShapes = 0
  /** The objects of the value that is written. */
  readonly #seen: (object | undefined)[] = new Array<object | undefined>(MAX_OBJECTS).fill(
    undefined,
  )
  #seenCount = 0

  /** `memory`: where the entries of each run are written, as long as they fit. */
  constructor(target: ValueTarget, memory: Buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES)) {
    this.#target = target
    this.#memory = memory
    this.#bytes = memory
    this.#shapes = new WrittenShapes((object) => target.isNamed?.(object) === true)
  }

  /** The number of complete entries. */
  get count(): number {
    return this.#ends.length
  }

  /** The size of the entries, in bytes. */
  get byteLength(): number {
    return this.#length
  }

  /** Whether the entries are in the memory that was given. */
  get isInPlace(): boolean {
    return this.#bytes === this.#memory
  }

  /** The size of the head, in bytes. */
  get headBytes(): number {
    return this.#shapes.headBytes
  }

  /** Writes the head as it is now. */
  writeHead(target: Buffer, at: number): void {
    this.#shapes.write(target, at)
  }

  /** The size of the entry that was begun, in bytes. */
  get entryBytes(): number {
    return this.#length - (this.#ends.at(-1) ?? 0)
  }

  /** Whether an entry was begun: a getter in its values may lead here again. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /**
   * Adds the entry of a task whose only value is this number. False: all values are written by the
   * serializer.
   */
  numberEntry(value: number): boolean {
    if (this.#target.isNamed === undefined) return false
    this.#entryShapes = this.#shapes.count
    this.#reserve(0)
    this.#number(value)
    this.#ends.push(this.#length)
    return true
  }

  /** Begins the entry of the next task. */
  beginEntry(): void {
    this.#isOpen = true
    this.#entryShapes = this.#shapes.count
  }

  /** The entry is complete. */
  endEntry(): void {
    this.#isOpen = false
    this.#ends.push(this.#length)
  }

  /** Removes the entry that was begun, or the last one if none was. */
  dropEntry(): void {
    if (!this.#isOpen) this.#ends.pop()
    this.#isOpen = false
    this.#length = this.#ends.at(-1) ?? 0
    this.#shapes.drop(this.#entryShapes)
  }

  /**
   * Adds a value to the entry. Returns its serialized bytes instead if there are more than `limit`
   * of them. Throws what the serializer throws.
   */
  value(value: unknown, limit: number): Uint8Array | undefined {
    if (this.#target.isNamed !== undefined) {
      const start = this.#length
      const shapes = this.#shapes.count
      const isLong = typeof value === 'string' && value.length > limit
      const isPlain = !isLong && this.#plain(value) && this.#length - start <= limit
      this.#forgetSeen()
      if (isPlain) return undefined
      this.#length = start
      this.#shapes.drop(shapes)
    }
    const bytes = this.#target.serialize(value)
    if (bytes.byteLength > limit) return bytes
    this.serialized(bytes)
    return undefined
  }

  /** Adds a value that the serializer has written. */
  serialized(bytes: Uint8Array): void {
    this.#reserve(bytes.byteLength)
    this.#bytes[this.#length] = SERIALIZED
    this.#bytes.writeUInt32LE(bytes.byteLength, this.#length + 1)
    this.#bytes.set(bytes, this.#length + 5)
    this.#length += 5 + bytes.byteLength
  }

  /** The packed bytes of all entries. The next run begins. */
  finish(): Buffer {
    const { headBytes } = this.#shapes
    const headEnd = 4 + headBytes
    const entriesAt = headEnd + 4 * (this.#ends.length + 1)
    const size = entriesAt + this.#length
    // The few bytes of a task that waits alone share memory with others.
    const packed = size < MIN_OWN_BYTES ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size)
    const view = new DataView(packed.buffer, packed.byteOffset, entriesAt)
    view.setUint32(0, headBytes, true)
    this.#shapes.write(packed, 4)
    view.setUint32(headEnd, 0, true)
    let at = headEnd
    for (const end of this.#ends) view.setUint32((at += 4), end, true)
    this.#bytes.copy(packed, entriesAt, 0, this.#length)
    this.#clear()
    return packed
  }

  #clear(): void {
    this.#length = 0
    this.#ends = []
    this.#shapes.drop(0)
    const isShared = this.#memory.buffer instanceof SharedArrayBuffer
    if (isShared || this.#bytes.byteLength > MAX_KEPT_BYTES) this.#bytes = this.#memory
  }

  #forgetSeen(): void {
    for (; this.#seenCount > 0; this.#seenCount -= 1) this.#seen[this.#seenCount - 1] = undefined
  }

  /** Appends a value that is plain. Returns false, after having written anything, if it is not. */
  #plain(value: unknown): boolean {
    this.#reserve(MAX_SHORT_TEXT)
    switch (typeof value) {
      case 'number':
        this.#number(value)
        return true
      case 'string':
        return this.#text(value)
      case 'boolean':
        this.#byte(value ? TRUE : FALSE)
        return true
      case 'undefined':
        this.#byte(UNDEFINED)
        return true
      case 'object':
        if (value !== null) return this.#object(value)
        this.#byte(NULL)
        return true
      case 'bigint':
        if (BigInt.asIntN(64, value) !== value) return false
        this.#byte(BIGINT)
        this.#bytes.writeBigInt64LE(value, this.#length)
        this.#length += 8
        return true
      default:
        return false
    }
  }

  #number(value: number): void {
    const bytes = this.#bytes
    const at = this.#length
    const integer = value | 0
    if (integer !== value || (integer === 0 && 1 / value < 0)) {
      bytes[at] = NUMBER
      float[0] = value
      for (let index = 0; index < 8; index += 1) bytes[at + 1 + index] = floatBytes[index] as number
      this.#length = at + 9
    } else if (integer >= 0 && integer < SMALL_INTEGER) {
      bytes[at] = SMALL_INTEGER | integer
      this.#length = at + 1
    } else {
      bytes[at] = INTEGER
      this.#uint32(integer, at + 1)
      this.#length = at + 5
    }
  }

  #text(text: string): boolean {
    const { length } = text
    const at = this.#length
    if (length <= MAX_SHORT_TEXT) {
      const bytes = this.#bytes
      let index = 0
      for (; index < length; index += 1) {
        const unit = text.charCodeAt(index)
        if (unit > 127) break
        bytes[at + 2 + index] = unit
      }
      if (index === length) {
        bytes[at] = SHORT_TEXT
        bytes[at + 1] = length
        this.#length = at + 2 + length
        return true
      }
    }
    if (length > MAX_BYTES || !isWellFormed(text)) return false
    this.#reserve(length * 3)
    const byteLength = this.#bytes.write(text, at + 5, 'utf8')
    this.#bytes[at] = TEXT
    this.#uint32(byteLength, at + 1)
    this.#length = at + 5 + byteLength
    return true
  }

  #object(object: object): boolean {
    if (!this.#isFirst(object)) return false
    if (Array.isArray(object)) return this.#array(object)
    if (ArrayBuffer.isView(object)) return this.#binary(object)
    const number = this.#shapes.of(object)
    if (number < 0) return false
    this.#bytes[this.#length] = OBJECT
    this.#bytes[this.#length + 1] = number
    this.#length += 2
    const keys = this.#shapes.keysOf(number)
    for (let index = 0; index < keys.length; index += 1) {
      if (!this.#plain((object as Fields)[keys[index] as string])) return false
    }
    return true
  }

  /** Whether the object was not met in this value. */
  #isFirst(object: object): boolean {
    const seen = this.#seen
    const count = this.#seenCount
    for (let index = 0; index < count; index += 1) if (seen[index] === object) return false
    if (count === MAX_OBJECTS) return false
    seen[count] = object
    this.#seenCount = count + 1
    return true
  }

  #array(array: readonly unknown[]): boolean {
    const form = engineShapes.arrayForm(array)
    if (form === undefined && !isOrdinaryArray(array)) return false
    const { length } = array
    if (length > MAX_ELEMENTS) return false
    this.#bytes[this.#length] = ARRAY
    this.#uint32(length, this.#length + 1)
    this.#length += 5
    for (let index = 0; index < length; index += 1) {
      const element = array[index]
      if (element === undefined && form === 'holey' && !Object.hasOwn(array, index)) return false
      if (!this.#plain(element)) return false
    }
    return true
  }

  #binary(view: ArrayBufferView): boolean {
    if (!engineShapes.isOrdinary(view)) return false
    const prototype: unknown = Object.getPrototypeOf(view)
    const isBuffer = prototype === Buffer.prototype
    const position = isBuffer ? 0 : TYPED_ARRAYS.findIndex((known) => known.prototype === prototype)
    const memory = bufferOf(view)
    const { byteOffset, byteLength } = view
    if (position < 0 || byteLength > MAX_BYTES || !types.isArrayBuffer(memory)) return false
    if (maxByteLengthOf(memory) !== undefined || isDetached(memory)) return false
    // Two views of the same memory must share it.
    if (!this.#isFirst(memory)) return false
    this.#reserve(byteLength)
    const at = this.#length
    this.#bytes[at] = BINARY
    this.#bytes[at + 1] = isBuffer ? 0 : position + 1
    this.#uint32(byteLength, at + 2)
    this.#bytes.set(new Uint8Array(memory, byteOffset, byteLength), at + 6)
    this.#length = at + 6 + byteLength
    return true
  }

  #byte(byte: number): void {
    this.#bytes[this.#length] = byte
    this.#length += 1
  }

  #uint32(value: number, at: number): void {
    const bytes = this.#bytes
    bytes[at] = value
    bytes[at + 1] = value >> 8
    bytes[at + 2] = value >> 16
    bytes[at + 3] = value >> 24
  }

  /** Makes room for a value of this length, its kind and its length. */
  #reserve(byteLength: number): void {
    const needed = this.#length + byteLength + 16
    if (needed <= this.#bytes.byteLength) return
    const bytes = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.byteLength * 2))
    this.#bytes.copy(bytes, 0, 0, this.#length)
    this.#bytes = bytes
  }
}

/** Used where the engine does not answer. */
function isOrdinaryArray(array: readonly unknown[]): boolean {
  if (types.isProxy(array) || Object.getPrototypeOf(array) !== Array.prototype) return false
  return Object.isExtensible(array) && arrayForm(array, false) !== 'sparse'
}
