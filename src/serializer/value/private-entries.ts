// What compilers write for `#private` fields: a WeakMap for each field, with the instances as keys.
// The stores themselves have one identity everywhere; only entries whose keys are sent are sent.

import type { Unit } from './unit.js'

/** A compiler's private store, for a private name. */
export type PrivateStore = WeakMap<object, unknown> | WeakSet<object>

/** The stores of one message. */
export class PrivateEntries {
  /** How many objects of each unit were looked up in each store. */
  readonly #stores = new Map<PrivateStore, Map<Unit, number>>()

  /** Whether there are any. */
  get isEmpty(): boolean {
    return this.#stores.size === 0
  }

  add(store: PrivateStore): void {
    if (!this.#stores.has(store)) this.#stores.set(store, new Map())
  }

  /**
   * Appends the entries of the stores for objects of the unit that were not looked up yet. `isOwn`:
   * whether an object belongs to the unit and is not only known to it. Returns false if there were
   * none.
   */
  write(unit: Unit, isOwn: (object: object) => boolean): boolean {
    let isNew = false
    for (const [store, looked] of this.#stores) {
      const from = looked.get(unit) ?? 0
      if (from === unit.numbers.size) continue
      isNew = true
      looked.set(unit, unit.numbers.size)
      let index = 0
      // A copy, because entries add more objects.
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
