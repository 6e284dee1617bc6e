// Puts the units of a message together (graph-writer.ts shows how). Each byte of a large buffer is
// copied once, from the user's memory to where it leaves from.

import { copyOf } from '../base/bytes.js'
import { ByteWriter } from './byte-writer.js'
import * as tag from './tag.js'
import type { UnitBytes } from './unit-writer.js'

/** How an anchor is announced: as anything but a class, */
export const ANCHOR_OBJECT = 0
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
export function messageBytes({ main, shipment }: MessageUnits): Uint8Array {
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

function join(pieces: readonly Uint8Array[]): Uint8Array {
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
