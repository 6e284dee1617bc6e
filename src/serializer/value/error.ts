// The classes of errors that exist on both sides, by name, and which properties of an error travel.

import { withoutFrames } from '../../base/error-stack.js'
import * as errors from '../../base/errors.js'
import { type AnyFunction, isNative, ownValue } from '../module/native.js'
import { prototypeOf, prototypesFrom } from './prototype-chain.js'

/** A property of an error. */
interface ErrorProperty {
  readonly key: string | symbol
  /** Undefined for one that only its class gives, or that cannot be read. */
  readonly own: PropertyDescriptor | undefined
}

interface ErrorClass {
  readonly prototype: Error
}

const BUILT_IN: readonly string[] = (
  'Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError ' +
  'SuppressedError'
).split(' ')

const BY_NAME: ReadonlyMap<string, ErrorClass> = new Map([
  ...BUILT_IN.filter((name) => name in globalThis).map(
    (name) => [name, (globalThis as unknown as Record<string, ErrorClass>)[name]] as const,
  ),
  ...Object.entries(errors),
] as [string, ErrorClass][])

const BY_PROTOTYPE: ReadonlyMap<object, string> = new Map(
  Array.from(BY_NAME, ([name, { prototype }]) => [prototype, name]),
)

/** The nearest class above the error that the other side has, too. */
export function errorClassName(error: object): string {
  const prototypes = [...prototypesFrom(error)]
  const known = prototypes.map((prototype) => BY_PROTOTYPE.get(prototype)).find((name) => name)
  if (known !== undefined && !isBuiltIn(known)) return known
  const names = prototypes.map(constructorName)
  if (String(ownValue(error, 'code')).startsWith('ERR_SCALER_')) {
    // Another copy of this library threw it.
    const ours = names.find((name) => BY_NAME.has(name) && !isBuiltIn(name))
    if (ours !== undefined) return ours
  }
  // The built-in classes of another realm have the same names.
  return known ?? names.find(isBuiltIn) ?? 'Error'
}

/**
 * Whether the class itself is known on the other side; also one of another copy of this library.
 */
export function isKnownError(error: object): boolean {
  const prototype = prototypeOf(error)
  if (prototype === null || BY_PROTOTYPE.has(prototype)) return true
  const name = errorClassName(error)
  if (isBuiltIn(name)) return false
  return BY_NAME.get(name)?.prototype.isPrototypeOf(error) === false
}

/** A new error of the class without properties; of `Error` where this side does not have it. */
export function createError(className: string): Error {
  const error = withoutFrames(() => new Error())
  const { prototype } = BY_NAME.get(className) ?? Error
  if (prototype !== Error.prototype) Object.setPrototypeOf(error, prototype)
  Reflect.deleteProperty(error, 'stack')
  if (!BY_NAME.has(className)) defineHidden(error, 'name', className)
  return error
}

/**
 * The properties that travel. If the class does not (`isFlat`), also those that it gives, and
 * `name` if what is left would be called otherwise.
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

/** By a symbol of this description Node knows errors of its own. */
const NODE_MARK = 'kIsNodeError'

/**
 * What newer engines keep as a getter of the error's own is data like before. Undefined if looking
 * at it throws: engines make the stack when somebody asks, of a name that may be a getter.
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

/** Whether its message is the empty one that every error has. Never throws. */
function hasNoMessage(error: object): boolean {
  try {
    return (error as Error).message === BY_NAME.get(errorClassName(error))?.prototype.message
  } catch {
    return false
  }
}

/**
 * What the error is called. A class that never set `name` inherits that of the built-in above it;
 * then the name of the class says more. Never throws.
 */
export function errorName(error: object): string {
  const className = errorClassName(error)
  const name = readName(error)
  const inherited = BY_NAME.get(className)?.prototype.name
  if (name !== undefined && (Object.hasOwn(error, 'name') || name !== inherited)) return name
  for (const prototype of prototypesFrom(error)) {
    if (BY_PROTOTYPE.has(prototype)) break
    const ownName = constructorName(prototype)
    if (ownName !== '') return ownName
  }
  return name ?? className
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
  return BUILT_IN.includes(name)
}

function constructorName(prototype: object): string {
  const constructor = ownValue(prototype, 'constructor')
  const name = typeof constructor === 'function' ? ownValue(constructor, 'name') : undefined
  return typeof name === 'string' ? name : ''
}

function defineHidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true })
}

// How a property of an error differs from one that the engine gives it: bits of the byte behind its
// key.

/** It is enumerable. */
export const ERROR_ENUMERABLE = 1
/** It cannot be configured. */
export const ERROR_NOT_CONFIGURABLE = 2
/** It cannot be written. */
export const ERROR_NOT_WRITABLE = 4
/** Getter and setter follow instead of a value. */
export const ERROR_ACCESSOR = 8
