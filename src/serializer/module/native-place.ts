// Where a function stands among all that a Node process has from its beginning, when it has no name
// of its own: `Set.prototype.has`, a getter, the constructor of async functions, a method of a
// class of Node. Programs hold many of these, above all where a bundler has put libraries into
// them. A place is only looked for when a function would be refused otherwise: it may take its
// time.

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

/** What no global leads to. */
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

/** Node's globals whose parts may be looked at: that loads what it has to, but warns of nothing. */
const NODE_GLOBALS: readonly string[] = (
  'process performance Buffer URL URLSearchParams AbortController AbortSignal Event EventTarget ' +
  'TextEncoder TextDecoder console Crypto SubtleCrypto Performance Blob Headers Request Response ' +
  'FormData ReadableStream WritableStream TransformStream MessageChannel MessagePort'
).split(' ')

/**
 * What a program hangs into Node's own objects, or Node itself, differently in each process:
 * `process.mainModule`, `process._events`.
 */
const OF_THE_PROCESS = /^(?:mainModule$|_)/

const PROTOTYPE = '[[Prototype]]'

/** Steps from a root, at most: `Intl.NumberFormat.prototype.get format` has three. */
const MAX_STEPS = 5
/** A program may have hung anything into a global: then there is an end, too. */
const MAX_LOOKS = 50_000

/** What tells of a property without asking its getter. */
interface Property {
  readonly value?: unknown
  readonly get?: unknown
  readonly set?: unknown
  readonly enumerable?: boolean
}

/** What is looked through. */
interface Region {
  readonly mayEnter: (stop: Stop) => boolean
  /** Whether what can be enumerated belongs to it. In the language that is what programs add. */
  readonly hasEnumerable: boolean
}

interface Stop {
  readonly value: object
  readonly place: readonly string[]
}

/** The places that were found. */
export class NativePlaces {
  readonly #found = new WeakMap<object, string>()
  /** What stood nowhere, and how many modules were loaded then. */
  readonly #missed = new WeakMap<object, number>()

  /** How another process finds the function (`valueAt`); undefined where it stands nowhere. */
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
      // Looking may have loaded some.
      this.#missed.set(fn, loadedModules().length)
      return undefined
    }
    const name = MARK + place.join('.')
    this.#found.set(fn, name)
    return name
  }
}

/** Whether a name is that of a place. */
export function isPlace(name: string): boolean {
  return name.startsWith(MARK)
}

/** What stands at a place here; undefined where this Node has none. */
export function valueAt(name: string): unknown {
  const [root = '', ...steps] = name.slice(MARK.length).split('.')
  let value: unknown = rootNamed(root)
  for (const step of steps) {
    if (!isObject(value)) return undefined
    value = step === PROTOTYPE ? Object.getPrototypeOf(value) : partOf(value, step)
  }
  return value
}

/** The shortest way to a value: broad before deep. */
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

/** Classes and what they have, and the objects that a module exports: not what those hold. */
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

/** The other way round. */
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

/** How a key is written in a place; undefined where it cannot be. */
function nameOfKey(key: PropertyKey): string | undefined {
  if (typeof key === 'symbol') {
    const registered = Symbol.keyFor(key)
    // Without the dot that stands between steps.
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

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function constructorOf(fn: object): object {
  return Reflect.get(prototypeOf(fn), 'constructor') as object
}

function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) as object
}
