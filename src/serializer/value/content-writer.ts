// The content of objects, written when their turn in the queue comes: properties, elements,
// entries.

import { types } from 'node:util'
import { argumentKeys } from './array-form.js'
import {
  ERROR_ACCESSOR,
  ERROR_ENUMERABLE,
  ERROR_NOT_CONFIGURABLE,
  ERROR_NOT_WRITABLE,
  errorName,
  errorProperties,
} from './error.js'
import {
  attributesOf,
  INTEGRITY_FROZEN,
  INTEGRITY_SEALED,
  ownKeysOf,
  type RecordKeys,
} from './shape.js'
import { NamedStep, textOf } from '../refusal.js'
import { constructorOf } from './prototype-chain.js'
import type { CellValue, QueueItem, ValueSink } from './sink.js'
import {
  type SpecialPlan,
  WRAPPED_INTEGRITY,
  WRAPPED_PROPERTIES,
  WRAPPED_PROTOTYPE,
} from './kind.js'
import * as tag from '../bytes/tag.js'
import type { UnitTables } from './tables.js'

type Fields = Readonly<Record<string | symbol | number, unknown>>

/** Writes the content of the objects of one unit. */
export class ContentWriter {
  readonly #sink: ValueSink
  readonly #tables: UnitTables

  constructor(sink: ValueSink, tables: UnitTables) {
    this.#sink = sink
    this.#tables = tables
  }

  /** Appends what an object of a kind other than `function` holds. */
  write({ object, kind, about }: QueueItem): void {
    if (kind === 'cell') {
      this.#sink.captured((about as CellValue).value, 'v')
      return
    }
    const special = about as SpecialPlan | undefined
    switch (kind) {
      case 'ordinary':
        this.#ordinary(object)
        break
      case 'array':
        this.#elements(object as readonly unknown[])
        break
      case 'record':
        this.#record(object, special?.integrity ?? 0)
        break
      case 'arguments':
        this.record(object, argumentKeys(object), special?.integrity ?? 0)
        break
      case 'map':
        this.#entries(object as ReadonlyMap<unknown, unknown>)
        break
      case 'set':
        this.#values(object as ReadonlySet<unknown>)
        break
      case 'error':
        this.#errorProperties(object, special?.isFlat !== false)
        break
      default:
        // What is around it is all.
        break
    }
    if (special !== undefined && special.flags > 0) this.#around(object, special)
  }

  /** Appends these properties. */
  record(object: object, keys: RecordKeys, integrity: number): void {
    this.#tables.shape(keys)
    for (let index = 0; index < keys.length; index += 1) {
      this.#property(object, keys[index] as string, integrity)
    }
  }

  #ordinary(object: object): void {
    const keys = ownKeysOf(object)
    if (this.#tables.shape(keys) && isMore(object)) {
      this.#sink.context.noteSpecial(object)
      return
    }
    for (let index = 0; index < keys.length; index += 1) {
      this.#property(object, keys[index] as string, 0)
    }
  }

  #record(object: object, integrity: number): void {
    const keys = ownKeysOf(object)
    this.record(object, Array.isArray(object) ? elementKeys(object, keys) : keys, integrity)
  }

  #elements(array: readonly unknown[]): void {
    const { length } = array
    this.#sink.bytes.varint(length)
    const isStrict = this.#sink.strictness === 'strict'
    for (let index = 0; index < length; index += 1) {
      this.#sink.value(isStrict ? array[index] : tryRead(array, index), index)
    }
  }

  #entries(map: ReadonlyMap<unknown, unknown>): void {
    // Not the methods of the object: a subclass may have others.
    this.#sink.bytes.varint(Number(Reflect.get(Map.prototype, 'size', map)))
    let step = 0
    Map.prototype.forEach.call(map, (value, key) => {
      this.#sink.value(key, step)
      this.#sink.value(value, step + 1)
      step += 2
    })
  }

  #values(set: ReadonlySet<unknown>): void {
    this.#sink.bytes.varint(Number(Reflect.get(Set.prototype, 'size', set)))
    let step = 0
    Set.prototype.forEach.call(set, (value) => {
      this.#sink.value(value, step)
      step += 1
    })
  }

  #errorProperties(error: object, isFlat: boolean): void {
    const properties = errorProperties(error, isFlat)
    this.#sink.bytes.varint(properties.length)
    for (const { key, own } of properties) {
      this.#tables.key(key)
      if (own === undefined || (isFlat && key === 'name')) {
        this.#sink.bytes.byte(own?.enumerable === true ? ERROR_ENUMERABLE : 0)
        this.#sink.at(key)
        if (key === 'name' && isFlat) this.#sink.value(errorName(error), key)
        else this.#sink.value(this.#read(error, key), key)
      } else this.#ownErrorProperty(error, key, own)
    }
  }

  #ownErrorProperty(error: object, key: string | symbol, own: PropertyDescriptor): void {
    const isAccessor = !('value' in own)
    const isKept = isAccessor && this.#sink.strictness === 'strict'
    const bits =
      (own.enumerable === true ? ERROR_ENUMERABLE : 0) |
      (own.configurable === true ? 0 : ERROR_NOT_CONFIGURABLE) |
      (isAccessor || own.writable === true ? 0 : ERROR_NOT_WRITABLE) |
      (isKept ? ERROR_ACCESSOR : 0)
    this.#sink.bytes.byte(bits)
    if (isKept) this.#halves(key, own)
    else this.#sink.value(isAccessor ? this.#read(error, key) : own.value, key)
  }

  /** What a property shows now; of errors that are thrown, reading it must not fail. */
  #read(object: object, key: string | symbol): unknown {
    this.#sink.at(key)
    return this.#sink.strictness === 'strict' ? (object as Fields)[key] : tryRead(object, key)
  }

  #property(object: object, key: string | symbol, integrity: number): void {
    const found = Object.getOwnPropertyDescriptor(object, key)
    if (found === undefined) {
      // It went away meanwhile.
      this.#sink.value(undefined, key)
    } else if (found.writable === true && found.enumerable === true && isOpen(found, integrity)) {
      this.#sink.value(found.value, key)
    } else {
      this.#oddProperty(object, key, found, integrity)
    }
  }

  #oddProperty(
    object: object,
    key: string | symbol,
    found: PropertyDescriptor,
    integrity: number,
  ): void {
    const { bytes, strictness } = this.#sink
    if ('value' in found) {
      if (integrity === INTEGRITY_FROZEN && found.enumerable === true) {
        this.#sink.value(found.value, key)
        return
      }
      bytes.byte(tag.PROPERTY_ATTRIBUTES)
      bytes.byte(attributesOf(found))
      this.#sink.value(found.value, key)
    } else if (strictness === 'lenient') {
      // What is said about an error is what it shows now; its code would only be more to fail.
      this.#sink.value(tryRead(object, key), key)
    } else {
      bytes.byte(tag.PROPERTY_ACCESSOR)
      bytes.byte(attributesOf(found))
      this.#halves(key, found)
    }
  }

  #halves(key: string | symbol, found: PropertyDescriptor): void {
    for (const half of ['get', 'set'] as const) {
      this.#sink.value(found[half], new NamedStep(`${half} ${String(key)}`))
    }
  }

  /** What is special about an object, in the order of the flags. */
  #around(object: object, { flags, prototype, keys, integrity }: SpecialPlan): void {
    if ((flags & WRAPPED_PROTOTYPE) !== 0) {
      this.#sink.value(prototype, new NamedStep('[[Prototype]]'))
    }
    if ((flags & WRAPPED_PROPERTIES) !== 0) this.record(object, keys, integrity)
    if ((flags & WRAPPED_INTEGRITY) !== 0) this.#sink.bytes.byte(integrity)
  }
}

/** Whether an object that inherits from `Object.prototype` is not just that. */
function isMore(object: object): boolean {
  return constructorOf(object) !== undefined || types.isArgumentsObject(object)
}

/** Whether it is configurable, or will be made so with all others. */
function isOpen({ configurable }: PropertyDescriptor, integrity: number): boolean {
  return configurable === true || integrity >= INTEGRITY_SEALED
}

/** An array that travels as a record has its length already, but that may be fixed. */
function elementKeys(array: readonly unknown[], keys: RecordKeys): RecordKeys {
  const isFixed = Object.getOwnPropertyDescriptor(array, 'length')?.writable !== true
  return isFixed && !Object.isFrozen(array) ? keys : keys.filter((key) => key !== 'length')
}

/** The property, or a text instead of it if it cannot be read. */
function tryRead(object: object, key: string | symbol | number): unknown {
  try {
    return (object as Fields)[key]
  } catch (error) {
    return `[reading it threw ${textOf(error)}]`
  }
}
