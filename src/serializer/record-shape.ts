// Records: the own properties of an object, in order, as a shape and the values. Objects of the
// same shape follow each other in most values, so a shape is written once in a unit:
//
//   0, a new shape, which gets the next number     or     1, a shape without number (a large one)
//     count of texts, those; count of symbols, those
//   n + 2, the shape of number n
//   … one value, or PROPERTY_ACCESSOR, or PROPERTY_ATTRIBUTES, for each key

/** The keys of a record: texts first, in the order of the object, then symbols. */
export type RecordKeys = readonly (string | symbol)[]

/** A larger shape hardly comes again, and the keys of a dictionary should not be kept. */
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
export interface NumberedShape {
  readonly keys: RecordKeys
  readonly number: number
  /** There are keys by which an object can show that it is more than it looks. */
  readonly isTelling: boolean
}

/** Whether an object with these keys can be a `prototype` or an arguments object. */
export function areTelling(keys: RecordKeys): boolean {
  return keys.includes('constructor') || keys.includes(Symbol.iterator)
}

/** The shapes that a unit has already. */
export class ShapeTable {
  /** Made with the second shape: many units have one. */
  #byFirstKey: Map<string | symbol | undefined, NumberedShape[]> | undefined
  #last: NumberedShape | undefined
  #count = 0

  /** How many have a number. */
  get count(): number {
    return this.#count
  }

  /** Forgets all. */
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

/** All own keys of an object that is no array, without asking it for all at once, which is slow. */
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
