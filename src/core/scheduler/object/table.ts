// The objects that the scheduler stores, their users, and the workers that may have a copy. An
// object without users is deleted, immediately or after its retention, and the workers that
// requested it are notified. docs/protocol.md#objects

import { assert } from '../../../base/assert.js'
import { copyOf, NO_BYTES } from '../../../base/bytes.js'
import type { StorageOwner } from '../../../base/errors.js'
import type { ObjectId } from '../../../base/ids.js'
import type { Turn } from '../../../base/machine.js'
import { SpreadMap } from '../../../base/collection/spread.js'
import type { ObjectContent, ObjectContentType } from '../../../wire/message.js'
import {
  contentBytes,
  fileChunk,
  type ObjectFile,
  storedChunk,
  type StoredContent,
  storedContentOf,
} from '../../../wire/object-content.js'
import type { ObjectEntry, ObjectUser, WorkerEntry } from '../entries.js'
import type { SchedulerAction } from '../events.js'
import { ContentPlaces, isElsewhere } from './places.js'
import { Refusals } from './refusal.js'
import { RetainedObjects } from './retained.js'
import { NO_LIMITS, type StorageLimits, StorageRoom } from './room.js'

/** Maximum number of ids in one round of notices, for all workers together. */
const MAX_REMOVALS = 20_000

const NO_ENTRIES: readonly ObjectEntry[] = []

/** Longer names are cut: they are only displayed. */
const MAX_NAME_BYTES = 5_000

/** What an object consists of. */
type ObjectContentOf = Pick<ObjectEntry, 'type' | 'name' | 'chunks'>

/** Settings of the table. */
interface ObjectTableOptions {
  /** How long an unused object is kept. Default: 0, it is deleted immediately. */
  readonly retentionMs?: number
  /** The same for one that has a name. */
  readonly sharedRetentionMs?: number
  /** Default: none, and nothing on disk. */
  readonly limits?: StorageLimits
  /** The clients that use most storage. */
  readonly owners?: () => readonly StorageOwner[]
}

/** All stored objects. */
export class ObjectTable {
  readonly #objects = new SpreadMap<ObjectId, ObjectEntry>()
  /** Ids that each worker has yet to be notified of. Invariant: no empty lists. */
  readonly #removals = new Map<WorkerEntry, ObjectId[]>()
  readonly #retained: RetainedObjects
  /** Those that have names. */
  readonly #retainedShared: RetainedObjects
  readonly #turn: Turn<SchedulerAction>
  readonly #room: StorageRoom
  readonly #refusals: Refusals
  #fileBytes = 0
  readonly #places: ContentPlaces
  /** Those that all workers fetch in advance. */
  readonly replicated: Set<ObjectEntry> = new Set()
  readonly #names = new Map<string, ObjectEntry>()
  #namesLength = 0

  constructor(turn: Turn<SchedulerAction>, options: ObjectTableOptions = {}) {
    const { retentionMs = 0, sharedRetentionMs = 0, limits = NO_LIMITS } = options
    const { owners = () => [] } = options
    this.#turn = turn
    this.#places = new ContentPlaces(turn)
    this.#room = new StorageRoom(turn, limits)
    this.#refusals = new Refusals(turn, this.#room, owners)
    const free = (entry: ObjectEntry): void => this.#free(entry)
    this.#retained = new RetainedObjects(turn, retentionMs, free)
    this.#retainedShared = new RetainedObjects(turn, sharedRetentionMs, free)
  }

  get count(): number {
    return this.#room.count
  }

  /** The size of content on object storage servers. */
  get serverBytes(): number {
    return this.#room.serverBytes
  }

  /** The total size of all other objects. */
  get bytes(): number {
    return this.#room.storedBytes
  }

  /** The part of it that is in files, in memory or on disk. */
  get fileBytes(): number {
    return this.#fileBytes
  }

  /** The part of it that was moved to disk. */
  get diskBytes(): number {
    return this.#room.diskBytes
  }

  /** How many objects were not stored, since the start. */
  get refusedCount(): number {
    return this.#refusals.count
  }

  /** Why no content is moved to disk, for people; '' if it is. */
  get diskError(): string {
    return this.#room.diskError
  }

  /** How much can be stored; Infinity = there is no limit. */
  get limitBytes(): number {
    return this.#room.limitBytes
  }

  /** Whether any worker has to be notified of removals. */
  get hasRemovals(): boolean {
    return this.#removals.size > 0
  }

  /** All objects, in no particular order; some that are added meanwhile may be missed. */
  values(): Iterator<ObjectEntry> {
    return this.#objects.values()
  }

  get(id: ObjectId): ObjectEntry | undefined {
    return this.#objects.get(id)
  }

  /** The object that has this name. */
  named(name: string): ObjectEntry | undefined {
    return this.#names.get(name)
  }

  /** The number of characters of all names. */
  get namesLength(): number {
    return this.#namesLength
  }

  /** All workers are to fetch this object in advance. */
  replicate(entry: ObjectEntry): void {
    this.replicated.add(entry)
  }

  /** Names a used object, which may have other names. The name must not be in use. */
  giveName(entry: ObjectEntry, name: string): void {
    assert(entry.users.size > 0 && !this.#names.has(name), 'a name for the wrong object')
    entry.names ??= new Set()
    entry.names.add(name)
    this.#names.set(name, entry)
    this.#namesLength += name.length
  }

  /** An object loses one of its names. Without names and users, it is kept like any other. */
  takeName(entry: ObjectEntry, name: string): void {
    this.#forgetName(name)
    entry.names?.delete(name)
    if (entry.names?.size !== 0) return
    this.#retainedShared.release(entry)
    entry.names = undefined
    if (entry.users.size === 0 && !this.#retained.retain(entry)) this.#free(entry)
  }

  /**
   * Stores (or overwrites) objects for a user. If the lists differ in length, the shortest counts.
   * Returns those that were not stored, because there is no room: peers get the reason instead.
   */
  create(user: ObjectUser, content: ObjectContent): readonly ObjectEntry[] {
    const { objectIds, objectTypes, objectNames, objectBytes } = content
    const count = Math.min(objectIds.length, objectTypes.length, objectNames.length)
    let refused: ObjectEntry[] | undefined
    for (let i = 0; i < Math.min(count, objectBytes.length); i += 1) {
      const entry = this.#entry(objectIds[i] as ObjectId)
      const chunks = (objectBytes[i] as readonly Uint8Array[]).map(ownMemory)
      // Peers cannot refuse objects.
      const given = objectTypes[i] as ObjectContentType
      const type = given === 'refused' ? 'object' : given
      const name = ownMemory((objectNames[i] as Uint8Array).subarray(0, MAX_NAME_BYTES))
      if (!this.#put(user, entry, { type, name, chunks })) {
        refused ??= []
        refused.push(entry)
      }
    }
    return refused ?? NO_ENTRIES
  }

  /** Stores an object with the content of another one, which must be stored. */
  copy(user: ObjectUser, id: ObjectId, { type, name, chunks }: ObjectContentOf): void {
    this.#put(user, this.#entry(id), { type, name, chunks })
  }

  /** Returns false if there is no room: then the object is the reason, unless it had content. */
  #put(user: ObjectUser, entry: ObjectEntry, { type, name, chunks }: ObjectContentOf): boolean {
    this.#retainedOf(entry).release(entry)
    const bytes = contentBytes(type, chunks)
    const isSame = isElsewhere(type) && isElsewhere(entry.type) && bytes === entry.bytes
    const isStored = type === 'refused' || isSame || this.#hasRoom(user, entry, type, bytes)
    const hasContent = entry.bytes > 0 && entry.type !== 'refused'
    entry.name = name
    if (isStored && !isSame) {
      this.#fill(entry, type, chunks)
    } else {
      // The same content again: workers may be about to read the file of the first one.
      this.#places.drop(type, chunks)
    }
    if (!isStored && !hasContent) {
      this.#fill(entry, 'refused', [this.#refusals.chunk(user, entry, bytes)])
    }
    this.use(user, entry)
    return isStored || hasContent
  }

  /** Content was moved to this file, or could not be. */
  onMoved(move: number, file: ObjectFile): void {
    const entry = this.#room.onMoved(move)
    const chunks = [fileChunk(file)]
    if (entry === undefined) return this.#places.drop('file', chunks)
    if (entry.type === 'file') this.#places.leave('file', entry.chunks)
    else this.#fileBytes += entry.bytes
    entry.type = 'file'
    entry.chunks = chunks
    this.#places.keep('file', chunks)
  }

  onMoveFailed(move: number, error: string): void {
    this.#room.onMoveFailed(move, error)
  }

  /** Adds a user to a stored object. */
  use(user: ObjectUser, entry: ObjectEntry): void {
    this.#retainedOf(entry).release(entry)
    if (entry.users.has(user)) return
    entry.users.add(user)
    user.objects.add(entry)
    user.objectBytes += entry.bytes
  }

  /** An object was requested: if it is unused, its retention restarts. */
  touch(entry: ObjectEntry): void {
    this.#retainedOf(entry).touch(entry)
    this.#room.touch(entry)
  }

  /**
   * A user deletes some objects: each is deleted immediately, unless it has other users or a name.
   * Ids that this user does not use are skipped.
   */
  delete(user: ObjectUser, ids: readonly ObjectId[]): void {
    for (const id of ids) {
      const entry = this.#objects.get(id)
      if (entry === undefined || !entry.users.has(user)) continue
      this.#leave(user, entry)
      if (entry.users.size > 0) continue
      if (entry.names === undefined || !this.#retainedShared.retain(entry)) this.#free(entry)
    }
  }

  /** Removes a user that has left: an object without other users is kept for its retention. */
  release(user: ObjectUser, entry: ObjectEntry): void {
    this.#leave(user, entry)
    if (entry.users.size > 0 || this.#retainedOf(entry).retain(entry)) return
    this.#free(entry)
  }

  /** Deletes objects that no peer will request, regardless of their users. */
  drop(ids: readonly ObjectId[]): void {
    for (const id of ids) {
      const entry = this.#objects.get(id)
      if (entry === undefined) continue
      for (const user of entry.users) this.#leave(user, entry)
      this.#retainedOf(entry).release(entry)
      this.#free(entry)
    }
  }

  /** A worker requested an object: it may cache it until it is notified. */
  hold(worker: WorkerEntry, entry: ObjectEntry): void {
    entry.holders.add(worker)
    ;(worker.held ??= new Set()).add(entry)
  }

  /** Removes a worker that has left: it needs no notices. */
  forgetWorker(worker: WorkerEntry): void {
    for (const entry of worker.held ?? []) entry.holders.delete(worker)
    worker.held = undefined
    this.#removals.delete(worker)
  }

  /**
   * Takes the pending notices, at most as many as fit into one turn; `hasRemovals` tells whether
   * there are more.
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

  /** The content of an object, or of several, is on another server now. */
  moveStored(id: ObjectId, from: StoredContent, address: string): void {
    const entry = this.#objects.get(id)
    const before = entry?.chunks
    const move = (other: ObjectEntry): void => {
      const content = other.type === 'stored' ? storedContentOf(other.chunks) : undefined
      if (content?.id !== from.id || content.address !== from.address) return
      this.#fill(other, 'stored', [storedChunk({ ...content, address })])
    }
    if (entry !== undefined) move(entry)
    // Several objects may share it, and this one may be gone.
    if (entry?.chunks !== before && !this.#places.has('stored', before ?? [])) return
    for (const other of this.#objects.values()) move(other)
  }

  /** Throws if the table is inconsistent. */
  checkInvariants(): void {
    let fileBytes = 0
    for (const entry of this.#objects.values()) {
      if (entry.type === 'file') fileBytes += entry.bytes
      const isCounted = entry.bytes === contentBytes(entry.type, entry.chunks)
      assert(isCounted, 'the size of an object is wrong')
      const isKept = entry.users.size > 0 || entry.retained !== undefined
      assert(isKept, 'a stored object without users')
      for (const user of entry.users) assert(user.objects.has(entry), 'a user without its object')
      for (const { held } of entry.holders) assert(held?.has(entry) === true, 'a wrong holder')
      const isNamed = entry.names === undefined || entry.names.size > 0
      assert(isNamed, 'a shared object without names')
    }
    for (const entry of this.replicated) {
      assert(this.#objects.get(entry.id) === entry, 'a replicated object is not stored')
    }
    for (const [name, entry] of this.#names) {
      const isStored = this.#objects.get(entry.id) === entry && entry.names?.has(name) === true
      assert(isStored, 'a name stands for the wrong object')
    }
    assert(fileBytes === this.#fileBytes, 'the bytes of objects in files are miscounted')
    this.#room.checkInvariants(this.#objects.values())
    for (const retained of [this.#retained, this.#retainedShared]) {
      retained.checkInvariants((entry) => this.#objects.get(entry.id) === entry)
    }
  }

  #leave(user: ObjectUser, entry: ObjectEntry): void {
    if (!user.objects.delete(entry)) return
    entry.users.delete(user)
    user.objectBytes -= entry.bytes
  }

  #free(entry: ObjectEntry): void {
    this.#objects.delete(entry.id)
    for (const name of entry.names ?? []) this.#forgetName(name)
    entry.names = undefined
    this.replicated.delete(entry)
    this.#empty(entry)
    this.#recall(entry)
  }

  #forgetName(name: string): void {
    if (this.#names.delete(name)) this.#namesLength -= name.length
  }

  /** Workers that have a copy must drop it. */
  #recall(entry: ObjectEntry): void {
    for (const worker of entry.holders) {
      worker.held?.delete(entry)
      const ids = this.#removals.get(worker)
      if (ids === undefined) this.#removals.set(worker, [entry.id])
      else ids.push(entry.id)
    }
    // The workers dropped the entry, but a node that is queued again may still refer to it.
    entry.holders.clear()
  }

  /** Whether the content can be stored; unused objects make way for it. */
  #hasRoom(user: ObjectUser, entry: ObjectEntry, type: ObjectContentType, bytes: number): boolean {
    const { quotaBytes } = this.#room.limits
    const growth = bytes - entry.bytes
    const ownGrowth = entry.users.has(user) ? growth : bytes
    if (ownGrowth > 0 && user.objectBytes + ownGrowth > quotaBytes) return false
    if (type === 'stored' || growth <= 0 || this.#room.has(bytes, growth)) return true
    const unused = this.#retained.bytes + this.#retainedShared.bytes
    if (!this.#room.has(bytes, growth - unused)) return false
    while (!this.#room.has(bytes, growth)) {
      if (!this.#retained.freeOldest() && !this.#retainedShared.freeOldest()) return false
    }
    return true
  }

  #retainedOf({ names }: ObjectEntry): RetainedObjects {
    return names === undefined ? this.#retained : this.#retainedShared
  }

  /** Gives an object its content, instead of that which it has. */
  #fill(entry: ObjectEntry, type: ObjectContentType, chunks: readonly Uint8Array[]): void {
    if (entry.type === 'refused') this.#recall(entry)
    this.#empty(entry)
    const bytes = contentBytes(type, chunks)
    for (const owner of entry.users) owner.objectBytes += bytes - entry.bytes
    entry.type = type
    entry.chunks = chunks
    entry.bytes = bytes
    if (type === 'file') this.#fileBytes += bytes
    const isShared = this.#places.keep(type, chunks) > 1
    this.#room.enter(entry, !isShared)
  }

  /** The content of an object is not needed any more. */
  #empty(entry: ObjectEntry): void {
    this.#room.leave(entry)
    if (entry.type === 'file') this.#fileBytes -= entry.bytes
    this.#places.leave(entry.type, entry.chunks)
  }

  #entry(id: ObjectId): ObjectEntry {
    const known = this.#objects.get(id)
    if (known !== undefined) return known
    const nothing = {
      type: 'object',
      name: NO_BYTES,
      chunks: [],
      bytes: 0,
      counts: undefined,
      averageSeconds: undefined,
      resultBytes: 0,
      measuredTasks: 0,
      stay: undefined,
      names: undefined,
    } as const
    const createdAt = this.#turn.now
    const peers = { users: new Set<ObjectUser>(), holders: new Set<WorkerEntry>() }
    const entry: ObjectEntry = { id, createdAt, ...nothing, ...peers, retained: undefined }
    this.#objects.set(id, entry)
    this.#room.enter(entry)
    return entry
  }
}

/** Copies a small part of a large read buffer, which it would keep in memory otherwise. */
function ownMemory(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength * 2 < bytes.buffer.byteLength ? copyOf(bytes) : bytes
}
