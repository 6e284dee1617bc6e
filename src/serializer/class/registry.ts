// What is one thing wherever it travels, and must be recognised when it comes again: classes,
// symbols and a few more. An identity is a random word for the process that gave it, and a number.
//
// A client has one copy of what came from elsewhere for as long as somebody holds it. On a worker
// each task has copies of its own (`TaskIdentities`), so that no task sees what another did to a
// class. Symbols cannot be changed, so there is one of each in a process.

import { randomBytes } from 'node:crypto'
import { SharedRegistry } from '../../base/finalization.js'

/** What can have an identity. */
type Identified = object | symbol

/** The length of the random word: enough for any number of processes. */
const ORIGIN_BYTES = 12

/** What is known by its identity to whoever reads and writes: a process, or a task in it. */
export interface KnownThings {
  /**
   * Whether classes that came from elsewhere are sent on under the identity that they came with: a
   * worker's copies are those of its client. A client's copies are its own, which it may change.
   */
  readonly keepsForeign: boolean
  /** The identity of a thing, always the same. One that has none gets one of this process. */
  idOf(thing: Identified): string
  /** Gives a thing that may have one already an identity of its own. */
  renew(thing: Identified): string
  /** Whether this process gave the identity. */
  isOwnId(id: string): boolean
  /** The thing that has the identity, if it is there. */
  find(id: string): Identified | undefined
  /** From now on the thing is what `id` means. */
  adopt(id: string, thing: Identified): void
  /** The identity means nothing any more: what it meant was never finished. */
  forget(id: string): void
  /** The same for what a class holds on to, as long as all that arrives is of one moment. */
  findPart(id: string): object | undefined
  adoptPart(id: string, part: object): void
}

/** The identities that one process has given or met. */
export class Identities implements KnownThings {
  /** The random word of this process. */
  readonly #origin = `${randomBytes(ORIGIN_BYTES).toString('base64url')}.`
  #count = 0
  keepsForeign = true
  readonly #ids = new WeakMap<object, string>()
  readonly #things = new Map<string, WeakRef<object>>()
  readonly #lost = new SharedRegistry<string>((id) => this.#release(id))

  idOf(thing: Identified): string {
    const key = keyOf(thing)
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    this.#count += 1
    const id = this.#origin + this.#count.toString(36)
    this.adopt(id, thing)
    return id
  }

  renew(thing: Identified): string {
    this.#ids.delete(keyOf(thing))
    return this.idOf(thing)
  }

  find(id: string): Identified | undefined {
    return this.#things.get(id)?.deref()
  }

  isOwnId(id: string): boolean {
    return id.startsWith(this.#origin)
  }

  adopt(id: string, thing: Identified): void {
    const key = keyOf(thing)
    if (this.#ids.get(key) === id && this.#things.get(id)?.deref() === key) return
    this.#ids.set(key, id)
    this.#things.set(id, new WeakRef(key))
    this.#lost.register(key, id)
  }

  forget(id: string): void {
    this.#things.delete(id)
  }

  findPart(): undefined {
    return undefined
  }

  adoptPart(): void {}

  /** The thing is sent on under this identity, which may mean something else to other readers. */
  note(id: string, thing: object): void {
    this.#ids.set(thing, id)
  }

  #release(id: string): void {
    if (this.#things.get(id)?.deref() === undefined) this.#things.delete(id)
  }
}

/**
 * What one task knows by an identity: what has arrived for it, and what it has sent itself. Another
 * task of the same process has other copies, also of a class that was made in this process.
 */
export class TaskIdentities implements KnownThings {
  readonly keepsForeign = true
  readonly #process: Identities
  readonly #things = new Map<string, object>()
  /** Until the task begins: what classes hold on to. */
  #parts: Map<string, object> | undefined

  constructor(process: Identities) {
    this.#process = process
    this.#parts = new Map()
  }

  idOf(thing: Identified): string {
    return this.#noted(thing, this.#process.idOf(thing))
  }

  renew(thing: Identified): string {
    return this.#noted(thing, this.#process.renew(thing))
  }

  isOwnId(id: string): boolean {
    return this.#process.isOwnId(id)
  }

  find(id: string): Identified | undefined {
    const own = this.#things.get(id)
    if (own !== undefined) return own
    const found = this.#process.find(id)
    return typeof found === 'symbol' || !this.#process.isOwnId(id) ? found : undefined
  }

  adopt(id: string, thing: Identified): void {
    if (typeof thing === 'symbol') {
      this.#process.adopt(id, thing)
      return
    }
    this.#things.set(id, thing)
    this.#process.note(id, thing)
  }

  forget(id: string): void {
    this.#things.delete(id)
    this.#parts?.delete(id)
  }

  findPart(id: string): object | undefined {
    return this.#parts?.get(id)
  }

  adoptPart(id: string, part: object): void {
    this.#parts?.set(id, part)
  }

  /** The task begins: what arrives later is of another moment. */
  begin(): void {
    this.#parts = undefined
  }

  #noted(thing: Identified, id: string): string {
    if (typeof thing !== 'symbol') this.#things.set(id, thing)
    return id
  }
}

/** Symbols can be held weakly, too, but for those of `Symbol.for`; the types do not know it. */
function keyOf(thing: Identified): object {
  return thing as object
}
