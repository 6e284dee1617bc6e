// Objects that are more than their kind says: of a class, with properties that their kind has not,
// or closed. They travel wrapped: what is inside as always, and around it what is special.

import { types } from 'node:util'
import { hasExtraKeys } from './array-form.js'
import { integrityOf } from './integrity.js'
import type { Lineage, Lineages } from './lineage.js'
import { isFakeDate, type AnyFunction } from './native-names.js'
import { kindOf, type ObjectKind } from './object-kind.js'
import { ownKeysOf, type RecordKeys } from './record-shape.js'
import { Refusal } from './refusal.js'
import type { Strictness } from './value-sink.js'

/** The class stands before what is inside. */
export const WRAPPED_CLASS = 1
/** Content: the object that it inherits from, or null. */
export const WRAPPED_PROTOTYPE = 2
/** Content: a record. */
export const WRAPPED_PROPERTIES = 4
/** Content: how far it is closed. */
export const WRAPPED_INTEGRITY = 8

/** What an object is, in all. */
export interface Special {
  readonly kind: ObjectKind
  readonly constructor: AnyFunction | undefined
  readonly plan: SpecialPlan
}

/** What is around the inside. */
export interface SpecialPlan {
  /** Bits of what there is; 0 for an object that needs no wrapping. */
  readonly flags: number
  readonly prototype: object | null | undefined
  readonly keys: RecordKeys
  readonly integrity: number
  /** The class of an error stays behind: the error itself has to say what it was. */
  readonly isFlat: boolean
}

/** Looks at an object that is no proxy. */
export function examine(object: object, lineages: Lineages): Special | Refusal {
  const kind = inside(object, lineages.strictness)
  if (kind instanceof Refusal) return kind
  const lineage = lineages.of(object, kind)
  if (lineage instanceof Refusal) return lineage
  const keys = extraKeys(object, kind)
  const integrity = integrityOf(object)
  const constructor =
    lineage !== 'standard' && lineage.kind === 'class' ? lineage.constructor : undefined
  const flags =
    flagOf(lineage) |
    (keys.length > 0 ? WRAPPED_PROPERTIES : 0) |
    (integrity > 0 ? WRAPPED_INTEGRITY : 0)
  const prototype =
    lineage !== 'standard' && lineage.kind === 'object' ? lineage.prototype : undefined
  return {
    kind,
    constructor,
    plan: { flags, prototype, keys, integrity, isFlat: lineage === 'standard' },
  }
}

/** What only inherits from `Error` is a record; thrown, it is an error. */
function inside(object: object, strictness: Strictness): ObjectKind | Refusal {
  const kind = kindOf(object)
  const isRecord = kind === 'error' && strictness === 'strict' && !types.isNativeError(object)
  return isRecord ? 'record' : kind
}

function flagOf(lineage: Lineage): number {
  if (lineage === 'standard') return 0
  return lineage.kind === 'class' ? WRAPPED_CLASS : WRAPPED_PROTOTYPE
}

/** Up to here, listing the keys of a typed array costs less than asking `inspect`. */
const SHORT = 50

/** Own properties that the content of the kind does not bring. */
function extraKeys(object: object, kind: ObjectKind): RecordKeys {
  switch (kind) {
    case 'record':
    case 'array':
    case 'error':
    case 'domException':
    case 'arguments':
      return []
    case 'date':
      return ownKeysOf(object).filter((key) => key !== 'constructor' || !isFakeDate(object))
    case 'regexp':
      return ownKeysOf(object).filter((key) => key !== 'lastIndex' || !isAtStart(object))
    case 'boxed':
      return types.isStringObject(object) ? stringKeys(object) : ownKeysOf(object)
    case 'remade':
      // The symbols are what Node keeps the inside under.
      return ownKeysOf(object).filter((key) => typeof key !== 'symbol')
    case 'binary':
      return binaryKeys(object as ArrayBuffer | ArrayBufferView)
    default:
      return ownKeysOf(object)
  }
}

function isAtStart(regexp: object): boolean {
  const found = Object.getOwnPropertyDescriptor(regexp, 'lastIndex')
  return Object.is(found?.value, 0) && found?.writable === true
}

function binaryKeys(object: ArrayBuffer | ArrayBufferView): RecordKeys {
  if (!ArrayBuffer.isView(object) || types.isDataView(object)) return ownKeysOf(object)
  const array = object as Uint8Array
  const length = elementCount(array)
  if (length > SHORT && !hasExtraKeys(array)) return []
  return ownKeysOf(object).slice(length)
}

/** Whatever `length` a subclass has. */
function elementCount(array: Uint8Array): number {
  return Reflect.get(
    Object.getPrototypeOf(Uint8Array.prototype) as object,
    'length',
    array,
  ) as number
}

/** Indices come first, and those of the characters before all others. */
function stringKeys(object: object): RecordKeys {
  return ownKeysOf(object)
    .slice(String.prototype.valueOf.call(object).length)
    .filter((key) => key !== 'length')
}
