// The functions, their attachments and the large arguments of this client that are, or have to be,
// stored in the scheduler: who uses them, what has been sent, and when they go. What no task uses
// is kept for a little while, because the next task often brings the same value again; what has
// gone is sent again when a task needs it. What was pinned stays. docs/protocol.md#objects

import { assert } from '../../base/assert.js'
import type { Alarm, InstantMs, Timing } from '../../base/machine.js'
import { Fifo, type FifoNode } from '../../base/fifo.js'
import type { ObjectId } from '../../base/ids.js'
import type { StoredValue } from './events.js'

/** What an object is to the tasks that use it; what comes first lasts longer. */
export type ObjectRole = 'function' | 'attachment' | 'argument'

/** How much of one role stays without users, and for how long. The oldest goes first, at once. */
interface IdleBounds {
  readonly lingerMs: number
  readonly maxCount: number
  readonly maxBytes: number
}

const IDLE_BOUNDS: Readonly<Record<ObjectRole, IdleBounds>> = {
  function: { lingerMs: Infinity, maxCount: 1_000, maxBytes: 64 * 1024 ** 2 },
  // They come again with their function, but may be large.
  attachment: { lingerMs: 60_000, maxCount: Infinity, maxBytes: 256 * 1024 ** 2 },
  argument: { lingerMs: 2_000, maxCount: Infinity, maxBytes: 256 * 1024 ** 2 },
}

/** Deletions are gathered for this long. */
const SWEEP_INTERVAL_MS = 500

/** An object of this client. */
export interface ClientObject {
  readonly value: StoredValue
  /** The one that lasts longest of those that it has had. */
  role: ObjectRole
  /** How many uses unfinished tasks make of it. */
  users: number
  /** How often it was pinned. */
  pins: number
  /** It was pinned: tasks share its value. */
  isShared: boolean
  /** The connection over which it was sent last; 0 = never. */
  sentIn: number
  idleSince: InstantMs
  /** Invariant: set exactly when `users` and `pins` are 0. */
  place: FifoNode<ClientObject> | undefined
}

/** Objects of one role without users, oldest first, and their total size. */
class IdleObjects {
  readonly bounds: IdleBounds
  readonly queue: Fifo<ClientObject> = new Fifo()
  bytes = 0

  constructor(role: ObjectRole) {
    this.bounds = IDLE_BOUNDS[role]
  }

  /** The oldest, if there is more than may stay. */
  get excess(): ClientObject | undefined {
    const { maxCount, maxBytes } = this.bounds
    const isOver = this.queue.size > maxCount || this.bytes > maxBytes
    return isOver ? this.queue.first : undefined
  }

  /** When the oldest has lingered long enough; Infinity if there is none. */
  get expiry(): InstantMs {
    return (this.queue.first?.idleSince ?? Infinity) + this.bounds.lingerMs
  }
}

/** All objects of one client. */
export class ObjectTable {
  readonly #objects = new Map<ObjectId, ClientObject>()
  readonly #idle: Readonly<Record<ObjectRole, IdleObjects>> = {
    function: new IdleObjects('function'),
    attachment: new IdleObjects('attachment'),
    argument: new IdleObjects('argument'),
  }
  /** Objects that have gone and of which the scheduler has still to be told. */
  #removals: ObjectId[] = []
  /** Objects that were pinned before they were sent. Some may be sent, or gone, by now. */
  readonly #fresh = new Fifo<ClientObject>()
  #connection = 1
  #usedBytes = 0
  readonly #turn: Timing
  readonly #alarm: Alarm
  #nextSweep: InstantMs = 0

  constructor(turn: Timing) {
    this.#turn = turn
    this.#alarm = turn.alarm(() => this.#sweep())
  }

  /** Content of the objects that unfinished tasks use and that are not pinned, in bytes. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** An object that is pinned. */
  pinned(id: ObjectId): ClientObject | undefined {
    const object = this.#objects.get(id)
    return object === undefined || object.pins === 0 ? undefined : object
  }

  /** One more use. The first content that comes under an id is the one that is kept. */
  use(value: StoredValue, role: ObjectRole): ClientObject {
    const object = this.#hold(value, role)
    if (object.users === 0 && object.pins === 0) this.#usedBytes += object.value.content.byteLength
    object.users += 1
    if (outlasts(role, object.role)) object.role = role
    return object
  }

  /** One use less. */
  release(object: ClientObject): void {
    object.users -= 1
    if (object.users > 0 || object.pins > 0) return
    this.#usedBytes -= object.value.content.byteLength
    this.#joinIdle(object)
  }

  /** It stays, used or not, until it was unpinned as often. */
  pin(value: StoredValue): void {
    const object = this.#hold(value, 'argument')
    if (object.users > 0 && object.pins === 0) this.#usedBytes -= object.value.content.byteLength
    object.pins += 1
    object.isShared = true
    if (!this.isSent(object)) this.#fresh.push(object)
  }

  /** See `pin`. What no task uses goes at once. An object that is not there is ignored. */
  unpin(id: ObjectId): void {
    const object = this.#objects.get(id)
    if (object === undefined || object.pins === 0) return
    object.pins -= 1
    if (object.pins > 0) return
    if (object.users > 0) this.#usedBytes += object.value.content.byteLength
    else this.#remove(object)
  }

  /** Whether objects were pinned that have not been sent. */
  get hasFresh(): boolean {
    return this.#fresh.size > 0
  }

  /** One of them, the caller sends it; undefined when there are no more. */
  takeFresh(): ClientObject | undefined {
    for (;;) {
      const object = this.#fresh.shift()
      if (object === undefined || (object.pins > 0 && !this.isSent(object))) return object
    }
  }

  /** Everything goes that no task uses, pinned or not. */
  clear(): void {
    for (const [id, object] of this.#objects) {
      while (object.pins > 0) this.unpin(id)
      if (object.users === 0 && this.#objects.has(id)) this.#remove(object)
    }
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
      const isIdle = object.users === 0 && object.pins === 0
      assert(isIdle === (object.place !== undefined), 'an object is idle and used, or neither')
      const { queue } = this.#idle[object.role]
      assert(!isIdle || object.place?.queue === queue, 'an idle object in the wrong queue')
      if (isIdle) idleBytes += object.value.content.byteLength
      else if (object.pins === 0) usedBytes += object.value.content.byteLength
    }
    assert(usedBytes === this.#usedBytes, 'bytes in use')
    const counted = Object.values(this.#idle).reduce((sum, { bytes }) => sum + bytes, 0)
    assert(idleBytes === counted, 'idle bytes')
  }

  /** How many uses unfinished tasks make of all objects together. For tests. */
  get users(): number {
    let users = 0
    for (const object of this.#objects.values()) users += object.users
    return users
  }

  /** The object with this value, taken from among the idle ones, or a new one. */
  #hold(value: StoredValue, role: ObjectRole): ClientObject {
    let object = this.#objects.get(value.id)
    if (object === undefined) {
      object = {
        value,
        role,
        users: 0,
        pins: 0,
        isShared: false,
        sentIn: 0,
        idleSince: 0,
        place: undefined,
      }
      this.#objects.set(value.id, object)
    } else if (object.place !== undefined) {
      this.#leaveIdle(object)
    }
    return object
  }

  /** Removes what has not been used for a while. */
  #sweep(): void {
    const { now } = this.#turn
    const { attachment, argument } = this.#idle
    this.#nextSweep = now + SWEEP_INTERVAL_MS
    for (const idle of [attachment, argument]) {
      const { queue } = idle
      for (let object = queue.first; object !== undefined; object = queue.first) {
        if (object.idleSince + idle.bounds.lingerMs > now) break
        this.#remove(object)
      }
    }
    this.#setAlarm(Math.min(attachment.expiry, argument.expiry))
  }

  #setAlarm(expiry: InstantMs): void {
    this.#alarm.setBy(Math.max(expiry, this.#nextSweep))
  }

  #joinIdle(object: ClientObject): void {
    object.idleSince = this.#turn.now
    const idle = this.#idle[object.role]
    object.place = idle.queue.push(object)
    idle.bytes += object.value.content.byteLength
    if (idle.bounds.lingerMs < Infinity) this.#setAlarm(idle.expiry)
    for (let excess = idle.excess; excess !== undefined; excess = idle.excess) this.#remove(excess)
  }

  #remove(object: ClientObject): void {
    this.#leaveIdle(object)
    this.#objects.delete(object.value.id)
    if (object.sentIn > 0) this.#removals.push(object.value.id)
  }

  #leaveIdle(object: ClientObject): void {
    if (object.place === undefined) return
    const idle = this.#idle[object.role]
    idle.queue.remove(object.place)
    idle.bytes -= object.value.content.byteLength
    object.place = undefined
  }
}

function outlasts(one: ObjectRole, other: ObjectRole): boolean {
  return IDLE_BOUNDS[one].lingerMs > IDLE_BOUNDS[other].lingerMs
}
