// The references of one client: which are valid, and when their objects can go.

import { ClientClosedError, ConfigError } from '../base/errors.js'
import { checkNames } from '../base/option-table.js'
import type { ObjectId } from '../base/ids.js'
import { withPathPrefix } from '../serializer/path.js'
import { argumentName } from '../wire/object-content.js'
import type { ClientConnection } from './client-connection.js'
import { ObjectReference, type ObjectKeeper } from './object-reference.js'

/** How an object is stored. */
export interface SendObjectOptions {
  /** For monitors. At most 1,000 characters. Default: made from its id. */
  readonly name?: string | undefined
}

/** What is known of a reference apart from it, as it may be garbage by then. */
interface Pin {
  readonly objectId: ObjectId
  isValid: boolean
}

const NAMES: Record<keyof SendObjectOptions, true> = { name: true }
const MAX_NAME_LENGTH = 1_000

/** The references of one client. */
export class ObjectReferences implements ObjectKeeper {
  readonly #connection: ClientConnection
  readonly #pins = new WeakMap<ObjectReference<unknown>, Pin>()
  /** Valid pins. */
  readonly #valid = new Set<Pin>()
  readonly #registry: FinalizationRegistry<Pin>

  constructor(connection: ClientConnection) {
    this.#connection = connection
    this.#registry = new FinalizationRegistry((pin) => this.#unpin(pin))
  }

  /** Stores a value. Throws `SerializeError`, `ClientClosedError`, `ConfigError`. */
  send(value: unknown, options: SendObjectOptions): ObjectReference<unknown> {
    const name = checkOptions(options)
    if (this.#connection.isClosed) throw new ClientClosedError()
    const { serializer, objectIds } = this.#connection
    const content = serialize(value, serializer)
    const objectId = objectIds.of(content)
    const stored = { id: objectId, name: argumentName(name, objectId), content }
    this.#connection.request({ type: 'objectPinned', value: stored })
    const { byteLength: sizeBytes } = content
    const reference = new ObjectReference({ keeper: this, objectId, name, sizeBytes })
    const pin = { objectId, isValid: true }
    this.#pins.set(reference, pin)
    this.#valid.add(pin)
    this.#registry.register(reference, pin, pin)
    return reference
  }

  has(reference: ObjectReference<unknown>): boolean {
    return this.#pins.get(reference)?.isValid === true
  }

  release(reference: ObjectReference<unknown>): void {
    const pin = this.#pins.get(reference)
    if (pin === undefined) return
    this.#registry.unregister(pin)
    this.#unpin(pin)
  }

  /** All objects are gone: no reference is valid. */
  clear(): void {
    for (const pin of this.#valid) pin.isValid = false
    this.#valid.clear()
  }

  #unpin(pin: Pin): void {
    if (!this.#valid.delete(pin)) return
    pin.isValid = false
    this.#connection.request({ type: 'objectUnpinned', id: pin.objectId })
  }
}

function serialize(value: unknown, serializer: ClientConnection['serializer']): Uint8Array {
  serializer.check()
  try {
    return serializer.codec.serialize(value)
  } catch (error) {
    throw withPathPrefix(error, ['object'])
  }
}

function checkOptions(options: SendObjectOptions): string {
  checkNames('sendObject', NAMES, options)
  const { name = '' } = options
  if (typeof name === 'string' && name.length <= MAX_NAME_LENGTH) return name
  throw new ConfigError(`option name: expected a text of at most ${MAX_NAME_LENGTH} characters`)
}
