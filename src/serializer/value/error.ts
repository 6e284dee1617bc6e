// The classes of errors that exist on both sides, by name, and which properties of an error are
// sent.

import { withoutFrames } from '../../base/error-stack.js'
import * as errors from '../../base/errors.js'
import { type AnyFunction, isNative, ownValue } from '../module/native.js'
import { prototypeOf, prototypesFrom } from '../class/prototype-chain.js'

/** A property of an error. */
interface ErrorProperty {
  readonly key: string | symbol
  /** Undefined for a property of its class, or one that cannot be read. */
  readonly own: PropertyDescriptor | undefined
}

interface ErrorClass {
  readonly prototype: Error
}

const BUILT_IN: readonly string[] = (
  'Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError ' +
  'SuppressedError'
).split(' ')

/** The classes of `WebAssembly`: their names alone would be those of a user's own classes, too. */
const OF_WEB_ASSEMBLY: readonly string[] = ['CompileError', 'LinkError', 'RuntimeError']

const BY_NAME: ReadonlyMap<string, ErrorClass> = new Map([
  ...classesOf(globalThis, BUILT_IN, ''),
  // A Node without a compiler (`--jitless`) has none.
  ...classesOf(
    (globalThis as { readonly WebAssembly?: object }).WebAssembly ?? {},
    OF_WEB_ASSEMBLY,
    'WebAssembly.',
  ),
  ...Object.entries(errors),
] as [string, ErrorClass][])

const BY_PROTOTYPE: ReadonlyMap<object, string> = new Map(
  Array.from(BY_NAME, ([name, { prototype }]) => [prototype, name]),
)

function classesOf(owner: object, names: readonly string[], prefix: string): unknown[][] {
  return names
    .filter((name) => name in owner)
    .map((name) => [prefix + name, Reflect.get(owner, name)])
}

/** The nearest class of the error that the other side has, too. */
export function errorClassName(error: object): string {
  const prototypes = [...prototypesFrom(error)]
  const known = prototypes.map((prototype) => BY_PROTOTYPE.get(prototype)).find((name) => name)
  if (known !== undefined && !isBuiltIn(known)) return known
  const names = prototypes.map(constructorName)
  if (String(ownValue(error, 'code')).startsWith('ERR_SCALER_')) {
    // It was thrown by another copy of this library.
    const ours = names.find((name) => BY_NAME.has(name) && !isBuiltIn(name))
    if (ours !== undefined) return ours
  }
  // The built-in classes of another realm have the same names.
  return known ?? names.find(isBuiltIn) ?? 'Error'
}

/** Whether the other side has the class itself, or it belongs to another copy of this library. */
export function isKnownError(error: object): boolean {
  const prototype = prototypeOf(error)
  if (prototype === null || BY_PROTOTYPE.has(prototype)) return true
  const name = errorClassName(error)
  if (isBuiltIn(name)) return false
  return BY_NAME.get(name)?.prototype.isPrototypeOf(error) === false
}

/** A new error of the class without properties; an `Error` if this side does not have the class. */
export function createError(className: string): Error {
  const error = withoutFrames(() => new Error())
  const { prototype } = BY_NAME.get(className) ?? Error
  if (prototype !== Error.prototype) Object.setPrototypeOf(error, prototype)
  Reflect.deleteProperty(error, 'stack')
  if (!BY_NAME.has(className)) defineHidden(error, 'name', className)
  return error
}

/**
 * The properties that are sent. Without the class (`isFlat`), also its inherited properties, and
 * `name` if the name would otherwise be lost.
 */
export function errorProperties(error: object, isFlat: boolean): ErrorProperty[] {
  const isHiddenName = isFlat && !Object.hasOwn(error, 'name') && !isNamedByClass(error)
  const properties: ErrorProperty[] = Reflect.ownKeys(error)
    .filter((key) => typeof key === 'string' || key.description !== NODE_MARK)
    .map((key) => ({ key, own: ownProperty(error, key) }))
  if (isHiddenName) properties.push({ key: 'name', own: undefined })
  // A class may keep its message on the prototype; newer engines keep the stack there.
  if ('stack' in error && !Object.hasOwn(error, 'stack')) {
    properties.push({ key: 'stack', own: undefined })
  }
  if (isFlat && 'message' in error && !Object.hasOwn(error, 'message') && !hasNoMessage(error)) {
    properties.push({ key: 'message', own: undefined })
  }
  return properties
}

/** Node recognises its own errors by a symbol of this description. */
const NODE_MARK = 'kIsNodeError'

/**
 * An own property; a getter of the engine (in newer versions) counts as data. Undefined if reading
 * it throws: engines create the stack on demand, from a name that may be a getter.
 */
function ownProperty(error: object, key: string | symbol): PropertyDescriptor | undefined {
  try {
    const found = Object.getOwnPropertyDescriptor(error, key)
    const { get } = found as { readonly get?: unknown }
    if (key !== 'stack' || get === undefined || !isNative(get as AnyFunction)) return found
    const value: unknown = (error as Error).stack
    return { value, writable: true, enumerable: false, configurable: true }
  } catch {
    return undefined
  }
}

/** Whether its message is the empty one of every error. Never throws. */
function hasNoMessage(error: object): boolean {
  try {
    return (error as Error).message === BY_NAME.get(errorClassName(error))?.prototype.message
  } catch {
    return false
  }
}

/**
 * The name that the error has here, which may be that of its built-in parent class; the name of its
 * class if that cannot be read. Never throws.
 */
export function errorName(error: object): string {
  const name = readName(error)
  if (name !== undefined) return name
  for (const prototype of prototypesFrom(error)) {
    if (BY_PROTOTYPE.has(prototype)) break
    const ownName = constructorName(prototype)
    if (ownName !== '') return ownName
  }
  return errorClassName(error)
}

function readName(error: object): string | undefined {
  try {
    const { name } = error as { readonly name: unknown }
    return typeof name === 'string' ? name : undefined
  } catch {
    return undefined
  }
}

function isNamedByClass(error: object): boolean {
  return errorName(error) === BY_NAME.get(errorClassName(error))?.prototype.name
}

function isBuiltIn(name: string): boolean {
  return BUILT_IN.includes(name) || name.startsWith('WebAssembly.')
}

function constructorName(prototype: object): string {
  const constructor = ownValue(prototype, 'constructor')
  const name = typeof constructor === 'function' ? ownValue(constructor, 'name') : undefined
  return typeof name === 'string' ? name : ''
}

function defineHidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true })
}

// How a property of an error differs from one that the engine creates: bits of the byte after its
// key.

/** It is enumerable. */
export const ERROR_ENUMERABLE = 1
/** It cannot be configured. */
export const ERROR_NOT_CONFIGURABLE = 2
/** It cannot be written. */
export const ERROR_NOT_WRITABLE = 4
/** Getter and setter follow instead of a value. */
export const ERROR_ACCESSOR = 8
