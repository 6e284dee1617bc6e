// An object where it is first found: its tag and what is needed to create it, empty or complete.
// Its content waits in the queue of the unit.

import { types } from 'node:util'
import { BinaryTableWriter } from '../bytes/binary.js'
import { writeLeaf, writeNumbers } from '../bytes/leaf.js'
import * as tag from '../bytes/tag.js'
import type { AnyFunction } from '../module/native.js'
import { Refusal } from '../refusal.js'
import { argumentCount, arrayForm } from './array-form.js'
import { Cell, MadeCell } from './cell.js'
import { errorClassName } from './error.js'
import { examine, isBare, type ObjectKind, type SpecialPlan, WRAPPED_CLASS } from './kind.js'
import { constructorOf } from '../class/prototype-chain.js'
import { engineShapes, INTEGRITY_FROZEN } from './shape.js'
import type { Unit } from './unit.js'

// Objects in the order in which they are found. Most are found once, so only a set is kept, and
// numbers are counted when one is needed.

/** Gives objects numbers, from 0. */
export class ObjectNumbers {
  #seen = new Set<object>()
  #counted = new Map<object, number>()
  /** Continues through `#seen` whenever more objects must be counted. */
  #uncounted: Iterator<object, undefined> | undefined

  get size(): number {
    return this.#seen.size
  }

  /** All objects, in order. */
  get all(): Iterable<object> {
    return this.#seen
  }

  /** Clears all numbers. */
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

  /** Removes the object that got the last number. */
  remove(object: object): void {
    this.#seen.delete(object)
  }

  has(object: object): boolean {
    return this.#seen.has(object)
  }

  /** The number of an object; it must have one. */
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

/** The special parts of an object that has a class and nothing else. */
const PLAIN_INSTANCE: SpecialPlan = {
  flags: WRAPPED_CLASS,
  prototype: undefined,
  keys: [],
  integrity: 0,
  isFlat: false,
}

/** Appends an object, not a proxy, that has its number. */
export function writeObject(unit: Unit, object: object): void {
  const prototype = Object.getPrototypeOf(object) as object | null
  if (!Object.isExtensible(object) || unit.message.isSpecial(object)) {
    writeSpecial(unit, object, prototype)
  } else if (Array.isArray(object) && prototype === Array.prototype) {
    writeArray(unit, object, undefined)
  } else if (prototype === Object.prototype && isBareLike(unit, object)) {
    unit.bytes.byte(tag.VALUE_RECORD)
    unit.enqueue(object, 'ordinary', undefined)
  } else {
    writeSpecial(unit, object, prototype)
  }
}

/** Most objects are like the last one, and examining each is slow. */
function isBareLike(unit: Unit, object: object): boolean {
  if (unit.lastBare !== undefined && engineShapes.areAlike(object, unit.lastBare)) return true
  if (!isBare(object)) return false
  unit.lastBare = object
  return true
}

function writeSpecial(unit: Unit, object: object, prototype: object | null): void {
  const plainClass = prototype && unit.message.lineages.plainClass(prototype)
  const isPlain = plainClass && Object.isExtensible(object)
  if (isPlain && !Object.hasOwn(object, 'constructor') && isBareLike(unit, object)) {
    unit.bytes.byte(tag.VALUE_WRAPPED)
    unit.bytes.byte(WRAPPED_CLASS)
    unit.classOf(object, plainClass)
    unit.bytes.byte(tag.VALUE_RECORD)
    unit.enqueue(object, 'record', PLAIN_INSTANCE)
    return
  }
  if (object instanceof Cell) {
    unit.bytes.byte(tag.VALUE_CELL)
    unit.enqueueCell(object, object.v)
    return
  }
  if (object instanceof MadeCell) {
    unit.bytes.byte(tag.VALUE_MADE)
    unit.enqueueCell(object, object.make)
    return
  }
  if (prototype !== null && writeCoded(unit, object, prototype)) return
  const constructor = constructorOf(object)
  if (constructor !== undefined) {
    unit.bytes.byte(tag.VALUE_PROTOTYPE)
    unit.classOf(object, constructor)
    return
  }
  const special = examine(object, unit.message.lineages)
  if (special instanceof Refusal) {
    unit.refuseObject(object, special)
    return
  }
  const { kind, plan } = special
  if (plan.flags === 0) {
    writeInside(unit, object, kind, undefined)
  } else if (kind === 'record' && prototype === null && plan.integrity === 0) {
    unit.bytes.byte(tag.VALUE_NULL_RECORD)
    unit.enqueue(object, 'record', undefined)
  } else {
    unit.bytes.byte(tag.VALUE_WRAPPED)
    unit.bytes.byte(plan.flags)
    if ((plan.flags & WRAPPED_CLASS) !== 0) {
      unit.classOf(object, special.constructor as AnyFunction)
    }
    writeInside(unit, object, kind, plan)
  }
}

/** Appends an instance of a registered class. Returns false if the object is not one. */
function writeCoded(unit: Unit, object: object, prototype: object): boolean {
  const { bytes } = unit
  const { tools, strictness } = unit.message
  const codec = tools.codecs.of(prototype)
  if (codec === undefined) return false
  const encoded = tools.encode(object, codec, strictness)
  bytes.byte(tag.VALUE_CODED)
  const number = unit.codecs.get(codec)
  bytes.varint(number === undefined ? 0 : number + 1)
  if (number === undefined) {
    unit.codecs.set(codec, unit.codecs.size)
    bytes.varint(encoded.codec.byteLength)
    bytes.raw(encoded.codec)
  }
  bytes.varint(encoded.value.byteLength)
  bytes.raw(encoded.value)
  return true
}

function writeInside(
  unit: Unit,
  object: object,
  kind: ObjectKind,
  special: SpecialPlan | undefined,
): void {
  const { bytes } = unit
  switch (kind) {
    case 'record':
      unit.bytes.byte(tag.VALUE_RECORD)
      unit.enqueue(object, kind, special)
      break
    case 'array':
      writeArray(unit, object as readonly unknown[], special)
      break
    case 'map':
      unit.bytes.byte(tag.VALUE_MAP)
      unit.enqueue(object, kind, special)
      break
    case 'set':
      unit.bytes.byte(tag.VALUE_SET)
      unit.enqueue(object, kind, special)
      break
    case 'arguments':
      unit.bytes.byte(tag.VALUE_ARGUMENTS)
      unit.enqueue(object, kind, special)
      bytes.varint(argumentCount(object))
      break
    case 'error':
      unit.bytes.byte(tag.VALUE_ERROR)
      unit.enqueue(object, kind, special)
      bytes.text(errorClassName(object))
      break
    case 'domException':
      unit.bytes.byte(tag.VALUE_DOM_EXCEPTION)
      unit.enqueue(object, 'error', special)
      bytes.text((object as DOMException).message)
      bytes.text((object as DOMException).name)
      break
    case 'binary':
      bytes.byte(tag.VALUE_BINARY)
      unit.binaries ??= new BinaryTableWriter()
      unit.binaries.add(object as ArrayBuffer | ArrayBufferView)
      writeAround(unit, object, special)
      break
    case 'boxed':
      bytes.byte(tag.VALUE_BOXED)
      unit.tables.primitive(unboxed(object))
      writeAround(unit, object, special)
      break
    default:
      writeLeaf(bytes, object, kind)
      writeAround(unit, object, special)
  }
}

function writeArray(unit: Unit, array: readonly unknown[], special: SpecialPlan | undefined): void {
  const form = arrayForm(array, special?.integrity === INTEGRITY_FROZEN)
  if (form === 'numbers') {
    writeNumbers(unit.bytes, array as readonly number[])
    writeAround(unit, array, special)
  } else if (form === 'dense') {
    unit.bytes.byte(tag.VALUE_ARRAY)
    unit.enqueue(array, 'array', special)
  } else {
    unit.bytes.byte(tag.VALUE_SPARSE_ARRAY)
    unit.enqueue(array, 'record', special)
    unit.bytes.varint(array.length)
  }
}

/** Only the special parts can follow. */
function writeAround(unit: Unit, object: object, special: SpecialPlan | undefined): void {
  if (special !== undefined) unit.enqueue(object, 'leaf', special)
}

/** The primitive, even if a subclass has another `valueOf`. */
function unboxed(object: object): unknown {
  if (types.isNumberObject(object)) return Number.prototype.valueOf.call(object)
  if (types.isStringObject(object)) return String.prototype.valueOf.call(object)
  if (types.isBooleanObject(object)) return Boolean.prototype.valueOf.call(object)
  if (types.isBigIntObject(object)) return BigInt.prototype.valueOf.call(object)
  return Symbol.prototype.valueOf.call(object)
}
