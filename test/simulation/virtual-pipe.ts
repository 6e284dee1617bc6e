// One direction of a connection: frames arrive in order, after a while; a limited number of bytes
// is in transit or unread, the rest waits at the sender.

import type { InstantMs } from '#src/base/machine.js'
import type { Random } from './random.js'
import type { VirtualClock } from './virtual-clock.js'

/** A frame: a message of the owner's, or a command of the connection's own. */
export interface PipeFrame {
  readonly kind: 'ready' | 'message' | 'ping' | 'pong' | 'end'
  readonly bytes: Uint8Array
  /** It was in transit when the connection was cut. */
  isLost: boolean
}

/** The properties of a network. Times in milliseconds. */
export interface PipeSettings {
  readonly minDelayMs: number
  readonly maxDelayMs: number
  readonly bytesPerMs: number
  /** The most bytes in transit or unread. */
  readonly windowBytes: number
  /** A sender is notified that it is too fast when more than this is queued. */
  readonly highWaterMarkBytes: number
  /** The time between two reads of a slow reader. */
  readonly readGapMs: number
}

/** The receiver of a pipe. */
export interface PipeReader {
  /** Calls `read` when the reading process is ready. */
  whenReading(read: () => void): void
  onFrame(frame: PipeFrame): void
  /** A part of a long frame has arrived. */
  onProgress(): void
}

/** The overhead of a frame. */
const FRAME_BYTES = 9
/** How often the progress of a long frame is visible. */
const PROGRESS_INTERVAL_MS = 1_000

/** One direction. */
export class VirtualPipe {
  readonly #clock: VirtualClock
  readonly #random: Random
  readonly #settings: PipeSettings
  readonly #reader: PipeReader
  readonly #onWritten: (hasWaited: boolean) => void
  readonly #waiting: PipeFrame[] = []
  #flying: PipeFrame[] = []
  /** Those that have not arrived, in the order in which they were sent. */
  readonly #coming: { readonly frame: PipeFrame; readonly size: number }[] = []
  #waitingBytes = 0
  /** In transit, or unread. */
  #wireBytes = 0
  #takenBytes = 0
  #lineFreeAt: InstantMs = 0
  #lastArrival: InstantMs = 0
  #lastRead: InstantMs = 0
  #stalledUntil: InstantMs = 0
  #isVoid = false
  #isClosed = false

  constructor(
    clock: VirtualClock,
    random: Random,
    settings: PipeSettings,
    ends: { readonly reader: PipeReader; readonly onWritten: (hasWaited: boolean) => void },
  ) {
    this.#clock = clock
    this.#random = random
    this.#settings = settings
    this.#reader = ends.reader
    this.#onWritten = ends.onWritten
  }

  /** The bytes queued at the sender. */
  get queuedBytes(): number {
    return this.#waitingBytes
  }

  /** The bytes that the system has accepted since the beginning. */
  get takenBytes(): number {
    return this.#takenBytes
  }

  /** When the last frame in transit arrives. */
  get lastArrival(): InstantMs {
    return this.#lastArrival
  }

  /** Adds a frame after all others. */
  send(kind: PipeFrame['kind'], bytes: Uint8Array): void {
    if (this.#isClosed) return
    this.#waiting.push({ kind, bytes, isLost: false })
    this.#waitingBytes += bytes.byteLength + FRAME_BYTES
    this.#pump(false)
  }

  /** From now on sent frames never arrive, silently. */
  enterVoid(): void {
    this.#isVoid = true
    this.#flying = []
  }

  /** Nothing arrives before then; all arrives after it. */
  stall(until: InstantMs): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, until)
  }

  /** Nothing more is written. Frames in transit arrive. */
  close(): void {
    this.#isClosed = true
    this.#waiting.length = 0
    this.#waitingBytes = 0
  }

  /** Only a part of the frames in transit arrives. */
  loseSome(): void {
    const kept = this.#random.int(this.#flying.length + 1)
    for (const frame of this.#flying.splice(kept)) frame.isLost = true
  }

  #pump(hasWaited: boolean): void {
    while (this.#waiting.length > 0) {
      const frame = this.#waiting[0] as PipeFrame
      const size = frame.bytes.byteLength + FRAME_BYTES
      if (this.#wireBytes > 0 && this.#wireBytes + size > this.#settings.windowBytes) return
      this.#waiting.shift()
      this.#waitingBytes -= size
      this.#wireBytes += size
      this.#takenBytes += size
      this.#transmit(frame, size)
      this.#onWritten(hasWaited)
    }
  }

  #transmit(frame: PipeFrame, size: number): void {
    const { minDelayMs, maxDelayMs, bytesPerMs } = this.#settings
    const { now } = this.#clock
    const begin = Math.max(now, this.#lineFreeAt)
    this.#lineFreeAt = begin + size / bytesPerMs
    const delayMs = this.#random.between(minDelayMs, maxDelayMs)
    const arrival = Math.max(this.#lineFreeAt + delayMs, this.#lastArrival)
    this.#lastArrival = arrival
    this.#flying.push(frame)
    this.#coming.push({ frame, size })
    this.#planProgress(frame, begin + delayMs)
    this.#clock.at(arrival, () => this.#arrive())
  }

  #planProgress(frame: PipeFrame, begin: InstantMs): void {
    const at = begin + PROGRESS_INTERVAL_MS
    if (at >= this.#lastArrival) return
    const end = this.#lastArrival
    const tell = (): void => {
      if (!frame.isLost && !this.#isVoid && this.#clock.now >= this.#stalledUntil) {
        this.#reader.whenReading(() => this.#reader.onProgress())
      }
      const next = this.#clock.now + PROGRESS_INTERVAL_MS
      if (next < end && !frame.isLost) this.#clock.at(next, tell)
    }
    this.#clock.at(at, tell)
  }

  /** The next frame arrives: called once for each, and after a stall perhaps not in order. */
  #arrive(): void {
    const { now } = this.#clock
    if (now < this.#stalledUntil) {
      this.#lastArrival = Math.max(this.#lastArrival, this.#stalledUntil)
      this.#clock.at(this.#stalledUntil, () => this.#arrive())
      return
    }
    const next = this.#coming.shift()
    if (next === undefined || next.frame.isLost || this.#isVoid) return
    const { frame, size } = next
    const { readGapMs } = this.#settings
    if (readGapMs === 0) {
      this.#read(frame, size)
      return
    }
    this.#lastRead = Math.max(now, this.#lastRead + readGapMs)
    this.#lastArrival = Math.max(this.#lastArrival, this.#lastRead)
    this.#clock.at(this.#lastRead, () => this.#read(frame, size))
  }

  #read(frame: PipeFrame, size: number): void {
    if (frame.isLost) return
    this.#reader.whenReading(() => {
      if (frame.isLost) return
      const at = this.#flying.indexOf(frame)
      if (at >= 0) this.#flying.splice(at, 1)
      this.#wireBytes -= size
      this.#reader.onFrame(frame)
      if (!this.#isClosed) this.#pump(true)
    })
  }
}
