// The room for content: in memory, and beyond that on disk. Decides which objects move to disk (the
// least recently used) and which cannot be stored at all. The shell writes and reads the files.
// docs/protocol.md#storage

import { assert } from '../../../base/assert.js'
import { Fifo } from '../../../base/collection/fifo.js'
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
  /** Content moves to disk if there is more than this in memory. Default: `memoryBytes`. */
  readonly keptBytes?: number
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

/** The part of the memory that is reserved for small objects, such as functions. */
const RESERVE_SHARE = 1 / 8

/** What an object takes in addition to its content, in bytes. */
const OVERHEAD_BYTES = 512

/** How many objects are looked at to find one that fits on the disk. */
const MAX_LOOKS = 64

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
  #count = 0
  #memoryBytes = 0
  /** The part of it that cannot be moved, and the part of that in small objects. */
  #fixedBytes = 0
  #smallBytes = 0
  #leavingBytes = 0
  #diskBytes = 0
  /** On object storage servers, which have limits of their own. */
  #serverBytes = 0
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

  /** How many objects are stored. */
  get count(): number {
    return this.#count
  }

  /** The size of content on disk. */
  get diskBytes(): number {
    return this.#diskBytes
  }

  /** The size of content on object storage servers. */
  get serverBytes(): number {
    return this.#serverBytes
  }

  /** The size of all other content. */
  get storedBytes(): number {
    return this.#memoryBytes + this.#diskBytes
  }

  /** How much can be stored now. */
  get limitBytes(): number {
    const { memoryBytes, diskBytes } = this.limits
    return memoryBytes + (this.#isDiskUsable ? diskBytes : this.#diskBytes)
  }

  /** Why no content is moved to disk, for people; '' if it is. */
  get diskError(): string {
    return this.#diskError
  }

  /** Whether an object of this size can be stored, of which `growth` bytes are new. */
  has(bytes: number, growth: number): boolean {
    const { memoryBytes, diskBytes } = this.limits
    const isSmall = bytes < this.#minMovedBytes
    const cost = growth + (isSmall ? OVERHEAD_BYTES : 0)
    if (isSmall && this.#smallBytes + cost <= memoryBytes * RESERVE_SHARE) return true
    if (this.storedBytes + growth > this.limitBytes) return false
    if (diskBytes === 0) return true
    if (isSmall) return this.#fixedBytes + cost <= memoryBytes
    const diskRoom = diskBytes - this.#diskBytes - this.#leavingBytes
    return bytes <= Math.max(memoryBytes - this.#fixedBytes, diskRoom)
  }

  /** Content has been stored in memory. `mayMove`: whether it may be moved to disk. */
  enter(entry: ObjectEntry, mayMove = true): void {
    if (entry.type !== 'refused') this.#count += 1
    if (entry.type === 'stored') {
      this.#serverBytes += entry.bytes
      return
    }
    this.#memoryBytes += entry.bytes
    const { memoryBytes, diskBytes } = this.limits
    const isMovable = mayMove && (entry.type === 'object' || entry.type === 'file')
    const isSuitable = memoryBytes < Infinity && diskBytes > 0 && entry.bytes >= this.#minMovedBytes
    if (isMovable && isSuitable) {
      entry.stay = { state: 'memory', place: this.#movable.push(entry), move: 0 }
    } else this.#countFixed(entry, 1)
    if (memoryBytes === Infinity) return
    this.#relieve()
    this.#warn()
  }

  /** Content is deleted, or replaced. */
  leave(entry: ObjectEntry): void {
    if (entry.type !== 'refused') this.#count -= 1
    if (entry.type === 'stored') {
      this.#serverBytes -= entry.bytes
      return
    }
    const { stay } = entry
    if (stay?.state === 'disk') this.#diskBytes -= entry.bytes
    else this.#memoryBytes -= entry.bytes
    if (stay === undefined) this.#countFixed(entry, -1)
    if (stay?.state === 'leaving') {
      this.#leaving.delete(stay.move)
      this.#leavingBytes -= entry.bytes
    }
    if (stay?.place !== undefined) this.#movable.remove(stay.place)
    entry.stay = undefined
    this.#relieve()
  }

  /** An object was requested: it is moved after the others. */
  touch(entry: ObjectEntry): void {
    const { stay } = entry
    if (stay?.place === undefined) return
    this.#movable.remove(stay.place)
    stay.place = this.#movable.push(entry)
  }

  /** Content has been written to disk. Returns the object; undefined if it is gone. */
  onMoved(move: number): ObjectEntry | undefined {
    if (this.#diskError !== '') this.#turn.log('info', 'objects are moved to disk again')
    this.#diskError = ''
    const entry = this.#leaving.get(move)
    if (entry?.stay === undefined) return undefined
    this.#leaving.delete(move)
    this.#leavingBytes -= entry.bytes
    this.#memoryBytes -= entry.bytes
    this.#diskBytes += entry.bytes
    entry.stay.state = 'disk'
    this.#relieve()
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
      this.#countFixed(entry, 1)
      return this.#relieve()
    }
    entry.stay.state = 'memory'
    entry.stay.place = this.#movable.unshift(entry)
  }

  /** Throws if the sizes are wrong. `entries`: all objects. */
  checkInvariants(entries: Iterator<ObjectEntry>): void {
    const sizes = { memory: 0, leaving: 0, disk: 0 }
    let server = 0
    let fixed = 0
    let stored = 0
    let [movable, leaving] = [0, 0]
    for (let next = entries.next(); next.done !== true; next = entries.next()) {
      const { stay, bytes, type } = next.value
      if (type !== 'refused') stored += 1
      if (type === 'stored') {
        assert(stay === undefined, 'content on a server has a place in memory')
        server += bytes
        continue
      }
      sizes[stay?.state ?? 'memory'] += bytes
      const isSmall = bytes < this.#minMovedBytes
      if (stay === undefined) fixed += bytes + (isSmall ? OVERHEAD_BYTES : 0)
      if (stay?.state === 'memory') movable += 1
      if (stay?.state === 'leaving') leaving += 1
      const isPlaced = stay?.place?.item === next.value
      assert(isPlaced === (stay?.state === 'memory'), 'an object has the wrong place in memory')
    }
    assert(stored === this.#count, 'the objects are miscounted')
    assert(movable === this.#movable.size, 'an object that is gone may be moved')
    assert(leaving === this.#leaving.size, 'an object that is gone is being moved')
    assert(fixed === this.#fixedBytes, 'the bytes that cannot be moved are miscounted')
    assert(server === this.#serverBytes, 'the bytes on servers are miscounted')
    assert(sizes.disk === this.#diskBytes, 'the bytes on disk are miscounted')
    assert(sizes.leaving === this.#leavingBytes, 'the bytes on their way to disk are miscounted')
    const inMemory = sizes.memory + sizes.leaving
    assert(inMemory === this.#memoryBytes, 'the bytes in memory are miscounted')
  }

  /** After an error, one object shows whether it can be used again. */
  get #isDiskUsable(): boolean {
    if (this.#diskError === '') return true
    return this.#turn.now >= this.#pausedUntil && this.#leaving.size === 0
  }

  #pause(error: string): void {
    if (this.#diskError === '') {
      const fields = { error, retryInMs: DISK_PAUSE_MS }
      this.#turn.log('warn', 'cannot move objects to disk', fields)
    }
    this.#diskError = error
    this.#pausedUntil = this.#turn.now + DISK_PAUSE_MS
    this.#retry.set(this.#pausedUntil)
  }

  #countFixed({ bytes }: ObjectEntry, sign: 1 | -1): void {
    const isSmall = bytes < this.#minMovedBytes
    const cost = sign * (bytes + (isSmall ? OVERHEAD_BYTES : 0))
    this.#fixedBytes += cost
    if (isSmall) this.#smallBytes += cost
  }

  /** Moves objects to disk until there is no more in memory than is kept. */
  #relieve(): void {
    const { memoryBytes, keptBytes = memoryBytes } = this.limits
    while (this.#memoryBytes - this.#leavingBytes > keptBytes) {
      const entry = this.#isDiskUsable ? this.#nextToMove() : undefined
      if (entry?.stay?.place === undefined) return
      this.#movable.remove(entry.stay.place)
      this.#lastMove += 1
      entry.stay.state = 'leaving'
      entry.stay.place = undefined
      entry.stay.move = this.#lastMove
      this.#leaving.set(this.#lastMove, entry)
      this.#leavingBytes += entry.bytes
      const { type: objectType, chunks } = entry
      this.#turn.act({ type: 'moveToDisk', move: this.#lastMove, objectType, chunks })
    }
  }

  /** The least recently used object that fits on the disk. */
  #nextToMove(): ObjectEntry | undefined {
    const room = this.limits.diskBytes - this.#diskBytes - this.#leavingBytes
    let looks = 0
    for (const entry of this.#movable) {
      if (entry.bytes <= room) return entry
      looks += 1
      if (looks === MAX_LOOKS) return undefined
    }
    return undefined
  }

  #warn(): void {
    const { storedBytes, limitBytes } = this
    if (storedBytes < limitBytes * CALM_SHARE) this.#isWarned = false
    if (this.#isWarned || storedBytes <= limitBytes * WARNED_SHARE) return
    this.#isWarned = true
    const fields = { storedBytes, limitBytes }
    this.#turn.log('warn', 'the object storage is more than 80 % full', fields)
  }
}
