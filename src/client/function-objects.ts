// Functions as the objects that the scheduler stores. The serializer gives the same bytes for the
// same function for as long as nothing it captured has changed: then there is nothing to do
// again.

import type { Serializer } from '../serializer/serializer.js'
import type { StoredValue } from '../core/client/events.js'
import { functionName } from '../wire/object-content.js'
import type { ObjectIds } from './ids.js'

/** Any function. */
export type AnyFunction = (...args: never[]) => unknown

/** The functions of one client, by their bytes. */
export class FunctionObjects {
  readonly #serializer: Serializer
  readonly #ids: ObjectIds
  readonly #known = new WeakMap<Uint8Array, StoredValue>()

  constructor(serializer: Serializer, ids: ObjectIds) {
    this.#serializer = serializer
    this.#ids = ids
  }

  /** The object for a function as it is now. Throws `SerializeError`. */
  of(fn: AnyFunction): StoredValue {
    const content = this.#serializer.serialize(fn)
    const known = this.#known.get(content)
    if (known !== undefined) return known
    const id = this.#ids.of(content)
    const stored = { id, name: functionName(nameOf(fn), id), content }
    this.#known.set(content, stored)
    return stored
  }
}

/** A function's `name` can be anything: it is a property like others. */
function nameOf(fn: AnyFunction): string {
  const { name }: { readonly name: unknown } = fn
  return typeof name === 'string' ? name : ''
}
