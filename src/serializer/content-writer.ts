// The content of objects, written when their turn in the queue comes: properties, elements,
// entries.

import { types } from 'node:util'
import { errorName, errorProperties } from './error-class.js'
import { INTEGRITY_FROZEN, INTEGRITY_SEALED } from './integrity.js'
import { NamedStep, textOf } from './path.js'
import { constructorOf } from './prototype-chain.js'
import type { CellValue, QueueItem } from './queue-item.js'
import { attributesOf, ownKeysOf, type RecordKeys } from './record-shape.js'
import {
  type SpecialPlan,
  WRAPPED_INTEGRITY,
  WRAPPED_PROPERTIES,
  WRAPPED_PROTOTYPE,
} from './special-object.js'
import * as tag from './tag.js'
import type { UnitTables } from './unit-tables.js'
import type { ValueSink } from './value-sink.js'

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
    this.record(object, Array.isArray(object) ? withoutLength(keys) : keys, integrity)
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
    for (const { key, isEnumerable } of properties) {
      this.#tables.key(key)
      this.#sink.bytes.byte(isEnumerable ? 1 : 0)
      if (key === 'name' && isFlat) this.#sink.value(errorName(error), key)
      else this.#errorProperty(error, key)
    }
  }

  #errorProperty(error: object, key: string | symbol): void {
    this.#sink.at(key)
    const isStrict = this.#sink.strictness === 'strict'
    this.#sink.value(isStrict ? (error as Fields)[key] : tryRead(error, key), key)
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
      for (const half of ['get', 'set'] as const) {
        this.#sink.value(found[half], new NamedStep(`${half} ${String(key)}`))
      }
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

/** Without what every arguments object has. */
function argumentKeys(object: object): RecordKeys {
  const standard: RecordKeys = ['length', 'callee', Symbol.iterator]
  return ownKeysOf(object).filter((key) => !standard.includes(key))
}

function withoutLength(keys: RecordKeys): RecordKeys {
  return keys.filter((key) => key !== 'length')
}

/** The property, or a text instead of it if it cannot be read. */
function tryRead(object: object, key: string | symbol | number): unknown {
  try {
    return (object as Fields)[key]
  } catch (error) {
    return `[reading it threw ${textOf(error)}]`
  }
}
