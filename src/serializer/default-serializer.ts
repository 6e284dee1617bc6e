// The serializer that is used when the user passes none: functions and standard values, by value.

import { asBuffer } from '../base/bytes.js'
import { DeserializeError } from '../base/errors.js'
import { ByteReader } from './byte-reader.js'
import { FunctionCodec } from './function-codec.js'
import { GraphReader } from './graph-reader.js'
import { GraphWriter, type Strictness } from './graph-writer.js'
import {
  memoryToBytes,
  numberToBytes,
  readMessage,
  tagToBytes,
  textToBytes,
} from './message-codec.js'
import { NativeNames, type AnyFunction } from './native-names.js'
import { ObjectKinds } from './object-kind.js'
import { serializeErrorAt, textOf } from './path.js'
import { Refusal } from './refusal.js'
import type { Serializer } from './serializer.js'
import * as tag from './tag.js'

class DefaultSerializer implements Serializer {
  readonly #functions: FunctionCodec
  readonly #kinds: ObjectKinds
  /** Undefined while it writes: a getter in the value may serialize something itself. */
  #writer: GraphWriter | undefined

  constructor() {
    const natives = new NativeNames()
    this.#functions = new FunctionCodec(natives)
    this.#kinds = new ObjectKinds(natives)
  }

  serialize(value: unknown): Uint8Array {
    return this.serializeAs(value, 'strict')
  }

  serializeAs(value: unknown, strictness: Strictness): Uint8Array {
    switch (typeof value) {
      case 'number':
        return numberToBytes(value)
      case 'string':
        return textToBytes(value)
      case 'undefined':
        return tagToBytes(tag.MESSAGE_UNDEFINED)
      case 'boolean':
        return tagToBytes(value ? tag.MESSAGE_TRUE : tag.MESSAGE_FALSE)
      case 'function':
        return this.#functionToBytes(value as AnyFunction)
      case 'object':
        if (value === null) return tagToBytes(tag.MESSAGE_NULL)
        return memoryToBytes(value) ?? this.#graphToBytes(value, strictness)
      default:
        return this.#graphToBytes(value, strictness)
    }
  }

  deserialize(bytes: Uint8Array): unknown {
    try {
      return this.#read(asBuffer(bytes))
    } catch (error) {
      if (error instanceof DeserializeError) throw error
      const text = `the bytes are not a value: ${textOf(error)}`
      throw new DeserializeError(text, { cause: error })
    }
  }

  #functionToBytes(fn: AnyFunction): Uint8Array {
    const bytes = this.#functions.encode(fn)
    if (bytes instanceof Refusal) throw serializeErrorAt([], bytes.reason)
    return bytes
  }

  #graphToBytes(value: unknown, strictness: Strictness): Uint8Array {
    const writer = this.#writer ?? new GraphWriter(this.#kinds, this.#functions)
    this.#writer = undefined
    try {
      return writer.write(value, strictness)
    } finally {
      this.#writer = writer
    }
  }

  #read(bytes: Buffer): unknown {
    switch (bytes[0]) {
      case tag.MESSAGE_GRAPH:
        return new GraphReader(new ByteReader(bytes, 1), this.#functions).read()
      case tag.MESSAGE_FUNCTION:
        return this.#readFunction(new ByteReader(bytes, 1))
      default:
        return readMessage(bytes)
    }
  }

  #readFunction(reader: ByteReader): AnyFunction {
    const fn = this.#functions.decode(reader)
    if (reader.remaining === 0) return fn
    throw new DeserializeError('the function has too many bytes')
  }
}

const serializer = new DefaultSerializer()

/**
 * Functions and values by value. The same function gives the same `Uint8Array` every time, which
 * nobody may change; all other bytes are the caller's own.
 */
export const defaultSerializer: Serializer = serializer

/** The same, but with a short text in the place of whatever cannot travel inside the value. */
export function serializeLeniently(value: unknown): Uint8Array {
  return serializer.serializeAs(value, 'lenient')
}
