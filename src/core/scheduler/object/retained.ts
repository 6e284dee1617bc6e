// Unused objects that are kept for a while, so that a client that uses them again need not upload
// them twice. Separate from the object table, which tracks the users.

import { assert } from '../../../base/assert.js'
import { Fifo } from '../../../base/collection/fifo.js'
import type { Alarm, Turn } from '../../../base/machine.js'
import type { ObjectEntry, RetainedObject } from '../entries.js'
import type { SchedulerAction } from '../events.js'

/** Expiry times are rounded up to this, in milliseconds, so that objects expire in groups. */
const GRAIN_MS = 100

/** Maximum number of objects that expire in one turn. */
const MAX_AT_ONCE = 2_000

/** Objects without users, until they expire. Each operation takes constant time per object. */
export class RetainedObjects {
  readonly #turn: Turn<SchedulerAction>
  readonly #retentionMs: number
  readonly #free: (entry: ObjectEntry) => void
  readonly #expiry: Alarm
  /** In order of expiry. Invariant: each entry names its place here. */
  readonly #queue = new Fifo<RetainedObject>()
  #bytes = 0

  /**
   * `retentionMs`: minimum time that an object is kept; 0 = not at all. `free`: deletes an expired
   * object.
   */
  constructor(
    turn: Turn<SchedulerAction>,
    retentionMs: number,
    free: (entry: ObjectEntry) => void,
  ) {
    this.#turn = turn
    this.#retentionMs = retentionMs
    this.#free = free
    this.#expiry = turn.alarm(() => this.#freeExpired())
  }

  /** The size of all of them. */
  get bytes(): number {
    return this.#bytes
  }

  /** Keeps an unused object. Returns false if objects are not retained. */
  retain(entry: ObjectEntry): boolean {
    if (this.#retentionMs === 0) return false
    this.release(entry)
    const until = Math.ceil((this.#turn.now + this.#retentionMs) / GRAIN_MS) * GRAIN_MS
    entry.retained = this.#queue.push({ entry, until })
    this.#bytes += entry.bytes
    this.#expiry.setBy(until)
    return true
  }

  /** Restarts the retention of an object that was requested. */
  touch(entry: ObjectEntry): void {
    if (entry.retained !== undefined) this.retain(entry)
  }

  /** Removes an object that is used again or deleted. */
  release(entry: ObjectEntry): void {
    if (entry.retained === undefined) return
    this.#bytes -= entry.bytes
    this.#queue.remove(entry.retained)
    entry.retained = undefined
  }

  /** Deletes the object that expires first. False: there is none. */
  freeOldest(): boolean {
    const { first } = this.#queue
    if (first === undefined) return false
    this.release(first.entry)
    this.#free(first.entry)
    return true
  }

  /** Deletes expired objects, at most as many as fit into one turn. */
  #freeExpired(): void {
    for (let count = 0; count < MAX_AT_ONCE; count += 1) {
      const { first } = this.#queue
      if (first === undefined || first.until > this.#turn.now) break
      this.release(first.entry)
      this.#free(first.entry)
    }
    this.#expiry.set(this.#queue.first?.until)
  }

  /** Throws if a retained object is used or deleted, or the order is wrong. */
  checkInvariants(isStored: (entry: ObjectEntry) => boolean): void {
    let last = -Infinity
    for (const retained of this.#queue) {
      const { entry, until } = retained
      assert(entry.retained?.item === retained, 'a retained object has the wrong place')
      assert(entry.users.size === 0, 'a retained object has users')
      assert(isStored(entry), 'a deleted object is retained')
      assert(until >= last, 'retained objects are out of order')
      last = until
    }
  }
}
