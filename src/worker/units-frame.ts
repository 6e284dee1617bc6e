// The frame by which an agent says which units the next task has: JSON.

import { ProtocolError } from '../base/errors.js'
import type { Units } from '../core/worker/queue/units.js'

/** So many different ones are remembered: most tasks have what others had. */
const MAX_KNOWN = 1000

const encoded = new WeakMap<Units, Uint8Array>()
const decoded = new Map<string, Units>()

/** The units as bytes. */
export function encodeUnits(units: Units): Uint8Array {
  const known = encoded.get(units)
  if (known !== undefined) return known
  const bytes = Buffer.from(JSON.stringify(Object.entries(units)))
  encoded.set(units, bytes)
  return bytes
}

/** The units again. Throws `ProtocolError`. */
export function decodeUnits(bytes: Buffer): Units {
  const text = bytes.toString()
  const known = decoded.get(text)
  if (known !== undefined) return known
  const units = parseUnits(text)
  if (decoded.size >= MAX_KNOWN) decoded.clear()
  decoded.set(text, units)
  return units
}

function parseUnits(text: string): Units {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch (error) {
    throw new ProtocolError('units that are not JSON', { cause: error })
  }
  if (!Array.isArray(entries) || !entries.every(isEntry)) throw new ProtocolError('wrong units')
  const units: Record<string, readonly number[]> = {}
  for (const [name, numbers] of entries) {
    // A name may be `__proto__`.
    const value = Object.freeze(numbers)
    Object.defineProperty(units, name, { value, enumerable: true })
  }
  return Object.freeze(units)
}

function isEntry(entry: unknown): entry is [string, number[]] {
  if (!Array.isArray(entry) || entry.length !== 2) return false
  const [name, numbers] = entry as [unknown, unknown]
  return typeof name === 'string' && Array.isArray(numbers) && numbers.every(Number.isInteger)
}
