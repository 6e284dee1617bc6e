// Reads what graph-writer.ts wrote: one message.

import { DeserializeError } from '../base/errors.js'
import { AnchorReader, readUses } from './anchor-reader.js'
import type { ByteReader } from './byte-reader.js'
import { nodeMajor } from './message-frame.js'
import type { ReaderContext, ReaderTools } from './reader-tools.js'
import { UnitReader } from './unit-reader.js'

/** What a message is read with. */
export interface ReadOptions {
  readonly readAttachment: (number: number) => unknown
  /** Gets the classes that the value was made with. */
  readonly classes: Set<object>
}

/**
 * The value behind `MESSAGE_GRAPH`. Throws `DeserializeError`, or whatever a constructor throws at
 * a wrong argument.
 */
export function readGraph(reader: ByteReader, tools: ReaderTools): unknown {
  const unit = new UnitReader(reader, { tools, senderMajor: nodeMajor(), anchor, attachment }, [])
  const root = unit.root()
  unit.drain()
  if (reader.remaining > 0) throw new DeserializeError('the value has too many bytes')
  return root
}

/** The value behind `MESSAGE_SHIPMENT`. Throws the same, and `PendingImport`. */
export function readShipment(
  reader: ByteReader,
  tools: ReaderTools,
  { readAttachment, classes }: ReadOptions,
): unknown {
  const senderMajor = reader.varint()
  const attachmentCount = reader.varint()
  const context: ReaderContext = {
    tools,
    senderMajor,
    anchor: (id) => anchors.get(id),
    attachment: (number) => {
      if (number < attachmentCount) return readAttachment(number)
      throw new DeserializeError('the function has a captured value that it did not bring')
    },
  }
  const anchors = new AnchorReader(reader, context)
  const unit = new UnitReader(reader, context, readUses(reader))
  const root = unit.root()
  unit.drainShipment()
  anchors.drain()
  if (reader.remaining > 0) throw new DeserializeError('the value has too many bytes')
  for (const constructor of anchors.classes) classes.add(constructor)
  return root
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
