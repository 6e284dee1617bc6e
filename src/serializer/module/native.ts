// What every Node process has already is known by name: functions and classes, `Math.sqrt` or
// `node:path#basename`, and objects, `console` or `node:fs`. It travels by that name: the text of
// such a function would be of no use, as it is `[native code]` or calls what only the inside of
// Node can see, and a copy of such an object would not be the one that everybody knows.

import { isBuiltin } from 'node:module'
import { isPlace, NativePlaces, valueAt } from './native-place.js'

/** Any function or class. */
export type AnyFunction = (...parameters: never[]) => unknown

type Owner = Readonly<Record<string, unknown>>

/** Globals of the language whose own functions are known, too. */
const LANGUAGE_OWNERS: readonly string[] = (
  'Math JSON Reflect Atomics Object Number String Array BigInt Date Symbol Promise Map Proxy ' +
  'ArrayBuffer Error Intl WebAssembly Uint8Array Float32Array Float64Array RegExp Iterator'
).split(' ')

/** The same for Node's own globals: those that cost nothing to look at. */
const NODE_OWNERS: readonly string[] = 'Buffer URL console performance process AbortSignal'.split(
  ' ',
)

/** Objects of which each process has one. What they hold is the business of the process. */
const GLOBAL_OBJECTS: readonly string[] = (
  'globalThis console Math JSON Reflect Atomics Intl WebAssembly process process.env ' +
  'performance'
).split(' ')

/** Node's global functions and classes that are written in JavaScript: they do not look native. */
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

/** Objects of Node that are made when somebody looks at them first, and by what module. */
const LATE_OBJECTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['NativeModule internal/crypto/webcrypto', ['crypto', 'crypto.subtle']],
])

const RealDate = Date

/** Whether a date was made by what a test runner has put in the place of `Date`. */
export function isFakeDate(date: object): boolean {
  if (globalThis.Date === RealDate) return false
  return Object.getPrototypeOf(date) === globalThis.Date.prototype
}

/** Whether the text of the function is that of compiled code. */
export function isNative(fn: AnyFunction): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(fn))
}

/** Finds the names of functions and objects, and the other way round. */
export class NativeNames {
  /** By function. Grows whenever Node has loaded more modules. */
  readonly #names = new Map<unknown, string>()
  readonly #objectNames = new Map<object, string>()
  /** Exported classes by their `prototype`. */
  readonly #classes = new Map<object, AnyFunction>()
  readonly #told = new Map<string, object>()
  /** What `require` gives for a module of Node, by identity. */
  readonly #modules = new Map<unknown, string>()
  readonly #places = new NativePlaces()
  /** How much of Node's list of loaded modules was taken in. */
  #loadedCount = 0

  /** The name by which another process finds the function or class, or undefined. */
  nameOf(fn: AnyFunction): string | undefined {
    this.refresh()
    const known = this.#names.get(fn)
    if (known !== undefined) return known
    const name = ownValue(fn, 'name')
    // Many globals are made when they are first looked at, so that they cannot be in the table.
    if (typeof name !== 'string' || (!NODE_GLOBALS.has(name) && !isNative(fn))) return undefined
    return globalNamed(name) === fn ? name : undefined
  }

  /**
   * The same for a function of the language or of Node that has no name but stands somewhere. It
   * takes milliseconds: ask only for what would be refused otherwise.
   */
  placeOf(fn: AnyFunction): string | undefined {
    return this.#places.placeOf(fn)
  }

  /** The name of an object that is no function, or undefined. Ask `refresh` before. */
  objectNameOf(object: object): string | undefined {
    return this.#objectNames.get(object)
  }

  /** `node:fs` for what `require('fs')` gives; undefined for anything else. */
  moduleIdOf(value: object): string | undefined {
    this.refresh()
    return this.#modules.get(value)
  }

  /** From now on the object has this name, here and wherever the same was said. */
  know(name: string, object: object): void {
    this.#objectNames.set(object, name)
    this.#told.set(name, object)
  }

  /** The class with a name whose instances inherit from this, if its own constructor has none. */
  classWith(prototype: object): AnyFunction | undefined {
    return this.#classes.get(prototype)
  }

  /** The function or object that has the name here, or undefined where this Node has none. */
  find(name: string): object | undefined {
    const told = this.#told.get(name)
    if (told !== undefined) return told
    const value = valueNamed(name)
    if (typeof value === 'function') return value
    return typeof value === 'object' && value !== null ? value : undefined
  }

  /**
   * Takes in what was loaded since. Modules that are not cannot be what somebody got a thing from.
   */
  refresh(): void {
    const loaded = (process as { readonly moduleLoadList?: readonly string[] }).moduleLoadList ?? []
    if (loaded.length === this.#loadedCount) return
    if (this.#loadedCount === 0) this.#addGlobals()
    // Looking at a module may load others, which join the end of the list.
    for (; this.#loadedCount < loaded.length; this.#loadedCount += 1) {
      const entry = loaded[this.#loadedCount] ?? ''
      for (const name of LATE_OBJECTS.get(entry) ?? []) this.#addObject(globalNamed(name), name)
      // `fs.promises` is there before anybody has loaded the module of that name.
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
    // Some have several names, for example `path` and `path/posix`: the first will do.
    if (isObject(module) && !this.#modules.has(module)) this.#modules.set(module, id)
    if (typeof module === 'function') this.#addFunction(module as AnyFunction, id, '')
    this.#addObject(module, id)
    this.#add(module, `${id}#`)
    // What a process was started with is a value like others: the program means its own.
    if (!isObject(module) || module === process) return
    for (const key of Object.getOwnPropertyNames(module)) {
      const value = ownValue(module, key)
      if (isActive(value)) this.#addObject(value, `${id}#${key}`)
    }
  }

  /** `isKnown` tells the function that everybody has from one that a program put in its place. */
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
    // Node wraps the constructors of some that nobody is to call.
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

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
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
  return key === undefined ? module : (module as Owner | undefined)?.[key]
}

/** The value of an own property that is not a getter: asking a getter may load or warn. */
export function ownValue(owner: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(owner, key)?.value
}
