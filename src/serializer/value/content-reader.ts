// The contents of objects, read when they are taken from the queue: the counterpart of
// content-writer.ts.

import { DeserializeError } from '../../base/errors.js'
import type { ByteReader } from '../bytes/reader.js'
import {
  ERROR_ACCESSOR,
  ERROR_ENUMERABLE,
  ERROR_NOT_CONFIGURABLE,
  ERROR_NOT_WRITABLE,
} from './error.js'
import {
  applyIntegrity,
  CONFIGURABLE,
  ENUMERABLE,
  MAX_SHAPE_KEYS,
  SHAPE_FIRST,
  SHAPE_NEW,
  SHAPE_ONCE,
  WRITABLE,
} from './shape.js'
import { WRAPPED_INTEGRITY, WRAPPED_PROPERTIES, WRAPPED_PROTOTYPE } from './kind.js'
import * as tag from '../bytes/tag.js'
import { KEY_FIRST, KEY_SYMBOL, KEY_TEXT } from './tables.js'

type Fields = Record<string | symbol, unknown>

/** The parts of the unit that are needed here. */
interface ContentSource {
  readonly reader: ByteReader
  value(): unknown
  /** The value after a tag that was read. */
  valueOf(valueTag: number): unknown
  symbol(): symbol
}

/** The keys of a record. */
interface Shape {
  readonly keys: readonly (string | symbol)[]
  /**
   * An object without any property of these keys: on objects that inherit from it, assigning is
   * safe.
   */
  safeUnder: object | null | undefined
}

/** Fills the objects of one unit. */
export class ContentReader {
  readonly #source: ContentSource
  readonly #reader: ByteReader
  readonly #keys: string[] = []
  readonly #shapes: Shape[] = []

  constructor(source: ContentSource) {
    this.#source = source
    this.#reader = source.reader
  }

  /** Reads the content of an object of any kind except function and cell. */
  fill(object: object, valueTag: number): void {
    switch (valueTag) {
      case tag.VALUE_RECORD:
      case tag.VALUE_NULL_RECORD:
      case tag.VALUE_SPARSE_ARRAY:
      case tag.VALUE_ARGUMENTS:
        this.#fillRecord(object)
        break
      case tag.VALUE_ARRAY:
        this.#fillArray(object as unknown[])
        break
      case tag.VALUE_MAP:
        this.#fillMap(object as Map<unknown, unknown>)
        break
      case tag.VALUE_SET:
        this.#fillSet(object as Set<unknown>)
        break
      case tag.VALUE_ERROR:
      case tag.VALUE_DOM_EXCEPTION:
        this.#fillError(object)
        break
      default:
        // Its special parts are everything.
        break
    }
  }

  /** Reads the special parts of an object, in the order of the flags. */
  around(object: object, flags: number): void {
    if ((flags & WRAPPED_PROTOTYPE) !== 0) Object.setPrototypeOf(object, this.prototype())
    if ((flags & WRAPPED_PROPERTIES) !== 0) this.define(object)
    if ((flags & WRAPPED_INTEGRITY) !== 0) applyIntegrity(object, this.#reader.byte())
  }

  /** A prototype, or null. */
  prototype(): object | null {
    const value = this.#source.value()
    if (typeof value === 'object' || typeof value === 'function') return value
    throw new DeserializeError('the prototype of an object is not an object')
  }

  /** Reads a record into an object that may already have such properties. Returns the keys. */
  define(object: object): readonly (string | symbol)[] {
    const { keys } = this.#shape()
    for (const key of keys) this.#property(object, key, this.#reader.byte())
    return keys
  }

  #fillRecord(object: object): void {
    const shape = this.#shape()
    const canAssign = isSafe(shape, Object.getPrototypeOf(object) as object | null)
    for (const key of shape.keys) {
      const valueTag = this.#reader.byte()
      if (canAssign && valueTag !== tag.PROPERTY_ACCESSOR && valueTag !== tag.PROPERTY_ATTRIBUTES) {
        ;(object as Fields)[key] = this.#source.valueOf(valueTag)
      } else {
        this.#property(object, key, valueTag)
      }
    }
  }

  #property(object: object, key: string | symbol, valueTag: number): void {
    if (valueTag === tag.PROPERTY_ACCESSOR) {
      this.#accessor(object, key)
    } else if (valueTag === tag.PROPERTY_ATTRIBUTES) {
      const bits = this.#reader.byte()
      defineData(object, key, this.#source.value(), bits)
    } else {
      const value = this.#source.valueOf(valueTag)
      defineData(object, key, value, ENUMERABLE | CONFIGURABLE | WRITABLE)
    }
  }

  #accessor(object: object, key: string | symbol): void {
    this.#halves(object, key, this.#reader.byte())
  }

  #halves(object: object, key: string | symbol, bits: number): void {
    Reflect.defineProperty(object, key, {
      enumerable: (bits & ENUMERABLE) !== 0,
      configurable: (bits & CONFIGURABLE) !== 0,
      get: this.#getterOrSetter() as () => unknown,
      set: this.#getterOrSetter() as (value: unknown) => void,
    })
  }

  #getterOrSetter(): unknown {
    const value = this.#source.value()
    if (value === undefined || typeof value === 'function') return value
    throw new DeserializeError('a property has a getter or setter that is not a function')
  }

  #fillArray(array: unknown[]): void {
    // Not the object's own method: a subclass may have another.
    for (let left = this.#reader.count(1); left > 0; left -= 1) {
      Array.prototype.push.call(array, this.#source.value())
    }
  }

  #fillMap(map: Map<unknown, unknown>): void {
    for (let left = this.#reader.count(2); left > 0; left -= 1) {
      // Not the object's own method: a subclass may have another.
      Map.prototype.set.call(map, this.#source.value(), this.#source.value())
    }
  }

  #fillSet(set: Set<unknown>): void {
    for (let left = this.#reader.count(1); left > 0; left -= 1) {
      Set.prototype.add.call(set, this.#source.value())
    }
  }

  #fillError(error: object): void {
    for (let left = this.#reader.count(3); left > 0; left -= 1) {
      const key = this.#key()
      const bits = this.#reader.byte()
      const attributes =
        ((bits & ERROR_ENUMERABLE) === 0 ? 0 : ENUMERABLE) |
        ((bits & ERROR_NOT_CONFIGURABLE) === 0 ? CONFIGURABLE : 0) |
        ((bits & ERROR_NOT_WRITABLE) === 0 ? WRITABLE : 0)
      if ((bits & ERROR_ACCESSOR) === 0) defineData(error, key, this.#source.value(), attributes)
      else this.#halves(error, key, attributes)
    }
  }

  #key(): string | symbol {
    const number = this.#reader.varint()
    if (number === KEY_SYMBOL) return this.#source.symbol()
    if (number !== KEY_TEXT) return this.#keyNumbered(number - KEY_FIRST)
    const key = this.#reader.text()
    this.#keys.push(key)
    return key
  }

  #keyNumbered(number: number): string {
    const key = this.#keys[number]
    if (key !== undefined) return key
    throw new DeserializeError('the value refers to a key that it does not contain')
  }

  #shape(): Shape {
    const number = this.#reader.varint()
    if (number === SHAPE_ONCE) return this.#newShape(() => this.#reader.text())
    if (number === SHAPE_NEW) {
      const shape = this.#newShape(() => this.#key())
      if (shape.keys.length > MAX_SHAPE_KEYS) {
        throw new DeserializeError('a record is larger than its form allows')
      }
      this.#shapes.push(shape)
      return shape
    }
    const shape = this.#shapes[number - SHAPE_FIRST]
    if (shape !== undefined) return shape
    throw new DeserializeError('the value refers to a shape that it does not contain')
  }

  #newShape(readText: () => string | symbol): Shape {
    const keys: (string | symbol)[] = []
    for (let left = this.#reader.count(1); left > 0; left -= 1) keys.push(readText())
    for (let left = this.#reader.count(2); left > 0; left -= 1) keys.push(this.#source.symbol())
    return { keys, safeUnder: undefined }
  }
}

/** Whether no key has an effect on the prototypes of the object, as `__proto__` would. */
function isSafe(shape: Shape, prototype: object | null): boolean {
  if (shape.safeUnder === prototype) return true
  if (prototype !== null && shape.keys.some((key) => key in prototype)) return false
  shape.safeUnder = prototype
  return true
}

/** A property that cannot be configured stays as it is. */
function defineData(object: object, key: string | symbol, value: unknown, bits: number): void {
  Reflect.defineProperty(object, key, {
    value,
    enumerable: (bits & ENUMERABLE) !== 0,
    configurable: (bits & CONFIGURABLE) !== 0,
    writable: (bits & WRITABLE) !== 0,
  })
}
