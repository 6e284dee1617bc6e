// Values that need no graph: primitives, and bytes by themselves. It is with small arguments that
// the cost of a task shows, so these are a tag and the value and nothing else.

import { types } from 'node:util'
import { copyOf, latin1Slice, latin1Write } from '../../base/bytes.js'
import { DeserializeError } from '../../base/errors.js'
import { engineShapes, TYPED_ARRAYS } from '../value/shape.js'
import type { UnitBytes } from '../value/unit.js'
import { byteLengthOf, copyToArrayBuffer, isDetached, maxByteLengthOf } from './binary.js'
import * as tag from './tag.js'
import { ByteWriter, isLatin1 } from './writer.js'

/** The first byte of the pickles that Python peers write. */
const PICKLE = 0x80
const SHORT_TEXT = 64

/** The tag alone. */
export function tagToBytes(messageTag: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(1)
  bytes[0] = messageTag
  return bytes
}

/** Any number, -0 and NaN included. */
export function numberToBytes(value: number): Uint8Array {
  const integer = value | 0
  if (integer === value && (integer !== 0 || 1 / value > 0)) {
    const bytes = Buffer.allocUnsafe(5)
    bytes[0] = tag.MESSAGE_INT32
    bytes[1] = integer
    bytes[2] = integer >> 8
    bytes[3] = integer >> 16
    bytes[4] = integer >> 24
    return bytes
  }
  const bytes = Buffer.allocUnsafe(9)
  bytes[0] = tag.MESSAGE_FLOAT64
  bytes.writeDoubleLE(value, 1)
  return bytes
}

/** Any string, lone surrogates included. */
export function textToBytes(text: string): Uint8Array {
  const { length } = text
  if (length > SHORT_TEXT) return longTextToBytes(text)
  const bytes = Buffer.allocUnsafe(length + 1)
  bytes[0] = tag.MESSAGE_LATIN1
  for (let index = 0; index < length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit > 0xff) return wideTextToBytes(text)
    bytes[index + 1] = unit
  }
  return bytes
}

function longTextToBytes(text: string): Uint8Array {
  if (!isLatin1(text)) return wideTextToBytes(text)
  const bytes = Buffer.allocUnsafe(text.length + 1)
  bytes[0] = tag.MESSAGE_LATIN1
  latin1Write(bytes, text, 1)
  return bytes
}

function wideTextToBytes(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafe(text.length * 2 + 1)
  bytes[0] = tag.MESSAGE_UTF16
  bytes.write(text, 1, 'utf16le')
  return bytes
}

/** Puts the pieces of a message together, or elsewhere: they are valid only during the call. */
export type Join = (pieces: readonly Uint8Array[]) => Uint8Array

/** A `Uint8Array`, `Buffer` or `ArrayBuffer` with one copy; undefined for all else. */
export function memoryToBytes(value: object, join?: Join): Uint8Array | undefined {
  const messageTag = memoryTag(value)
  if (messageTag === undefined) return undefined
  const content = contentOf(value)
  if (join !== undefined) return join([Uint8Array.of(messageTag), content])
  const bytes = Buffer.allocUnsafe(content.byteLength + 1)
  bytes[0] = messageTag
  bytes.set(content, 1)
  return bytes
}

/** The size of a buffer or view in bytes; 0 for all else. */
export function memorySize(value: unknown): number {
  const isMemory = ArrayBuffer.isView(value) || types.isArrayBuffer(value)
  return isMemory ? byteLengthOf(value) : 0
}

/** A value that is only memory, without anything else of which its bytes depend. */
export interface PlainMemory {
  /** Its class. */
  readonly kind: string
  /** Its content, with which its bytes end. Not copied. */
  readonly content: Uint8Array
}

/** The memory of buffers, byte arrays, and typed arrays that cover all of their buffer. */
export function plainMemoryOf(value: unknown): PlainMemory | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const messageTag = memoryTag(value)
  if (messageTag !== undefined) return { kind: String(messageTag), content: contentOf(value) }
  const prototype: unknown = Object.getPrototypeOf(value)
  const kind = TYPED_ARRAYS.find((known) => known.prototype === prototype)?.name
  if (kind === undefined || !types.isTypedArray(value) || !engineShapes.isOrdinary(value)) {
    return undefined
  }
  const { buffer, byteLength } = value
  if (!isOrdinary(buffer) || !engineShapes.isOrdinary(buffer as ArrayBuffer)) return undefined
  return buffer.byteLength === byteLength ? { kind, content: new Uint8Array(buffer) } : undefined
}

/** Whether bytes that begin so are a memory and nothing else, which is copied out of them. */
export function isMemoryTag(first: number): boolean {
  return (
    first === tag.MESSAGE_UINT8_ARRAY ||
    first === tag.MESSAGE_ARRAY_BUFFER ||
    first === tag.MESSAGE_BUFFER
  )
}

/** The value of such bytes: `content` is all but the first one, and belongs to the value. */
export function memoryOf(first: number, content: ArrayBuffer): unknown {
  if (first === tag.MESSAGE_ARRAY_BUFFER) return content
  return first === tag.MESSAGE_BUFFER ? Buffer.from(content) : new Uint8Array(content)
}

function contentOf(value: object): Uint8Array {
  return types.isArrayBuffer(value) ? new Uint8Array(value) : (value as Uint8Array)
}

function memoryTag(value: object): number | undefined {
  const isBinary = ArrayBuffer.isView(value) || types.isArrayBuffer(value)
  if (!isBinary || !engineShapes.isOrdinary(value)) return undefined
  if (types.isUint8Array(value)) {
    if (!isOrdinary(value.buffer)) return undefined
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Uint8Array.prototype) return tag.MESSAGE_UINT8_ARRAY
    return prototype === Buffer.prototype ? tag.MESSAGE_BUFFER : undefined
  }
  return types.isArrayBuffer(value) && isOrdinary(value) ? tag.MESSAGE_ARRAY_BUFFER : undefined
}

/** Neither shared, nor given away, nor of a size that may change. */
function isOrdinary(memory: ArrayBufferLike): boolean {
  return types.isArrayBuffer(memory) && maxByteLengthOf(memory) === undefined && !isDetached(memory)
}

/** What the functions above wrote. Throws `DeserializeError` for all else. */
export function readMessage(bytes: Buffer): unknown {
  const messageTag = bytes[0]
  switch (messageTag) {
    case tag.MESSAGE_INT32:
      needLength(bytes, 5)
      return bytes.readInt32LE(1)
    case tag.MESSAGE_FLOAT64:
      needLength(bytes, 9)
      return bytes.readDoubleLE(1)
    case tag.MESSAGE_LATIN1:
      return latin1Slice(bytes, 1, bytes.byteLength)
    case tag.MESSAGE_UTF16:
      needLength(bytes, bytes.byteLength | 1)
      return bytes.toString('utf16le', 1)
    case tag.MESSAGE_UINT8_ARRAY:
      return new Uint8Array(copyToArrayBuffer(bytes.subarray(1)))
    case tag.MESSAGE_ARRAY_BUFFER:
      return copyToArrayBuffer(bytes.subarray(1))
    case tag.MESSAGE_BUFFER:
      return Buffer.from(copyToArrayBuffer(bytes.subarray(1)))
    default:
      return readConstant(bytes, messageTag)
  }
}

/** Whether these are the bytes of a Python pickle, of protocol 2 or later, not of a message. */
export function isPickle(bytes: Uint8Array): boolean {
  return bytes[0] === PICKLE
}

function readConstant(bytes: Buffer, messageTag: number | undefined): unknown {
  if (messageTag === PICKLE) {
    throw new DeserializeError('the bytes are a Python pickle: only Python can read them')
  }
  needLength(bytes, 1)
  switch (messageTag) {
    case tag.MESSAGE_UNDEFINED:
      return undefined
    case tag.MESSAGE_NULL:
      return null
    case tag.MESSAGE_TRUE:
      return true
    case tag.MESSAGE_FALSE:
      return false
    default:
      throw new DeserializeError(
        `the value has a form (${messageTag}) that this version does not know`,
      )
  }
}

function needLength(bytes: Buffer, byteLength: number): void {
  if (bytes.byteLength === byteLength) return
  throw new DeserializeError(`the value has ${bytes.byteLength} bytes, not ${byteLength}`)
}

// Puts the units of a message together (value/message.ts shows how). Each byte of a large buffer is
// copied once, from the user's memory to where it leaves from.

/** How an anchor is announced: as anything but a class, */
const ANCHOR_OBJECT = 0
/** or as one. */
export const ANCHOR_CLASS = 1

/** What the main unit begins with: a graph without buffers, as most messages are. */
export const PREFIX: Uint8Array = Uint8Array.of(tag.MESSAGE_GRAPH, 0, 0)

/** A message in parts. */
export interface MessageUnits {
  readonly main: UnitBytes
  /** What it needs beside the main unit. */
  readonly shipment?: Shipment
}

/** What a message needs that has code, or things with an identity. */
export interface Shipment {
  /** Whether the function can be made once for all tasks. */
  readonly isSteady: boolean
  /** For each attachment whether it is only read. */
  readonly attachments: readonly boolean[]
  readonly anchors: readonly AnchorBytes[]
}

/** An anchor and its unit. */
export interface AnchorBytes {
  readonly id: string
  readonly isClass: boolean
  readonly unit: UnitBytes
}

/** The bytes of the message. */
export function messageBytes({ main, shipment }: MessageUnits, join: Join = joined): Uint8Array {
  if (shipment !== undefined) return join(shipmentPieces(shipment, main))
  if (main.memories.length === 0) return copyOf(main.body)
  const content = main.body.subarray(PREFIX.length)
  return join([Uint8Array.of(tag.MESSAGE_GRAPH), main.table, content, ...main.memories])
}

function shipmentPieces(
  { isSteady, attachments, anchors }: Shipment,
  main: UnitBytes,
): Uint8Array[] {
  const header = new ByteWriter()
  header.byte(tag.MESSAGE_SHIPMENT)
  header.varint(nodeMajor())
  header.varint(attachments.length)
  for (const isRead of attachments) header.byte(isRead ? 1 : 0)
  header.byte(isSteady ? 1 : 0)
  header.varint(anchors.length)
  const pieces: Uint8Array[] = []
  for (const { id, isClass, unit } of anchors) {
    const unitPieces = piecesOf(unit, unit.body)
    header.text(id)
    header.byte(isClass ? ANCHOR_CLASS : ANCHOR_OBJECT)
    header.varint(unitPieces.reduce((sum, { byteLength }) => sum + byteLength, 0))
    pieces.push(...unitPieces)
  }
  return [header.written, ...pieces, ...piecesOf(main, main.body.subarray(PREFIX.length))]
}

function piecesOf({ anchors, table, memories }: UnitBytes, body: Uint8Array): Uint8Array[] {
  const header = new ByteWriter()
  header.varint(anchors.length)
  for (const { id } of anchors) header.text(id)
  return [header.written, table, body, END_OF_ENTRIES, ...memories]
}

const END_OF_ENTRIES = Uint8Array.of(0)

/** The version whose syntax code is written in. */
export function nodeMajor(): number {
  return Number.parseInt(process.versions.node, 10)
}

/** The pieces in memory of their own. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  let byteLength = 0
  for (const piece of pieces) byteLength += piece.byteLength
  const bytes = Buffer.allocUnsafe(byteLength)
  let offset = 0
  for (const piece of pieces) {
    bytes.set(piece, offset)
    offset += piece.byteLength
  }
  return bytes
}
