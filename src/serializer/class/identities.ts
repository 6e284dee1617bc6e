// What is one thing wherever it travels, and must be recognised when it comes again: classes,
// symbols and a few more. An identity is a random word for the process that gave it, and a number.

import { randomBytes } from 'node:crypto'

/** What can have an identity. */
export type Identified = object | symbol

/** So long is the random word: for as many processes as there will ever be. */
const ORIGIN_BYTES = 12

/** The identities that one process has given or met. */
export class Identities {
  /** The random word of this process. */
  readonly #origin = `${randomBytes(ORIGIN_BYTES).toString('base64url')}.`
  #count = 0
  /**
   * Whether classes that came from elsewhere are sent on under the identity that they came with: a
   * worker's copies are those of its client. A client's copies are its own, which it may change.
   */
  keepsForeign = true
  readonly #ids = new WeakMap<object, string>()
  readonly #things = new Map<string, WeakRef<object>>()
  readonly #lost = new FinalizationRegistry<string>((id) => this.#forget(id))

  /** The identity of a thing, always the same. One that has none gets one of this process. */
  idOf(thing: Identified): string {
    const key = keyOf(thing)
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    this.#count += 1
    const id = this.#origin + this.#count.toString(36)
    this.adopt(id, thing)
    return id
  }

  /** Gives a thing that may have one already an identity of its own. */
  renew(thing: Identified): string {
    this.#ids.delete(keyOf(thing))
    return this.idOf(thing)
  }

  /** The thing that has the identity, if it is still there. */
  find(id: string): Identified | undefined {
    return this.#things.get(id)?.deref()
  }

  /** Whether this process gave the identity. */
  isOwn(id: string): boolean {
    return id.startsWith(this.#origin)
  }

  /** From now on the thing is what `id` means. */
  adopt(id: string, thing: Identified): void {
    const key = keyOf(thing)
    if (this.#ids.get(key) === id && this.#things.get(id)?.deref() === key) return
    this.#ids.set(key, id)
    this.#things.set(id, new WeakRef(key))
    this.#lost.register(key, id)
  }

  #forget(id: string): void {
    if (this.#things.get(id)?.deref() === undefined) this.#things.delete(id)
  }
}

/** Symbols can be held weakly, too, but for those of `Symbol.for`; the types do not know it. */
function keyOf(thing: Identified): object {
  return thing as object
}
