// The functions and large arguments of this client that are, or have to be, stored in the
// scheduler: who uses them, what has been sent, and when they go. What no task uses is kept for a
// little while, because the next task often brings the same value again. docs/protocol.md#objects

import { assert } from '../../base/assert.js'
import { Fifo, type FifoNode } from '../../base/fifo.js'
import type { ObjectId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { StoredValue } from './events.js'

/** How long an argument that no task uses stays in the scheduler. */
const ARGUMENT_LINGER_MS = 2_000
/** Unused arguments beyond this go at once. */
const MAX_IDLE_ARGUMENT_BYTES = 256 * 1024 ** 2
/** Unused functions stay for as long as there are not more than this. */
const MAX_IDLE_FUNCTIONS = 1_000
const MAX_IDLE_FUNCTION_BYTES = 64 * 1024 ** 2
/** Deletions are gathered for this long. */
const SWEEP_INTERVAL_MS = 500

/** An object of this client. */
export interface ClientObject {
  readonly value: StoredValue
  /** Functions stay longer than arguments. */
  isFunction: boolean
  /** How many uses unfinished tasks make of it. */
  users: number
  /** The connection over which it was sent last; 0 = never. */
  sentIn: number
  idleSince: InstantMs
  /** Invariant: set exactly when `users` is 0. */
  place: FifoNode<ClientObject> | undefined
}

/** Objects without users, oldest first, and their total size. */
interface IdleObjects {
  readonly queue: Fifo<ClientObject>
  bytes: number
}

/** All objects of one client. */
export class ObjectTable {
  readonly #objects = new Map<ObjectId, ClientObject>()
  readonly #idleArguments: IdleObjects = { queue: new Fifo(), bytes: 0 }
  readonly #idleFunctions: IdleObjects = { queue: new Fifo(), bytes: 0 }
  /** Objects that have gone and of which the scheduler has still to be told. */
  #removals: ObjectId[] = []
  #connection = 1
  #usedBytes = 0
  #nextSweep: InstantMs = 0

  /** Content of the objects that unfinished tasks use, in bytes. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** When `sweep` has something to do. */
  get deadline(): InstantMs | undefined {
    const oldest = this.#idleArguments.queue.first
    if (oldest === undefined) return undefined
    return Math.max(oldest.idleSince + ARGUMENT_LINGER_MS, this.#nextSweep)
  }

  /** One more use. The first content that comes under an id is the one that is kept. */
  use(value: StoredValue, isFunction: boolean): ClientObject {
    let object = this.#objects.get(value.id)
    if (object === undefined) {
      object = { value, isFunction, users: 0, sentIn: 0, idleSince: 0, place: undefined }
      this.#objects.set(value.id, object)
    } else if (object.users === 0) {
      this.#leaveIdle(object)
    }
    if (object.users === 0) this.#usedBytes += object.value.content.byteLength
    object.users += 1
    if (isFunction) object.isFunction = true
    return object
  }

  /** One use less. */
  release(object: ClientObject, now: InstantMs): void {
    object.users -= 1
    if (object.users > 0) return
    this.#usedBytes -= object.value.content.byteLength
    object.idleSince = now
    const idle = this.#idleOf(object)
    object.place = idle.queue.push(object)
    idle.bytes += object.value.content.byteLength
    this.#limitIdle()
  }

  /** Whether the scheduler got it over this connection. */
  isSent(object: ClientObject): boolean {
    return object.sentIn === this.#connection
  }

  markSent(object: ClientObject): void {
    object.sentIn = this.#connection
  }

  /** A new connection: what was sent over the last one may be gone. */
  forgetSent(): void {
    this.#connection += 1
  }

  /** Lets go of the arguments that nobody has used for a while. */
  sweep(now: InstantMs): void {
    const { deadline } = this
    if (deadline === undefined || now < deadline) return
    this.#nextSweep = now + SWEEP_INTERVAL_MS
    const { queue } = this.#idleArguments
    for (let object = queue.first; object !== undefined; object = queue.first) {
      if (object.idleSince + ARGUMENT_LINGER_MS > now) break
      this.#remove(object)
    }
  }

  /** Notes that the scheduler can forget an object that is not in this table: a fetched result. */
  removeResult(id: ObjectId): void {
    this.#removals.push(id)
  }

  /** Whether the scheduler has to be told of removals. */
  get hasRemovals(): boolean {
    return this.#removals.length > 0
  }

  /** What the scheduler has to be told to delete. It counts as told. */
  takeRemovals(): readonly ObjectId[] {
    const ids = this.#removals
    this.#removals = []
    return ids
  }

  /** Everything that may be in the scheduler. */
  takeAll(): readonly ObjectId[] {
    const ids = [...this.takeRemovals()]
    for (const object of this.#objects.values()) {
      if (object.sentIn > 0) ids.push(object.value.id)
    }
    return ids
  }

  /** Throws if the table disagrees with itself. */
  checkInvariants(): void {
    let usedBytes = 0
    let idleBytes = 0
    for (const object of this.#objects.values()) {
      const isIdle = object.users === 0
      assert(isIdle === (object.place !== undefined), 'an object is idle and used, or neither')
      const queue = this.#idleOf(object).queue
      assert(!isIdle || object.place?.queue === queue, 'an idle object in the wrong queue')
      if (isIdle) idleBytes += object.value.content.byteLength
      else usedBytes += object.value.content.byteLength
    }
    assert(usedBytes === this.#usedBytes, 'bytes in use')
    assert(idleBytes === this.#idleArguments.bytes + this.#idleFunctions.bytes, 'idle bytes')
  }

  /** How many uses unfinished tasks make of all objects together. For tests. */
  get users(): number {
    let users = 0
    for (const object of this.#objects.values()) users += object.users
    return users
  }

  #limitIdle(): void {
    const functions = this.#idleFunctions
    while (functions.queue.size > MAX_IDLE_FUNCTIONS || functions.bytes > MAX_IDLE_FUNCTION_BYTES) {
      this.#remove(functions.queue.first)
    }
    while (this.#idleArguments.bytes > MAX_IDLE_ARGUMENT_BYTES) {
      this.#remove(this.#idleArguments.queue.first)
    }
  }

  #remove(object: ClientObject | undefined): void {
    assert(object !== undefined, 'bytes of idle objects that are not there')
    this.#leaveIdle(object)
    this.#objects.delete(object.value.id)
    if (object.sentIn > 0) this.#removals.push(object.value.id)
  }

  #leaveIdle(object: ClientObject): void {
    if (object.place === undefined) return
    const idle = this.#idleOf(object)
    idle.queue.remove(object.place)
    idle.bytes -= object.value.content.byteLength
    object.place = undefined
  }

  #idleOf(object: ClientObject): IdleObjects {
    return object.isFunction ? this.#idleFunctions : this.#idleArguments
  }
}
