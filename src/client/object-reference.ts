// What `sendObject` returns: a value that is stored in the cluster, to be used as an argument.

import { inspect } from 'node:util'
import { idToHex, type ObjectId } from '../base/ids.js'

/** Whoever keeps the objects of one client. */
export interface ObjectKeeper {
  /** Whether the object of this reference is (still) there. */
  has(reference: ObjectReference<unknown>): boolean
  /** The reference is used no longer. */
  release(reference: ObjectReference<unknown>): void
}

/** What a reference is about. */
export interface ObjectReferenceSetup {
  readonly keeper: ObjectKeeper
  readonly objectId: ObjectId
  readonly name: string
  readonly sizeBytes: number
}

/**
 * A value in the cluster. It takes the place of the value as an argument of `submit`, as an input
 * of `map` or `starmap` and in graphs. The value is deleted once the reference was released or
 * collected as garbage and no task needs it. Belongs to its client.
 */
export class ObjectReference<T> implements Disposable {
  /** For the compiler alone: there is no such property. @internal */
  declare readonly valueType?: T
  readonly #setup: ObjectReferenceSetup

  static {
    // What `console.log` shows.
    const value = function (this: ObjectReference<unknown>): string {
      return this.toString()
    }
    Object.defineProperty(this.prototype, inspect.custom, { value })
  }

  /** References are made by `sendObject`. @internal */
  constructor(setup: ObjectReferenceSetup) {
    this.#setup = setup
  }

  /** The inside of a reference, for the library alone. @internal */
  static setupOf(reference: ObjectReference<unknown>): ObjectReferenceSetup {
    return reference.#setup
  }

  /** The id of the object, in hex. Equal values have the same one. */
  get id(): string {
    return idToHex(this.#setup.objectId)
  }

  /** As given; '' without one. */
  get name(): string {
    return this.#setup.name
  }

  /** What the serialized value takes, in bytes. */
  get sizeBytes(): number {
    return this.#setup.sizeBytes
  }

  /**
   * The value is not needed any more. Tasks that were submitted with it get it; later ones fail
   * with `MissingObjectError`. May be called again.
   */
  release(): void {
    this.#setup.keeper.release(this)
  }

  /** As `release`. */
  [Symbol.dispose](): void {
    this.release()
  }

  /** For people: the name or the id, and the size. */
  toString(): string {
    const { name, sizeBytes } = this.#setup
    return `ObjectReference { ${name === '' ? this.id : name}, ${sizeBytes} bytes }`
  }
}
