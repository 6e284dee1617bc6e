// For tests: compares two values in everything that a program can find out about them, and reports
// the first difference. Intended differences are in one place: see `isTolerated`.

import { types } from 'node:util'

type Key = string | symbol

/** The correspondence of symbols and functions on the two sides. */
interface Pairing {
  readonly there: Map<unknown, unknown>
  readonly here: Map<unknown, unknown>
}

/** The first difference, with the path to it; undefined if there is none. */
export function differenceOf(here: unknown, there: unknown): string | undefined {
  const pairing: Pairing = { there: new Map(), here: new Map() }
  const queue: [here: unknown, there: unknown, path: string][] = [[here, there, 'value']]
  for (const [some, other, path] of queue) {
    const difference = differenceAt(some, other, pairing, (a, b, step) =>
      queue.push([a, b, `${path}${step}`]),
    )
    if (difference !== undefined) return `${path}: ${difference}`
  }
  return undefined
}

type Follow = (here: unknown, there: unknown, step: string) => void

function differenceAt(
  here: unknown,
  there: unknown,
  { there: toThere, here: toHere }: Pairing,
  follow: Follow,
): string | undefined {
  if (isPrimitive(here) || isPrimitive(there)) return primitiveDifference(here, there, toThere)
  if (typeof here !== typeof there) return `${typeof here} became ${typeof there}`
  if (here === there && isShared(here)) return undefined
  const [known, knownBack] = [toThere.get(here), toHere.get(there)]
  if (known !== undefined || knownBack !== undefined) {
    return known === there && knownBack === here ? undefined : 'what was one object is not any more'
  }
  if (here === there) return 'it is the same object on both sides'
  toThere.set(here, there)
  toHere.set(there, here)
  return objectDifference(here as object, there as object, follow, toThere)
}

function primitiveDifference(
  here: unknown,
  there: unknown,
  symbols: Map<unknown, unknown>,
): string | undefined {
  if (typeof here === 'symbol' && typeof there === 'symbol') {
    if (here === there) return undefined
    if (isPublic(here) || here.description !== there.description) return 'another symbol'
    const known = symbols.get(here)
    symbols.set(here, there)
    return known === undefined || known === there ? undefined : 'what was one symbol is two'
  }
  return Object.is(here, there) ? undefined : `${textOf(here)} became ${textOf(there)}`
}

function isPublic(symbol: symbol): boolean {
  if (Symbol.keyFor(symbol) !== undefined) return true
  return Reflect.ownKeys(Symbol).some((key) => Reflect.get(Symbol, key) === symbol)
}

/** Built-ins of every process: functions and prototypes of the language and of Node. */
function isShared(object: unknown): boolean {
  if (typeof object === 'function') {
    return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(object))
  }
  const { constructor } = object as { constructor?: unknown }
  return (
    object === globalThis ||
    (typeof constructor === 'function' && Reflect.get(constructor, 'prototype') === object) ||
    Object.values(Object.getOwnPropertyDescriptors(globalThis)).some(
      ({ value }) => value === object,
    )
  )
}

function objectDifference(
  here: object,
  there: object,
  follow: Follow,
  symbols: Map<unknown, unknown>,
): string | undefined {
  const slots = slotDifference(here, there, follow)
  if (slots !== undefined) return slots
  for (const [what, test] of CLOSINGS) {
    if (test(here) !== test(there)) return `${what} became ${String(test(there))}`
  }
  follow(Object.getPrototypeOf(here), Object.getPrototypeOf(there), '.[[Prototype]]')
  const [keys, otherKeys] = [keysOf(here), keysOf(there)]
  const names = (all: readonly Key[]): string => all.map((key) => textOf(key)).join()
  if (names(keys) !== names(otherKeys)) return `keys ${names(keys)} became ${names(otherKeys)}`
  for (const [index, key] of keys.entries()) {
    const otherKey = otherKeys[index] as Key
    const keyDifference = primitiveDifference(key, otherKey, symbols)
    if (keyDifference !== undefined) return `key ${textOf(key)}: ${keyDifference}`
    const difference = propertyDifference(here, there, [key, otherKey], follow)
    if (difference !== undefined) return `${textOf(key)}: ${difference}`
  }
  return undefined
}

const CLOSINGS = [
  ['isExtensible', Object.isExtensible],
  ['isSealed', Object.isSealed],
  ['isFrozen', Object.isFrozen],
] as const

function propertyDifference(
  here: object,
  there: object,
  [key, otherKey]: readonly [Key, Key],
  follow: Follow,
): string | undefined {
  const own = Object.getOwnPropertyDescriptor(here, key)
  const other = Object.getOwnPropertyDescriptor(there, otherKey)
  if (own === undefined || other === undefined) return 'it is gone'
  for (const attribute of ['writable', 'enumerable', 'configurable'] as const) {
    if (own[attribute] !== other[attribute]) return `${attribute} became ${other[attribute]}`
  }
  for (const part of ['value', 'get', 'set'] as const) {
    if (part in own !== part in other) return `${part} came or went`
    if (part in own)
      follow(own[part], other[part], `.${part === 'value' ? '' : `${part} `}${textOf(key)}`)
  }
  return undefined
}

/**
 * Excluded properties are created by each engine: `stack`, and those that strict functions hide.
 */
function keysOf(object: object): readonly Key[] {
  const keys = Reflect.ownKeys(object)
  if (types.isNativeError(object)) return keys.filter((key) => key !== 'stack')
  if (types.isArgumentsObject(object)) return keys.filter((key) => key !== 'callee')
  if (typeof object !== 'function') return keys
  // Their order is the engine's.
  const hidden = new Set<Key>(['arguments', 'caller'])
  return keys.filter((key) => !hidden.has(key))
}

/** The internal state of an object. */
function slotDifference(here: object, there: object, follow: Follow): string | undefined {
  for (const [name, test] of KINDS) {
    if (test(here) !== test(there)) return `${name} became ${String(test(there))}`
  }
  if (types.isMap(here) && types.isMap(there))
    return listDifference([...entries(here)].flat(), [...entries(there)].flat(), follow)
  if (types.isSet(here) && types.isSet(there))
    return listDifference([...members(here)], [...members(there)], follow)
  if (types.isDate(here))
    return primitiveDifference(
      Date.prototype.getTime.call(here),
      Date.prototype.getTime.call(there),
      NO_SYMBOLS,
    )
  if (types.isRegExp(here))
    return primitiveDifference(regexpText(here), regexpText(there), NO_SYMBOLS)
  if (types.isBoxedPrimitive(here))
    return primitiveDifference(unboxed(here), unboxed(there), new Map())
  if (ArrayBuffer.isView(here)) return viewDifference(here, there as ArrayBufferView)
  if (types.isAnyArrayBuffer(here))
    return bytesDifference(new Uint8Array(here), new Uint8Array(there as ArrayBuffer))
  if (typeof here === 'function' && typeof there === 'function') {
    const [text, other] = [
      Function.prototype.toString.call(here),
      Function.prototype.toString.call(there),
    ]
    return text.startsWith('class') === other.startsWith('class')
      ? undefined
      : 'a class became something else'
  }
  return undefined
}

const NO_SYMBOLS: Map<unknown, unknown> = new Map()

const KINDS: readonly (readonly [string, (object: object) => unknown])[] = [
  ['Array.isArray', (object) => Array.isArray(object)],
  ['isMap', types.isMap],
  ['isSet', types.isSet],
  ['isDate', types.isDate],
  ['isRegExp', types.isRegExp],
  ['isNativeError', types.isNativeError],
  ['isBoxed', types.isBoxedPrimitive],
  ['isArguments', types.isArgumentsObject],
  ['isView', (object) => ArrayBuffer.isView(object)],
  ['isArrayBuffer', types.isAnyArrayBuffer],
  ['isModule', types.isModuleNamespaceObject],
  ['isAsync', types.isAsyncFunction],
  ['isGenerator', types.isGeneratorFunction],
  ['viewTag', (object) => (ArrayBuffer.isView(object) ? viewTag(object) : undefined)],
]

function viewTag(view: ArrayBufferView): unknown {
  return Reflect.get(
    Object.getPrototypeOf(Uint8Array.prototype) as object,
    Symbol.toStringTag,
    view,
  )
}

function entries(map: ReadonlyMap<unknown, unknown>): Iterable<[unknown, unknown]> {
  return Map.prototype.entries.call(map) as Iterable<[unknown, unknown]>
}

function members(set: ReadonlySet<unknown>): Iterable<unknown> {
  return Set.prototype.values.call(set)
}

function listDifference(
  here: readonly unknown[],
  there: readonly unknown[],
  follow: Follow,
): string | undefined {
  if (here.length !== there.length) return `size ${here.length} became ${there.length}`
  for (const [index, value] of here.entries()) follow(value, there[index], `<${index}>`)
  return undefined
}

function regexpText(regexp: object): string {
  const part = (name: string): string => String(Reflect.get(RegExp.prototype, name, regexp))
  return `/${part('source')}/${part('flags')}`
}

function unboxed(object: object): unknown {
  for (const { prototype } of [Number, String, Boolean, BigInt, Symbol]) {
    try {
      return Reflect.apply(prototype.valueOf as () => unknown, object, [])
    } catch {
      // Of another kind.
    }
  }
  return undefined
}

function viewDifference(here: ArrayBufferView, there: ArrayBufferView): string | undefined {
  const bytes = (view: ArrayBufferView): Uint8Array =>
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  return bytesDifference(bytes(here), bytes(there))
}

function bytesDifference(here: Uint8Array, there: Uint8Array): string | undefined {
  return Buffer.compare(here, there) === 0 ? undefined : 'its bytes are others'
}

function isPrimitive(value: unknown): boolean {
  return value === null || (typeof value !== 'object' && typeof value !== 'function')
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'bigint'
    ? `${typeof value} ${value}`
    : String(value)
}
