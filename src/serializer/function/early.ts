// Values that a class reads during its definition: `[KEYS.open]() {}`. The variable itself is set
// later, together with all others, so the definition uses a copy of the texts, numbers and symbols
// in it.

import { types } from 'node:util'
import { DeserializeError } from '../../base/errors.js'
import type { ByteReader } from '../bytes/reader.js'
import { prototypesFrom } from '../class/prototype-chain.js'
import { isObject } from '../module/native-place.js'
import type { Unit } from '../value/unit.js'

/** The depth of the copy: `A.B.C.D`. */
const MAX_DEPTH = 4
/** The most properties in the copy. */
const MAX_PROPERTIES = 10_000

const KIND_VALUE = 0
const KIND_OBJECT = 1

/** Appends a copy of the value. Accessors are left out. */
export function writeEarly(unit: Unit, value: unknown): void {
  writeNode(unit, value, { depth: 0, left: MAX_PROPERTIES })
}

interface Budget {
  depth: number
  left: number
}

function writeNode(unit: Unit, value: unknown, budget: Budget): void {
  if (!isObject(value)) {
    unit.bytes.byte(KIND_VALUE)
    unit.tables.primitive(value)
    return
  }
  unit.bytes.byte(KIND_OBJECT)
  const properties = budget.depth < MAX_DEPTH ? propertiesOf(value, budget) : []
  unit.bytes.varint(properties.length)
  budget.depth += 1
  for (const [key, content] of properties) {
    unit.bytes.text(key)
    writeNode(unit, content, budget)
  }
  budget.depth -= 1
}

function propertiesOf(object: object, budget: Budget): [string, unknown][] {
  if (types.isProxy(object)) return []
  const found = new Map<string, unknown>()
  for (const owner of prototypesFrom(object)) {
    if (owner === Object.prototype || owner === Function.prototype) break
    for (const key of Object.getOwnPropertyNames(owner)) {
      const descriptor = Object.getOwnPropertyDescriptor(owner, key)
      if (descriptor === undefined || !('value' in descriptor) || found.has(key)) continue
      if (budget.left === 0) break
      budget.left -= 1
      found.set(key, descriptor.value)
    }
  }
  return [...found]
}

/** The copy. Throws `DeserializeError`. */
export function readEarly(reader: ByteReader, primitive: () => unknown, depth = 0): unknown {
  if (reader.byte() === KIND_VALUE) return primitive()
  if (depth > MAX_DEPTH)
    throw new DeserializeError('a computed name of a class is nested too deeply')
  const object = Object.create(null) as Record<string, unknown>
  for (let left = reader.count(2); left > 0; left -= 1) {
    const key = reader.text()
    object[key] = readEarly(reader, primitive, depth + 1)
  }
  return object
}
