// One message: a main unit, and a unit for each anchor. Which objects must be anchors shows only
// while they are written, so a message is written again if something that an anchor needs was
// written as a part of another unit, and once more if the analyst has learned something meanwhile.
//
//   MESSAGE_GRAPH: the binary table, the body and the memories of the main unit
//   MESSAGE_SHIPMENT: Node's major version, count of attachments, for each whether it is only read,
//     whether the function can be made once for all tasks, count of anchors,
//     for each its identity, ANCHOR_CLASS or ANCHOR_OBJECT, and the length of its unit;
//     then the units, the main one last:
//       count of the anchors that it refers to, their identities,
//       the binary table, the body, the entries of private stores (1, store, key, value; …; 0),
//       the memories

import { DeserializeError, SerializeError } from '../../base/errors.js'
import { messageBytes, nodeMajor, PREFIX } from '../bytes/message.js'
import type { ByteReader } from '../bytes/reader.js'
import { AnchorReader, readUses, type Seeds } from '../class/anchors.js'
import type { KnownThings } from '../class/registry.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { reasonOf, Refusal, refuseUnsteady, serializeErrorAt, textOf } from '../refusal.js'
import { MessageContext, type MessageOptions, type WriterTools } from './context.js'
import { Blame, pathTo, Stop } from './place.js'
import { type ReaderContext, type ReaderTools, UnitReader } from './reader.js'

// Reads what message.ts wrote: one message.

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

/** So many rounds are taken to find out which objects must be anchors, and no others. */
const PATIENT_ROUNDS = 8
/** A message that needs more rounds than this changes while it is read. */
const MAX_ROUNDS = 200

/** Writes one value at a time. A getter in the value must not lead back to the same instance. */
export class GraphWriter {
  readonly #tools: WriterTools
  readonly #context: MessageContext
  /** What had to be anchors when a function was written last. */
  readonly #seeds = new WeakMap<object, Seeds>()

  constructor(tools: WriterTools) {
    this.#tools = tools
    this.#context = new MessageContext(tools)
  }

  /** What the last message has met. Good until the next one. */
  get last(): MessageContext {
    return this.#context
  }

  /** The value as a message. Throws `SerializeError`. */
  write(value: unknown, options: MessageOptions): Uint8Array {
    this.#tools.natives.refresh()
    const seeds = typeof value === 'function' ? this.#seeds.get(value) : undefined
    if (seeds === undefined) return this.#write(value, options, undefined)
    try {
      return this.#write(value, options, seeds)
    } catch {
      // From the beginning: the path to what was an anchor at once is not known.
      return this.#write(value, options, undefined)
    }
  }

  #write(value: unknown, options: MessageOptions, firstSeeds: Seeds | undefined): Uint8Array {
    let seeds = firstSeeds
    const context = this.#context
    context.begin(options, seeds)
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (round > 0) context.beginRound(seeds)
      if (!this.#round(value)) continue
      if (context.isPlain) return messageBytes({ main: context.main.finish() })
      seeds = context.nextSeeds(round >= PATIENT_ROUNDS)
      if (seeds !== undefined) continue
      seeds = context.seeds
      const settled = context.settle()
      if (settled instanceof Refusal) throw serializeErrorAt(rootPath(value), settled.reason)
      if (settled === 'again') continue
      if (seeds.size > 0 && typeof value === 'function') this.#seeds.set(value, seeds)
      return messageBytes(context.finish(value))
    }
    throw serializeErrorAt(rootPath(value), refuseUnsteady().reason)
  }

  /** Returns false if something has to be left out, or is not what it looked like. */
  #round(value: unknown): boolean {
    const context = this.#context
    try {
      if (context.seeds.size > 0) context.writeSeeds()
      const { main } = context
      main.bytes.raw(PREFIX)
      main.value(value, '')
      context.drain()
      return !context.isSurprised
    } catch (error) {
      if (error instanceof Blame && error.fn !== value) {
        context.leaveOut(error.fn as AnyFunction, error.refusal)
        return false
      }
      if (error instanceof Stop && context.remake()) return false
      throw failureAt([...rootPath(value), ...pathTo(context.place)], error, context.notRemade)
    }
  }
}

function failureAt(path: readonly string[], error: unknown, notRemade: string): SerializeError {
  if (error instanceof Stop) return serializeErrorAt(path, error.refusal.reason + notRemade)
  if (error instanceof Blame) return serializeErrorAt(path, error.refusal.reason)
  if (error instanceof SerializeError) {
    return serializeErrorAt([...path, ...error.path], reasonOf(error), error.cause)
  }
  return serializeErrorAt(path, `it cannot be read: ${textOf(error)}`, error)
}

/** A function is its own first step. */
function rootPath(value: unknown): string[] {
  if (typeof value !== 'function') return []
  const name = ownValue(value, 'name')
  return [typeof name === 'string' && name !== '' ? name : 'the function']
}
