// How an array is written. Finding it out must not cost more than the writing.

import { inspect } from 'node:util'

/** `numbers`: nothing else, and not only integers. `sparse`: with holes or extra keys. */
export type ArrayForm = 'dense' | 'sparse' | 'numbers'

/** Up to here, listing the keys costs less than asking `inspect`. */
const SHORT = 50
/** From here on, eight bytes for each number are worth it. */
const MIN_PACKED = 4

/** The form that keeps all there is in the array. */
export function arrayForm(array: readonly unknown[]): ArrayForm {
  if (array.length > SHORT ? isSparseLong(array) : isSparseShort(array)) return 'sparse'
  return array.length >= MIN_PACKED && isNumeric(array) ? 'numbers' : 'dense'
}

/** Indices are listed first, in order: so the last key shows whether others follow or some miss. */
function isSparseShort(array: readonly unknown[]): boolean {
  const keys = Object.keys(array)
  if (keys.length !== array.length) return true
  return array.length > 0 && keys.at(-1) !== String(array.length - 1)
}

/** JavaScript lists extra keys only together with all indices; `inspect` knows a shorter way. */
function isSparseLong(array: readonly unknown[]): boolean {
  for (let index = 0; index < array.length; index += 1) {
    if (!(index in array)) return true
  }
  const text = inspect(array, { maxArrayLength: 0, depth: 0, customInspect: false })
  return !text.endsWith(`[ ... ${array.length} more items ]`) && isSparseShort(array)
}

function isNumeric(array: readonly unknown[]): boolean {
  let areIntegers = true
  for (const value of array) {
    if (typeof value !== 'number') return false
    if (!Number.isInteger(value)) areIntegers = false
  }
  return !areIntegers
}
