// The contents of objects, written when they are taken from the queue: properties, elements,
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
import { constructorOf } from '../class/prototype-chain.js'
import type { CellValue, QueueItem } from './place.js'
import {
  type SpecialPlan,
  WRAPPED_INTEGRITY,
  WRAPPED_PROPERTIES,
  WRAPPED_PROTOTYPE,
} from './kind.js'
import * as tag from '../bytes/tag.js'
import type { Unit } from './unit.js'

type Fields = Readonly<Record<string | symbol | number, unknown>>

/** Appends the content of an object of any kind except `function`. */
export function writeContent(unit: Unit, { object, kind, about }: QueueItem): void {
  if (kind === 'cell') {
    unit.captured((about as CellValue).value, 'v')
    return
  }
  const special = about as SpecialPlan | undefined
  switch (kind) {
    case 'ordinary':
      writeOrdinary(unit, object)
      break
    case 'array':
      writeElements(unit, object as readonly unknown[])
      break
    case 'record':
      writeProperties(unit, object, special?.integrity ?? 0)
      break
    case 'arguments':
      writeRecord(unit, object, argumentKeys(object), special?.integrity ?? 0)
      break
    case 'map':
      writeEntries(unit, object as ReadonlyMap<unknown, unknown>)
      break
    case 'set':
      writeMembers(unit, object as ReadonlySet<unknown>)
      break
    case 'error':
      writeErrorProperties(unit, object, special?.isFlat !== false)
      break
    default:
      // Its special parts are everything.
      break
  }
  if (special !== undefined && special.flags > 0) writeAround(unit, object, special)
}

/** Appends these properties. */
export function writeRecord(unit: Unit, object: object, keys: RecordKeys, integrity: number): void {
  unit.tables.shape(keys)
  for (let index = 0; index < keys.length; index += 1) {
    writeProperty(unit, object, keys[index] as string, integrity)
  }
}

function writeOrdinary(unit: Unit, object: object): void {
  const keys = ownKeysOf(object)
  if (unit.tables.shape(keys) && isMore(object)) {
    unit.message.noteSpecial(object)
    return
  }
  for (let index = 0; index < keys.length; index += 1) {
    writeProperty(unit, object, keys[index] as string, 0)
  }
}

function writeProperties(unit: Unit, object: object, integrity: number): void {
  const keys = ownKeysOf(object)
  writeRecord(unit, object, Array.isArray(object) ? elementKeys(object, keys) : keys, integrity)
}

function writeElements(unit: Unit, array: readonly unknown[]): void {
  const { length } = array
  unit.bytes.varint(length)
  const isStrict = unit.isStrict
  for (let index = 0; index < length; index += 1) {
    unit.value(isStrict ? array[index] : tryRead(array, index), index)
  }
}

function writeEntries(unit: Unit, map: ReadonlyMap<unknown, unknown>): void {
  // Not the object's own getter: a subclass may have another.
  unit.bytes.varint(Number(Reflect.get(Map.prototype, 'size', map)))
  let step = 0
  Map.prototype.forEach.call(map, (value, key) => {
    unit.value(key, step)
    unit.value(value, step + 1)
    step += 2
  })
}

function writeMembers(unit: Unit, set: ReadonlySet<unknown>): void {
  unit.bytes.varint(Number(Reflect.get(Set.prototype, 'size', set)))
  let step = 0
  Set.prototype.forEach.call(set, (value) => {
    unit.value(value, step)
    step += 1
  })
}

function writeErrorProperties(unit: Unit, error: object, isFlat: boolean): void {
  const properties = errorProperties(error, isFlat)
  unit.bytes.varint(properties.length)
  for (const { key, own } of properties) {
    unit.tables.key(key)
    if (own === undefined || (isFlat && key === 'name')) {
      unit.bytes.byte(own?.enumerable === true ? ERROR_ENUMERABLE : 0)
      unit.at(key)
      if (key === 'name' && isFlat) unit.value(errorName(error), key)
      else unit.value(read(unit, error, key), key)
    } else writeOwnErrorProperty(unit, error, key, own)
  }
}

function writeOwnErrorProperty(
  unit: Unit,
  error: object,
  key: string | symbol,
  own: PropertyDescriptor,
): void {
  const isAccessor = !('value' in own)
  const isKept = isAccessor && unit.isStrict
  const bits =
    (own.enumerable === true ? ERROR_ENUMERABLE : 0) |
    (own.configurable === true ? 0 : ERROR_NOT_CONFIGURABLE) |
    (isAccessor || own.writable === true ? 0 : ERROR_NOT_WRITABLE) |
    (isKept ? ERROR_ACCESSOR : 0)
  unit.bytes.byte(bits)
  if (isKept) writeHalves(unit, key, own)
  else unit.value(isAccessor ? read(unit, error, key) : own.value, key)
}

/** The current value of a property; for errors that are thrown, reading it must not fail. */
function read(unit: Unit, object: object, key: string | symbol): unknown {
  unit.at(key)
  return unit.isStrict ? (object as Fields)[key] : tryRead(object, key)
}

function writeProperty(unit: Unit, object: object, key: string | symbol, integrity: number): void {
  const found = Object.getOwnPropertyDescriptor(object, key)
  if (found === undefined) {
    // It was deleted meanwhile.
    unit.value(undefined, key)
  } else if (found.writable === true && found.enumerable === true && isOpen(found, integrity)) {
    unit.value(found.value, key)
  } else {
    writeOddProperty(unit, key, { object, found, integrity })
  }
}

/** A property that is not an ordinary data property. */
interface OddProperty {
  readonly object: object
  readonly found: PropertyDescriptor
  readonly integrity: number
}

function writeOddProperty(
  unit: Unit,
  key: string | symbol,
  { object, found, integrity }: OddProperty,
): void {
  const { bytes } = unit
  if ('value' in found) {
    if (integrity === INTEGRITY_FROZEN && found.enumerable === true) {
      unit.value(found.value, key)
      return
    }
    bytes.byte(tag.PROPERTY_ATTRIBUTES)
    bytes.byte(attributesOf(found))
    unit.value(found.value, key)
  } else if (!unit.isStrict) {
    // Errors are sent with current values: the code of an accessor could only cause another
    // failure.
    unit.value(tryRead(object, key), key)
  } else {
    bytes.byte(tag.PROPERTY_ACCESSOR)
    bytes.byte(attributesOf(found))
    writeHalves(unit, key, found)
  }
}

function writeHalves(unit: Unit, key: string | symbol, found: PropertyDescriptor): void {
  for (const half of ['get', 'set'] as const) {
    unit.value(found[half], new NamedStep(`${half} ${String(key)}`))
  }
}

/** Appends the special parts of an object, in the order of the flags. */
function writeAround(
  unit: Unit,
  object: object,
  { flags, prototype, keys, integrity }: SpecialPlan,
): void {
  if ((flags & WRAPPED_PROTOTYPE) !== 0) {
    unit.value(prototype, new NamedStep('[[Prototype]]'))
  }
  if ((flags & WRAPPED_PROPERTIES) !== 0) writeRecord(unit, object, keys, integrity)
  if ((flags & WRAPPED_INTEGRITY) !== 0) unit.bytes.byte(integrity)
}

/** Whether an object that inherits from `Object.prototype` is more than a plain object. */
function isMore(object: object): boolean {
  return constructorOf(object) !== undefined || types.isArgumentsObject(object)
}

/** Whether it is configurable, or all properties will be made non-configurable together. */
function isOpen({ configurable }: PropertyDescriptor, integrity: number): boolean {
  return configurable === true || integrity >= INTEGRITY_SEALED
}

/** An array that is sent as a record has its length already, but that may be read-only. */
function elementKeys(array: readonly unknown[], keys: RecordKeys): RecordKeys {
  const isFixed = Object.getOwnPropertyDescriptor(array, 'length')?.writable !== true
  return isFixed && !Object.isFrozen(array) ? keys : keys.filter((key) => key !== 'length')
}

/** The property, or a text if it cannot be read. */
function tryRead(object: object, key: string | symbol | number): unknown {
  try {
    return (object as Fields)[key]
  } catch (error) {
    return `[reading it threw ${textOf(error)}]`
  }
}
