// The serializer ids of the clients whose tasks come: each costs a hash, and most tasks come from
// few clients.

import type { Identity, ObjectId } from '../../base/ids.js'

/** More clients than a worker usually sees; the ids of all of them are forgotten together. */
const MAX_CLIENTS = 1000

/** Remembers a pure function of clients' identities. */
export class SerializerIds {
  readonly #idOf: (source: Identity) => ObjectId
  readonly #known = new Map<Identity, ObjectId>()

  constructor(idOf: (source: Identity) => ObjectId) {
    this.#idOf = idOf
  }

  /** The id of the serializer object of a client. */
  of(source: Identity): ObjectId {
    const known = this.#known.get(source)
    if (known !== undefined) return known
    const id = this.#idOf(source)
    if (this.#known.size >= MAX_CLIENTS) this.#known.clear()
    this.#known.set(source, id)
    return id
  }
}
