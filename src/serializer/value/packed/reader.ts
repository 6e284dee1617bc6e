// Reads packed values: the arguments, or the results, of the tasks of a run, which writer.ts
// writes. Trusts none of the bytes. docs/protocol.md#runs

import { compileFunction } from 'node:vm'
import { asBuffer, copyOf, latin1Slice } from '../../../base/bytes.js'
import { DeserializeError } from '../../../base/errors.js'
import { TYPED_ARRAYS } from '../shape.js'

// The first byte of a value.
/** Nothing follows. */
export const UNDEFINED = 0
/** The same. */
export const NULL = 1
/** The same. */
export const TRUE = 2
/** The same. */
export const FALSE = 3
/** An integer of 32 bits. */
export const INTEGER = 4
/** Any number. */
export const NUMBER = 5
/** A string of ASCII characters, at most 255. */
export const SHORT_TEXT = 6
/** Any string without lone surrogates. */
export const TEXT = 7
/** An array without holes. */
export const ARRAY = 8
/** An object, by the number of its shape. */
export const OBJECT = 9
/** A Buffer (0), or a typed array, by the position of its class plus 1. */
export const BINARY = 10
/** A bigint of 64 bits. */
export const BIGINT = 11
/** Another argument of the task, by its number; only for arguments. */
const INPUT = 12
/** The same as `SERIALIZED`, for a value that other tasks get as well; only for arguments. */
const SHARED = 14
/** Any value, as the serializer writes it. */
export const SERIALIZED = 15
/** Plus an integer below 128. */
export const SMALL_INTEGER = 128

/** Our writer nests less; more would be an attempt to exhaust the stack. */
const MAX_DEPTH = 100
/** Texts are decoded together in pieces of this length, in bytes. */
const WINDOW_BYTES = 8192
/** A slice of a longer text would keep the text that it is cut from alive. */
const MAX_COPIED_TEXT = 12
/** Objects of a shape are made by compiled code from this number on. */
const MIN_COMPILED = 16
const MAX_KNOWN_HEADS = 256
const MAX_KNOWN_HEAD_BYTES = 4096

type Next = () => unknown
type Factory = (next: Next) => object

/** The code for `{ key: next(), … }`. */
export function literalFactory(keys: readonly string[]): Factory {
  const properties = keys.map((key) => `${JSON.stringify(key)}:n()`)
  return compileFunction(`return {${properties.join(',')}}`, ['n']) as Factory
}

/** A list of keys in the head. */
class ReadShape {
  readonly keys: readonly string[]
  #uses = 0
  #factory: Factory | undefined

  constructor(keys: readonly string[]) {
    this.keys = keys
  }

  /** An object whose properties have the values that `next` returns, in order. */
  make(next: Next): object {
    if (this.#factory !== undefined) return this.#factory(next)
    this.#uses += 1
    if (this.#uses >= MIN_COMPILED) this.#factory = literalFactory(this.keys)
    const object: Record<string, unknown> = {}
    for (const key of this.keys) object[key] = next()
    return object
  }
}

/** The shapes of heads that were read, as most heads come again. */
const knownHeads = new Map<string, readonly ReadShape[]>()

function shapesOf(head: Buffer): readonly ReadShape[] {
  if (head.byteLength > MAX_KNOWN_HEAD_BYTES) return readShapes(head)
  const name = latin1Slice(head, 0, head.byteLength)
  let shapes = knownHeads.get(name)
  if (shapes === undefined) {
    shapes = readShapes(head)
    if (knownHeads.size >= MAX_KNOWN_HEADS) knownHeads.clear()
    knownHeads.set(name, shapes)
  }
  return shapes
}

function readShapes(head: Buffer): ReadShape[] {
  const shapes: ReadShape[] = []
  let at = 0
  while (at < head.byteLength) {
    const keys: string[] = []
    let left = head[at] as number
    at += 1
    for (; left > 0; left -= 1) {
      const start = at + 2
      if (start > head.byteLength) throw tooShort()
      at = start + head.readUInt16LE(at)
      if (at > head.byteLength) throw tooShort()
      const key = head.toString('utf8', start, at)
      // Assigning it would change the prototype.
      if (key === '__proto__') throw new DeserializeError('a packed object has a key __proto__')
      keys.push(key)
    }
    shapes.push(new ReadShape(keys))
  }
  return shapes
}

function tooShort(): DeserializeError {
  return new DeserializeError('a packed value ends too early')
}

/** Where the parts of packed bytes are (`layoutOf` of wire/run.ts), which were checked. */
interface CheckedLayout {
  readonly headAt: number
  readonly headEnd: number
  readonly entriesAt: number
}

/** The serializer of the client. */
interface ValueSource {
  /** The bytes are not kept. */
  deserialize(bytes: Uint8Array): unknown
  serialize(value: unknown): Uint8Array
}

/** Values of a task that are not its own. */
export interface SharedValues {
  /** How many arguments are objects, without the attachments of the function. */
  readonly inputCount: number
  /** Whether it is the value of a reference, or the result of another task. */
  isShared(index: number): boolean
  /** The value of one of these. Throws what reading it throws. */
  input(index: number): unknown
  /** A value that other tasks get as well. The bytes are not kept. Throws likewise. */
  shared(bytes: Uint8Array): unknown
}

/** A value that is read after all others. */
interface Late {
  readonly at: number
  readonly read: () => unknown
}

const float = new Float64Array(1)
const floatBytes = new Uint8Array(float.buffer)

/** The values of one run, or a part of it. Any entry can be read, and read again. */
export class PackedReader {
  readonly #bytes: Buffer
  readonly #layout: CheckedLayout
  readonly #source: ValueSource
  readonly #others: SharedValues | undefined
  #shapes: readonly ReadShape[] | undefined
  /** Where an entry with the offset 0 would begin. */
  readonly #start: number
  #index = -1
  #at = 0
  /** The end of the entry. */
  #end: number
  #depth = 0
  /** Some bytes as text, and where they begin and end. */
  #window = ''
  #windowAt = 0
  #windowEnd = 0
  #values: readonly unknown[] = []
  /** The value of `#values` that is read after the others. */
  #lateAt: number | undefined
  readonly #next: Next = () => this.#value()

  /** `others`: only for arguments. */
  constructor(
    packed: Uint8Array,
    layout: CheckedLayout,
    source: ValueSource,
    others?: SharedValues,
  ) {
    this.#bytes = asBuffer(packed)
    this.#layout = layout
    this.#start = layout.entriesAt - uint32(this.#bytes, layout.headEnd)
    this.#end = layout.entriesAt
    this.#source = source
    this.#others = others
  }

  /**
   * The values of entry `index`, which must exist. Those that are older than the task come last:
   * classes are as the task's own values have them. Throws `DeserializeError`, and what the
   * serializer throws for a value that it has written (`PendingImport`).
   */
  values(index: number): unknown[] {
    this.#open(index)
    const values: unknown[] = []
    this.#values = values
    this.#lateAt = undefined
    const late: Late[] = []
    const others = this.#others
    while (this.#at < this.#end) {
      const kind = this.#bytes[this.#at]
      if (others === undefined || (kind !== INPUT && kind !== SHARED)) values.push(this.#value())
      else this.#addOther(values, late, { kind, others })
    }
    for (const { at, read } of late) {
      this.#lateAt = at
      values[at] = read()
    }
    return values
  }

  /** The position of the value of the entry that was being read last. */
  get lastAt(): number {
    return this.#lateAt ?? this.#values.length
  }

  /** The only value of entry `index`. Throws like `values`. */
  value(index: number): unknown {
    this.#open(index)
    const value = this.#value()
    if (this.#at === this.#end) return value
    throw new DeserializeError('a packed value has too many bytes')
  }

  /** The values of entry `index`, each as the serializer writes it by itself. Throws likewise. */
  serialized(index: number): Uint8Array[] {
    this.#open(index)
    const values: Uint8Array[] = []
    while (this.#at < this.#end) {
      if (this.#bytes[this.#at] === SERIALIZED) {
        this.#at += 1
        const length = this.#length()
        const start = this.#skip(length)
        values.push(copyOf(this.#bytes.subarray(start, start + length)))
      } else values.push(this.#source.serialize(this.#value()))
    }
    return values
  }

  #open(index: number): void {
    const bytes = this.#bytes
    const offsetAt = this.#layout.headEnd + 4 * index
    // Usually it is the next one.
    this.#at = index === this.#index + 1 ? this.#end : this.#start + uint32(bytes, offsetAt)
    this.#end = this.#start + uint32(bytes, offsetAt + 4)
    this.#index = index
    this.#depth = 0
  }

  #addOther(
    values: unknown[],
    late: Late[],
    { kind, others }: { readonly kind: number; readonly others: SharedValues },
  ): void {
    this.#at += 1
    let read: () => unknown
    if (kind === INPUT) {
      const number = this.#bytes[this.#skip(1)] as number
      // A scheduler does not know which arguments are attachments, so it lists them, too.
      if (number >= others.inputCount) return
      if (!others.isShared(number)) return void values.push(others.input(number))
      read = () => others.input(number)
    } else {
      const length = this.#length()
      const start = this.#skip(length)
      read = () => others.shared(this.#bytes.subarray(start, start + length))
    }
    late.push({ at: values.push(undefined) - 1, read })
  }

  #value(): unknown {
    if (this.#at >= this.#end) throw tooShort()
    const kind = this.#bytes[this.#at] as number
    this.#at += 1
    if (kind >= SMALL_INTEGER) return kind - SMALL_INTEGER
    switch (kind) {
      case INTEGER:
        return uint32(this.#bytes, this.#skip(4)) | 0
      case NUMBER:
        return this.#number()
      case SHORT_TEXT:
        return this.#shortText()
      case TEXT: {
        const length = this.#length()
        const start = this.#skip(length)
        return this.#bytes.toString('utf8', start, start + length)
      }
      case ARRAY:
        return this.#array()
      case OBJECT:
        return this.#object()
      case UNDEFINED:
        return undefined
      case NULL:
        return null
      case TRUE:
        return true
      case FALSE:
        return false
      case BINARY:
        return this.#binary()
      case BIGINT:
        return this.#bytes.readBigInt64LE(this.#skip(8))
      case SERIALIZED:
        return this.#serialized()
      default:
        throw new DeserializeError(`a packed value has the unknown kind ${kind}`)
    }
  }

  /** Skips bytes. Returns where they begin. */
  #skip(length: number): number {
    const start = this.#at
    if (length > this.#end - start) throw tooShort()
    this.#at = start + length
    return start
  }

  #length(): number {
    return uint32(this.#bytes, this.#skip(4))
  }

  #number(): number {
    const start = this.#skip(8)
    const bytes = this.#bytes
    for (let index = 0; index < 8; index += 1) floatBytes[index] = bytes[start + index] as number
    return float[0] as number
  }

  #shortText(): string {
    const length = this.#bytes[this.#skip(1)] as number
    const start = this.#skip(length)
    if (length > MAX_COPIED_TEXT) return latin1Slice(this.#bytes, start, start + length)
    if (start < this.#windowAt || start + length > this.#windowEnd) {
      this.#windowAt = start
      this.#windowEnd = Math.min(start + WINDOW_BYTES, this.#bytes.byteLength)
      this.#window = latin1Slice(this.#bytes, start, this.#windowEnd)
    }
    return this.#window.slice(start - this.#windowAt, start - this.#windowAt + length)
  }

  #array(): unknown[] {
    const length = this.#length()
    // Each element takes a byte.
    if (length > this.#end - this.#at) throw tooShort()
    this.#enter()
    const array: unknown[] = []
    for (let index = 0; index < length; index += 1) array.push(this.#value())
    this.#depth -= 1
    return array
  }

  #object(): object {
    const number = this.#bytes[this.#skip(1)] as number
    const { headAt, headEnd } = this.#layout
    this.#shapes ??= shapesOf(this.#bytes.subarray(headAt, headEnd))
    const shape = this.#shapes[number]
    if (shape === undefined) throw new DeserializeError('a packed object has an unknown shape')
    this.#enter()
    const object = shape.make(this.#next)
    this.#depth -= 1
    return object
  }

  /** A copy: a task may write to it. */
  #binary(): ArrayBufferView {
    const number = this.#bytes[this.#skip(1)] as number
    const length = this.#length()
    const start = this.#skip(length)
    const memory = new ArrayBuffer(length)
    new Uint8Array(memory).set(this.#bytes.subarray(start, start + length))
    if (number === 0) return Buffer.from(memory)
    const arrayClass = TYPED_ARRAYS[number - 1]
    if (arrayClass === undefined || length % arrayClass.BYTES_PER_ELEMENT > 0) {
      throw new DeserializeError('packed bytes are not those of a typed array')
    }
    return new arrayClass(memory)
  }

  #serialized(): unknown {
    const length = this.#length()
    const start = this.#skip(length)
    return this.#source.deserialize(this.#bytes.subarray(start, start + length))
  }

  #enter(): void {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH) throw new DeserializeError('a packed value is nested too deeply')
  }
}

function uint32(bytes: Buffer, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  )
}
