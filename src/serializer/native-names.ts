// Functions and classes that every Node process has already are known by name, `Math.sqrt` or
// `node:path#basename`. A function of theirs travels by it: its text would be of no use, as it is
// `[native code]` or calls what only the inside of Node can see.

import { isBuiltin } from 'node:module'

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

/** Whether the text of the function is that of compiled code. */
export function isNative(fn: AnyFunction): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(fn))
}

/** Finds the names of functions, and the functions of names. */
export class NativeNames {
  /** By function. Filled again whenever Node has loaded more modules. */
  readonly #names = new Map<unknown, string>()
  #loadedCount = 0

  /** The name by which another process finds the function or class, or undefined. */
  nameOf(fn: AnyFunction): string | undefined {
    this.#refresh()
    const known = this.#names.get(fn)
    if (known !== undefined) return known
    const name = ownValue(fn, 'name')
    // Many globals are made when they are first looked at, so that they cannot be in the table.
    if (typeof name !== 'string' || (!NODE_GLOBALS.has(name) && !isNative(fn))) return undefined
    return globalNamed(name) === fn ? name : undefined
  }

  /** The function that has the name here, or undefined where this Node does not have it. */
  resolve(name: string): AnyFunction | undefined {
    const value = name.startsWith('node:') ? exportNamed(name) : globalNamed(name)
    return typeof value === 'function' ? (value as AnyFunction) : undefined
  }

  /** Modules that are not loaded cannot be what somebody got a function from. */
  #refresh(): void {
    const loaded = (process as { readonly moduleLoadList?: readonly string[] }).moduleLoadList ?? []
    if (loaded.length === this.#loadedCount) return
    this.#loadedCount = loaded.length
    for (const entry of loaded) {
      const id = entry.replace('NativeModule ', '')
      if (isBuiltin(id)) this.#add(process.getBuiltinModule(id), `node:${id.replace('node:', '')}#`)
    }
    for (const owner of [...LANGUAGE_OWNERS, ...NODE_OWNERS]) {
      this.#add(globalNamed(owner), `${owner}.`)
    }
  }

  #add(owner: unknown, prefix: string): void {
    if ((typeof owner !== 'object' && typeof owner !== 'function') || owner === null) return
    for (const key of Object.getOwnPropertyNames(owner)) {
      const value = ownValue(owner, key)
      if (typeof value !== 'function' || key === 'constructor') continue
      // Some have several names, for example `net.Socket` and `net.Stream`.
      if (!this.#names.has(value) || value.name === key) this.#names.set(value, prefix + key)
    }
  }
}

function globalNamed(name: string): unknown {
  let value: unknown = globalThis
  for (const key of name.split('.')) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null)
      return undefined
    value = (value as Owner)[key]
  }
  return value
}

function exportNamed(name: string): unknown {
  const [id = '', key = ''] = name.split('#')
  return (process.getBuiltinModule(id) as Owner | undefined)?.[key]
}

/** The value of an own property that is not a getter: asking a getter may load or warn. */
export function ownValue(owner: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(owner, key)?.value
}
