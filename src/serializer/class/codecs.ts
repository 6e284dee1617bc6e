// Instances of registered classes, as messages of their own inside a message: what their codec
// makes of them, and the codec itself.

import { bytesToLatin1 } from '../../base/bytes.js'
import { ConfigError, DeserializeError, SerializeError } from '../../base/errors.js'
import { type AnyFunction, isNative, ownValue } from '../module/native.js'
import { PendingImport } from '../module/policy.js'
import {
  refuseCodedCycle,
  refuseDepth,
  serializeErrorAt,
  textOf,
  withPathPrefix,
} from '../refusal.js'
import type { Strictness } from '../value/place.js'
import type { KnownThings } from './registry.js'

// Classes whose instances travel as what their user makes of them: for what only the class itself
// can see or make again. The codec travels with the instances and with the class, so that they can
// come back.

/** How instances of one class travel. */
export interface ClassCodec {
  readonly constructor: AnyFunction
  readonly serialize: (instance: never) => unknown
  readonly deserialize: (value: never) => unknown
}

/** What a user gives. */
export interface ClassCodecOptions<T, V = unknown> {
  /** Any value that can travel and that says all about the instance. */
  readonly serialize: (instance: T) => V
  /** The instance again, from a copy of that value. */
  readonly deserialize: (value: V) => T
}

/** A class, also one whose constructor is not public. */
export type AnyClass<T> = abstract new (...parameters: never[]) => T

/** The registered classes of a process. */
export class ClassCodecs {
  readonly #byPrototype = new WeakMap<object, ClassCodec>()
  /** Prototypes whose codecs came from elsewhere: a later one may replace them. */
  readonly #adopted = new WeakSet<object>()
  #isEmpty = true
  #version = 0

  /** Grows with each class that gets a codec, or another one. */
  get version(): number {
    return this.#version
  }

  /**
   * From now on instances of the class itself travel this way; a class that extends it has to be
   * registered, too. Throws `ConfigError` that names the wrong argument.
   */
  register<T, V>(constructor: AnyClass<T>, options: ClassCodecOptions<T, V>): void {
    const prototype = prototypeOfClass(constructor)
    if (prototype === undefined) {
      throw new ConfigError(`registerClass: the first argument is not a class`)
    }
    if (isNative(constructor as unknown as AnyFunction)) {
      throw new ConfigError(`registerClass: class ${constructor.name} is built in`)
    }
    const { serialize, deserialize } = checkedOptions(options)
    this.#adopted.delete(prototype)
    this.#set(prototype, {
      constructor: constructor as unknown as AnyFunction,
      serialize,
      deserialize,
    })
  }

  /** Takes in a codec that came along with instances, unless the class has one already. */
  adopt(codec: ClassCodec): void {
    const prototype = prototypeOfClass(codec.constructor)
    if (prototype === undefined) return
    if (this.#byPrototype.has(prototype) && !this.#adopted.has(prototype)) return
    this.#adopted.add(prototype)
    this.#set(prototype, codec)
  }

  #set(prototype: object, codec: ClassCodec): void {
    if (this.#byPrototype.get(prototype) === codec) return
    this.#byPrototype.set(prototype, codec)
    this.#isEmpty = false
    this.#version += 1
  }

  /** The codec for instances with this prototype. */
  of(prototype: object): ClassCodec | undefined {
    return this.#isEmpty ? undefined : this.#byPrototype.get(prototype)
  }

  /** The codec of a class itself. */
  ofClass(constructor: AnyFunction): ClassCodec | undefined {
    if (this.#isEmpty) return undefined
    const prototype = prototypeOfClass(constructor)
    return prototype === undefined ? undefined : this.#byPrototype.get(prototype)
  }
}

function prototypeOfClass(constructor: unknown): object | undefined {
  if (typeof constructor !== 'function') return undefined
  const prototype = ownValue(constructor, 'prototype')
  return typeof prototype === 'object' && prototype !== null ? prototype : undefined
}

function checkedOptions(options: unknown): Pick<ClassCodec, 'serialize' | 'deserialize'> {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigError('registerClass: the second argument is not { serialize, deserialize }')
  }
  for (const key of ['serialize', 'deserialize'] as const) {
    if (typeof (options as Record<string, unknown>)[key] === 'function') continue
    throw new ConfigError(`registerClass: ${key} is not a function`)
  }
  return options as Pick<ClassCodec, 'serialize' | 'deserialize'>
}

/** What reads and writes the messages inside. */
interface NestedMessages {
  write(value: unknown, strictness: Strictness): Uint8Array
  read(bytes: Uint8Array, known: KnownThings): unknown
}

/** So deep can instances be inside each other. */
const MAX_DEPTH = 100
/** The most received codecs that are cached by their bytes. The oldest is dropped first. */
const MAX_CODECS = 100

/** An instance of a registered class, as two messages. */
export interface EncodedInstance {
  readonly codec: Uint8Array
  readonly value: Uint8Array
}

/** A codec as it travels. */
interface TravellingCodec {
  readonly constructor: unknown
  readonly serialize: unknown
  readonly deserialize: unknown
}

/** Writes and reads instances of registered classes. */
export class InstanceCodec {
  readonly #messages: NestedMessages
  readonly #codecs: ClassCodecs
  readonly #inProgress = new Set<object>()
  #codecsInProgress = 0
  /** Codecs that arrived, for each reader by their bytes: their classes are its own. */
  readonly #arrived = new WeakMap<KnownThings, Map<string, ClassCodec>>()

  constructor(messages: NestedMessages, codecs: ClassCodecs) {
    this.#messages = messages
    this.#codecs = codecs
  }

  /** Throws `SerializeError`, also for an instance that leads back to itself. */
  encode(object: object, codec: ClassCodec, strictness: Strictness): EncodedInstance {
    const name = nameOf(codec.constructor)
    if (this.#inProgress.has(object)) throw serializeErrorAt([], refuseCodedCycle(name).reason)
    if (this.#inProgress.size >= MAX_DEPTH) {
      throw serializeErrorAt([], refuseDepth(`an instance of ${name}`).reason)
    }
    this.#inProgress.add(object)
    try {
      const content = serialized(object, codec)
      const value = this.#write(content, strictness, `what serialize returns for ${name}`)
      return { codec: this.#writeCodec(codec), value }
    } finally {
      this.#inProgress.delete(object)
    }
  }

  /**
   * The codec for a class that travels: its instances may come back. Undefined inside of any codec,
   * for those that use each other would go round and round, and for one that cannot travel: then
   * its instances are refused.
   */
  encodeCodec(codec: ClassCodec): Uint8Array | undefined {
    if (this.#codecsInProgress > 0) return undefined
    try {
      return this.#writeCodec(codec)
    } catch (error) {
      if (error instanceof SerializeError) return undefined
      throw error
    }
  }

  #writeCodec(codec: ClassCodec): Uint8Array {
    const { constructor, serialize, deserialize } = codec
    const travelling: TravellingCodec = { constructor, serialize, deserialize }
    this.#codecsInProgress += 1
    try {
      return this.#write(travelling, 'strict', `the codec of ${nameOf(constructor)}`)
    } finally {
      this.#codecsInProgress -= 1
    }
  }

  #write(value: unknown, strictness: Strictness, step: string): Uint8Array {
    try {
      return this.#messages.write(value, strictness)
    } catch (error) {
      throw withPathPrefix(error, [step])
    }
  }

  /** The codec in a message. The class has it from now on, too. Throws `DeserializeError`. */
  read(bytes: Uint8Array, known: KnownThings): ClassCodec {
    const key = bytesToLatin1(bytes)
    let arrived = this.#arrived.get(known)
    if (arrived === undefined) this.#arrived.set(known, (arrived = new Map<string, ClassCodec>()))
    let codec = arrived.get(key)
    if (codec === undefined) {
      codec = checked(this.#messages.read(bytes, known))
      arrived.set(key, codec)
      if (arrived.size > MAX_CODECS) {
        for (const oldest of arrived.keys()) {
          arrived.delete(oldest)
          break
        }
      }
    }
    this.#codecs.adopt(codec)
    return codec
  }
}

function serialized(object: object, { constructor, serialize }: ClassCodec): unknown {
  try {
    return serialize(object as never)
  } catch (error) {
    // Who says so himself is not spoken for.
    if (error instanceof SerializeError) throw error
    const reason = `serialize, as registered for ${nameOf(constructor)}, failed: ${textOf(error)}`
    throw serializeErrorAt([], reason, error)
  }
}

/**
 * The instance that `deserialize` makes of a value. Throws `DeserializeError` that names the class
 * if it fails, and `PendingImport`.
 */
export function deserialized({ constructor, deserialize }: ClassCodec, value: unknown): object {
  const what = `deserialize, as registered for ${nameOf(constructor)},`
  let instance: unknown
  try {
    instance = deserialize(value as never)
  } catch (error) {
    if (error instanceof PendingImport || error instanceof DeserializeError) throw error
    throw new DeserializeError(`${what} failed: ${textOf(error)}`, { cause: error })
  }
  if (typeof instance === 'object' && instance !== null) return instance
  if (typeof instance === 'function') return instance
  throw new DeserializeError(`${what} returned no object, but ${String(instance)}`)
}

function nameOf(constructor: AnyFunction): string {
  return String(ownValue(constructor, 'name'))
}

function checked(value: unknown): ClassCodec {
  const { constructor, serialize, deserialize } = (value ?? {}) as TravellingCodec
  if (
    typeof constructor === 'function' &&
    typeof serialize === 'function' &&
    typeof deserialize === 'function'
  ) {
    return {
      constructor: constructor as AnyFunction,
      serialize: serialize as ClassCodec['serialize'],
      deserialize: deserialize as ClassCodec['deserialize'],
    }
  }
  throw new DeserializeError('a registered class came without its functions')
}
