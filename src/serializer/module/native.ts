// Built-ins of every Node process travel by name: functions and classes, `Math.sqrt` or
// `node:path#basename`, and objects, `console` or `node:fs`. The text of such a function would be
// useless, because it is `[native code]` or calls internals of Node, and a copy of such an object
// would not be the shared one.

import { isBuiltin } from 'node:module'
import { isObject, isPlace, NativePlaces, valueAt } from './native-place.js'

/** Any function or class. */
export type AnyFunction = (...parameters: never[]) => unknown

type Owner = Readonly<Record<string, unknown>>

/** Globals of the language whose own functions are known as well. */
const LANGUAGE_OWNERS: readonly string[] = (
  'Math JSON Reflect Atomics Object Number String Array BigInt Date Symbol Promise Map Proxy ' +
  'ArrayBuffer Error Intl WebAssembly Uint8Array Float32Array Float64Array RegExp Iterator'
).split(' ')

/** The same for Node's own globals that are cheap to read. */
const NODE_OWNERS: readonly string[] = 'Buffer URL console performance process AbortSignal'.split(
  ' ',
)

/** Objects of which each process has one. Their content belongs to the process. */
const GLOBAL_OBJECTS: readonly string[] = (
  'globalThis console Math JSON Reflect Atomics Intl WebAssembly process process.env ' +
  'performance'
).split(' ')

/** Node's global functions and classes that are written in JavaScript and so do not look native. */
const NODE_GLOBALS: ReadonlySet<string> = new Set(
  (
    'setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate ' +
    'queueMicrotask structuredClone atob btoa fetch Buffer URL URLSearchParams AbortController ' +
    'AbortSignal Event EventTarget TextEncoder TextDecoder Blob File FormData Headers Request ' +
    'Response DOMException BroadcastChannel MessageEvent CustomEvent Crypto CryptoKey ' +
    'SubtleCrypto Performance PerformanceEntry PerformanceObserver ReadableStream ' +
    'WritableStream TransformStream CompressionStream DecompressionStream TextEncoderStream ' +
    'TextDecoderStream WebSocket EventSource Storage'
  ).split(' '),
)

/** Objects of Node that are created on first use, each with its module. */
const LATE_OBJECTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['NativeModule internal/crypto/webcrypto', ['crypto', 'crypto.subtle']],
])

/**
 * Classes of `node:fs` that it does not export, each with a way to an instance. The permission
 * model may deny any path, but not the standard streams.
 */
const OF_INSTANCES: ReadonlyMap<string, () => object> = new Map<string, () => object>([
  ['BigIntStats', () => process.getBuiltinModule('node:fs').fstatSync(2, { bigint: true })],
  ['StatFs', () => process.getBuiltinModule('node:fs').statfsSync('/')],
])

const RealDate = Date

/** Whether a date was made by a test runner's replacement of `Date`. */
export function isFakeDate(date: object): boolean {
  if (globalThis.Date === RealDate) return false
  return Object.getPrototypeOf(date) === globalThis.Date.prototype
}

/** Whether the text of the function shows that it is compiled code. */
export function isNative(fn: AnyFunction): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(fn))
}

/** Finds the names of functions and objects, and the reverse. */
export class NativeNames {
  /** By function. Grows whenever Node has loaded more modules. */
  readonly #names = new Map<unknown, string>()
  readonly #objectNames = new Map<object, string>()
  /** Exported classes by their `prototype`. */
  readonly #classes = new Map<object, AnyFunction>()
  readonly #told = new Map<string, object>()
  /** The result of `require` for modules of Node, by identity. */
  readonly #modules = new Map<unknown, string>()
  readonly #places = new NativePlaces()
  /** How much of Node's list of loaded modules has been read. */
  #loadedCount = 0

  /** The name by which another process finds the function or class, or undefined. */
  nameOf(fn: AnyFunction): string | undefined {
    this.refresh()
    const known = this.#names.get(fn)
    if (known !== undefined) return known
    const name = ownValue(fn, 'name')
    if (classOfInstance(name) === fn) {
      this.#names.set(fn, `node:fs#${String(name)}`)
      return this.#names.get(fn)
    }
    // Many globals are created on first use, so that they cannot be in the table.
    if (typeof name !== 'string' || (!NODE_GLOBALS.has(name) && !isNative(fn))) return undefined
    return globalNamed(name) === fn ? name : undefined
  }

  /**
   * The same for a built-in function without a global name. It takes milliseconds: use it only for
   * functions that would be refused otherwise.
   */
  placeOf(fn: AnyFunction): string | undefined {
    return this.#places.placeOf(fn)
  }

  /** The name of an object that is not a function, or undefined. Call `refresh` before. */
  objectNameOf(object: object): string | undefined {
    return this.#objectNames.get(object)
  }

  /** `node:fs` for the result of `require('fs')`; undefined for anything else. */
  moduleIdOf(value: object): string | undefined {
    this.refresh()
    return this.#modules.get(value)
  }

  /** Gives the object or function this name from now on. The other process must do the same. */
  know(name: string, object: object): void {
    const names = typeof object === 'function' ? this.#names : this.#objectNames
    names.set(object, name)
    this.#told.set(name, object)
  }

  /** The named class whose instances inherit from this, if its own constructor has no name. */
  classWith(prototype: object): AnyFunction | undefined {
    return this.#classes.get(prototype)
  }

  /** The function or object with the name, or undefined if this Node does not have it. */
  find(name: string): object | undefined {
    const told = this.#told.get(name)
    if (told !== undefined) return told
    const value = valueNamed(name)
    if (typeof value === 'function') return value
    return typeof value === 'object' && value !== null ? value : undefined
  }

  /**
   * Reads the modules loaded since the last call. Nothing can have been obtained from a module that
   * is not loaded.
   */
  refresh(): void {
    const loaded = (process as { readonly moduleLoadList?: readonly string[] }).moduleLoadList ?? []
    if (loaded.length === this.#loadedCount) return
    if (this.#loadedCount === 0) this.#addGlobals()
    // Reading a module may load others, which are appended to the list.
    for (; this.#loadedCount < loaded.length; this.#loadedCount += 1) {
      const entry = loaded[this.#loadedCount] ?? ''
      for (const name of LATE_OBJECTS.get(entry) ?? []) this.#addObject(globalNamed(name), name)
      // `fs.promises` exists before the module of that name has been loaded.
      const id = entry.replace('NativeModule ', '').replace(/^internal\/(?=.*\/promises$)/, '')
      if (isBuiltin(id)) this.#addModule(`node:${id.replace('node:', '')}`)
    }
  }

  #addGlobals(): void {
    for (const name of GLOBAL_OBJECTS) this.#addObject(globalNamed(name), name)
    for (const owner of LANGUAGE_OWNERS) {
      this.#add(globalNamed(owner), `${owner}.`, isNative)
      this.#add(globalNamed(`${owner}.prototype`), `${owner}.prototype.`, isNative)
    }
    for (const owner of NODE_OWNERS) this.#add(globalNamed(owner), `${owner}.`)
  }

  #addModule(id: string): void {
    const module: unknown = process.getBuiltinModule(id)
    // Some have several names, for example `path` and `path/posix`: any of them will do.
    if (isObject(module) && !this.#modules.has(module)) this.#modules.set(module, id)
    if (typeof module === 'function') this.#addFunction(module as AnyFunction, id, '')
    this.#addObject(module, id)
    this.#add(module, `${id}#`)
    // The arguments of a process are ordinary values: a program means its own.
    if (!isObject(module) || module === process) return
    for (const key of Object.getOwnPropertyNames(module)) {
      const value = ownValue(module, key)
      if (isActive(value)) this.#addObject(value, `${id}#${key}`)
    }
  }

  /** `isKnown` tells a built-in function from a replacement by the program. */
  #add(owner: unknown, prefix: string, isKnown: (fn: AnyFunction) => boolean = () => true): void {
    if (!isObject(owner)) return
    for (const key of Object.getOwnPropertyNames(owner)) {
      const value = ownValue(owner, key)
      if (typeof value !== 'function' || key === 'constructor') continue
      if (isKnown(value as AnyFunction)) this.#addFunction(value as AnyFunction, prefix + key, key)
    }
  }

  /** Some have several names, for example `net.Socket` and `net.Stream`. */
  #addFunction(fn: AnyFunction, name: string, key: string): void {
    const prototype = ownValue(fn, 'prototype')
    // Node wraps the constructors of some classes that must not be constructed directly.
    if (isObject(prototype) && ownValue(prototype, 'constructor') !== fn) {
      this.#classes.set(prototype, fn)
    }
    if (!this.#names.has(fn) || ownValue(fn, 'name') === key) this.#names.set(fn, name)
  }

  #addObject(value: unknown, name: string): void {
    if (typeof value !== 'object' || value === null || this.#objectNames.has(value)) return
    this.#objectNames.set(value, name)
  }
}

/**
 * More than constants: it has functions, like `path.posix`, or a class, like `http.globalAgent`.
 */
function isActive(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return true
  return Object.getOwnPropertyNames(value).some((key) => typeof ownValue(value, key) === 'function')
}

function valueNamed(name: string): unknown {
  if (isPlace(name)) return valueAt(name)
  return name.startsWith('node:') ? exportNamed(name) : globalNamed(name)
}

function globalNamed(name: string): unknown {
  let value: unknown = globalThis
  for (const key of name.split('.')) {
    if (!isObject(value)) return undefined
    value = (value as Owner)[key]
  }
  return value
}

function exportNamed(name: string): unknown {
  const [id = '', key] = name.split('#')
  const module: unknown = process.getBuiltinModule(id)
  if (key === undefined) return module
  return (
    (module as Owner | undefined)?.[key] ?? (id === 'node:fs' ? classOfInstance(key) : undefined)
  )
}

/** Undefined if it is not such a class, or if this process may not make an instance. */
function classOfInstance(name: unknown): unknown {
  try {
    const make = typeof name === 'string' ? OF_INSTANCES.get(name) : undefined
    return make?.().constructor
  } catch {
    return undefined
  }
}

/** The value of an own property that is not a getter: calling a getter may load modules or warn. */
export function ownValue(owner: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(owner, key)?.value
}

/** The same for exports and variables: undefined for one that is not initialized yet. */
export function valueIn(owner: object, key: string): unknown {
  try {
    return ownValue(owner, key)
  } catch {
    return undefined
  }
}
