// Why an object was not stored, as the content that peers get in place of the object's own.
// docs/protocol.md#storage

import { asBuffer } from '../base/bytes.js'
import type { StorageOwner } from '../base/errors.js'

/** Why an object was not stored. Sizes are in bytes. */
export interface StorageRefusal {
  /** The size of the object. */
  readonly sizeBytes: number
  /** Whether all storage is full, or only what one client may use. */
  readonly limit: 'storage' | 'quota'
  readonly limitBytes: number
  /** How much of the limit is in use. */
  readonly storedBytes: number
  /** Why no (more) content is moved to disk, for people; '' if that is not the reason. */
  readonly diskError: string
  /** The clients that use most of it, the largest first. */
  readonly owners: readonly StorageOwner[]
}

/** The only chunk of an object of type `refused`. */
export function refusalChunk(refusal: StorageRefusal): Uint8Array {
  return Buffer.from(JSON.stringify(refusal))
}

/** The most that is read. */
const MAX_BYTES = 64 * 1024

/** What `refusalChunk` has written. What cannot be read is missing: zero, or empty. */
export function refusalFrom(chunks: readonly Uint8Array[]): StorageRefusal {
  const given = parsed(chunks)
  return {
    sizeBytes: numberIn(given['sizeBytes']),
    limit: given['limit'] === 'quota' ? 'quota' : 'storage',
    limitBytes: numberIn(given['limitBytes']),
    storedBytes: numberIn(given['storedBytes']),
    diskError: textIn(given['diskError']),
    owners: Array.isArray(given['owners']) ? given['owners'].map(ownerFrom) : [],
  }
}

function parsed([chunk, ...more]: readonly Uint8Array[]): Readonly<Record<string, unknown>> {
  if (chunk === undefined || more.length > 0 || chunk.byteLength > MAX_BYTES) return {}
  try {
    return fieldsOf(JSON.parse(asBuffer(chunk).toString()))
  } catch {
    return {}
  }
}

function ownerFrom(given: unknown): StorageOwner {
  const { client, name, bytes } = fieldsOf(given)
  return { client: textIn(client), name: textIn(name), bytes: numberIn(bytes) }
}

function fieldsOf(given: unknown): Readonly<Record<string, unknown>> {
  return given instanceof Object ? (given as Record<string, unknown>) : {}
}

function numberIn(given: unknown): number {
  return typeof given === 'number' ? given : 0
}

function textIn(given: unknown): string {
  return typeof given === 'string' ? given : ''
}
