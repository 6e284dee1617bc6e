// How an array is written. Determining it must not cost more than the writing.

import { inspect } from 'node:util'
import { Refusal } from '../refusal.js'
import { engineShapes, ownKeysOf, type RecordKeys } from './shape.js'

/**
 * `numbers`: only numbers, and not only integers. `sparse`: with holes, extra keys, or elements
 * that are not ordinary values.
 */
type ArrayForm = 'dense' | 'sparse' | 'numbers'

/** From this length on, eight bytes for each number pay off. */
const MIN_PACKED = 4

/** The form that keeps everything in the array. `isFrozen`: its elements are read-only. */
export function arrayForm(array: readonly unknown[], isFrozen: boolean): ArrayForm {
  const shape = engineShapes.arrayForm(array)
  if (shape === undefined) {
    if (hasOddProperties(array, isFrozen)) return 'sparse'
  } else if (shape === 'holey' && hasHoles(array)) return 'sparse'
  return array.length >= MIN_PACKED && isNumeric(array) ? 'numbers' : 'dense'
}

function hasHoles(array: readonly unknown[]): boolean {
  for (let index = 0; index < array.length; index += 1) {
    if (!Object.hasOwn(array, index)) return true
  }
  return false
}

function hasOddProperties(array: readonly unknown[], isFrozen: boolean): boolean {
  for (let index = 0; index < array.length; index += 1) {
    const found = Object.getOwnPropertyDescriptor(array, index)
    if (found?.enumerable !== true || !('value' in found)) return true
    if (!isFrozen && (found.writable !== true || found.configurable !== true)) return true
  }
  if (!isFrozen && !hasOpenLength(array)) return true
  // If all indices are present, additional names are those of other properties.
  const { length } = array
  if (length > SHORT) return hasExtraKeys(array)
  if (Object.getOwnPropertySymbols(array).length > 0) return true
  return Object.getOwnPropertyNames(array).length > length + 1
}

function hasOpenLength(array: readonly unknown[]): boolean {
  return Object.getOwnPropertyDescriptor(array, 'length')?.writable === true
}

/** Up to this length, listing the keys is faster than `inspect`. */
const SHORT = 50

/**
 * Whether an array or typed array has own properties besides its indices. JavaScript lists extra
 * keys only together with all indices; `inspect` has a faster way.
 */
export function hasExtraKeys(array: ArrayLike<unknown>): boolean {
  if (Object.getOwnPropertySymbols(array).length > 0) return true
  if (ArrayBuffer.isView(array) && engineShapes.isOrdinary(array)) return false
  const text = inspect(array, INSPECTION)
  const { length } = array
  const items = `... ${length} more item${length === 1 ? '' : 's'}`
  if (!ArrayBuffer.isView(array)) return !text.endsWith(`[ ${items}, [length]: ${length} ]`)
  const shown = text.slice(text.indexOf(`[ ${items}, [BYTES_PER_ELEMENT]: `))
  return !ORDINARY_VIEW.test(shown)
}

/** For a Buffer, `inspect` shows two properties of its class, too. */
const ORDINARY_VIEW =
  /^\[ (?:[^,]*, ){5}\[buffer\]: [^{}]*\{[^{}]*\}(?:, parent: \[Getter\], offset: \[Getter\])? \]$/

const INSPECTION = {
  maxArrayLength: 0,
  depth: 0,
  customInspect: false,
  breakLength: Infinity,
  compact: 100,
  showHidden: true,
} as const

function isNumeric(array: readonly unknown[]): boolean {
  let areIntegers = true
  // Not its iterator: a subclass may have another.
  for (let index = 0; index < array.length; index += 1) {
    const value = array[index]
    if (typeof value !== 'number') return false
    if (!Number.isInteger(value)) areIntegers = false
  }
  return !areIntegers
}

// Arguments objects. One that was changed is sent as an empty one with its current properties. The
// receiver creates all of them like those of strict functions: without the function that was called
// (`callee`), and separate from its parameters.

const STANDARD: RecordKeys = ['length', 'callee', Symbol.iterator]

/** The number of arguments with which the object is created. */
export function argumentCount(object: object): number {
  const length = standardValue(object, 'length')
  if (!Number.isSafeInteger(length)) return 0
  for (let index = 0; index < Number(length); index += 1) {
    if (!Object.hasOwn(object, index)) return 0
  }
  return Number(length)
}

/** The properties that are sent. */
export function argumentKeys(object: object): RecordKeys {
  return ownKeysOf(object).filter((key) => {
    if (key === 'length') return standardValue(object, key) !== argumentCount(object)
    if (key === Symbol.iterator) return standardValue(object, key) !== Array.prototype.values
    return key !== 'callee'
  })
}

/** Why an arguments object cannot be sent; undefined if it can. */
export function argumentsIssue(object: object): Refusal | undefined {
  if (STANDARD.every((key) => Object.hasOwn(object, key))) return undefined
  const why = 'one of its standard properties was deleted'
  return new Refusal('an arguments object', why, 'pass [...arguments]')
}

/** The value of a property that has its original attributes. */
function standardValue(object: object, key: string | symbol): unknown {
  const found = Object.getOwnPropertyDescriptor(object, key)
  const isStandard = found?.writable === true && found.configurable === true && !found.enumerable
  return isStandard ? found.value : undefined
}
