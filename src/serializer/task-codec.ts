// The parts of a task as bytes: its function, its arguments, its result. Uses the default
// serializer, or the user's own, which then travels to the workers itself. Separate from both:
// client and worker need more methods than a `Serializer` has, and must not trust the user's.

import { types } from 'node:util'
import { totalBytes } from '../base/bytes.js'
import { DeserializeError, SerializeError } from '../base/errors.js'
import { type Join, joined } from './bytes/message.js'
import type { AttachmentBytes } from './default-serializer.js'
import type { CostlyCapture } from './function/shipper.js'
import type { ReadShipment } from './value/message.js'
import {
  defaultSerializer,
  deserializeForAll,
  processSerializer,
  type Serializer,
} from './serializer.js'
import type { AnyFunction } from './module/native.js'
import { textOf, withPathPrefix } from './refusal.js'

/** A function as it travels. The bytes must not be modified. */
export interface ShippedFunction {
  readonly bytes: Uint8Array
  /** Large captured values, each as a separate object. */
  readonly attachments: readonly Uint8Array[]
  /** Values that each task has to create anew, although that takes time. */
  readonly costly?: CostlyCapture | undefined
}

/** Turns functions into bytes and back. */
export interface FunctionSerializer {
  /**
   * The function as it is now. If it has not changed, the same arrays may be returned again. Throws
   * `SerializeError`.
   */
  serializeFunction(fn: AnyFunction): ShippedFunction
  /** The function, or any other value in the bytes. Throws `DeserializeError`, `PendingImport`. */
  deserializeFunction(bytes: Uint8Array, attachments: readonly AttachmentBytes[]): ReadShipment
  /**
   * The number of attachments that belong to the bytes of a function. Throws `DeserializeError`.
   */
  attachmentCount(bytes: Uint8Array): number
}

/** Everything that a task needs. It throws the errors named above, and no others. */
export interface TaskCodec extends Serializer, FunctionSerializer {
  /** Like `serialize`, for a large value whose pieces are put together by `join`. */
  readonly serializeBy?: ((value: object, join: Join) => Uint8Array) | undefined
  /**
   * Whether the object is a built-in one, which is sent by its name. Undefined: only the serializer
   * knows how values are sent.
   */
  readonly isNamed?: ((object: object) => boolean) | undefined
}

/** Bytes that are elsewhere. */
export interface MovedBytes {
  /** Says where. */
  readonly chunk: Uint8Array
  readonly byteLength: number
}

/**
 * A large value as bytes, which `put` writes elsewhere, straight from the memory of the value; here
 * if it returns undefined. Throws what the codec throws.
 */
export function serializeTo(
  codec: TaskCodec,
  value: object,
  put: (pieces: readonly Uint8Array[]) => Uint8Array | undefined,
): Uint8Array | MovedBytes {
  let moved: MovedBytes | undefined
  const bytes = codec.serializeBy?.(value, (pieces) => {
    const chunk = put(pieces)
    if (chunk === undefined) return joined(pieces)
    moved = { chunk, byteLength: totalBytes(pieces) }
    return chunk
  })
  return moved ?? bytes ?? codec.serialize(value)
}

/** The content of the serializer object of a client that uses the default serializer. */
export const DEFAULT_SERIALIZER_CONTENT = 'scaler-ts/default'

const NO_ATTACHMENTS: readonly Uint8Array[] = []

class DefaultCodec implements TaskCodec {
  serialize(value: unknown): Uint8Array {
    return processSerializer.serialize(value)
  }

  deserialize(bytes: Uint8Array): unknown {
    return processSerializer.deserialize(bytes)
  }

  serializeFunction(fn: AnyFunction): ShippedFunction {
    return processSerializer.serializeFunction(fn)
  }

  deserializeFunction(bytes: Uint8Array, attachments: readonly AttachmentBytes[]): ReadShipment {
    return processSerializer.deserializeFunction(bytes, attachments)
  }

  attachmentCount(bytes: Uint8Array): number {
    return processSerializer.attachmentCount(bytes)
  }

  serializeBy(value: object, join: Join): Uint8Array {
    return processSerializer.serializeBy(value, join)
  }

  isNamed(object: object): boolean {
    return processSerializer.isNamed(object)
  }
}

/** The user's serializer. Its failures become errors that name it as the source. */
class CustomCodec implements TaskCodec {
  readonly #serializer: Serializer

  constructor(serializer: Serializer) {
    this.#serializer = serializer
  }

  serialize(value: unknown): Uint8Array {
    let bytes: unknown
    try {
      bytes = this.#serializer.serialize(value)
    } catch (error) {
      if (error instanceof SerializeError) throw error
      throw new SerializeError(`the client's serializer failed: ${textOf(error)}`, { cause: error })
    }
    // A copy: the serializer may reuse its buffer for the next value.
    if (types.isUint8Array(bytes)) return new Uint8Array(bytes)
    const text = `the client's serializer returned ${kindOf(bytes)} instead of a Uint8Array`
    throw new SerializeError(text)
  }

  /** The serializer gets a copy: its result may be a view, which must not reach the next task. */
  deserialize(bytes: Uint8Array): unknown {
    try {
      return this.#serializer.deserialize(new Uint8Array(bytes))
    } catch (error) {
      if (error instanceof DeserializeError) throw error
      const text = `the client's serializer failed: ${textOf(error)}`
      throw new DeserializeError(text, { cause: error })
    }
  }

  serializeFunction(fn: AnyFunction): ShippedFunction {
    return { bytes: this.serialize(fn), attachments: NO_ATTACHMENTS }
  }

  /** Its values are created for each task: it is unknown what else refers to them. */
  deserializeFunction(bytes: Uint8Array): ReadShipment {
    return { value: this.deserialize(bytes), isSteady: false }
  }

  attachmentCount(): number {
    return 0
  }
}

/** The default serializer. */
export const defaultCodec: TaskCodec = new DefaultCodec()

/** The codec for a client with this serializer. */
export function codecOf(serializer: Serializer): TaskCodec {
  return serializer === defaultSerializer ? defaultCodec : new CustomCodec(serializer)
}

/**
 * The content of the serializer object of a client: a text for the default one; any other
 * serializer is written by the default one. Throws `SerializeError` whose path begins with
 * `serializer`.
 */
export function serializerContent(serializer: Serializer): Uint8Array {
  if (serializer === defaultSerializer) return Buffer.from(DEFAULT_SERIALIZER_CONTENT)
  try {
    return defaultSerializer.serialize(serializer)
  } catch (error) {
    const { message, path, cause } = withPathPrefix(error, ['serializer'])
    const text = `${message} (the client's serializer travels to the workers, like any function)`
    throw new SerializeError(text, { path, cause })
  }
}

/**
 * The serializer described by the content of a serializer object. Throws `DeserializeError`, and
 * the errors of the default serializer that reads it.
 */
export function codecFrom(content: Uint8Array): TaskCodec {
  if (Buffer.from(content).toString('latin1') === DEFAULT_SERIALIZER_CONTENT) return defaultCodec
  const serializer = deserializeForAll(content)
  if (isSerializer(serializer)) return codecOf(serializer)
  const text = `the client's serializer arrived as ${kindOf(serializer)} without its two methods`
  throw new DeserializeError(text)
}

/** Whether a value has the methods of a serializer; it may be a class with two static methods. */
export function isSerializer(value: unknown): value is Serializer {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  const { serialize, deserialize } = value as Partial<Record<keyof Serializer, unknown>>
  return typeof serialize === 'function' && typeof deserialize === 'function'
}

/** The kind of a value, in two words: `a string`, `undefined`, `a Promise`. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return withArticle(typeof value)
  // `[object Promise]`: reads nothing but a tag from the value.
  return withArticle(Object.prototype.toString.call(value).slice('[object '.length, -1))
}

function withArticle(name: string): string {
  return `${/^[aeio]/i.test(name) ? 'an' : 'a'} ${name}`
}
