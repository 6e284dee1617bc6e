// What a function or class has that its text alone does not give: properties that were set, members
// that a decorator replaced, statics with the values of now.

import { ownValue, type AnyFunction } from '../native-names.js'
import { ownKeysOf, type RecordKeys } from '../record-shape.js'

/** Every function has these, and they follow from its text. */
const STANDARD_KEYS: ReadonlySet<string | symbol> = new Set([
  'length',
  'name',
  'prototype',
  'arguments',
  'caller',
])

/** The own properties of a function that travel. `text` is that of a class, or undefined. */
export function functionKeys(fn: AnyFunction, text: string | undefined): RecordKeys {
  const keys = ownKeysOf(fn)
  if (text === undefined) return keys.filter((key) => !STANDARD_KEYS.has(key))
  return keys.filter((key) => {
    if (key === 'prototype' || key === 'length') return false
    if (key === 'name' && hasPlainName(fn)) return false
    return !isFromText(fn, key, text)
  })
}

/** The members of a prototype that travel. */
export function prototypeKeys(prototype: object, text: string | undefined): RecordKeys {
  return ownKeysOf(prototype).filter((key) => {
    if (key === 'constructor') return false
    return text === undefined || !isFromText(prototype, key, text)
  })
}

/** Whether `name` is as the engine makes it, and a text. */
export function hasPlainName(fn: AnyFunction): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(fn, 'name')
  return (
    typeof descriptor?.value === 'string' &&
    descriptor.writable === false &&
    descriptor.enumerable === false &&
    descriptor.configurable === true
  )
}

/** Whether a function that is no class inherits more to its instances than every function does. */
export function hasOwnPrototype(fn: AnyFunction): boolean {
  const prototype = ownValue(fn, 'prototype')
  if (typeof prototype !== 'object' || prototype === null) return false
  if (ownValue(prototype, 'constructor') !== fn) return false
  if (Object.getPrototypeOf(prototype) !== Object.prototype) return true
  return (
    Object.getOwnPropertyNames(prototype).length > 1 ||
    Object.getOwnPropertySymbols(prototype).length > 0
  )
}

/** Methods and accessors that are where the text of the class puts them, under their own name. */
function isFromText(owner: object, key: string | symbol, text: string): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(owner, key)
  // What is enumerable was assigned, or is a static field: those are not initialised again.
  if (descriptor === undefined || descriptor.enumerable === true) return false
  const { value, get, set } = descriptor as { value?: unknown; get?: unknown; set?: unknown }
  const name = typeof key === 'symbol' ? symbolName(key) : key
  if (typeof value === 'function') return isPart(value as AnyFunction, name, text)
  if (get === undefined && set === undefined) return false
  return (
    (get === undefined || isPart(get as AnyFunction, `get ${name}`, text)) &&
    (set === undefined || isPart(set as AnyFunction, `set ${name}`, text))
  )
}

function isPart(fn: AnyFunction, name: string, text: string): boolean {
  return ownValue(fn, 'name') === name && text.includes(Function.prototype.toString.call(fn))
}

function symbolName({ description }: symbol): string {
  return description === undefined ? '' : `[${description}]`
}
