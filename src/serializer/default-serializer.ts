// The serializer for users who pass none: functions and values of every kind. They travel by value,
// or by reference if all processes have the module that they come from.

import { asBuffer } from '../base/bytes.js'
import { DeserializeError } from '../base/errors.js'
import { show } from '../base/option.js'
import { ByteReader } from './bytes/reader.js'
import { type ClassCodecs, InstanceCodec } from './class/codecs.js'
import { OriginalMembers } from './class/originals.js'
import type { Identities, KnownThings } from './class/registry.js'
import { CodeEncoder } from './bytes/code.js'
import { FunctionFactories } from './function/factory.js'
import type { FunctionAnalyst } from './function/parts.js'
import { type FunctionMessages, FunctionShipper, type Written } from './function/shipper.js'
import {
  GraphWriter,
  type MessageOptions,
  readAttachmentCount,
  readGraph,
  type ReadOptions,
  type ReadShipment,
  readShipment,
  type WriterTools,
} from './value/message.js'
import {
  type Join,
  memoryToBytes,
  numberToBytes,
  readMessage,
  tagToBytes,
  textToBytes,
} from './bytes/message.js'
import { type ModuleLoader, PendingImport } from './module/policy.js'
import type { AnyFunction, NativeNames } from './module/native.js'
import { textOf } from './refusal.js'
import type { Strictness } from './value/place.js'
import type { ReaderTools } from './value/reader.js'
import type { Serializer } from './serializer.js'
import { ShippedFunctions } from './function/reader.js'
import * as tag from './bytes/tag.js'

/** The parts that a serializer works with. */
interface DefaultSerializerOptions {
  /** Analyses functions. */
  readonly analyst: FunctionAnalyst
  /** Loads values that travel by reference. */
  readonly loader: ModuleLoader
  readonly natives: NativeNames
  /** Registered classes, and those that arrive. */
  readonly codecs: ClassCodecs
  /**
   * The identities that are shared between messages. One instance per process; others only in
   * tests.
   */
  readonly identities: Identities
  /** The identities that are known where a message is read; those of the process by default. */
  readonly known?: () => KnownThings
}

/** An attachment as it is stored. */
export interface AttachmentBytes {
  readonly bytes: Uint8Array
  /**
   * Identifies this attachment among all that were ever stored, without keeping the bytes alive.
   */
  readonly token: object
}

/** Functions and values by value. Each message is complete by itself. */
export class DefaultSerializer implements Serializer {
  readonly #writing: WriterTools
  readonly #reading: ReaderTools
  readonly #shipper: FunctionShipper
  readonly #known: () => KnownThings
  /** Read-only attachments, by their tokens. */
  readonly #onlyRead = new WeakMap<object, { readonly value: unknown }>()
  /**
   * Writers not in use at the moment. There may be several: a value can serialize another while it
   * is being written.
   */
  readonly #idle: GraphWriter[] = []

  constructor(options: DefaultSerializerOptions) {
    const { analyst, loader, natives, codecs, identities } = options
    const shipped = new ShippedFunctions()
    const originals = new OriginalMembers(analyst)
    this.#known = options.known ?? (() => identities)
    const instances = new InstanceCodec(
      {
        write: (value, strictness) => this.serializeAs(value, strictness),
        read: (bytes, known) => this.#read(bytes, NO_ATTACHMENTS, known).value,
      },
      codecs,
    )
    this.#writing = {
      analyst,
      natives,
      codecs,
      identities,
      known: this.#known,
      shipped,
      originals,
      codes: new CodeEncoder(),
      shared: new WeakSet(),
      encode: (object, codec, strictness) => instances.encode(object, codec, strictness),
      encodeCodec: (codec) => instances.encodeCodec(codec),
    }
    this.#reading = {
      natives,
      codecs,
      shipped,
      originals,
      loader,
      factories: new FunctionFactories(),
      readCodec: (bytes, known) => instances.read(bytes, known),
      readNested: (bytes) => this.deserialize(bytes),
    }
    this.#shipper = new FunctionShipper({
      write: (value, options) => this.#write(value, options),
      areCertain: (functions) => analyst.settle(functions) === 'certain',
      get version() {
        return analyst.version + codecs.version
      },
    })
  }

  serialize(value: unknown): Uint8Array {
    return this.serializeAs(value, 'strict')
  }

  /**
   * Like `serialize`. `lenient`: replaces parts of the value that cannot travel with a short text.
   */
  serializeAs(value: unknown, strictness: Strictness): Uint8Array {
    if (typeof value === 'function' && strictness === 'strict') {
      return this.#shipper.whole(value as AnyFunction)
    }
    return this.#write(value, { strictness }).bytes
  }

  /** Like `serialize`, for a large value whose pieces are put together by `join`. */
  serializeBy(value: object, join: Join): Uint8Array {
    return memoryToBytes(value, join) ?? this.#write(value, { strictness: 'strict', join }).bytes
  }

  /** Whether the object is a built-in one, which is sent by its name. */
  isNamed(object: object): boolean {
    const { natives } = this.#writing
    natives.refresh()
    return natives.objectNameOf(object) !== undefined
  }

  /** A function, with its large captured values separate. Throws `SerializeError`. */
  serializeFunction(fn: AnyFunction): FunctionMessages {
    return this.#shipper.ship(fn)
  }

  /**
   * Throws `DeserializeError`, and `PendingImport` if it cannot be read until an import has
   * completed.
   */
  deserialize(bytes: Uint8Array): unknown {
    return this.deserializeFor(this.#known(), bytes)
  }

  /** Like `deserialize`, for a certain reader. */
  deserializeFor(known: KnownThings, bytes: Uint8Array): unknown {
    return this.#read(bytes, NO_ATTACHMENTS, known).value
  }

  /** Reads bytes written by `serializeFunction`. Throws the same errors as `deserialize`. */
  deserializeFunction(bytes: Uint8Array, attachments: readonly AttachmentBytes[]): ReadShipment {
    return this.#read(bytes, attachments, this.#known())
  }

  /**
   * The number of attachments that belong to the bytes of a function. Throws `DeserializeError`.
   */
  attachmentCount(bytes: Uint8Array): number {
    if (bytes[0] !== tag.MESSAGE_SHIPMENT) return 0
    return readAttachmentCount(new ByteReader(asBuffer(bytes), 1))
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

  #read(
    bytes: Uint8Array,
    attachments: readonly AttachmentBytes[],
    known: KnownThings,
  ): ReadShipment {
    if (!ArrayBuffer.isView(bytes)) {
      throw new DeserializeError(`expected bytes in a Uint8Array, got ${show(bytes)}`)
    }
    try {
      const buffer = asBuffer(bytes)
      switch (buffer[0]) {
        case tag.MESSAGE_GRAPH:
          return plain(readGraph(new ByteReader(buffer, 1), this.#reading, known))
        case tag.MESSAGE_SHIPMENT: {
          const readAttachment = this.#attachments(attachments, known)
          return readShipment(new ByteReader(buffer, 1), this.#reading, { known, readAttachment })
        }
        default:
          return plain(readMessage(buffer))
      }
    } catch (error) {
      if (error instanceof DeserializeError || error instanceof PendingImport) throw error
      const text = `the bytes are not a value: ${textOf(error)}`
      throw new DeserializeError(text, { cause: error })
    }
  }

  /** Each attachment is read once, on first use; a read-only one is read once for all tasks. */
  #attachments(
    attachments: readonly AttachmentBytes[],
    known: KnownThings,
  ): ReadOptions['readAttachment'] {
    const values = new Map<number, { readonly value: unknown }>()
    return (number, isOnlyRead) => {
      const stored = attachments[number]
      if (stored === undefined) throw new DeserializeError('a captured value is missing')
      const { bytes, token } = stored
      const shared = isOnlyRead ? this.#onlyRead.get(token) : undefined
      const read = values.get(number) ?? shared ?? this.#read(bytes, NO_ATTACHMENTS, known)
      values.set(number, read)
      if (isOnlyRead) this.#onlyRead.set(token, read)
      return read.value
    }
  }
}

const NO_ATTACHMENTS: readonly AttachmentBytes[] = []

function plain(value: unknown): ReadShipment {
  return { value, isSteady: false }
}

/** Values that need no graph: primitives, and single byte arrays. */
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
