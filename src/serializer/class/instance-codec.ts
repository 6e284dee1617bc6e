// Instances of registered classes, as messages of their own inside a message: what their codec
// makes of them, and the codec itself.

import { bytesToLatin1 } from '../../base/bytes.js'
import { DeserializeError } from '../../base/errors.js'
import { ownValue, type AnyFunction } from '../native-names.js'
import { refuseCodedCycle, refuseDepth } from '../refusal.js'
import { serializeErrorAt } from '../path.js'
import type { EncodedInstance } from '../unit-context.js'
import type { Strictness } from '../value-sink.js'
import type { ClassCodec, ClassCodecs } from './class-codecs.js'

/** What reads and writes the messages inside. */
export interface NestedMessages {
  write(value: unknown, strictness: Strictness): Uint8Array
  read(bytes: Uint8Array): unknown
  /** Whether the classes that a value was made with are as they were. */
  isCurrent(value: object): boolean
}

/** So deep can instances be inside each other. */
const MAX_DEPTH = 100
/** So many codecs that arrived are known by their bytes. The oldest goes first. */
const MAX_CODECS = 100

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
  readonly #arrived = new Map<string, { readonly root: object; readonly codec: ClassCodec }>()

  constructor(messages: NestedMessages, codecs: ClassCodecs) {
    this.#messages = messages
    this.#codecs = codecs
  }

  /** Throws `SerializeError`, also for an instance that leads back to itself. */
  encode(object: object, codec: ClassCodec, strictness: Strictness): EncodedInstance {
    const name = String(ownValue(codec.constructor, 'name'))
    if (this.#inProgress.has(object)) throw serializeErrorAt([], refuseCodedCycle(name).reason)
    if (this.#inProgress.size >= MAX_DEPTH) {
      throw serializeErrorAt([], refuseDepth(`an instance of ${name}`).reason)
    }
    this.#inProgress.add(object)
    try {
      const { constructor, serialize, deserialize } = codec
      const value = this.#messages.write(serialize(object as never), strictness)
      const travelling: TravellingCodec = { constructor, serialize, deserialize }
      return { codec: this.#messages.write(travelling, 'strict'), value }
    } finally {
      this.#inProgress.delete(object)
    }
  }

  /** The codec in a message. The class has it from now on, too. Throws `DeserializeError`. */
  read(bytes: Uint8Array): ClassCodec {
    const key = bytesToLatin1(bytes)
    const known = this.#arrived.get(key)
    if (known !== undefined && this.#messages.isCurrent(known.root)) {
      this.#codecs.adopt(known.codec)
      return known.codec
    }
    const root = this.#messages.read(bytes)
    const codec = checked(root)
    this.#codecs.adopt(codec)
    this.#arrived.set(key, { root: root as object, codec })
    if (this.#arrived.size > MAX_CODECS) {
      for (const oldest of this.#arrived.keys()) {
        this.#arrived.delete(oldest)
        break
      }
    }
    return codec
  }
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
