// The names by which other clients find objects of this one, and what the scheduler knows of them.
// docs/protocol.md#shared

import { assert } from '../../base/assert.js'
import type { ObjectId } from '../../base/ids.js'

/** A name of an object. */
interface OwnName {
  /** The scheduler has never confirmed it: the name is taken from any other object. */
  isNew: boolean
  /** Whether it was sent over this connection. */
  isSent: boolean
}

/** An object that may have names. */
export interface NamedObject {
  readonly value: { readonly id: ObjectId }
  /** How often it was pinned. */
  pins: number
  /** Undefined: it never had one. */
  names: Map<string, OwnName> | undefined
  /** One of the pins is there until the scheduler has it under its name. */
  isPublishing: boolean
}

/** The names of one client's objects. */
export class OwnNames<T extends NamedObject> {
  readonly #byName = new Map<string, T>()
  /** Those that have, or had, a name: others may hold them. */
  readonly objects: Set<T> = new Set()
  readonly #unpin: (id: ObjectId) => void

  constructor(unpin: (id: ObjectId) => void) {
    this.#unpin = unpin
  }

  /** Names an object, which stays pinned until that is confirmed. */
  give(object: T, name: string): void {
    this.#forget(name)
    this.objects.add(object)
    object.names ??= new Map()
    object.names.set(name, { isNew: true, isSent: false })
    this.#byName.set(name, object)
    if (object.isPublishing) return
    object.isPublishing = true
    object.pins += 1
  }

  /** The names of a stored object that must be sent now, and whether they are new. */
  take({ names }: T): (readonly [name: string, isNew: boolean])[] {
    const taken: [string, boolean][] = []
    for (const [name, state] of names ?? []) {
      if (state.isSent) continue
      state.isSent = true
      taken.push([name, state.isNew])
    }
    return taken
  }

  /** Whether an object of this client is to get this name, and has not got it. */
  isNew(name: string): boolean {
    return this.#byName.get(name)?.names?.get(name)?.isNew === true
  }

  /** The scheduler has answered: the object has the name, or is not stored. */
  onPublished(name: string, id: ObjectId, isStored: boolean): void {
    const object = this.#byName.get(name)
    const state = object?.names?.get(name)
    if (object === undefined || state === undefined || object.value.id !== id) return
    if (isStored) state.isNew = false
    else state.isSent = false
    if (!isStored || !hasNewName(object)) this.#endPublishing(object)
  }

  /** Another object has the name, or none: unless this one is about to get it. */
  onWithdrawn(name: string, id: ObjectId): void {
    if (this.#byName.get(name)?.value.id === id && !this.isNew(name)) this.#forget(name)
  }

  /** These objects, or all on a new connection, are sent again. */
  forgetSent(objects: Iterable<T> = this.objects): void {
    for (const { names } of objects) {
      for (const state of names?.values() ?? []) state.isSent = false
    }
  }

  /** The scheduler knows no names. */
  giveUp(): void {
    for (const object of this.objects) this.#endPublishing(object)
  }

  /** Those that the scheduler may not have under their names. */
  get unpublished(): readonly T[] {
    return [...this.objects].filter(({ isPublishing }) => isPublishing)
  }

  /** The object is deleted. */
  drop(object: T): void {
    this.objects.delete(object)
    for (const name of object.names?.keys() ?? []) this.#byName.delete(name)
  }

  /** Throws if the tables disagree. `isThere`: whether an object has not been deleted. */
  checkInvariants(isThere: (object: T) => boolean): void {
    for (const [name, object] of this.#byName) {
      const isNamed = object.names?.has(name) === true && isThere(object)
      assert(isNamed, 'a name stands for the wrong object')
    }
    for (const { isPublishing, pins } of this.objects) {
      assert(!isPublishing || pins > 0, 'an object is published that is not pinned')
    }
  }

  #forget(name: string): void {
    const object = this.#byName.get(name)
    if (object === undefined) return
    this.#byName.delete(name)
    object.names?.delete(name)
    if (!hasNewName(object)) this.#endPublishing(object)
  }

  #endPublishing(object: T): void {
    if (!object.isPublishing) return
    object.isPublishing = false
    this.#unpin(object.value.id)
  }
}

function hasNewName({ names }: NamedObject): boolean {
  return [...(names?.values() ?? [])].some(({ isNew }) => isNew)
}
