// The serializer that is used when the user passes none: functions and values of every kind, by
// value or, where what they are made of is known everywhere, by reference.

import { asBuffer } from '../base/bytes.js'
import { DeserializeError } from '../base/errors.js'
import { ByteReader } from './byte-reader.js'
import { AnchorRegistry } from './class/anchor-registry.js'
import type { ClassCodecs } from './class/class-codecs.js'
import type { Identities } from './class/identities.js'
import { InstanceCodec } from './class/instance-codec.js'
import { CodeEncoder } from './code-codec.js'
import { FunctionFactories } from './function/function-factory.js'
import type { FunctionAnalyst } from './function/function-parts.js'
import {
  type FunctionMessages,
  FunctionShipper,
  type Written,
} from './function/function-shipper.js'
import { readAttachmentCount, readGraph, type ReadOptions, readShipment } from './graph-reader.js'
import { GraphWriter } from './graph-writer.js'
import {
  memoryToBytes,
  numberToBytes,
  readMessage,
  tagToBytes,
  textToBytes,
} from './message-codec.js'
import { type ModuleLoader, PendingImport } from './module/reference.js'
import type { AnyFunction, NativeNames } from './native-names.js'
import { textOf } from './path.js'
import type { ReaderTools } from './reader-tools.js'
import type { Serializer } from './serializer.js'
import { ShippedFunctions } from './shipped-functions.js'
import * as tag from './tag.js'
import type { Strictness } from './value-sink.js'
import type { MessageOptions, WriterTools } from './writer-tools.js'

/** What a serializer works with. */
export interface DefaultSerializerOptions {
  /** Takes functions apart. */
  readonly analyst: FunctionAnalyst
  /** Loads what travels by reference. */
  readonly loader: ModuleLoader
  readonly natives: NativeNames
  /** Classes that were registered, and those that arrive. */
  readonly codecs: ClassCodecs
  /** What is one thing in all messages. One for a process; others only for tests. */
  readonly identities: Identities
}

/** Functions and values by value. Each message is complete by itself. */
export class DefaultSerializer implements Serializer {
  readonly #writing: WriterTools
  readonly #reading: ReaderTools
  readonly #shipper: FunctionShipper
  /** Those that write nothing now: what is read to be written may serialize something itself. */
  readonly #idle: GraphWriter[] = []

  constructor(options: DefaultSerializerOptions) {
    const { analyst, loader, natives, codecs, identities } = options
    const shipped = new ShippedFunctions()
    const anchors = new AnchorRegistry(identities)
    const instances = new InstanceCodec(
      {
        write: (value, strictness) => this.serializeAs(value, strictness),
        read: (bytes) => this.deserialize(bytes),
        isCurrent: (value) => anchors.isCurrent(value),
      },
      codecs,
    )
    this.#writing = {
      analyst,
      natives,
      codecs,
      identities,
      shipped,
      codes: new CodeEncoder(),
      shared: new WeakSet(),
      encode: (object, codec, strictness) => instances.encode(object, codec, strictness),
      encodeCodec: (codec) => instances.encodeCodec(codec),
    }
    this.#reading = {
      natives,
      codecs,
      identities,
      shipped,
      anchors,
      loader,
      factories: new FunctionFactories(),
      readCodec: (bytes) => instances.read(bytes),
      readNested: (bytes) => this.deserialize(bytes),
    }
    this.#shipper = new FunctionShipper({
      write: (value, options) => this.#write(value, options),
      areCertain: (functions) => analyst.settle(functions) === 'certain',
    })
  }

  serialize(value: unknown): Uint8Array {
    return this.serializeAs(value, 'strict')
  }

  /**
   * The same. `lenient`: with a short text in the place of whatever cannot travel inside the value.
   */
  serializeAs(value: unknown, strictness: Strictness): Uint8Array {
    if (typeof value === 'function' && strictness === 'strict') {
      return this.#shipper.whole(value as AnyFunction)
    }
    return this.#write(value, { strictness }).bytes
  }

  /** A function with its large captured values apart. Throws `SerializeError`. */
  serializeFunction(fn: AnyFunction): FunctionMessages {
    return this.#shipper.ship(fn)
  }

  /**
   * Throws `DeserializeError`, and `PendingImport` if it cannot be read before an import is done.
   */
  deserialize(bytes: Uint8Array): unknown {
    return this.deserializeFunction(bytes, [])
  }

  /** What `serializeFunction` wrote. Throws the same. */
  deserializeFunction(bytes: Uint8Array, attachments: readonly Uint8Array[]): unknown {
    const classes = new Set<object>()
    const value = this.#read(bytes, attachments, classes)
    if (classes.size > 0 && isObject(value)) this.#reading.anchors.use(value, classes)
    return value
  }

  /** How many attachments belong to the bytes of a function. Throws `DeserializeError`. */
  attachmentCount(bytes: Uint8Array): number {
    if (bytes[0] !== tag.MESSAGE_SHIPMENT) return 0
    return readAttachmentCount(new ByteReader(asBuffer(bytes), 1))
  }

  /** False once a class that this value uses was changed by something that was read later. */
  isCurrent(value: object): boolean {
    return this.#reading.anchors.isCurrent(value)
  }

  #write(value: unknown, options: MessageOptions): Written {
    const bytes = simpleToBytes(value)
    if (bytes !== undefined) return { bytes, context: undefined }
    const writer = this.#idle.pop() ?? new GraphWriter(this.#writing)
    try {
      return { bytes: writer.write(value, options), context: writer.last }
    } finally {
      this.#idle.push(writer)
    }
  }

  #read(bytes: Uint8Array, attachments: readonly Uint8Array[], classes: Set<object>): unknown {
    try {
      const buffer = asBuffer(bytes)
      switch (buffer[0]) {
        case tag.MESSAGE_GRAPH:
          return readGraph(new ByteReader(buffer, 1), this.#reading)
        case tag.MESSAGE_SHIPMENT: {
          const options = { readAttachment: this.#attachments(attachments, classes), classes }
          return readShipment(new ByteReader(buffer, 1), this.#reading, options)
        }
        default:
          return readMessage(buffer)
      }
    } catch (error) {
      if (error instanceof DeserializeError || error instanceof PendingImport) throw error
      const text = `the bytes are not a value: ${textOf(error)}`
      throw new DeserializeError(text, { cause: error })
    }
  }

  /** Each is read once, when it is asked for. */
  #attachments(
    attachments: readonly Uint8Array[],
    classes: Set<object>,
  ): ReadOptions['readAttachment'] {
    const values = new Map<number, unknown>()
    return (number) => {
      if (values.has(number)) return values.get(number)
      const bytes = attachments[number]
      if (bytes === undefined) throw new DeserializeError('a captured value did not come along')
      const value = this.#read(bytes, [], classes)
      values.set(number, value)
      return value
    }
  }
}

/** What needs no graph: primitives, and bytes by themselves. */
function simpleToBytes(value: unknown): Uint8Array | undefined {
  switch (typeof value) {
    case 'number':
      return numberToBytes(value)
    case 'string':
      return textToBytes(value)
    case 'undefined':
      return tagToBytes(tag.MESSAGE_UNDEFINED)
    case 'boolean':
      return tagToBytes(value ? tag.MESSAGE_TRUE : tag.MESSAGE_FALSE)
    case 'object':
      return value === null ? tagToBytes(tag.MESSAGE_NULL) : memoryToBytes(value)
    default:
      return undefined
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}
