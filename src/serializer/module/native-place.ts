// The place of a function among the built-ins that every Node process has, for functions without a
// global name of their own: `Set.prototype.has`, a getter, the constructor of async functions, a
// method of a class of Node. Programs hold many of these, above all after a bundler has included
// libraries. A place is only searched for when a function would be refused otherwise, so that the
// search may take some time.

import { types } from 'node:util'

/** No name of native.ts begins like a place. */
const MARK = '@'

const LANGUAGE_GLOBALS: readonly string[] = (
  'Object Function Array String Number Boolean Symbol BigInt Math JSON Reflect Proxy Atomics ' +
  'Date RegExp Promise Map Set WeakMap WeakSet WeakRef FinalizationRegistry ArrayBuffer ' +
  'SharedArrayBuffer DataView Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array ' +
  'Float16Array Float32Array Float64Array Uint8ClampedArray BigUint64Array BigInt64Array Error ' +
  'AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError ' +
  'SuppressedError DisposableStack AsyncDisposableStack Intl Iterator Temporal WebAssembly'
).split(' ')

/** Built-ins that cannot be reached from a global. */
const HIDDEN: ReadonlyMap<string, object> = new Map<string, object>([
  ['%AsyncFunction%', constructorOf(async () => {})],
  ['%GeneratorFunction%', constructorOf(function* () {})],
  ['%AsyncGeneratorFunction%', constructorOf(async function* () {})],
  ['%ArrayIterator%', prototypeOf([].values())],
  ['%MapIterator%', prototypeOf(new Map().keys())],
  ['%SetIterator%', prototypeOf(new Set().keys())],
  ['%StringIterator%', prototypeOf(''[Symbol.iterator]())],
  ['%RegExpStringIterator%', prototypeOf(''.matchAll(/x/g))],
])

/** Node's globals whose properties may be read: that loads modules, but prints no warning. */
const NODE_GLOBALS: readonly string[] = (
  'process performance Buffer URL URLSearchParams AbortController AbortSignal Event EventTarget ' +
  'TextEncoder TextDecoder console Crypto SubtleCrypto Performance Blob Headers Request Response ' +
  'FormData ReadableStream WritableStream TransformStream MessageChannel MessagePort'
).split(' ')

/**
 * Properties of Node's own objects that differ between processes, set by the program or by Node
 * itself: `process.mainModule`, `process._events`.
 */
const OF_THE_PROCESS = /^(?:mainModule$|_)/

const PROTOTYPE = '[[Prototype]]'

/** The most steps from a root: `Intl.NumberFormat.prototype.get format` has three. */
const MAX_STEPS = 5
/** A program may have attached anything to a global, so that the search needs a limit. */
const MAX_LOOKS = 50_000

/** A property as its descriptor shows it, without calling the getter. */
interface Property {
  readonly value?: unknown
  readonly get?: unknown
  readonly set?: unknown
  readonly enumerable?: boolean
}

/** A set of built-ins to search. */
interface Region {
  readonly mayEnter: (stop: Stop) => boolean
  /**
   * Whether to include enumerable properties. For objects of the language, those were added by
   * programs.
   */
  readonly hasEnumerable: boolean
}

interface Stop {
  readonly value: object
  readonly place: readonly string[]
}

/** The places that were found. */
export class NativePlaces {
  readonly #found = new WeakMap<object, string>()
  /** Functions that were not found, and the number of modules loaded at the time. */
  readonly #missed = new WeakMap<object, number>()

  /**
   * The path by which another process finds the function (`valueAt`); undefined if there is none.
   */
  placeOf(fn: object): string | undefined {
    const known = this.#found.get(fn)
    const loadedCount = loadedModules().length
    if (known !== undefined || this.#missed.get(fn) === loadedCount) return known
    const place =
      search(fn, languageRoots(), { mayEnter: () => true, hasEnumerable: false }) ??
      search(fn, nodeRoots(), {
        mayEnter: (stop) => isOfNode(stop) && isAlike(stop),
        hasEnumerable: true,
      })
    if (place === undefined) {
      // The search may have loaded some.
      this.#missed.set(fn, loadedModules().length)
      return undefined
    }
    const name = MARK + place.join('.')
    this.#found.set(fn, name)
    return name
  }
}

/** Whether a name is the name of a place. */
export function isPlace(name: string): boolean {
  return name.startsWith(MARK)
}

/** The value at a place in this process; undefined if this Node does not have the place. */
export function valueAt(name: string): unknown {
  const [root = '', ...steps] = name.slice(MARK.length).split('.')
  let value: unknown = rootNamed(root)
  for (const step of steps) {
    if (!isObject(value)) return undefined
    value = step === PROTOTYPE ? Object.getPrototypeOf(value) : partOf(value, step)
  }
  return value
}

/** The shortest path to a value: breadth first. */
function search(
  target: object,
  roots: Iterable<Stop>,
  { mayEnter, hasEnumerable }: Region,
): readonly string[] | undefined {
  const queue: Stop[] = []
  const seen = new Set<object>()
  const look = (value: unknown, place: readonly string[]): boolean => {
    if (!isObject(value) || seen.has(value) || types.isProxy(value)) return false
    seen.add(value)
    queue.push({ value, place })
    return value === target
  }
  for (const { value, place } of roots) if (look(value, place)) return place
  for (let at = 0; at < queue.length && queue.length < MAX_LOOKS; at += 1) {
    const stop = queue[at] as Stop
    if (stop.place.length > MAX_STEPS || !mayEnter(stop)) continue
    for (const [step, value] of partsOf(stop.value, hasEnumerable)) {
      if (look(value, [...stop.place, step])) return [...stop.place, step]
    }
  }
  return undefined
}

function* languageRoots(): Generator<Stop> {
  for (const name of [...LANGUAGE_GLOBALS, ...HIDDEN.keys()]) yield* rootStop(name)
}

function* nodeRoots(): Generator<Stop> {
  for (const entry of loadedModules()) {
    const id = entry.replace('NativeModule ', '')
    if (!id.startsWith('internal/')) yield* rootStop(`node:${id.replace('node:', '')}`)
  }
  for (const name of NODE_GLOBALS) yield* rootStop(name)
}

/** As Node counts them. */
function loadedModules(): readonly string[] {
  return (process as { readonly moduleLoadList?: readonly string[] }).moduleLoadList ?? []
}

function* rootStop(name: string): Generator<Stop> {
  const value = name.includes('.') ? undefined : rootNamed(name)
  if (isObject(value)) yield { value, place: [name] }
}

/**
 * Classes and their members, and the objects exported by a module, but not the objects inside
 * those.
 */
function isOfNode({ value, place }: Stop): boolean {
  const last = place.at(-1)
  if (typeof value === 'function' || last === PROTOTYPE || last === 'prototype') return true
  return place.length <= 2
}

/** Whether it is the same in each process. */
function isAlike({ place }: Stop): boolean {
  return !place.some((step) => OF_THE_PROCESS.test(step))
}

function* partsOf(
  owner: object,
  hasEnumerable: boolean,
): Generator<[step: string, value: unknown]> {
  for (const key of Reflect.ownKeys(owner)) {
    const name = nameOfKey(key)
    if (name === undefined) continue
    const { value, get, set, enumerable } = propertyOf(owner, key)
    if (enumerable === true && !hasEnumerable) continue
    yield [name, value]
    yield [`get ${name}`, get]
    yield [`set ${name}`, set]
  }
  yield [PROTOTYPE, Object.getPrototypeOf(owner)]
}

/** The reverse. */
function partOf(owner: object, step: string): unknown {
  const [, accessor, name = ''] = /^(?:(get|set) )?(.*)$/s.exec(step) ?? []
  const { value, get, set } = propertyOf(owner, keyNamed(name))
  if (accessor === undefined) return value
  return accessor === 'get' ? get : set
}

function keyNamed(name: string): PropertyKey {
  if (!name.startsWith('@@')) return name
  if (name.startsWith('@@:')) return Symbol.for(name.slice(3).replaceAll('%2E', '.'))
  const symbol: unknown = Reflect.get(Symbol, name.slice(2))
  return typeof symbol === 'symbol' ? symbol : name
}

function propertyOf(owner: object, key: PropertyKey): Property {
  return Object.getOwnPropertyDescriptor(owner, key) ?? {}
}

/** How a key is written in a place; undefined if it cannot be written. */
function nameOfKey(key: PropertyKey): string | undefined {
  if (typeof key === 'symbol') {
    const registered = Symbol.keyFor(key)
    // Without the dot between steps.
    if (registered !== undefined) return `@@:${registered.replaceAll('.', '%2E')}`
    const name = /^Symbol\.(\w+)$/.exec(key.description ?? '')?.[1]
    return name !== undefined && Reflect.get(Symbol, name) === key ? `@@${name}` : undefined
  }
  const name = String(key)
  return /^(?:@@|get |set |\[\[)|\./s.test(name) ? undefined : name
}

function rootNamed(name: string): unknown {
  if (name.startsWith('node:')) return process.getBuiltinModule(name)
  return HIDDEN.get(name) ?? Reflect.get(globalThis, name)
}

function constructorOf(fn: object): object {
  return Reflect.get(prototypeOf(fn), 'constructor') as object
}

function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) as object
}

/** Whether a value is not a primitive one. */
export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}
