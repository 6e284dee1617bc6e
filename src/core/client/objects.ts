// The functions, attachments and large arguments of this client that are, or must be, stored in the
// scheduler: which tasks use them, what has been sent, and when they are deleted. Unused objects
// are kept for a short time, because the next task often needs the same value; deleted ones are
// sent again when needed. Pinned objects stay. docs/protocol.md#objects

import { assert } from '../../base/assert.js'
import type { Alarm, InstantMs, Timing } from '../../base/machine.js'
import { NO_BYTES } from '../../base/bytes.js'
import { Fifo, type FifoNode } from '../../base/collection/fifo.js'
import { Unconfirmed } from '../../base/heartbeat.js'
import type { ObjectId } from '../../base/ids.js'
import type { FiledContent, StoredValue } from './events.js'
import { type NamedObject, OwnNames } from './own-names.js'

/** How tasks use an object. */
export type ObjectRole = 'function' | 'attachment' | 'argument'

/**
 * How many unused objects of one role are kept, and for how long. Above that, the oldest is deleted
 * immediately.
 */
interface IdleBounds {
  readonly lingerMs: number
  readonly maxCount: number
  readonly maxBytes: number
}

const IDLE_BOUNDS: Readonly<Record<ObjectRole, IdleBounds>> = {
  function: { lingerMs: Infinity, maxCount: 1_000, maxBytes: 64 * 1024 ** 2 },
  // They are needed again together with their function, but may be large.
  attachment: { lingerMs: 60_000, maxCount: Infinity, maxBytes: 256 * 1024 ** 2 },
  argument: { lingerMs: 2_000, maxCount: Infinity, maxBytes: 256 * 1024 ** 2 },
}

/** Deletions are collected for this long. */
const SWEEP_INTERVAL_MS = 500

/** An object for which there was no room is sent again after this time, at the earliest. */
const REFUSED_MS = 1_000

/** An object of this client. */
export interface ClientObject extends NamedObject {
  value: StoredValue
  /** Of all its roles so far, the one that is kept longest. */
  role: ObjectRole
  /** The number of uses by unfinished tasks. */
  users: number
  /** Another client has its content: it is never sent from here. */
  isForeign: boolean
  /** The connection over which it was last sent; 0 = never; 1 = before it was deleted. */
  sentIn: number
  /** When the scheduler refused to store it; Infinity = it did not. */
  refusedAt: InstantMs
  idleSince: InstantMs
  /** Invariant: set exactly when `users` and `pins` are 0. */
  place: FifoNode<ClientObject> | undefined
}

/** The unused objects of one role, oldest first, and their total size. */
class IdleObjects {
  readonly bounds: IdleBounds
  readonly queue: Fifo<ClientObject> = new Fifo()
  bytes = 0

  constructor(role: ObjectRole) {
    this.bounds = IDLE_BOUNDS[role]
  }

  /** The oldest one, if the bounds are exceeded. */
  get excess(): ClientObject | undefined {
    const { maxCount, maxBytes } = this.bounds
    const isOver = this.queue.size > maxCount || this.bytes > maxBytes
    return isOver ? this.queue.first : undefined
  }

  /** When the oldest one expires; Infinity if there is none. */
  get expiry(): InstantMs {
    return (this.queue.first?.idleSince ?? Infinity) + this.bounds.lingerMs
  }
}

/** All objects of one client. */
export class ClientObjectTable {
  readonly #objects = new Map<ObjectId, ClientObject>()
  readonly #idle: Readonly<Record<ObjectRole, IdleObjects>> = {
    function: new IdleObjects('function'),
    attachment: new IdleObjects('attachment'),
    argument: new IdleObjects('argument'),
  }
  /** Deleted objects of which the scheduler has not been notified. */
  readonly #removals = new Set<ObjectId>()
  /** Those of which it was notified, but perhaps in vain, and when. Invariant: in that order. */
  readonly #unconfirmed = new Unconfirmed<ObjectId>()
  /** Objects that were pinned before they were sent. Some may have been sent or deleted since. */
  readonly #fresh = new Fifo<ClientObject>()
  /** The objects of other clients, of which this client must stay a user. */
  readonly foreign: Set<ObjectId> = new Set()
  /** By which other clients find objects of this one. */
  readonly names: OwnNames<ClientObject> = new OwnNames((id) => this.unpin(id))
  /** Those that all workers are to fetch in advance. */
  readonly replicated: Set<ClientObject> = new Set()
  /** Above 1: a lost object counts as sent over the connection before. */
  #connection = 2
  #usedBytes = 0
  readonly #turn: Timing
  readonly #onDropped: (content: FiledContent) => void
  readonly #alarm: Alarm
  #nextSweep: InstantMs = 0

  /** `onDropped`: content in a file is not needed any more. */
  constructor(turn: Timing, onDropped: (content: FiledContent) => void = () => {}) {
    this.#turn = turn
    this.#onDropped = onDropped
    this.#alarm = turn.alarm(() => this.#sweep())
  }

  /** The size of the objects that unfinished tasks use and that are not pinned, in bytes. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** A pinned object; undefined for any other. */
  pinned(id: ObjectId): ClientObject | undefined {
    const object = this.#objects.get(id)
    return object === undefined || object.pins === 0 ? undefined : object
  }

  /** Adds a use. The first content under an id is the one that is kept. */
  use(value: StoredValue, role: ObjectRole): ClientObject {
    const object = this.#hold(value, role)
    if (object.users === 0 && object.pins === 0) this.#usedBytes += object.value.content.byteLength
    object.users += 1
    if (outlasts(role, object.role)) object.role = role
    return object
  }

  /** Removes a use. */
  release(object: ClientObject): void {
    object.users -= 1
    if (object.users > 0 || object.pins > 0) return
    this.#usedBytes -= object.value.content.byteLength
    this.#joinIdle(object)
  }

  /**
   * Keeps it, used or not, until it has been unpinned as often as pinned. Other clients can find it
   * by `sharedAs`; undefined: it gets no new name.
   */
  pin(value: StoredValue, sharedAs?: string): ClientObject {
    const object = this.#pin(value, false)
    if (sharedAs !== undefined) this.names.give(object, sharedAs)
    if (!this.isSent(object)) this.#fresh.push(object)
    return object
  }

  /**
   * The same as `pin` for an object in the scheduler, of which this client is a user. Returns
   * whether only another client has its content.
   */
  pinForeign(id: ObjectId, name: Uint8Array): boolean {
    const object = this.#pin({ id, name, content: NO_BYTES }, true)
    if (object.isForeign) this.foreign.add(id)
    this.markSent(object)
    return object.isForeign
  }

  /** This client was made a user of an object that it does not need, unless it has it. */
  leave(id: ObjectId): void {
    if (!this.#objects.has(id)) this.#removals.add(id)
  }

  #pin(value: StoredValue, isForeign: boolean): ClientObject {
    const object = this.#hold(value, 'argument', isForeign)
    if (object.users > 0 && object.pins === 0) this.#usedBytes -= object.value.content.byteLength
    object.pins += 1
    return object
  }

  /** Reverts `pin`. An unused object is deleted immediately; an unknown one is ignored. */
  unpin(id: ObjectId): void {
    const object = this.#objects.get(id)
    if (object === undefined || object.pins === 0) return
    object.pins -= 1
    if (object.pins > 0) return
    if (object.users > 0) this.#usedBytes += object.value.content.byteLength
    else this.#remove(object)
  }

  /** Whether any pinned object has not been sent. */
  get hasFresh(): boolean {
    return this.#fresh.size > 0
  }

  /**
   * Removes and returns one of them, which the caller must send; undefined when there are no more.
   */
  takeFresh(): ClientObject | undefined {
    for (;;) {
      const object = this.#fresh.shift()
      if (object === undefined || (object.pins > 0 && !this.isSent(object))) return object
    }
  }

  /** Unpins everything and deletes whatever no task uses. */
  clear(): void {
    for (const [id, object] of this.#objects) {
      object.isPublishing = false
      while (object.pins > 0) this.unpin(id)
      if (object.users === 0 && this.#objects.has(id)) this.#remove(object)
    }
  }

  /** Whether it was sent over this connection. */
  isSent({ sentIn, refusedAt, isForeign }: ClientObject): boolean {
    if (isForeign) return true
    return sentIn === this.#connection && this.#turn.now < refusedAt + REFUSED_MS
  }

  markSent(object: ClientObject): void {
    object.sentIn = this.#connection
    object.refusedAt = Infinity
  }

  /** The scheduler has no room for it: a later task that needs it sends it again. */
  onRefused(id: ObjectId): void {
    const object = this.#objects.get(id)
    if (object !== undefined) object.refusedAt = this.#turn.now
  }

  /** The scheduler does not have these any more: they are sent again when they are needed. */
  onLost(ids: Iterable<ObjectId>): void {
    for (const id of ids) {
      const object = this.#objects.get(id)
      if (object === undefined || object.isForeign) continue
      // It may have been sent again since: it is deleted like one that was sent.
      if (object.sentIn > 0) object.sentIn = this.#connection - 1
      if (this.names.objects.has(object)) this.names.forgetSent([object])
      else if (!this.replicated.has(object)) continue
      this.#fresh.push(object)
    }
  }

  /** A new connection: objects sent over the last one may be gone. */
  forgetSent(): void {
    this.#connection += 1
    this.names.forgetSent()
    // Others may wait for them.
    for (const object of this.names.objects) this.#fresh.push(object)
    for (const object of this.replicated) this.#fresh.push(object)
  }

  /**
   * Records that the scheduler can delete an object that is not in this table: a fetched result.
   */
  removeResult(id: ObjectId): void {
    this.#removals.add(id)
  }

  /** The scheduler keeps a result for this client, which it may have deleted before. */
  keepResult(id: ObjectId): void {
    this.#removals.delete(id)
    this.#unconfirmed.delete(id)
  }

  /** Whether the scheduler must be notified of deletions. */
  get hasRemovals(): boolean {
    return this.#removals.size > 0
  }

  /** The objects that the scheduler must delete. They count as sent. */
  takeRemovals(): readonly ObjectId[] {
    const ids = [...this.#removals]
    this.#removals.clear()
    for (const id of ids) this.#unconfirmed.add(id, this.#turn.now)
    return ids
  }

  /** The scheduler has read everything that was sent before this time. */
  confirmRemovals(sentBefore: InstantMs): void {
    this.#unconfirmed.confirm(sentBefore)
  }

  /** There is a new connection: what was deleted over the last one may still be stored. */
  repeatRemovals(isNeeded: (id: ObjectId) => boolean): void {
    for (const id of this.#unconfirmed.takeAll()) if (!isNeeded(id)) this.#removals.add(id)
  }

  /** This scheduler knows nothing of what was deleted. */
  forgetRemovals(): void {
    this.#removals.clear()
    this.#unconfirmed.takeAll()
  }

  /** All objects that may be in the scheduler. */
  takeAll(): readonly ObjectId[] {
    this.repeatRemovals(() => false)
    const ids = [...this.takeRemovals()]
    for (const object of this.#objects.values()) {
      if (object.sentIn > 0) ids.push(object.value.id)
    }
    return ids
  }

  /** Throws if the table is inconsistent. */
  checkInvariants(): void {
    let usedBytes = 0
    let idleBytes = 0
    for (const object of this.#objects.values()) {
      const isIdle = object.users === 0 && object.pins === 0
      assert(isIdle === (object.place !== undefined), 'an object is both idle and used, or neither')
      const { queue } = this.#idle[object.role]
      assert(!isIdle || object.place?.queue === queue, 'an idle object is in the wrong queue')
      if (isIdle) idleBytes += object.value.content.byteLength
      else if (object.pins === 0) usedBytes += object.value.content.byteLength
    }
    this.names.checkInvariants((object) => this.#objects.get(object.value.id) === object)
    assert(usedBytes === this.#usedBytes, 'the size of used objects is wrong')
    const counted = Object.values(this.#idle).reduce((sum, { bytes }) => sum + bytes, 0)
    assert(idleBytes === counted, 'the size of idle objects is wrong')
  }

  /** The number of uses of all objects by unfinished tasks. For tests. */
  get users(): number {
    let users = 0
    for (const object of this.#objects.values()) users += object.users
    return users
  }

  /** The object with this value, no longer idle, or a new one. */
  #hold(value: StoredValue, role: ObjectRole, isForeign = false): ClientObject {
    let object = this.#objects.get(value.id)
    if (object === undefined) {
      // It may be among those that were just found, or is sent again.
      const isPending = this.#removals.delete(value.id)
      const mayBeStored = this.#unconfirmed.delete(value.id) || isPending
      object = {
        value,
        role,
        users: 0,
        pins: 0,
        isForeign,
        names: undefined,
        isPublishing: false,
        sentIn: mayBeStored ? 1 : 0,
        refusedAt: Infinity,
        idleSince: 0,
        place: undefined,
      }
      this.#objects.set(value.id, object)
      return object
    }
    if (object.place !== undefined) this.#leaveIdle(object)
    if (object.isForeign && !isForeign && value !== object.value) this.#own(object, value)
    return object
  }

  /** An object of another client, or of an earlier time, has got content here. */
  #own(object: ClientObject, value: StoredValue): void {
    object.value = value
    object.isForeign = false
    this.foreign.delete(value.id)
    if (object.users > 0 && object.pins === 0) this.#usedBytes += value.content.byteLength
  }

  /** Deletes objects that have expired. */
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
    this.foreign.delete(object.value.id)
    this.names.drop(object)
    this.replicated.delete(object)
    if (object.sentIn > 0) this.#removals.add(object.value.id)
    const { content } = object.value
    if (!(content instanceof Uint8Array)) this.#onDropped(content)
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
