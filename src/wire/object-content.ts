// The conventions for objects: their ids, names and chunks (docs/protocol.md#objects).

import { assert } from '../base/assert.js'
import { asBuffer, joinBytes, latin1ToHex, totalBytes } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { objectId, type ObjectId } from '../base/ids.js'
import type { ObjectContent, ObjectContentType } from './generated/common.js'
import { MAX_CONTIGUOUS_BYTES, MAX_DATA_BYTES } from './limits.js'

const PREFIX_LENGTH = 8
const DIGEST_LENGTH = 16
const NAME_DIGITS = 6
const MAX_NAME_BYTES = 5_000

/** The longest chunk of an object, in bytes: the limit of one byte string. */
export const MAX_CHUNK_BYTES: number = MAX_DATA_BYTES

/**
 * Content of at least this many bytes passes the scheduler by: in files, or on object storage
 * servers, where there are any. Values below it usually travel in messages about their tasks.
 */
export const MIN_LARGE_BYTES: number = 8 * 1024

/** The common suffix of all serializer ids: MD5 of the ASCII bytes `serializer`, as latin1. */
export const SERIALIZER_SUFFIX: string = Buffer.from(
  '84f6fb7cd5cd53b5679489a29396448f',
  'hex',
).toString('latin1')

/**
 * An object id: the first 8 bytes of the MD5 of its owner's identity, then the 16 bytes of the MD5
 * of whatever distinguishes it from the owner's other objects. Both latin1.
 */
export function objectIdFrom(prefix8: string, digest16: string): ObjectId {
  assert(prefix8.length === PREFIX_LENGTH, `object id prefix of ${prefix8.length} bytes`)
  assert(digest16.length === DIGEST_LENGTH, `object id digest of ${digest16.length} bytes`)
  return objectId(prefix8 + digest16)
}

/** Whether an id is that of a client's serializer, whatever type the object has. */
export function isSerializerId(id: ObjectId): boolean {
  return id.endsWith(SERIALIZER_SUFFIX)
}

/** The name of every serializer object. */
export function serializerName(): Uint8Array {
  return Buffer.from('serializer')
}

/** The name of a function object: that of the function, or one derived from its id. */
export function functionName(name: string, id: ObjectId): Uint8Array {
  return Buffer.from(name === '' ? `<func ${firstDigits(id)}>` : name)
}

/** The name of a function for people; '' if the name of its object was derived from the id. */
export function spokenName(name: Uint8Array, maxBytes: number = name.byteLength): string {
  const text = asBuffer(name).toString('utf8', 0, maxBytes)
  return text.startsWith('<') ? '' : text
}

/** The name of an argument or of an object sent separately: as given, or derived from its id. */
export function argumentName(name: string, id: ObjectId): Uint8Array {
  return Buffer.from(name === '' ? `<obj ${lastDigits(id)}>` : name)
}

/** The name of a result object. */
export function resultName(id: ObjectId): Uint8Array {
  return Buffer.from(`<res ${firstDigits(id)}>`)
}

/** Content in a file. docs/protocol.md#files */
export interface ObjectFile {
  readonly path: string
  readonly byteLength: number
}

/** The directory of a scheduler, and a file in it: the last two names of a path. */
const FILE_PATH = /^(\d{1,16}) (\/(?:[^\0]*\/)?scaler-ts-[\da-f]{32}\/[\da-f]{32})$/

/** The chunk that stands for the content of a file. */
export function fileChunk({ path, byteLength }: ObjectFile): Uint8Array {
  return Buffer.from(`${byteLength} ${path}`)
}

/** The file that the only chunk names; undefined: it names none that could be an object's. */
export function fileOf(chunks: readonly Uint8Array[]): ObjectFile | undefined {
  const [chunk] = chunks
  if (chunk === undefined || chunks.length > 1 || chunk.byteLength > MAX_NAME_BYTES)
    return undefined
  const [, byteLength, path] = FILE_PATH.exec(asBuffer(chunk).toString()) ?? []
  return path === undefined ? undefined : { path, byteLength: Number(byteLength) }
}

/** Content on an object storage server. docs/protocol.md#servers */
export interface StoredContent {
  readonly byteLength: number
  readonly address: string
  /** Its id there. */
  readonly id: ObjectId
}

const STORED_CONTENT = /^(\d{1,16}) ((?:tcp|tls|ipc):\/\/[^\s\0]{1,4000}) ([\da-f]{48})$/

/** The chunk that stands for content on a server. */
export function storedChunk({ byteLength, address, id }: StoredContent): Uint8Array {
  return Buffer.from(`${byteLength} ${address} ${latin1ToHex(id)}`)
}

/** What the only chunk names; undefined: nothing that could be on a server. */
export function storedContentOf(chunks: readonly Uint8Array[]): StoredContent | undefined {
  const [chunk] = chunks
  if (chunk === undefined || chunks.length > 1 || chunk.byteLength > MAX_NAME_BYTES)
    return undefined
  const [, byteLength, address, id] = STORED_CONTENT.exec(asBuffer(chunk).toString()) ?? []
  if (address === undefined || id === undefined) return undefined
  return {
    byteLength: Number(byteLength),
    address,
    id: objectId(Buffer.from(id, 'hex').toString('latin1')),
  }
}

/** How long content is, wherever it is. If that is misnamed: 0. */
export function contentBytes(type: ObjectContentType, chunks: readonly Uint8Array[]): number {
  if (type === 'file') return fileOf(chunks)?.byteLength ?? 0
  if (type === 'stored') return storedContentOf(chunks)?.byteLength ?? 0
  return totalBytes(chunks)
}

/** Whether an object is in the message itself, and has at least `minBytes`. */
export function isLargeObject(
  { objectTypes, objectBytes }: ObjectContent,
  at: number,
  minBytes: number,
): boolean {
  return objectTypes[at] === 'object' && totalBytes(objectBytes[at] ?? []) >= minBytes
}

/** Content split into chunks, which are views of it. Empty for empty content. */
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
 * Chunks joined into the content; a single chunk is returned itself. Throws `ProtocolError` above 4
 * GiB.
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

/** The objects at some positions of parallel lists. */
export function pickObjects(
  { objectIds, objectTypes, objectNames, objectBytes }: ObjectContent,
  isPicked: (at: number) => boolean,
): ObjectContent {
  return {
    objectIds: objectIds.filter((_, at) => isPicked(at)),
    objectTypes: objectTypes.filter((_, at) => isPicked(at)),
    objectNames: objectNames.filter((_, at) => isPicked(at)),
    objectBytes: objectBytes.filter((_, at) => isPicked(at)),
  }
}

/** Content, and the ids of objects that were left out of it. */
export interface SplitContent {
  readonly content: ObjectContent
  readonly missing: readonly ObjectId[]
}

/** An object of a message, in part. */
export interface Part {
  readonly type: ObjectContentType
  readonly chunks: readonly Uint8Array[]
}

/** Replaces each object, or leaves it out. Content without files remains as it is. */
export function keepEach(
  content: ObjectContent,
  replace: (type: ObjectContentType, chunks: readonly Uint8Array[]) => Part | undefined,
): SplitContent {
  const { objectIds, objectTypes, objectNames, objectBytes } = content
  if (!objectTypes.some((type) => type === 'file' || type === 'stored')) {
    return { content, missing: [] }
  }
  const parts: (Part | undefined)[] = []
  for (const [at, type] of objectTypes.entries()) {
    const isWhole = at < Math.min(objectIds.length, objectNames.length, objectBytes.length)
    parts.push(isWhole ? replace(type, objectBytes[at] ?? []) : undefined)
  }
  const kept = parts.filter((part) => part !== undefined)
  const lists = {
    objectTypes: kept.map(({ type }) => type),
    objectBytes: kept.map(({ chunks }) => chunks),
  }
  // For a 1.9.9 peer, the lists may differ in length.
  if (kept.length === parts.length) return { content: { ...content, ...lists }, missing: [] }
  const isKept = (_: unknown, at: number): boolean => parts[at] !== undefined
  const keptContent = {
    objectIds: objectIds.filter(isKept),
    objectNames: objectNames.filter(isKept),
    ...lists,
  }
  return { content: keptContent, missing: objectIds.filter((_, at) => parts[at] === undefined) }
}
