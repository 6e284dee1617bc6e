// Which of the kinds that structuredClone knows an object is: by what it is inside, not by its
// prototype, which anybody can change.

import { types } from 'node:util'
import { isNative, ownValue, type AnyFunction, type NativeNames } from './native-names.js'
import { prototypesFrom } from './prototype-chain.js'
import { type Refusal, refuseClass, refuseDetached, refuseHandle, refuseSymbol } from './refusal.js'
import { isDetached } from './memory.js'

/** How an object travels. Class instances are `plain`: their own properties do. */
export type ObjectKind =
  | 'plain'
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

/** Built-in objects that structuredClone refuses, too, and how to know them by their inside. */
const NEVER: readonly (readonly [className: string, test: (object: object) => boolean])[] = [
  ['Promise', types.isPromise],
  ['WeakMap', types.isWeakMap],
  ['WeakSet', types.isWeakSet],
  ['Generator', types.isGeneratorObject],
  ['Iterator', types.isMapIterator],
  ['Iterator', types.isSetIterator],
  ['arguments', types.isArgumentsObject],
  ['Module', types.isModuleNamespaceObject],
  ['KeyObject', types.isKeyObject],
  ['CryptoKey', types.isCryptoKey],
  ['External', types.isExternal],
]

/** Built-in classes whose instances are nothing but their properties. */
const PLAIN_CLASSES: ReadonlySet<string> = new Set(
  'Object Array Function EventEmitter Stats BigIntStats StatFs Dirent Url'.split(' '),
)

/** The inside of array and string iterators cannot be seen, but they all inherit from this. */
const ITERATOR_PROTOTYPE = Object.getPrototypeOf(
  Object.getPrototypeOf([][Symbol.iterator]()),
) as object

/** Tells kinds apart, and remembers what it learned about the prototypes of class instances. */
export class ObjectKinds {
  readonly #natives: NativeNames
  /** By prototype. */
  readonly #instances = new WeakMap<object, Refusal | 'plain'>()

  constructor(natives: NativeNames) {
    this.#natives = natives
  }

  /** The kind, or why such an object cannot travel. */
  of(object: object): ObjectKind | Refusal {
    if (types.isProxy(object)) return refuseClass('Proxy')
    if (Array.isArray(object)) return 'array'
    const prototype = Object.getPrototypeOf(object) as object | null
    if (prototype === Object.prototype && !types.isArgumentsObject(object)) return 'plain'
    return standardKind(object) ?? this.#instanceKind(object, prototype)
  }

  #instanceKind(object: object, prototype: object | null): ObjectKind | Refusal {
    if (object instanceof DOMException) return 'domException'
    if (object instanceof Error) return 'error'
    if (object instanceof URL) return 'url'
    if (object instanceof URLSearchParams) return 'urlSearchParams'
    const known = prototype === null ? undefined : this.#instances.get(prototype)
    if (known !== undefined) return known
    const never = NEVER.find(([, test]) => test(object))
    if (never !== undefined) return refuseClass(never[0])
    if (prototype === null) return 'plain'
    const verdict = this.#judge(prototype)
    this.#instances.set(prototype, verdict)
    return verdict
  }

  /** An object that any built-in class has made holds what only its methods can see. */
  #judge(prototype: object): Refusal | 'plain' {
    for (const next of prototypesFrom(prototype)) {
      if (next === ITERATOR_PROTOTYPE) return refuseClass('Iterator')
      const constructor = ownValue(next, 'constructor')
      const isThenable = typeof ownValue(next, 'then') === 'function'
      if (isThenable || isDisposable(next)) {
        const name = typeof constructor === 'function' ? ownValue(constructor, 'name') : ''
        return refuseHandle(String(name), isThenable)
      }
      if (typeof constructor !== 'function') continue
      const name = this.#builtInName(constructor as AnyFunction)
      if (name !== undefined && !PLAIN_CLASSES.has(name)) return refuseClass(name)
    }
    return 'plain'
  }

  #builtInName(constructor: AnyFunction): string | undefined {
    const name = this.#natives.nameOf(constructor)
    if (name !== undefined)
      return name.slice(Math.max(name.lastIndexOf('#'), name.lastIndexOf('.')) + 1)
    return isNative(constructor) ? String(ownValue(constructor, 'name')) : undefined
  }
}

/** What wants to be closed is open: a connection, a file, a client. */
function isDisposable(prototype: object): boolean {
  return Object.hasOwn(prototype, Symbol.asyncDispose) || Object.hasOwn(prototype, Symbol.dispose)
}

function standardKind(object: object): ObjectKind | Refusal | undefined {
  if (types.isMap(object)) return 'map'
  if (types.isSet(object)) return 'set'
  if (types.isDate(object)) return 'date'
  if (types.isNativeError(object)) return 'error'
  if (types.isRegExp(object)) return 'regexp'
  if (ArrayBuffer.isView(object)) return binaryKind(object.buffer)
  if (types.isAnyArrayBuffer(object)) return binaryKind(object)
  if (types.isSymbolObject(object)) return refuseSymbol(object.valueOf())
  if (types.isBoxedPrimitive(object)) return 'boxed'
  return undefined
}

function binaryKind(memory: ArrayBufferLike): ObjectKind | Refusal {
  if (types.isSharedArrayBuffer(memory)) return refuseClass('SharedArrayBuffer')
  return isDetached(memory) ? refuseDetached() : 'binary'
}
