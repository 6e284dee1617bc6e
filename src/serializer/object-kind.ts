// What an object is inside: by what only built-in classes can make, not by its prototype, which
// anybody can change. What it inherits from is the business of lineage.ts.

import { types } from 'node:util'
import { argumentsIssue } from './arguments-form.js'
import { bufferOf, isDetached } from './memory.js'
import { type Refusal, refuseClass, refuseDetached } from './refusal.js'
import { remadeOf } from './remade-native.js'

/** How the inside of an object travels. A `record` is nothing but its properties. */
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

/** Built-in objects that structuredClone refuses, too, and how to know them by their inside. */
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

/** The kind of an object that is no proxy, or why such an object cannot travel. */
export function kindOf(object: object): ObjectKind | Refusal {
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

/** Whether an object that is no proxy is nothing but its properties, whatever it inherits from. */
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

/** Classes of Node whose instances show nothing of what they have inside. */
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

/** Not something that only inherits from one. */
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
