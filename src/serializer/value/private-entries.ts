// What compilers make of `#private` fields: a WeakMap for each field, with the instances as keys.
// The stores themselves are one thing everywhere; of what they hold, that travels whose keys do.

import type { Unit } from './unit.js'

/** A private store of a compiler, for a private name. */
export type PrivateStore = WeakMap<object, unknown> | WeakSet<object>

/** The stores of one message. */
export class PrivateEntries {
  /** How many objects of each unit were looked for in each store. */
  readonly #stores = new Map<PrivateStore, Map<Unit, number>>()

  /** Whether there are any. */
  get isEmpty(): boolean {
    return this.#stores.size === 0
  }

  add(store: PrivateStore): void {
    if (!this.#stores.has(store)) this.#stores.set(store, new Map())
  }

  /**
   * Appends what the stores hold about objects of the unit that were not looked for yet. `isOwn`:
   * whether an object is the unit's, and not only known to it. Returns false if there were none.
   */
  write(unit: Unit, isOwn: (object: object) => boolean): boolean {
    let isNew = false
    for (const [store, looked] of this.#stores) {
      const from = looked.get(unit) ?? 0
      if (from === unit.numbers.size) continue
      isNew = true
      looked.set(unit, unit.numbers.size)
      let index = 0
      // A copy: entries bring more.
      for (const object of Array.from(unit.numbers.all)) {
        if (index >= from && isOwn(object)) writeEntry(unit, store, object)
        index += 1
      }
    }
    return isNew
  }
}

function writeEntry(unit: Unit, store: PrivateStore, object: object): void {
  if (store instanceof WeakSet) {
    if (WeakSet.prototype.has.call(store, object)) unit.privateEntry(store, object, undefined)
  } else if (WeakMap.prototype.has.call(store, object)) {
    unit.privateEntry(store, object, WeakMap.prototype.get.call(store, object))
  }
}
