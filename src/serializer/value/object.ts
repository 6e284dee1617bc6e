// An object where it is met: its tag and what is needed to make it, empty or whole. What it holds
// waits in the queue of the unit.

import { types } from 'node:util'
import { BinaryTableWriter } from '../bytes/binary.js'
import { writeLeaf, writeNumbers } from '../bytes/leaf.js'
import * as tag from '../bytes/tag.js'
import type { ByteWriter } from '../bytes/writer.js'
import type { ClassCodec } from '../class/codecs.js'
import type { AnyFunction } from '../module/native.js'
import { Refusal, type Step } from '../refusal.js'
import { argumentCount, arrayForm } from './array-form.js'
import { Cell, MadeCell } from './cell.js'
import { errorClassName } from './error.js'
import { examine, isBare, type ObjectKind, type SpecialPlan, WRAPPED_CLASS } from './kind.js'
import { constructorOf } from './prototype-chain.js'
import { engineShapes, INTEGRITY_FROZEN } from './shape.js'
import type { ContentKind, UnitContext } from './sink.js'

// Objects by the order in which they were met. Most are met once: so a set is kept, and numbers are
// only counted when one is asked for.

/** Gives objects numbers, from 0. */
export class ObjectNumbers {
  #seen = new Set<object>()
  #counted = new Map<object, number>()
  /** Goes on through `#seen` whenever more objects have to be counted. */
  #uncounted: Iterator<object, undefined> | undefined

  get size(): number {
    return this.#seen.size
  }

  /** All, in their order. */
  get all(): Iterable<object> {
    return this.#seen
  }

  /** Forgets all. */
  clear(): void {
    if (this.#seen.size === 0) return
    this.#seen = new Set()
    this.#uncounted = undefined
    if (this.#counted.size > 0) this.#counted = new Map()
  }

  /** Gives an object the next number. Returns false if it has one. */
  add(object: object): boolean {
    const { size } = this.#seen
    this.#seen.add(object)
    return this.#seen.size > size
  }

  /** Takes the number of the object that got the last one. */
  remove(object: object): void {
    this.#seen.delete(object)
  }

  has(object: object): boolean {
    return this.#seen.has(object)
  }

  /** The number of an object that has one. */
  of(object: object): number {
    let number = this.#counted.get(object)
    if (number !== undefined) return number
    this.#uncounted ??= this.#seen.values()
    for (;;) {
      const next = this.#uncounted.next()
      if (next.done === true) return -1
      number = this.#counted.size
      this.#counted.set(next.value, number)
      if (next.value === object) return number
    }
  }
}

/** What is needed of the unit. */
export interface ObjectSink {
  readonly bytes: ByteWriter
  readonly context: UnitContext
  enqueue(object: object, kind: ContentKind, special: SpecialPlan | undefined): void
  enqueueCell(key: object, value: unknown): void
  /** Appends the class of the object that is being written. */
  classOf(object: object, constructor: AnyFunction): void
  value(value: unknown, step: Step): void
  primitive(value: unknown): void
  refuseObject(object: object, refusal: Refusal): void
}

/** What is special about an object that has a class and nothing else. */
const PLAIN_INSTANCE: SpecialPlan = {
  flags: WRAPPED_CLASS,
  prototype: undefined,
  keys: [],
  integrity: 0,
  isFlat: false,
}

const NO_MEMORIES: readonly Uint8Array[] = []

/** Writes the objects of one unit. */
export class ObjectWriter {
  readonly #sink: ObjectSink
  #binaries: BinaryTableWriter | undefined
  readonly #codecs = new Map<ClassCodec, number>()
  /** An object that was found to be nothing but its properties. */
  #lastBare: object | undefined

  constructor(sink: ObjectSink) {
    this.#sink = sink
  }

  /** Forgets what was met. */
  clear(): void {
    this.#binaries = undefined
    this.#lastBare = undefined
    if (this.#codecs.size > 0) this.#codecs.clear()
  }

  /** Whether there are any. */
  get hasBinaries(): boolean {
    return this.#binaries !== undefined
  }

  /** Writes the binary table; returns what must follow the unit. */
  finish(table: ByteWriter): readonly Uint8Array[] {
    return this.#binaries?.finish(table) ?? NO_MEMORIES
  }

  /** Appends an object that is no proxy and has its number. */
  write(object: object): void {
    const prototype = Object.getPrototypeOf(object) as object | null
    if (!Object.isExtensible(object) || this.#sink.context.isSpecial(object)) {
      this.#special(object, prototype)
    } else if (Array.isArray(object) && prototype === Array.prototype) {
      this.#array(object, undefined)
    } else if (prototype === Object.prototype && this.#isBare(object)) {
      this.#sink.bytes.byte(tag.VALUE_RECORD)
      this.#sink.enqueue(object, 'ordinary', undefined)
    } else {
      this.#special(object, prototype)
    }
  }

  /** Most objects are like the last one, and asking about each costs much. */
  #isBare(object: object): boolean {
    if (this.#lastBare !== undefined && engineShapes.areAlike(object, this.#lastBare)) return true
    if (!isBare(object)) return false
    this.#lastBare = object
    return true
  }

  #special(object: object, prototype: object | null): void {
    const plainClass = prototype && this.#sink.context.lineages.plainClass(prototype)
    const isPlain = plainClass && Object.isExtensible(object)
    if (isPlain && !Object.hasOwn(object, 'constructor') && this.#isBare(object)) {
      this.#sink.bytes.byte(tag.VALUE_WRAPPED)
      this.#sink.bytes.byte(WRAPPED_CLASS)
      this.#sink.classOf(object, plainClass)
      this.#container(object, 'record', tag.VALUE_RECORD, PLAIN_INSTANCE)
      return
    }
    if (object instanceof Cell) {
      this.#sink.bytes.byte(tag.VALUE_CELL)
      this.#sink.enqueueCell(object, object.v)
      return
    }
    if (object instanceof MadeCell) {
      this.#sink.bytes.byte(tag.VALUE_MADE)
      this.#sink.enqueueCell(object, object.make)
      return
    }
    if (prototype !== null && this.#coded(object, prototype)) return
    const constructor = constructorOf(object)
    if (constructor !== undefined) {
      this.#sink.bytes.byte(tag.VALUE_PROTOTYPE)
      this.#sink.classOf(object, constructor)
      return
    }
    const special = examine(object, this.#sink.context.lineages)
    if (special instanceof Refusal) {
      this.#sink.refuseObject(object, special)
      return
    }
    const { kind, plan } = special
    if (plan.flags === 0) {
      this.#inside(object, kind, undefined)
    } else if (kind === 'record' && prototype === null && plan.integrity === 0) {
      this.#sink.bytes.byte(tag.VALUE_NULL_RECORD)
      this.#sink.enqueue(object, 'record', undefined)
    } else {
      this.#sink.bytes.byte(tag.VALUE_WRAPPED)
      this.#sink.bytes.byte(plan.flags)
      if ((plan.flags & WRAPPED_CLASS) !== 0) {
        this.#sink.classOf(object, special.constructor as AnyFunction)
      }
      this.#inside(object, kind, plan)
    }
  }

  /** Appends an instance of a registered class, if the object is one. */
  #coded(object: object, prototype: object): boolean {
    const { bytes, context } = this.#sink
    const codec = context.codecOf(prototype)
    if (codec === undefined) return false
    const encoded = context.encode(object, codec)
    bytes.byte(tag.VALUE_CODED)
    const number = this.#codecs.get(codec)
    bytes.varint(number === undefined ? 0 : number + 1)
    if (number === undefined) {
      this.#codecs.set(codec, this.#codecs.size)
      bytes.varint(encoded.codec.byteLength)
      bytes.raw(encoded.codec)
    }
    bytes.varint(encoded.value.byteLength)
    bytes.raw(encoded.value)
    return true
  }

  #inside(object: object, kind: ObjectKind, special: SpecialPlan | undefined): void {
    const { bytes } = this.#sink
    switch (kind) {
      case 'record':
        this.#container(object, kind, tag.VALUE_RECORD, special)
        break
      case 'array':
        this.#array(object as readonly unknown[], special)
        break
      case 'map':
        this.#container(object, kind, tag.VALUE_MAP, special)
        break
      case 'set':
        this.#container(object, kind, tag.VALUE_SET, special)
        break
      case 'arguments':
        this.#container(object, kind, tag.VALUE_ARGUMENTS, special)
        bytes.varint(argumentCount(object))
        break
      case 'error':
        this.#container(object, kind, tag.VALUE_ERROR, special)
        bytes.text(errorClassName(object))
        break
      case 'domException':
        this.#container(object, 'error', tag.VALUE_DOM_EXCEPTION, special)
        bytes.text((object as DOMException).message)
        bytes.text((object as DOMException).name)
        break
      case 'binary':
        bytes.byte(tag.VALUE_BINARY)
        this.#binaries ??= new BinaryTableWriter()
        this.#binaries.add(object as ArrayBuffer | ArrayBufferView)
        this.#leaf(object, special)
        break
      case 'boxed':
        bytes.byte(tag.VALUE_BOXED)
        this.#sink.primitive(unboxed(object))
        this.#leaf(object, special)
        break
      default:
        writeLeaf(bytes, object, kind)
        this.#leaf(object, special)
    }
  }

  #array(array: readonly unknown[], special: SpecialPlan | undefined): void {
    const form = arrayForm(array, special?.integrity === INTEGRITY_FROZEN)
    if (form === 'numbers') {
      writeNumbers(this.#sink.bytes, array as readonly number[])
      this.#leaf(array, special)
    } else if (form === 'dense') {
      this.#container(array, 'array', tag.VALUE_ARRAY, special)
    } else {
      this.#container(array, 'record', tag.VALUE_SPARSE_ARRAY, special)
      this.#sink.bytes.varint(array.length)
    }
  }

  #container(
    object: object,
    kind: ContentKind,
    valueTag: number,
    special: SpecialPlan | undefined,
  ): void {
    this.#sink.bytes.byte(valueTag)
    this.#sink.enqueue(object, kind, special)
  }

  /** Only what is around it can follow. */
  #leaf(object: object, special: SpecialPlan | undefined): void {
    if (special !== undefined) this.#sink.enqueue(object, 'leaf', special)
  }
}

/** Whatever `valueOf` a subclass has. */
function unboxed(object: object): unknown {
  if (types.isNumberObject(object)) return Number.prototype.valueOf.call(object)
  if (types.isStringObject(object)) return String.prototype.valueOf.call(object)
  if (types.isBooleanObject(object)) return Boolean.prototype.valueOf.call(object)
  if (types.isBigIntObject(object)) return BigInt.prototype.valueOf.call(object)
  return Symbol.prototype.valueOf.call(object)
}
