// Arguments objects: what one has that every other has, too. One that was changed travels as an
// empty one with the properties that it has now. The other side makes all of them as strict
// functions do: without the function that was called (`callee`), apart from its parameters.

import { ownKeysOf, type RecordKeys } from './record-shape.js'
import { Refusal } from './refusal.js'

const STANDARD: RecordKeys = ['length', 'callee', Symbol.iterator]

/** How many arguments the object is made with. */
export function argumentCount(object: object): number {
  const length = standardValue(object, 'length')
  if (!Number.isSafeInteger(length)) return 0
  for (let index = 0; index < Number(length); index += 1) {
    if (!Object.hasOwn(object, index)) return 0
  }
  return Number(length)
}

/** The properties that travel. */
export function argumentKeys(object: object): RecordKeys {
  return ownKeysOf(object).filter((key) => {
    if (key === 'length') return standardValue(object, key) !== argumentCount(object)
    if (key === Symbol.iterator) return standardValue(object, key) !== Array.prototype.values
    return key !== 'callee'
  })
}

/** Why an arguments object cannot travel; undefined if it can. */
export function argumentsIssue(object: object): Refusal | undefined {
  if (STANDARD.every((key) => Object.hasOwn(object, key))) return undefined
  const why = 'what every one of its kind has was deleted from it'
  return new Refusal('an arguments object', why, 'pass [...arguments]')
}

/** The value of a property that has the attributes as it is made with. */
function standardValue(object: object, key: string | symbol): unknown {
  const found = Object.getOwnPropertyDescriptor(object, key)
  const isStandard = found?.writable === true && found.configurable === true && !found.enumerable
  return isStandard ? found.value : undefined
}
