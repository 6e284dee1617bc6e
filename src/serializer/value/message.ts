// One message: a main unit, and a unit for each anchor. If a part of an anchor was written into
// another unit, a pass over the message determines which objects must be anchors, and the message
// is written again; once more if the analyst has new results.
//
//   MESSAGE_GRAPH: the binary table, the body and the memories of the main unit
//   MESSAGE_SHIPMENT: Node's major version, count of attachments, for each whether it is only read,
//     whether the function can be created once for all tasks, count of anchors,
//     for each its identity, ANCHOR_CLASS or ANCHOR_OBJECT, and the length of its unit;
//     then the units, the main one last:
//       count of the anchors that it refers to, their identities,
//       the binary table, the body, the entries of private stores (1, store, key, value; …; 0),
//       the memories

import { DeserializeError, SerializeError } from '../../base/errors.js'
import { type Join, messageBytes, nodeMajor } from '../bytes/message.js'
import type { CodeEncoder } from '../bytes/code.js'
import type { ByteReader } from '../bytes/reader.js'
import { AnchorReader, readUses } from '../class/anchors.js'
import type { ClassCodec, ClassCodecs, EncodedInstance } from '../class/codecs.js'
import type { OriginalMembers } from '../class/originals.js'
import type { Seeds } from '../class/reach.js'
import type { Identities, KnownThings } from '../class/registry.js'
import type { FunctionAnalyst } from '../function/parts.js'
import type { ShippedFunctions } from '../function/reader.js'
import { type AnyFunction, type NativeNames, ownValue } from '../module/native.js'
import { reasonOf, Refusal, refuseUnsteady, serializeErrorAt, textOf } from '../refusal.js'
import { MessageContext } from './context.js'
import { Blame, pathTo, Stop, type Strictness } from './place.js'
import { type ReaderContext, type ReaderTools, UnitReader } from './reader.js'

// Reads one message that message.ts wrote.

/** The parameters of reading a message. */
export interface ReadOptions {
  readonly known: KnownThings
  /** The value of an attachment; `isOnlyRead`: it may be one that other tasks read, too. */
  readonly readAttachment: (number: number, isOnlyRead: boolean) => unknown
}

/** A message with code. */
export interface ReadShipment {
  readonly value: unknown
  /** The function cannot be changed: it may serve any number of tasks. */
  readonly isSteady: boolean
}

/**
 * The value after `MESSAGE_GRAPH`. Throws `DeserializeError`, or whatever a constructor throws for
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

/** The value after `MESSAGE_SHIPMENT`. Throws the same, and `PendingImport`. */
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
      throw new DeserializeError('the function lacks one of its captured values')
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

/** The number of attachments of the message after `MESSAGE_SHIPMENT`. Throws `DeserializeError`. */
export function readAttachmentCount(reader: ByteReader): number {
  reader.varint()
  return reader.varint()
}

function anchor(): never {
  throw new DeserializeError('the value refers to a class that it does not contain')
}

function attachment(): never {
  throw new DeserializeError('the value refers to an attachment that it does not contain')
}

// What all messages of a serializer are written with.

/** Shared by all messages. */
export interface WriterTools {
  readonly analyst: FunctionAnalyst
  readonly natives: NativeNames
  readonly identities: Identities
  /** The classes and anchors known to the process or task that writes a message. */
  known(): KnownThings
  readonly codes: CodeEncoder
  readonly codecs: ClassCodecs
  /** Objects that were once found in the units of two anchors, and are anchors since then. */
  readonly shared: WeakSet<object>
  /** Functions that came from other processes: their parts are known. */
  readonly shipped: ShippedFunctions
  readonly originals: OriginalMembers
  /** The bytes of an instance of a registered class. Throws `SerializeError`. */
  encode(object: object, codec: ClassCodec, strictness: Strictness): EncodedInstance
  /** The bytes of a codec; undefined for one that is being written, or cannot be. */
  encodeCodec(codec: ClassCodec): Uint8Array | undefined
}

/** Captured values that are separate messages. */
export interface Attachments {
  readonly size: number
  /** In the order of their numbers. */
  readonly values: readonly unknown[]
  /** The number of the attachment for the value, or undefined. */
  of(value: unknown): number | undefined
}

/** How to write one message. */
export interface MessageOptions {
  readonly strictness: Strictness
  /** Captured values that are separate messages. */
  readonly attachments?: Attachments
  /** Puts the pieces together. Default: in memory of their own. */
  readonly join?: Join
}

/** A message that needs more rounds than this changes while it is read. */
const MAX_ROUNDS = 200

/** Writes one value at a time. A getter in the value must not use the same instance. */
export class GraphWriter {
  readonly #tools: WriterTools
  readonly #context: MessageContext
  /** The anchors that were needed when a function was last written. */
  readonly #seeds = new WeakMap<object, Seeds>()

  constructor(tools: WriterTools) {
    this.#tools = tools
    this.#context = new MessageContext(tools)
  }

  /** The context of the last message. Valid until the next one. */
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
      // Without seeds: the path to an object that was an anchor from the start is unknown.
      return this.#write(value, options, undefined)
    }
  }

  #write(value: unknown, options: MessageOptions, firstSeeds: Seeds | undefined): Uint8Array {
    let seeds = firstSeeds
    const context = this.#context
    context.begin(options, seeds)
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (round > 0) context.beginRound(seeds)
      if (!this.#attempt(value, () => context.write(value))) continue
      if (context.isPlain) return messageBytes({ main: context.main.finish() }, options.join)
      if (context.hasWrongUnits) {
        let found: Seeds | undefined
        if (this.#attempt(value, () => (found = context.findAnchors(value)))) seeds = found
        continue
      }
      seeds = context.seeds
      const settled = context.settle()
      if (settled instanceof Refusal) throw serializeErrorAt(rootPath(value), settled.reason)
      if (settled === 'again') continue
      if (seeds.size > 0 && typeof value === 'function') this.#seeds.set(value, seeds)
      return messageBytes(context.finish(value), options.join)
    }
    throw serializeErrorAt(rootPath(value), refuseUnsteady().reason)
  }

  /** Returns false if something must be left out, or is not what it looked like. */
  #attempt(value: unknown, pass: () => void): boolean {
    const context = this.#context
    try {
      pass()
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
