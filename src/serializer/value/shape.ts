// Whether an array or a view consists only of its elements. JavaScript would have to look at each
// property; the engine answers immediately, because all objects without other properties share a
// hidden class. If the engine cannot be asked, the answer is unknown.

import { engineQuestion } from '../inspect/engine.js'

type SameShape = (some: object, other: object) => boolean

/** Compares hidden classes in the engine. */
class EngineShapes {
  #isSame: SameShape | undefined
  /** One array for each form that V8 has for elements; those that may have holes last. */
  #packed: readonly object[] = []
  #holey: readonly object[] = []
  readonly #views = new Map<object, readonly object[]>()

  /**
   * Whether the array is an ordinary one with ordinary elements and nothing else. `packed`: and no
   * holes. Undefined if it is not, or if that is unknown.
   */
  arrayForm(array: readonly unknown[]): 'packed' | 'holey' | undefined {
    const isSame = this.#question()
    if (this.#packed.some((known) => isSame(array, known))) return 'packed'
    return this.#holey.some((known) => isSame(array, known)) ? 'holey' : undefined
  }

  /** Whether a view or buffer is as its class created it. False if that is unknown. */
  isOrdinary(binary: ArrayBuffer | ArrayBufferView): boolean {
    const isSame = this.#question()
    const prototype = Object.getPrototypeOf(binary) as object | null
    if (prototype === null) return false
    const known = this.#views.get(prototype) ?? emptyOf(prototype)
    this.#views.set(prototype, known)
    return known.some((each) => isSame(binary, each))
  }

  /** Whether two objects have the same hidden class. False if that is unknown. */
  areAlike(some: object, other: object): boolean {
    return this.#question()(some, other)
  }

  #question(): SameShape {
    if (this.#isSame !== undefined) return this.#isSame
    this.#packed = [[], [0.5], [{}]]
    // oxlint-disable-next-line no-sparse-arrays -- the form for holes is what is asked for
    this.#holey = [[1, , 1], [0.5, , 0.5], [{}, , {}]] // prettier-ignore
    return (this.#isSame = sameShape())
  }
}

/** The engine shapes of this process. */
export const engineShapes: EngineShapes = new EngineShapes()

function sameShape(): SameShape {
  const ask = engineQuestion<[object, object], boolean>(
    '%HaveSameMap(some,other)',
    ['some', 'other'],
    [{}, {}],
  )
  return (some, other) => ask(some, other) ?? false
}

function emptyOf(prototype: object): readonly object[] {
  // Some Buffers are created by JavaScript, others by native code.
  if (prototype === Buffer.prototype)
    return [Buffer.alloc(0), process.getBuiltinModule('node:v8').serialize(0)]
  if (prototype === ArrayBuffer.prototype) return [new ArrayBuffer(0)]
  if (prototype === DataView.prototype) return [new DataView(new ArrayBuffer(0))]
  const constructor = TYPED_ARRAYS.find((known) => known.prototype === prototype)
  return constructor === undefined ? [] : [new constructor(0)]
}

interface TypedArrayClass {
  readonly name: string
  readonly BYTES_PER_ELEMENT: number
  readonly prototype: object
  new (length: number): ArrayBufferView
  new (memory: ArrayBuffer): ArrayBufferView
}

/** Their positions are in packed values. Append only. */
export const TYPED_ARRAYS: readonly TypedArrayClass[] = [
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
]

// Whether an object can still be changed.

/** Nothing can be added. */
const INTEGRITY_NOT_EXTENSIBLE = 1
/** Nothing can be added or removed. */
export const INTEGRITY_SEALED = 2
/** Nothing can be changed. */
export const INTEGRITY_FROZEN = 3

/**
 * 0 for most objects, otherwise the restriction. Engines disagree on whether a view with elements
 * can be sealed. That nothing can be added is all that there is to keep: elements stay writable,
 * and each additional property has its attributes.
 */
export function integrityOf(object: object): number {
  if (Object.isExtensible(object)) return 0
  if (ArrayBuffer.isView(object)) return INTEGRITY_NOT_EXTENSIBLE
  if (Object.isFrozen(object) && !hasOpenLength(object)) return INTEGRITY_FROZEN
  return Object.isSealed(object) ? INTEGRITY_SEALED : INTEGRITY_NOT_EXTENSIBLE
}

/** For an empty array the engine reports that it is frozen, even if its length can change. */
function hasOpenLength(object: object): boolean {
  if (!Array.isArray(object) || object.length > 0) return false
  return Object.getOwnPropertyDescriptor(object, 'length')?.writable === true
}

/** Applies the restriction of the original object. */
export function applyIntegrity(object: object, integrity: number): void {
  // An older sender may have written that a view is sealed.
  if (integrity > 0 && ArrayBuffer.isView(object)) Object.preventExtensions(object)
  else if (integrity === INTEGRITY_FROZEN) Object.freeze(object)
  else if (integrity === INTEGRITY_SEALED) Object.seal(object)
  else if (integrity === INTEGRITY_NOT_EXTENSIBLE) Object.preventExtensions(object)
}

// Records: the own properties of an object, in order, as a shape and the values. Objects of the
// same shape follow each other in most values, so a shape is written once in a unit:
//
//   0, a new shape, which gets the next number     or     1, a shape without number (a large one)
//     count of texts, those; count of symbols, those
//   n + 2, the shape of number n
//   … one value, or PROPERTY_ACCESSOR, or PROPERTY_ATTRIBUTES, for each key

/** The keys of a record: texts first, in the order of the object, then symbols. */
export type RecordKeys = readonly (string | symbol)[]

/** A larger shape rarely occurs again, and the keys of a dictionary should not be kept. */
export const MAX_SHAPE_KEYS = 64

/** The keys follow, and get the next number. */
export const SHAPE_NEW = 0
/** The keys follow. */
export const SHAPE_ONCE = 1
/** Plus the number. */
export const SHAPE_FIRST = 2

/** How many shapes with the same first key are compared. */
const MAX_ALIKE = 16

/** A shape that a unit has. */
interface NumberedShape {
  readonly keys: RecordKeys
  readonly number: number
  /** Its keys suggest that the object may be a special one. */
  readonly isTelling: boolean
}

/** Whether an object with these keys can be a `prototype` or an arguments object. */
export function areTelling(keys: RecordKeys): boolean {
  return keys.includes('constructor') || keys.includes(Symbol.iterator)
}

/** The shapes of a unit. */
export class ShapeTable {
  /** Created with the second shape: many units have only one. */
  #byFirstKey: Map<string | symbol | undefined, NumberedShape[]> | undefined
  #last: NumberedShape | undefined
  #count = 0

  /** The number of numbered shapes. */
  get count(): number {
    return this.#count
  }

  /** Clears the table. */
  clear(): void {
    this.#byFirstKey = undefined
    this.#last = undefined
    this.#count = 0
  }

  /** The shape with these keys, or undefined. */
  find(keys: RecordKeys): NumberedShape | undefined {
    if (this.#last !== undefined && areSame(this.#last.keys, keys)) return this.#last
    const found = this.#byFirstKey?.get(keys[0])?.find((shape) => areSame(shape.keys, keys))
    if (found !== undefined) this.#last = found
    return found
  }

  /** Gives a new shape, of at most `MAX_SHAPE_KEYS` keys, the next number. */
  add(keys: RecordKeys): NumberedShape {
    const shape = { keys, number: this.#count, isTelling: areTelling(keys) }
    if (this.#last !== undefined) {
      this.#byFirstKey ??= new Map([[this.#last.keys[0], [this.#last]]])
      const alike = this.#byFirstKey.get(keys[0])
      if (alike === undefined) this.#byFirstKey.set(keys[0], [shape])
      else if (alike.length < MAX_ALIKE) alike.push(shape)
    }
    this.#count += 1
    this.#last = shape
    return shape
  }
}

function areSame(some: RecordKeys, others: RecordKeys): boolean {
  if (some.length !== others.length) return false
  for (let index = 0; index < some.length; index += 1) {
    if (some[index] !== others[index]) return false
  }
  return true
}

/** All own keys of an object, not an array, without requesting them in one call, which is slow. */
export function ownKeysOf(object: object): RecordKeys {
  const names: (string | symbol)[] = Object.getOwnPropertyNames(object)
  const symbols = Object.getOwnPropertySymbols(object)
  if (symbols.length > 0) names.push(...symbols)
  return names
}

/** Bits of a property's attributes. */
export const ENUMERABLE = 1
/** The same. */
export const CONFIGURABLE = 2
/** The same. */
export const WRITABLE = 4

/** The bits of a descriptor. */
export function attributesOf(descriptor: PropertyDescriptor): number {
  return (
    (descriptor.enumerable === true ? ENUMERABLE : 0) |
    (descriptor.configurable === true ? CONFIGURABLE : 0) |
    (descriptor.writable === true ? WRITABLE : 0)
  )
}
