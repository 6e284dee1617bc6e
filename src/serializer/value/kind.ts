// Objects with more than their kind implies: a class, additional properties, or restrictions such
// as `freeze`. They are sent wrapped: the inside as usual, then the special parts.

import { types } from 'node:util'
import { bufferOf, isDetached } from '../bytes/binary.js'
import { type AnyFunction, isFakeDate } from '../module/native.js'
import { Refusal, refuseClass, refuseDetached } from '../refusal.js'
import { argumentsIssue, hasExtraKeys } from './array-form.js'
import type { Lineage, Lineages } from './lineage.js'
import { remadeOf } from './remade-native.js'
import { integrityOf, ownKeysOf, type RecordKeys } from './shape.js'
import type { Strictness } from './place.js'

// What an object is inside: determined by what only built-in classes can create, rather than by its
// prototype, which any code can change. Prototypes are handled by lineage.ts.

/**
 * The form in which the inside of an object is sent. A `record` consists only of its properties.
 */
export type ObjectKind =
  | 'record'
  | 'array'
  | 'map'
  | 'set'
  | 'error'
  | 'domException'
  | 'date'
  | 'regexp'
  | 'boxed'
  | 'binary'
  | 'url'
  | 'urlSearchParams'
  | 'remade'
  | 'arguments'

/** Built-in objects that structuredClone refuses as well, and how to recognise them. */
const NEVER: readonly (readonly [className: string, test: (object: object) => boolean])[] = [
  ['Promise', types.isPromise],
  ['WeakMap', types.isWeakMap],
  ['WeakSet', types.isWeakSet],
  ['Generator', types.isGeneratorObject],
  ['Iterator', types.isMapIterator],
  ['Iterator', types.isSetIterator],
  ['Module', types.isModuleNamespaceObject],
  ['External', types.isExternal],
]

/** The kind of an object that must not be a proxy, or why it cannot be sent. */
function kindOf(object: object): ObjectKind | Refusal {
  if (Array.isArray(object)) return 'array'
  if (types.isMap(object)) return 'map'
  if (types.isSet(object)) return 'set'
  if (types.isDate(object)) return 'date'
  if (types.isNativeError(object)) return object instanceof DOMException ? 'domException' : 'error'
  if (types.isRegExp(object)) return 'regexp'
  if (ArrayBuffer.isView(object)) return binaryKind(bufferOf(object))
  if (types.isAnyArrayBuffer(object)) return binaryKind(object)
  if (types.isBoxedPrimitive(object)) return 'boxed'
  if (types.isArgumentsObject(object)) return argumentsIssue(object) ?? 'arguments'
  const never = NEVER.find(([, test]) => test(object))
  return never === undefined ? kindByClass(object) : refuseClass(never[0])
}

/** Whether an object, not a proxy, consists only of its properties, whatever its prototype. */
export function isBare(object: object): boolean {
  return !INSIDES.some((test) => test(object))
}

const INSIDES: readonly ((object: object) => boolean)[] = [
  (object) => Array.isArray(object),
  types.isMap,
  types.isSet,
  types.isDate,
  types.isNativeError,
  types.isRegExp,
  (object) => ArrayBuffer.isView(object),
  types.isAnyArrayBuffer,
  types.isBoxedPrimitive,
  types.isArgumentsObject,
  ...NEVER.map(([, test]) => test),
]

/** Classes of Node whose instances do not show their contents. */
function kindByClass(object: object): ObjectKind {
  if (object instanceof DOMException) return 'domException'
  if (object instanceof Error) return 'error'
  if (object instanceof URL) return isUrl(object) ? 'url' : 'record'
  if (object instanceof URLSearchParams)
    return isSearchParams(object) ? 'urlSearchParams' : 'record'
  return remadeOf(object) === undefined ? 'record' : 'remade'
}

function binaryKind(memory: ArrayBufferLike): ObjectKind | Refusal {
  if (types.isSharedArrayBuffer(memory)) return refuseClass('SharedArrayBuffer')
  return isDetached(memory) ? refuseDetached() : 'binary'
}

/** Excludes objects that only inherit from one. */
function isUrl(object: object): boolean {
  return answers(() => Reflect.get(URL.prototype, 'href', object))
}

function isSearchParams(object: object): boolean {
  return answers(() => URLSearchParams.prototype.toString.call(object))
}

function answers(question: () => unknown): boolean {
  try {
    question()
    return true
  } catch {
    return false
  }
}

/** The class comes before the inside. */
export const WRAPPED_CLASS = 1
/** Content: the prototype, an object or null. */
export const WRAPPED_PROTOTYPE = 2
/** Content: a record. */
export const WRAPPED_PROPERTIES = 4
/** Content: the integrity. */
export const WRAPPED_INTEGRITY = 8

/** Everything about an object. */
interface Special {
  readonly kind: ObjectKind
  readonly constructor: AnyFunction | undefined
  readonly plan: SpecialPlan
}

/** The special parts around the inside. */
export interface SpecialPlan {
  /** Bits of the parts; 0 for an object that needs no wrapping. */
  readonly flags: number
  readonly prototype: object | null | undefined
  readonly keys: RecordKeys
  readonly integrity: number
  /** The class of an error is not sent: the error itself must contain its name. */
  readonly isFlat: boolean
}

/** Examines an object that must not be a proxy. */
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

/** An object that only inherits from `Error` is a record; if it is thrown, it is an error. */
function inside(object: object, strictness: Strictness): ObjectKind | Refusal {
  const kind = kindOf(object)
  const isRecord = kind === 'error' && strictness === 'strict' && !types.isNativeError(object)
  return isRecord ? 'record' : kind
}

function flagOf(lineage: Lineage): number {
  if (lineage === 'standard') return 0
  return lineage.kind === 'class' ? WRAPPED_CLASS : WRAPPED_PROTOTYPE
}

/** Up to this length, listing the keys of a typed array is faster than `inspect`. */
const SHORT = 50

/** Own properties that are not part of the kind's content. */
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
      // Node stores the inside under symbols.
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

/** The number of elements, even if a subclass has another `length`. */
function elementCount(array: Uint8Array): number {
  return Reflect.get(
    Object.getPrototypeOf(Uint8Array.prototype) as object,
    'length',
    array,
  ) as number
}

/** Indices come first, and those of characters before all others. */
function stringKeys(object: object): RecordKeys {
  return ownKeysOf(object)
    .slice(String.prototype.valueOf.call(object).length)
    .filter((key) => key !== 'length')
}
