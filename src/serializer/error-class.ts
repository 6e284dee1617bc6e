// The classes of errors that exist on both sides, by name, and which properties of an error travel.

import * as errors from '../base/errors.js'
import { ownValue } from './native-names.js'
import { prototypesFrom } from './prototype-chain.js'

/** A property of an error. Reading its value may throw: it can be a getter. */
export interface ErrorProperty {
  readonly key: string
  readonly isEnumerable: boolean
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

/** What errors have without showing it, besides `name`, `message` and `stack`. */
const HIDDEN_KEYS = ['cause', 'errors', 'error', 'suppressed'] as const

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

/** A new error of the class without properties; of `Error` where this side does not have it. */
export function createError(className: string): Error {
  const error = new Error()
  const { prototype } = BY_NAME.get(className) ?? Error
  if (prototype !== Error.prototype) Object.setPrototypeOf(error, prototype)
  Reflect.deleteProperty(error, 'stack')
  if (!BY_NAME.has(className)) defineHidden(error, 'name', className)
  return error
}

/** The properties that travel; `name` is there if the class alone does not give it. */
export function errorProperties(error: object): ErrorProperty[] {
  const visible = Object.keys(error)
  const properties = visible.map((key) => ({ key, isEnumerable: true }))
  for (const key of ['name', 'message', 'stack', ...HIDDEN_KEYS]) {
    if (!visible.includes(key) && has(error, key)) properties.push({ key, isEnumerable: false })
  }
  return properties
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

function has(error: object, key: string): boolean {
  if (key === 'name') return Object.hasOwn(error, key) || !isNamedByClass(error)
  // A class may keep its message on the prototype; newer engines keep the stack there.
  if (key === 'message' || key === 'stack') return key in error
  return Object.hasOwn(error, key)
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
