// Reads what graph-writer.ts wrote: one message.

import { DeserializeError } from '../base/errors.js'
import { AnchorReader, readUses } from './anchor-reader.js'
import type { ByteReader } from './byte-reader.js'
import type { KnownThings } from './class/identities.js'
import { nodeMajor } from './message-frame.js'
import type { ReaderContext, ReaderTools } from './reader-tools.js'
import { UnitReader } from './unit-reader.js'

/** What a message is read with. */
export interface ReadOptions {
  readonly known: KnownThings
  /** The value of an attachment; `isOnlyRead`: it may be one that others read, too. */
  readonly readAttachment: (number: number, isOnlyRead: boolean) => unknown
}

/** What a message with code says. */
export interface ReadShipment {
  readonly value: unknown
  /** Nobody can change the function: it may serve any number of tasks. */
  readonly isSteady: boolean
}

/**
 * The value behind `MESSAGE_GRAPH`. Throws `DeserializeError`, or whatever a constructor throws at
 * a wrong argument.
 */
export function readGraph(reader: ByteReader, tools: ReaderTools, known: KnownThings): unknown {
  const context = { tools, known, senderMajor: nodeMajor(), anchor, attachment }
  const unit = new UnitReader(reader, context, [])
  const root = unit.root()
  unit.drain()
  if (reader.remaining > 0) throw new DeserializeError('the value has too many bytes')
  return root
}

/** The value behind `MESSAGE_SHIPMENT`. Throws the same, and `PendingImport`. */
export function readShipment(
  reader: ByteReader,
  tools: ReaderTools,
  { known, readAttachment }: ReadOptions,
): ReadShipment {
  const senderMajor = reader.varint()
  const attachments: boolean[] = []
  for (let left = reader.count(1); left > 0; left -= 1) attachments.push(reader.byte() === 1)
  const isSteady = reader.byte() === 1
  const context: ReaderContext = {
    tools,
    known,
    senderMajor,
    anchor: (id) => anchors.get(id),
    attachment: (number) => {
      const isOnlyRead = attachments[number]
      if (isOnlyRead !== undefined) return readAttachment(number, isOnlyRead)
      throw new DeserializeError('the function has a captured value that it did not bring')
    },
  }
  const anchors = new AnchorReader(reader, context)
  try {
    const unit = new UnitReader(reader, context, readUses(reader))
    const value = unit.root()
    unit.drainShipment()
    anchors.drain()
    if (reader.remaining > 0) throw new DeserializeError('the value has too many bytes')
    return { value, isSteady: isSteady && anchors.size === 0 }
  } catch (error) {
    anchors.abandon()
    throw error
  }
}

/** How many attachments the message behind `MESSAGE_SHIPMENT` has. Throws `DeserializeError`. */
export function readAttachmentCount(reader: ByteReader): number {
  reader.varint()
  return reader.varint()
}

function anchor(): never {
  throw new DeserializeError('the value refers to a class that it does not have')
}

function attachment(): never {
  throw new DeserializeError('the value refers to an attachment that it does not have')
}
