// The anchors that have arrived in this process, and what was said of them last (anchor-table.ts).

import type { Identities } from './identities.js'

/** One state of an anchor; another object for each. */
export interface AnchorState {
  /** Its unit. */
  readonly bytes: Buffer
}

/** Remembers anchors for as long as somebody else does. */
export class AnchorRegistry {
  readonly #identities: Identities
  readonly #states = new WeakMap<object, AnchorState>()
  /** The classes that a value was made with, and in which state. */
  readonly #uses = new WeakMap<object, ReadonlyMap<object, AnchorState>>()

  constructor(identities: Identities) {
    this.#identities = identities
  }

  /** The anchor that is there, or undefined. */
  find(id: string): object | undefined {
    const found = this.#identities.find(id)
    return typeof found === 'symbol' ? undefined : found
  }

  /** Whether this process gave the identity. */
  isOwn(id: string): boolean {
    return this.#identities.isOwn(id)
  }

  /** The state of an anchor; undefined while it changes, and if that went wrong. */
  stateOf(anchor: object): AnchorState | undefined {
    return this.#states.get(anchor)
  }

  /** From now on the object is the anchor, in no state yet. */
  begin(id: string, anchor: object): void {
    this.#states.delete(anchor)
    this.#identities.adopt(id, anchor)
  }

  /** The anchor is complete. */
  complete(anchor: object, bytes: Buffer): void {
    this.#states.set(anchor, { bytes })
  }

  /** The value relies on these classes as they are now. */
  use(value: object, classes: Iterable<object>): void {
    const uses = new Map<object, AnchorState>()
    for (const anchor of classes) {
      const state = this.#states.get(anchor)
      if (state !== undefined) uses.set(anchor, state)
    }
    if (uses.size > 0) this.#uses.set(value, uses)
  }

  /** Whether all classes that the value relies on are as they were. */
  isCurrent(value: object): boolean {
    const uses = this.#uses.get(value)
    if (uses === undefined) return true
    for (const [anchor, state] of uses) if (this.#states.get(anchor) !== state) return false
    return true
  }
}
