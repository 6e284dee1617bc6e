// The room for content: in memory, and beyond that on disk. Decides which objects move to disk (the
// least recently used) and which cannot be stored at all. The shell writes and reads the files.
// docs/protocol.md#storage

import { assert } from '../../../base/assert.js'
import { Fifo } from '../../../base/fifo.js'
import type { Alarm, InstantMs, Turn } from '../../../base/machine.js'
import type { ObjectEntry } from '../entries.js'
import type { SchedulerAction } from '../events.js'

/** How much content is stored at most, in bytes. */
export interface StorageLimits {
  /** In memory, including files in shared memory; Infinity = no limit. */
  readonly memoryBytes: number
  /** On disk, in addition; 0 = nothing is moved there. */
  readonly diskBytes: number
  /** Of one client; Infinity = no limit. */
  readonly quotaBytes: number
  /** Smaller objects are not moved. Default: 64 KiB; a file for each would cost too much. */
  readonly minMovedBytes?: number
}

/** Nothing is limited, and nothing moves to disk. */
export const NO_LIMITS: StorageLimits = {
  memoryBytes: Infinity,
  diskBytes: 0,
  quotaBytes: Infinity,
}

/** See `StorageLimits`. */
const MIN_MOVED_BYTES: number = 64 * 1024

/** For objects that cannot be moved, such as functions, there is a little more room. */
const RESERVE_SHARE = 1 / 8

/** After an error of the disk, nothing is moved to it for this long. */
export const DISK_PAUSE_MS = 10_000

/** A warning is logged above this share of the limits, and again after falling below the other. */
const [WARNED_SHARE, CALM_SHARE] = [0.8, 0.7]

/** The state of content that can be moved. */
export interface Stay {
  /** `leaving`: it is being written to disk. */
  state: 'memory' | 'leaving' | 'disk'
  /** Its place among the objects that may be moved. Invariant: set exactly in state `memory`. */
  place: FifoPlace | undefined
  /** The number of its last move. */
  move: number
}

type FifoPlace = ReturnType<Fifo<ObjectEntry>['push']>

/** The content of all objects. */
export class StorageRoom {
  readonly limits: StorageLimits
  readonly #minMovedBytes: number
  readonly #turn: Turn<SchedulerAction>
  /** Objects that may be moved, the least recently used first. */
  readonly #movable = new Fifo<ObjectEntry>()
  /** Objects that are being written, by the number of the move. */
  readonly #leaving = new Map<number, ObjectEntry>()
  #lastMove = 0
  #memoryBytes = 0
  #leavingBytes = 0
  #diskBytes = 0
  /** Why the disk cannot be used; '' = it can. */
  #diskError = ''
  #pausedUntil: InstantMs = -Infinity
  readonly #retry: Alarm
  #isWarned = false

  constructor(turn: Turn<SchedulerAction>, limits: StorageLimits) {
    this.#turn = turn
    this.limits = limits
    this.#minMovedBytes = limits.minMovedBytes ?? MIN_MOVED_BYTES
    this.#retry = turn.alarm(() => this.#relieve())
  }

  /** The size of content on disk. */
  get diskBytes(): number {
    return this.#diskBytes
  }

  /** The size of all content. */
  get storedBytes(): number {
    return this.#memoryBytes + this.#diskBytes
  }

  /** How much can be stored now. */
  get limitBytes(): number {
    const { memoryBytes, diskBytes } = this.limits
    return memoryBytes + (this.#isPaused ? this.#diskBytes : diskBytes)
  }

  /** Why no content is moved to disk, for people; '' if it is. */
  get diskError(): string {
    return this.#isPaused ? this.#diskError : ''
  }

  /** Whether an object of this size can be stored, of which `growth` bytes are new. */
  has(bytes: number, growth: number): boolean {
    const reserve = bytes < this.#minMovedBytes ? this.limits.memoryBytes * RESERVE_SHARE : 0
    return this.storedBytes + growth <= this.limitBytes + reserve
  }

  /** Content has been stored in memory. `mayMove`: whether it may be moved to disk. */
  enter(entry: ObjectEntry, mayMove = true): void {
    this.#memoryBytes += entry.bytes
    if (this.limits.memoryBytes === Infinity) return
    const canMove = mayMove && this.limits.diskBytes > 0 && entry.bytes >= this.#minMovedBytes
    if (canMove) entry.stay = { state: 'memory', place: this.#movable.push(entry), move: 0 }
    this.#relieve()
    this.#warn()
  }

  /** Content is deleted, or replaced. */
  leave(entry: ObjectEntry): void {
    const { stay } = entry
    if (stay?.state === 'disk') this.#diskBytes -= entry.bytes
    else this.#memoryBytes -= entry.bytes
    if (stay === undefined) return
    if (stay.state === 'leaving') {
      this.#leaving.delete(stay.move)
      this.#leavingBytes -= entry.bytes
    }
    if (stay.place !== undefined) this.#movable.remove(stay.place)
    entry.stay = undefined
    if (this.#isWarned && this.storedBytes < this.limitBytes * CALM_SHARE) this.#isWarned = false
  }

  /** An object was requested: it is moved after the others. */
  touch({ stay }: ObjectEntry): void {
    if (stay?.place === undefined) return
    const entry = stay.place.item
    this.#movable.remove(stay.place)
    stay.place = this.#movable.push(entry)
  }

  /** Content has been written to disk. Returns the object; undefined if it is gone. */
  onMoved(move: number): ObjectEntry | undefined {
    const entry = this.#leaving.get(move)
    if (entry?.stay === undefined) return undefined
    this.#leaving.delete(move)
    this.#leavingBytes -= entry.bytes
    this.#memoryBytes -= entry.bytes
    this.#diskBytes += entry.bytes
    entry.stay.state = 'disk'
    return entry
  }

  /**
   * Content could not be written: it stays in memory, and nothing more is written for a while.
   * Without an `error`, it is this content that cannot be read.
   */
  onMoveFailed(move: number, error: string): void {
    if (error !== '') this.#pause(error)
    const entry = this.#leaving.get(move)
    if (entry?.stay === undefined) return
    this.#leaving.delete(move)
    this.#leavingBytes -= entry.bytes
    if (error === '') {
      entry.stay = undefined
      return
    }
    entry.stay.state = 'memory'
    entry.stay.place = this.#movable.unshift(entry)
  }

  /** Throws if the sizes are wrong. `entries`: all objects. */
  checkInvariants(entries: Iterator<ObjectEntry>): void {
    const sizes = { memory: 0, leaving: 0, disk: 0 }
    let [movable, leaving] = [0, 0]
    for (let next = entries.next(); next.done !== true; next = entries.next()) {
      const { stay, bytes } = next.value
      sizes[stay?.state ?? 'memory'] += bytes
      if (stay?.state === 'memory') movable += 1
      if (stay?.state === 'leaving') leaving += 1
      const isPlaced = stay?.place?.item === next.value
      assert(isPlaced === (stay?.state === 'memory'), 'an object has the wrong place in memory')
    }
    assert(movable === this.#movable.size, 'an object that is gone may be moved')
    assert(leaving === this.#leaving.size, 'an object that is gone is being moved')
    assert(sizes.disk === this.#diskBytes, 'the bytes on disk are miscounted')
    assert(sizes.leaving === this.#leavingBytes, 'the bytes on their way to disk are miscounted')
    const inMemory = sizes.memory + sizes.leaving
    assert(inMemory === this.#memoryBytes, 'the bytes in memory are miscounted')
  }

  get #isPaused(): boolean {
    return this.#turn.now < this.#pausedUntil
  }

  #pause(error: string): void {
    if (!this.#isPaused) {
      const fields = { error, retryInMs: DISK_PAUSE_MS }
      this.#turn.log('warn', 'cannot move objects to disk', fields)
    }
    this.#diskError = error
    this.#pausedUntil = this.#turn.now + DISK_PAUSE_MS
    this.#retry.set(this.#pausedUntil)
  }

  /** Moves objects to disk until memory is below its limit. */
  #relieve(): void {
    const { memoryBytes, diskBytes } = this.limits
    if (this.#isPaused) return
    while (this.#memoryBytes - this.#leavingBytes > memoryBytes) {
      const { first } = this.#movable
      if (first?.stay === undefined) break
      if (this.#diskBytes + this.#leavingBytes + first.bytes > diskBytes) break
      this.#movable.shift()
      this.#lastMove += 1
      first.stay.state = 'leaving'
      first.stay.place = undefined
      first.stay.move = this.#lastMove
      this.#leaving.set(this.#lastMove, first)
      this.#leavingBytes += first.bytes
      const { type: objectType, chunks } = first
      this.#turn.act({ type: 'moveToDisk', move: this.#lastMove, objectType, chunks })
    }
  }

  #warn(): void {
    const { storedBytes, limitBytes } = this
    if (this.#isWarned || storedBytes <= limitBytes * WARNED_SHARE) return
    this.#isWarned = true
    const fields = { storedBytes, limitBytes }
    this.#turn.log('warn', 'the object storage is more than 80 % full', fields)
  }
}
