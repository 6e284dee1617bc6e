// Why an object was not stored, as the content that peers get in place of the object's own.
// docs/protocol.md#storage

import { asBuffer } from '../base/bytes.js'
import { withoutFrames } from '../base/error-stack.js'
import { StorageFullError, type StorageOwner } from '../base/errors.js'
import { idToHex, type ObjectId } from '../base/ids.js'
import { sizeText } from '../base/text.js'

/** Why an object was not stored. Sizes are in bytes. */
interface StorageRefusal {
  /** The name of the object for people; '' if it has none. */
  readonly name: string
  /** The size of the object. */
  readonly sizeBytes: number
  /** Whether all storage is full, or only what one client may use. */
  readonly limit: 'storage' | 'quota'
  readonly limitBytes: number
  /** How much of the limit is in use. */
  readonly storedBytes: number
  /** The size of content on object storage servers, in addition to `storedBytes`; 0 for a quota. */
  readonly serverBytes: number
  /** Why no (more) content is moved to disk, for people; '' if that is not the reason. */
  readonly diskError: string
  /** The clients that use most, there and on object storage servers, the largest first. */
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
    name: textIn(given['name']),
    sizeBytes: numberIn(given['sizeBytes']),
    limit: given['limit'] === 'quota' ? 'quota' : 'storage',
    limitBytes: numberIn(given['limitBytes']),
    storedBytes: numberIn(given['storedBytes']),
    serverBytes: numberIn(given['serverBytes']),
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

/** The error in place of an object. Without frames: nothing of it happened in this process. */
export function refusedObjectError(id: ObjectId, chunks: readonly Uint8Array[]): StorageFullError {
  const refusal = refusalFrom(chunks)
  return withoutFrames(
    () => new StorageFullError(refusalText(refusal), { ...refusal, objectId: idToHex(id) }),
  )
}

/** What the error says. */
export function refusalText(refusal: StorageRefusal): string {
  const { name, sizeBytes, limit, limitBytes, serverBytes, diskError } = refusal
  const what = `the ${name === '' ? 'object' : `object ${name}`} of ${sizeText(sizeBytes)}`
  // On a server there may be room for it, later.
  if (sizeBytes > limitBytes && serverBytes === 0) {
    const whole = limit === 'quota' ? 'what one client may store' : 'the whole object storage'
    const size = `(${sizeText(limitBytes)})${disk(diskError)}`
    return `${what} was not stored: it is larger than ${whole} ${size}`
  }
  const use = `${sizeText(refusal.storedBytes)} of ${sizeText(limitBytes)} are in use`
  const whose = serverBytes > 0 ? 'the scheduler or of its servers' : 'the scheduler'
  const remedy = `release what is not needed, or raise the limits of ${whose}`
  if (limit === 'quota') {
    return `${what} was not stored: its client may not store more (${use}); ${remedy}`
  }
  const details = `${use}${mostOf(refusal)}${disk(diskError)}`
  return `${what} was not stored: the object storage is full (${details}); ${remedy}`
}

function disk(error: string): string {
  return error === '' ? '' : `; the disk cannot be used: ${error}`
}

/** Who uses most, if anybody does. Without servers, that is a part of what was named before. */
function mostOf({ owners: [first], serverBytes }: StorageRefusal): string {
  const servers = serverBytes > 0 ? `, and ${sizeText(serverBytes)} on object storage servers` : ''
  if (first === undefined) return servers
  const client = `the client ${first.name === '' ? first.client : first.name}`
  const size = sizeText(first.bytes)
  return serverBytes > 0
    ? `${servers}; ${client} uses most, ${size}`
    : `, ${size} of it by ${client}`
}
