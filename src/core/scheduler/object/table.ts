// The objects that the scheduler stores, who uses them, and which workers may have a copy. An
// object without users goes, at once or after its retention, and the workers that asked for it are
// told. docs/protocol.md#objects

import { assert } from '../../../base/assert.js'
import { copyOf, NO_BYTES, totalBytes } from '../../../base/bytes.js'
import { Fifo } from '../../../base/fifo.js'
import type { ObjectId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import { SpreadMap } from '../../../base/spread.js'
import type { ObjectContent, ObjectContentType } from '../../../wire/message.js'
import type { ObjectEntry, ObjectUser, RetainedObject, WorkerEntry } from '../entries.js'

// Objects that nobody needs any more and that stay for a while all the same: somebody may ask for
// them again, or use them, and then they need not travel twice. Apart from the table of objects,
// which knows who needs what.

/** Objects go together with those that were let go so soon after them, in milliseconds. */
const GRAIN_MS = 100

/** Most objects that go in one turn. */
const MAX_AT_ONCE = 2_000

/** Objects without users, each until its time is over. Everything takes constant time each. */
class RetainedObjects {
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

/** Most ids that workers are told of in one go, all workers together. */
const MAX_REMOVALS = 20_000

/** All stored objects. */
export class ObjectTable {
  readonly #objects = new SpreadMap<ObjectId, ObjectEntry>()
  /** What each worker has still to be told to forget. Invariant: no empty lists. */
  readonly #removals = new Map<WorkerEntry, ObjectId[]>()
  readonly #retained: RetainedObjects
  readonly #now: () => InstantMs
  #bytes = 0

  /** `retentionMs`: so long an object stays that nobody needs. `now`: the time of this moment. */
  constructor(retentionMs = 0, now: () => InstantMs = () => 0) {
    this.#retained = new RetainedObjects(retentionMs)
    this.#now = now
  }

  get size(): number {
    return this.#objects.size
  }

  /** How many bytes all of them have. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether some worker has to be told of removals. */
  get hasRemovals(): boolean {
    return this.#removals.size > 0
  }

  /** When `freeExpired` must be called next. */
  get deadline(): InstantMs | undefined {
    return this.#retained.deadline
  }

  get(id: ObjectId): ObjectEntry | undefined {
    return this.#objects.get(id)
  }

  /**
   * Stores (or overwrites) objects for a user. Of lists of unequal length, the shortest counts.
   */
  create(user: ObjectUser, content: ObjectContent): void {
    const { objectIds, objectTypes, objectNames, objectBytes } = content
    const count = Math.min(objectIds.length, objectTypes.length, objectNames.length)
    for (let i = 0; i < Math.min(count, objectBytes.length); i += 1) {
      const entry = this.#entry(objectIds[i] as ObjectId)
      entry.type = objectTypes[i] as ObjectContentType
      entry.name = ownMemory(objectNames[i] as Uint8Array)
      this.#bytes -= totalBytes(entry.chunks)
      entry.chunks = (objectBytes[i] as readonly Uint8Array[]).map(ownMemory)
      this.#bytes += totalBytes(entry.chunks)
      this.use(user, entry)
    }
  }

  /** Somebody else needs an object that is stored. */
  use(user: ObjectUser, entry: ObjectEntry): void {
    this.#retained.release(entry)
    entry.users.add(user)
    user.objects.add(entry)
  }

  /** Somebody has asked for an object: if nobody needs it, it stays as if it was needed now. */
  touch(entry: ObjectEntry): void {
    this.#retained.touch(entry, this.#now())
  }

  /**
   * A user deletes some objects: each goes at once, unless somebody else needs it. Ids that it does
   * not use are skipped.
   */
  delete(user: ObjectUser, ids: readonly ObjectId[]): void {
    for (const id of ids) {
      const entry = this.#objects.get(id)
      if (entry === undefined || !entry.users.has(user)) continue
      this.#leave(user, entry)
      if (entry.users.size === 0) this.#free(entry)
    }
  }

  /** A user has left that needs an object: it stays for its retention if nobody else does. */
  release(user: ObjectUser, entry: ObjectEntry): void {
    this.#leave(user, entry)
    if (entry.users.size > 0 || this.#retained.retain(entry, this.#now())) return
    this.#free(entry)
  }

  /** Objects whose retention is over go, as many as can without a long turn. */
  freeExpired(): void {
    for (const entry of this.#retained.takeExpired(this.#now())) this.#free(entry)
  }

  /** Objects that nobody will ask for, whoever uses them: they go at once. */
  drop(ids: readonly ObjectId[]): void {
    for (const id of ids) {
      const entry = this.#objects.get(id)
      if (entry === undefined) continue
      for (const user of entry.users) user.objects.delete(entry)
      entry.users.clear()
      this.#retained.release(entry)
      this.#free(entry)
    }
  }

  /** A worker asked for an object: it may keep it until it is told otherwise. */
  hold(worker: WorkerEntry, entry: ObjectEntry): void {
    entry.holders.add(worker)
    worker.held.add(entry)
  }

  /** A worker has left: there is nobody to tell. */
  forgetWorker(worker: WorkerEntry): void {
    for (const entry of worker.held) entry.holders.delete(worker)
    worker.held.clear()
    this.#removals.delete(worker)
  }

  /**
   * Takes what is to be told to whom, or as much of it as can be told without a long turn;
   * `hasRemovals` says whether there is more.
   */
  takeRemovals(): ReadonlyMap<WorkerEntry, readonly ObjectId[]> {
    const taken = new Map<WorkerEntry, readonly ObjectId[]>()
    let left = MAX_REMOVALS
    for (const [worker, ids] of this.#removals) {
      if (left === 0) break
      if (ids.length <= left) this.#removals.delete(worker)
      const some = ids.splice(-left)
      left -= some.length
      taken.set(worker, some)
    }
    return taken
  }

  /** Throws if the table disagrees with itself. */
  checkInvariants(): void {
    let bytes = 0
    for (const entry of this.#objects.values()) {
      bytes += totalBytes(entry.chunks)
      const isKept = entry.users.size > 0 || entry.retained !== undefined
      assert(isKept, 'a stored object without users')
      for (const user of entry.users) assert(user.objects.has(entry), 'a user without its object')
      for (const worker of entry.holders) assert(worker.held.has(entry), 'a holder without object')
    }
    assert(bytes === this.#bytes, 'the bytes of objects are miscounted')
    this.#retained.checkInvariants((entry) => this.#objects.get(entry.id) === entry)
  }

  #leave(user: ObjectUser, entry: ObjectEntry): void {
    user.objects.delete(entry)
    entry.users.delete(user)
  }

  #free(entry: ObjectEntry): void {
    this.#objects.delete(entry.id)
    this.#bytes -= totalBytes(entry.chunks)
    for (const worker of entry.holders) {
      worker.held.delete(entry)
      const ids = this.#removals.get(worker)
      if (ids === undefined) this.#removals.set(worker, [entry.id])
      else ids.push(entry.id)
    }
    // They do not know the entry any more; a node that waits again may.
    entry.holders.clear()
  }

  #entry(id: ObjectId): ObjectEntry {
    let entry = this.#objects.get(id)
    if (entry === undefined) {
      const nothing = {
        type: 'object',
        name: NO_BYTES,
        chunks: [],
        counts: undefined,
        averageSeconds: undefined,
      } as const
      entry = { id, ...nothing, users: new Set(), holders: new Set(), retained: undefined }
      this.#objects.set(id, entry)
    }
    return entry
  }
}

/** A small part of a large read buffer would keep all of it alive for as long as the object. */
function ownMemory(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength * 2 < bytes.buffer.byteLength ? copyOf(bytes) : bytes
}
