// Values that tasks share must not change: plain data is frozen deeply.

import { arrayForm } from '../../serializer/value/array-form.js'

/**
 * Freezes the arrays and plain objects in a value, but nothing inside other objects, such as a
 * `Map`, a typed array or an instance. Returns whether there were no other objects: then the value
 * is immutable.
 */
export function freezeData(value: unknown): boolean {
  if (!isObject(value)) return true
  let isAllData = true
  const seen = new Set<object>([value])
  // The set grows during the iteration.
  for (const object of seen) {
    if (!isData(object)) {
      isAllData = false
      continue
    }
    if (Array.isArray(object) && isNumeric(object)) {
      Object.freeze(object)
      continue
    }
    for (const key of Reflect.ownKeys(object)) {
      const property = Object.getOwnPropertyDescriptor(object, key)
      if (property !== undefined && !('value' in property)) isAllData = false
      const held: unknown = property?.value
      if (isObject(held)) seen.add(held)
    }
    Object.freeze(object)
  }
  return isAllData
}

/** Listing the keys of a long array of numbers costs far more than looking at them. */
function isNumeric(array: readonly unknown[]): boolean {
  return arrayForm(array, true) === 'numbers'
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function isData(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (Array.isArray(object)) return prototype === Array.prototype
  return (prototype === Object.prototype || prototype === null) && typeof object === 'object'
}
