// How an array is written. Finding it out must not cost more than the writing.

import { inspect } from 'node:util'

/** `numbers`: nothing else, and not only integers. `sparse`: with holes or extra keys. */
export type ArrayForm = 'dense' | 'sparse' | 'numbers'

const { includes } = Array.prototype

/** Up to here, listing the keys costs less than asking `inspect`. */
const SHORT = 50
/** From here on, eight bytes for each number are worth it. */
const MIN_PACKED = 4

/** The form that keeps all there is in the array. `isOpen`: it can be extended. */
export function arrayForm(array: readonly unknown[], isOpen: boolean): ArrayForm {
  if (array.length > SHORT ? isSparseLong(array) : isSparseShort(array, isOpen)) return 'sparse'
  return array.length >= MIN_PACKED && isNumeric(array) ? 'numbers' : 'dense'
}

function isSparseShort(array: readonly unknown[], isOpen: boolean): boolean {
  const { length } = array
  // What is not enumerable costs more to find; template strings have it, and are frozen.
  const keys = isOpen
    ? Object.keys(array)
    : Object.getOwnPropertyNames(array).filter((key) => key !== 'length')
  if (keys.length !== length) return true
  // So many keys can be others only where there is a hole, which looks like undefined. Indices come
  // first, in order: so the last key shows whether others follow.
  if (includes.call(array, undefined) && keys[length - 1] !== String(length - 1)) return true
  return Object.getOwnPropertySymbols(array).length > 0
}

/** JavaScript lists extra keys only together with all indices; `inspect` knows a shorter way. */
function isSparseLong(array: readonly unknown[]): boolean {
  for (let index = 0; index < array.length; index += 1) {
    if (!(index in array)) return true
  }
  return hasExtraKeys(array, true)
}

/**
 * Whether an array or typed array has own properties beside its indices. `areHiddenShown`: also
 * those that are not enumerable.
 */
export function hasExtraKeys(array: ArrayLike<unknown>, areHiddenShown: boolean): boolean {
  if (Object.getOwnPropertySymbols(array).length > 0) return true
  const text = inspect(array, areHiddenShown ? WITH_HIDDEN : INSPECTION)
  const { length } = array
  const items = `... ${length} more item${length === 1 ? '' : 's'}`
  return !text.endsWith(areHiddenShown ? `[ ${items}, [length]: ${length} ]` : `[ ${items} ]`)
}

const INSPECTION = {
  maxArrayLength: 0,
  depth: 0,
  customInspect: false,
  breakLength: Infinity,
} as const

const WITH_HIDDEN = { ...INSPECTION, showHidden: true } as const

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
