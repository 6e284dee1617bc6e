// Objects that nobody needs any more and that stay for a while all the same: somebody may ask for
// them again, or use them, and then they need not travel twice. Apart from the table of objects,
// which knows who needs what.

import { assert } from '../../base/assert.js'
import { Fifo } from '../../base/fifo.js'
import type { InstantMs } from '../../base/machine.js'
import type { ObjectEntry, RetainedObject } from './entries.js'

/** Objects go together with those that were let go so soon after them, in milliseconds. */
const GRAIN_MS = 100

/** Most objects that go in one turn. */
const MAX_AT_ONCE = 2_000

/** Objects without users, each until its time is over. Everything takes constant time each. */
export class RetainedObjects {
  readonly #retentionMs: number
  /** In the order in which they go. Invariant: each entry names its place here. */
  readonly #queue = new Fifo<RetainedObject>()

  /** `retentionMs`: at least so long an object stays; 0 = not at all. */
  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs
  }

  get size(): number {
    return this.#queue.size
  }

  /** When `takeExpired` must be called next. */
  get deadline(): InstantMs | undefined {
    return this.#queue.first?.until
  }

  /** Nobody needs the entry from now on. False: nothing is retained. */
  retain(entry: ObjectEntry, now: InstantMs): boolean {
    if (this.#retentionMs === 0) return false
    this.release(entry)
    const until = Math.ceil((now + this.#retentionMs) / GRAIN_MS) * GRAIN_MS
    entry.retained = this.#queue.push({ entry, until })
    return true
  }

  /** It was asked for: its time begins anew. */
  touch(entry: ObjectEntry, now: InstantMs): void {
    if (entry.retained !== undefined) this.retain(entry, now)
  }

  /** Somebody needs it again, or it goes at once. */
  release(entry: ObjectEntry): void {
    if (entry.retained === undefined) return
    this.#queue.remove(entry.retained)
    entry.retained = undefined
  }

  /** Takes those whose time is over, or as many of them as can go without a long turn. */
  takeExpired(now: InstantMs): readonly ObjectEntry[] {
    const taken: ObjectEntry[] = []
    for (const { entry, until } of this.#queue) {
      if (until > now || taken.length === MAX_AT_ONCE) break
      this.release(entry)
      taken.push(entry)
    }
    return taken
  }

  /** Throws if an object is retained that is needed or gone, or the order is wrong. */
  checkInvariants(isStored: (entry: ObjectEntry) => boolean): void {
    let last = -Infinity
    for (const retained of this.#queue) {
      const { entry, until } = retained
      assert(entry.retained?.item === retained, 'a retained object does not know it')
      assert(entry.users.size === 0, 'a retained object has users')
      assert(isStored(entry), 'an object is retained that has gone')
      assert(until >= last, 'retained objects go out of order')
      last = until
    }
  }
}
