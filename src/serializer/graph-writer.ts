// Values that are more than one primitive, as a graph of objects written in the order in which they
// are met: first the root, then the content of each object, whose own objects join the end of the
// queue. So nothing is recursive and no value is too deep; an object is written once and then
// referred to by its number, which keeps sharing and cycles; and the bytes mean the same to every
// version of Node (`node:v8` recurses, and an older Node refuses what a newer one wrote).

import { arrayForm } from './array-form.js'
import { BinaryTableWriter } from './binary-table.js'
import { ByteWriter } from './byte-writer.js'
import { errorClassName, errorName, errorProperties } from './error-class.js'
import type { FunctionCodec } from './function-codec.js'
import { writeLeaf, writeNumbers } from './leaf-codec.js'
import type { AnyFunction } from './native-names.js'
import type { ObjectKind, ObjectKinds } from './object-kind.js'
import { indexStep, keyStep, serializeErrorAt, textOf } from './path.js'
import { writePrimitive, type Primitive } from './primitive-codec.js'
import { Refusal, refuseSymbol } from './refusal.js'
import * as tag from './tag.js'

/**
 * What to do with a part of the value that cannot travel or be read: fail, or put a short text in
 * its place. The value itself is never replaced.
 */
export type Strictness = 'strict' | 'lenient'

/** Objects whose content is written later. */
type ContainerKind = 'plain' | 'array' | 'map' | 'set' | 'error'

interface Queued {
  readonly object: object
  readonly kind: ContainerKind
  /** The place in the queue of the object that holds this one; -1 = nothing does. */
  readonly holder: number
  readonly step: string | number
}

/** What comes first when there is no buffer in the value: the tag and a table of nothing. */
const PREFIX = [tag.MESSAGE_GRAPH, 0, 0] as const

/** Ends the writing; the path tells where. */
class Stop extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

/** Writes one value at a time. A getter in the value must not lead back to the same instance. */
export class GraphWriter {
  readonly #kinds: ObjectKinds
  readonly #functions: FunctionCodec
  readonly #writer = new ByteWriter()
  #strictness: Strictness = 'strict'
  /** The number of each object, functions included. */
  #numbers = new Map<object, number>()
  /** The number of each property key. */
  #keys = new Map<string, number>()
  #queue: Queued[] = []
  #binaries: BinaryTableWriter | undefined
  /** What is being written: the place of its holder in the queue, and the step from there. */
  #holder = -1
  #step: string | number = ''

  constructor(kinds: ObjectKinds, functions: FunctionCodec) {
    this.#kinds = kinds
    this.#functions = functions
  }

  /** The value behind `MESSAGE_GRAPH`. Throws `SerializeError`. */
  write(value: unknown, strictness: Strictness): Uint8Array {
    this.#strictness = strictness
    for (const byte of PREFIX) this.#writer.byte(byte)
    try {
      this.#value(value)
      // The queue grows meanwhile.
      for (let place = 0; place < this.#queue.length; place += 1) {
        this.#holder = place
        this.#content(this.#queue[place] as Queued)
      }
      return this.#finish()
    } catch (error) {
      if (error instanceof Stop) throw serializeErrorAt(this.#path(), error.refusal.reason)
      throw serializeErrorAt(this.#path(), `it cannot be read: ${textOf(error)}`, error)
    } finally {
      this.#forget()
    }
  }

  #finish(): Uint8Array {
    const { written } = this.#writer
    if (this.#binaries === undefined) {
      const bytes = Buffer.allocUnsafe(written.byteLength)
      bytes.set(written)
      return bytes
    }
    const table = new ByteWriter()
    table.byte(tag.MESSAGE_GRAPH)
    const memories = this.#binaries.finish(table)
    return Buffer.concat([table.written, written.subarray(PREFIX.length), ...memories])
  }

  #forget(): void {
    this.#writer.clear()
    this.#binaries = undefined
    this.#holder = -1
    this.#step = ''
    if (this.#numbers.size > 0) this.#numbers = new Map()
    if (this.#keys.size > 0) this.#keys = new Map()
    if (this.#queue.length > 0) this.#queue = []
  }

  #value(value: unknown): void {
    if (typeof value === 'object' && value !== null) this.#object(value)
    else if (typeof value === 'function') this.#function(value as AnyFunction)
    else if (typeof value === 'symbol') this.#refuse(refuseSymbol(value))
    else writePrimitive(this.#writer, value as Primitive)
  }

  #function(fn: AnyFunction): void {
    if (this.#isReference(fn)) return
    const bytes = this.#functions.encode(fn)
    if (bytes instanceof Refusal) {
      this.#refuse(bytes)
      return
    }
    this.#number(fn)
    this.#writer.byte(tag.VALUE_FUNCTION)
    this.#writer.raw(bytes.subarray(1))
  }

  #object(object: object): void {
    if (this.#isReference(object)) return
    const kind = this.#kinds.of(object)
    if (kind instanceof Refusal) this.#refuse(kind)
    else this.#objectOf(object, kind)
  }

  #objectOf(object: object, kind: ObjectKind): void {
    this.#number(object)
    switch (kind) {
      case 'plain':
        this.#enqueue(object, kind, tag.VALUE_OBJECT)
        break
      case 'array':
        this.#array(object as readonly unknown[])
        break
      case 'map':
        this.#enqueue(object, kind, tag.VALUE_MAP)
        break
      case 'set':
        this.#enqueue(object, kind, tag.VALUE_SET)
        break
      case 'error':
        this.#enqueue(object, kind, tag.VALUE_ERROR)
        this.#writer.text(errorClassName(object))
        break
      case 'domException':
        this.#enqueue(object, 'error', tag.VALUE_DOM_EXCEPTION)
        this.#writer.text((object as DOMException).message)
        this.#writer.text((object as DOMException).name)
        break
      case 'binary':
        this.#writer.byte(tag.VALUE_BINARY)
        this.#binaries ??= new BinaryTableWriter()
        this.#binaries.add(object as ArrayBuffer | ArrayBufferView)
        break
      default:
        writeLeaf(this.#writer, object, kind)
    }
  }

  #array(array: readonly unknown[]): void {
    const form = arrayForm(array)
    if (form === 'numbers') {
      writeNumbers(this.#writer, array as readonly number[])
    } else if (form === 'dense') {
      this.#enqueue(array, 'array', tag.VALUE_ARRAY)
    } else {
      this.#enqueue(array, 'plain', tag.VALUE_SPARSE_ARRAY)
      this.#writer.varint(array.length)
    }
  }

  #content({ object, kind }: Queued): void {
    switch (kind) {
      case 'plain':
        this.#properties(object)
        break
      case 'array':
        this.#elements(object as readonly unknown[])
        break
      case 'map':
        this.#entries(object as ReadonlyMap<unknown, unknown>)
        break
      case 'set':
        this.#members(object as ReadonlySet<unknown>)
        break
      default:
        this.#errorProperties(object)
    }
  }

  #properties(object: object): void {
    const keys = Object.keys(object)
    this.#writer.varint(keys.length)
    for (const key of keys) {
      this.#key(key)
      this.#property(object, key)
    }
  }

  #elements(array: readonly unknown[]): void {
    const { length } = array
    this.#writer.varint(length)
    for (let index = 0; index < length; index += 1) this.#property(array, index)
  }

  #entries(map: ReadonlyMap<unknown, unknown>): void {
    // Not the methods of the object: a subclass may have others.
    this.#writer.varint(Number(Reflect.get(Map.prototype, 'size', map)))
    let position = 0
    Map.prototype.forEach.call(map, (value, key) => {
      this.#step = `key ${position}`
      this.#value(key)
      this.#step = `value ${position}`
      this.#value(value)
      position += 1
    })
  }

  #members(set: ReadonlySet<unknown>): void {
    this.#writer.varint(Number(Reflect.get(Set.prototype, 'size', set)))
    let position = 0
    Set.prototype.forEach.call(set, (value) => {
      this.#step = `member ${position}`
      this.#value(value)
      position += 1
    })
  }

  #errorProperties(error: object): void {
    const properties = errorProperties(error)
    this.#writer.varint(properties.length)
    for (const { key, isEnumerable } of properties) {
      this.#key(key)
      this.#writer.byte(isEnumerable ? 1 : 0)
      if (key === 'name') this.#value(errorName(error))
      else this.#property(error, key)
    }
  }

  #property(object: object, key: string | number): void {
    this.#step = key
    this.#value(this.#strictness === 'strict' ? (object as Fields)[key] : tryRead(object, key))
  }

  #key(key: string): void {
    const number = this.#keys.get(key)
    this.#writer.varint(number === undefined ? 0 : number + 1)
    if (number !== undefined) return
    this.#keys.set(key, this.#keys.size)
    this.#writer.text(key)
  }

  #isReference(object: object): boolean {
    const number = this.#numbers.get(object)
    if (number === undefined) return false
    this.#writer.byte(tag.VALUE_REFERENCE)
    this.#writer.varint(number)
    return true
  }

  #number(object: object): void {
    this.#numbers.set(object, this.#numbers.size)
  }

  #enqueue(object: object, kind: ContainerKind, valueTag: number): void {
    this.#writer.byte(valueTag)
    this.#queue.push({ object, kind, holder: this.#holder, step: this.#step })
  }

  #refuse(refusal: Refusal): void {
    const isRoot = this.#holder < 0
    if (isRoot || this.#strictness === 'strict') throw new Stop(refusal)
    writePrimitive(this.#writer, refusal.substitute)
  }

  /** The way from the root to what is being written. */
  #path(): string[] {
    const steps: string[] = []
    let holder = this.#holder
    let step = this.#step
    while (holder >= 0) {
      const queued = this.#queue[holder] as Queued
      steps.push(stepText(queued.kind, step))
      ;({ holder, step } = queued)
    }
    return steps.toReversed()
  }
}

type Fields = Readonly<Record<string | number, unknown>>

/** The property, or a text instead of it if it cannot be read. */
function tryRead(object: object, key: string | number): unknown {
  try {
    return (object as Fields)[key]
  } catch (error) {
    return `[reading it threw ${textOf(error)}]`
  }
}

function stepText(kind: ContainerKind, step: string | number): string {
  if (typeof step === 'number') return indexStep(step)
  return kind === 'map' || kind === 'set' ? step : keyStep(step)
}
