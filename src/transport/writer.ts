// Writes a send queue to a stream: when, how much at a time, and what has not left yet. Only one
// write is in progress at a time, so that what is queued behind it is known and can be kept if the
// link is lost.

import type { Writable } from 'node:stream'
import { Fifo } from '../base/collection/fifo.js'
import type { OutgoingFrame } from './options.js'
import { FLUSH_BYTES, type SendQueue } from './send-queue.js'

/**
 * The most bytes that one write hands to the operating system, so that progress stays visible:
 * every two seconds on a 1 Mbit/s link.
 */
const WRITE_BATCH_BYTES = 256 * 1024

/** What a writer asks of its owner. */
export interface WriterActions<Owner> {
  /**
   * Called after each finished write and each flushed turn, never from within a call of the owner.
   * `hasMoved`: bytes have left that the operating system could not take immediately, so the peer
   * has taken some.
   */
  written(own: Owner, hasMoved: boolean): void
}

/** What a writer works with. */
interface WriterSetup<Owner> {
  readonly stream: Writable
  readonly queue: SendQueue
  readonly flusher: TurnFlusher
  readonly actions: WriterActions<Owner>
  readonly owner: Owner
  /**
   * A write of up to this many bytes is not finished when the call returns, even if the system can
   * take all of it. Default: 0.
   */
  readonly slowBytes?: number
}

/** The writing half of a connection. */
export class FrameWriter<Owner> implements Flushable {
  readonly #stream: Writable
  readonly #queue: SendQueue
  readonly #flusher: TurnFlusher
  readonly #actions: WriterActions<Owner>
  readonly #owner: Owner
  readonly #slowBytes: number
  /** Control frames (PONG, SUBSCRIBE), which go ahead of the queue. */
  #control: Uint8Array[] | undefined
  /** Bytes of the write in progress. */
  #inFlightBytes = 0
  #isFlushScheduled = false
  #isStarted = false
  #isStopped = false

  constructor({ stream, queue, flusher, actions, owner, slowBytes = 0 }: WriterSetup<Owner>) {
    this.#stream = stream
    this.#queue = queue
    this.#flusher = flusher
    this.#actions = actions
    this.#owner = owner
    this.#slowBytes = slowBytes
  }

  /** Bytes queued or being written. */
  get queuedBytes(): number {
    return this.#queue.bytes + this.#inFlightBytes
  }

  /** Whether everything sent has been handed to the operating system. */
  get isIdle(): boolean {
    return this.queuedBytes === 0 && this.#control === undefined
  }

  /** Whether a write by the owner itself would fall between two messages. */
  get isBetweenMessages(): boolean {
    return this.#inFlightBytes === 0 && this.#queue.isBetweenMessages
  }

  /** How many control frames are queued. */
  get controlFrames(): number {
    return this.#control?.length ?? 0
  }

  /** The handshake is done: starts writing at the end of the turn. */
  start(): void {
    this.#isStarted = true
    this.#schedule()
  }

  /** Stops writing. */
  stop(): void {
    this.#isStopped = true
  }

  /** Queues a message of one frame. */
  send(frame: OutgoingFrame): void {
    this.#queue.push(frame, false)
    if (this.#queue.bytes >= FLUSH_BYTES) this.write()
    else this.#schedule()
  }

  /** Queues a message of several frames. */
  sendMessage(frames: readonly OutgoingFrame[]): void {
    this.#queue.pushMessage(frames)
    if (this.#queue.bytes >= FLUSH_BYTES) this.write()
    else this.#schedule()
  }

  /** Queues a whole control frame ahead of all messages that have not been started. */
  sendControl(frame: Uint8Array): void {
    if (this.#control === undefined) this.#control = [frame]
    else this.#control.push(frame)
    this.#schedule()
  }

  /** Called by the flusher at the end of the event-loop turn. */
  flush(): void {
    this.#isFlushScheduled = false
    if (this.#isStopped) return
    this.write()
    this.#actions.written(this.#owner, false)
  }

  /**
   * Writes queued data until the operating system takes no more; the completion of that write
   * continues.
   */
  write(): void {
    // A stream may have failed without reporting it yet: data it would swallow can still be kept.
    if (!this.#isStarted || this.#isStopped || this.#stream.destroyed) return
    while (this.#inFlightBytes === 0) {
      if (this.#control !== undefined && this.#queue.isBetweenMessages)
        this.#writeControl(this.#control)
      else if (this.#queue.bytes > 0) this.#writeQueue()
      else return this.#queue.recycle()
    }
  }

  /** While a write is in progress there is nothing to schedule: its completion writes the rest. */
  #schedule(): void {
    if (this.#isFlushScheduled || this.#inFlightBytes > 0 || !this.#isStarted) return
    this.#isFlushScheduled = true
    this.#flusher.add(this)
  }

  #writeControl(frames: readonly Uint8Array[]): void {
    this.#control = undefined
    this.#writeRun(frames.length === 1 ? (frames[0] as Uint8Array) : Buffer.concat(frames))
  }

  #writeQueue(): void {
    if (this.#queue.isOneRun) return this.#writeRun(this.#queue.takeSlab())
    const stream = this.#stream
    const runs = this.#queue.takeBatch(WRITE_BATCH_BYTES)
    const last = runs.pop() as Uint8Array
    stream.cork()
    for (const run of runs) stream.write(run)
    stream.write(last, this.#onWritten)
    stream.uncork()
    this.#inFlightBytes = stream.writableLength
  }

  #writeRun(run: Uint8Array): void {
    this.#stream.write(run, this.#onWritten)
    // Usually the operating system takes all of it immediately, and no write is in progress.
    this.#inFlightBytes = this.#stream.writableLength
  }

  /** Called after every write, even one that had finished when `write` returned. */
  readonly #onWritten = (): void => {
    if (this.#isStopped || this.#stream.writableLength > 0) return
    const hasMoved = this.#inFlightBytes > this.#slowBytes
    this.#inFlightBytes = 0
    this.write()
    this.#actions.written(this.#owner, hasMoved)
  }
}

// Sends everything from one event-loop turn together at its end: one `setImmediate` for all
// connections of a socket. With thousands of connections, the rest waits for the next turns.

/** Something with data to write at the end of the turn. */
interface Flushable {
  flush(): void
}

/** How long one turn writes: a write is a system call. */
const FLUSH_MS = 3

/** Calls `flush` at the end of the turn on each item added during it. */
export class TurnFlusher {
  readonly #waiting = new Fifo<Flushable>()
  readonly #now: () => number
  #isScheduled = false

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Adds an item; once per turn is enough. */
  add(item: Flushable): void {
    this.#waiting.push(item)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#flush)
  }

  /** An exception from an item is its owner's error: the others must still be flushed. */
  readonly #flush = (): void => {
    this.#isScheduled = false
    // What is added meanwhile belongs to the next turn.
    let count = this.#waiting.size
    const endsAt = count > 1 ? this.#now() + FLUSH_MS : 0
    try {
      while (count > 0) {
        count -= 1
        this.#waiting.shift()?.flush()
        if (count > 0 && this.#now() >= endsAt) break
      }
    } finally {
      if (this.#waiting.size > 0) this.#schedule()
    }
  }
}
