// The conventions for objects: their ids, names and chunks (docs/protocol.md#objects).

import { assert } from '../base/assert.js'
import { asBuffer, joinBytes, latin1ToHex, totalBytes } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { objectId, type ObjectId } from '../base/ids.js'
import { MAX_CONTIGUOUS_BYTES, MAX_DATA_BYTES } from './limits.js'

const PREFIX_LENGTH = 8
const DIGEST_LENGTH = 16
const NAME_DIGITS = 6

/** Longest chunk of an object, in bytes: what one byte string can have. */
export const MAX_CHUNK_BYTES: number = MAX_DATA_BYTES

/** How the ids of all serializers end: the MD5 of the ASCII bytes `serializer`, as latin1. */
export const SERIALIZER_SUFFIX: string = Buffer.from(
  '84f6fb7cd5cd53b5679489a29396448f',
  'hex',
).toString('latin1')

/**
 * An object id: the first 8 bytes of the MD5 of its owner's identity, then the 16 bytes of the MD5
 * of what tells it from the owner's other objects. Both latin1.
 */
export function objectIdFrom(prefix8: string, digest16: string): ObjectId {
  assert(prefix8.length === PREFIX_LENGTH, `object id prefix of ${prefix8.length} bytes`)
  assert(digest16.length === DIGEST_LENGTH, `object id digest of ${digest16.length} bytes`)
  return objectId(prefix8 + digest16)
}

/** Whether an id is that of a client's serializer, whatever the type of the object says. */
export function isSerializerId(id: ObjectId): boolean {
  return id.endsWith(SERIALIZER_SUFFIX)
}

/** The name of every serializer object. */
export function serializerName(): Uint8Array {
  return Buffer.from('serializer')
}

/** The name of a function object: that of the function, or one made from its id. */
export function functionName(name: string, id: ObjectId): Uint8Array {
  return Buffer.from(name === '' ? `<func ${firstDigits(id)}>` : name)
}

/** What a function is called, for people; '' where its object has a name that was made for it. */
export function spokenName(name: Uint8Array, maxBytes: number = name.byteLength): string {
  const text = asBuffer(name).toString('utf8', 0, maxBytes)
  return text.startsWith('<') ? '' : text
}

/** The name of an argument, or of an object that was sent by itself: as given, or from its id. */
export function argumentName(name: string, id: ObjectId): Uint8Array {
  return Buffer.from(name === '' ? `<obj ${lastDigits(id)}>` : name)
}

/** The name of a result object. */
export function resultName(id: ObjectId): Uint8Array {
  return Buffer.from(`<res ${firstDigits(id)}>`)
}

/** Content as chunks, which are views of it. None for empty content. */
export function splitChunks(
  content: Uint8Array,
  maxChunkBytes: number = MAX_CHUNK_BYTES,
): readonly Uint8Array[] {
  const bytes = asBuffer(content)
  const chunks: Uint8Array[] = []
  for (let at = 0; at < bytes.byteLength; at += maxChunkBytes) {
    chunks.push(bytes.subarray(at, at + maxChunkBytes))
  }
  return chunks
}

/**
 * Chunks as the content again; the chunk itself where there is only one. Throws `ProtocolError`
 * when there are more than 4 GiB.
 */
export function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const length = totalBytes(chunks)
  if (length > MAX_CONTIGUOUS_BYTES) {
    throw new ProtocolError(`object of ${length} bytes: longer than ${MAX_CONTIGUOUS_BYTES}`)
  }
  return joinBytes(chunks)
}

function firstDigits(id: ObjectId): string {
  return latin1ToHex(id.slice(0, NAME_DIGITS / 2))
}

function lastDigits(id: ObjectId): string {
  return latin1ToHex(id.slice(-NAME_DIGITS / 2))
}
