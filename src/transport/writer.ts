// Writes a send queue to a stream: when, how much at a time, and what has not left yet. One write
// is under way at a time, so that what waits behind it is known, and can be kept when the link is
// lost.

import type { Writable } from 'node:stream'
import type { OutgoingFrame } from './options.js'
import { FLUSH_BYTES, type SendQueue } from './send-queue.js'

/**
 * One write hands at most this much to the operating system, so that progress can be seen: on a
 * link of 1 Mbit/s every two seconds.
 */
const WRITE_BATCH_BYTES = 256 * 1024

/** The writing half of a connection. */
export class FrameWriter implements Flushable {
  readonly #stream: Writable
  readonly #queue: SendQueue
  readonly #flusher: TurnFlusher
  readonly #onProgress: (hasMoved: boolean) => void
  /** Frames of the connection's own (PONG, SUBSCRIBE), which go before what is in the queue. */
  #control: Uint8Array[] = []
  /** Bytes handed to the stream by a write that has not ended. */
  #inFlightBytes = 0
  #isFlushScheduled = false
  #isStarted = false
  #isStopped = false

  /**
   * `onProgress` is called after each write that ended and each turn that was flushed, never from
   * within a call of the owner. `hasMoved`: bytes have left that the operating system could not
   * take at once, so the peer has taken some.
   */
  constructor(
    stream: Writable,
    queue: SendQueue,
    flusher: TurnFlusher,
    onProgress: (hasMoved: boolean) => void,
  ) {
    this.#stream = stream
    this.#queue = queue
    this.#flusher = flusher
    this.#onProgress = onProgress
  }

  /** What waits to be written or is being written, in bytes. */
  get queuedBytes(): number {
    return this.#queue.bytes + this.#inFlightBytes
  }

  /** Whether all that was sent has been handed to the operating system. */
  get isIdle(): boolean {
    return this.queuedBytes === 0 && this.#control.length === 0
  }

  /** Whether a write of the owner's own would come between two messages. */
  get isBetweenMessages(): boolean {
    return this.#inFlightBytes === 0 && this.#queue.isBetweenMessages
  }

  /** How many frames of the connection's own wait. */
  get controlFrames(): number {
    return this.#control.length
  }

  /** The handshake is done: begins to write, at the end of the turn. */
  start(): void {
    this.#isStarted = true
    this.#schedule()
  }

  /** Writes nothing more. */
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

  /** Queues a whole frame of the connection's own before all messages that have not been begun. */
  sendControl(frame: Uint8Array): void {
    this.#control.push(frame)
    this.#schedule()
  }

  /** For the flusher: the turn of the event loop ends. */
  flush(): void {
    this.#isFlushScheduled = false
    if (this.#isStopped) return
    this.write()
    this.#onProgress(false)
  }

  /**
   * Writes what waits now, until the operating system takes no more; then the end of a write goes
   * on.
   */
  write(): void {
    // A stream may have failed without having told it yet: what it would swallow can still be kept.
    if (!this.#isStarted || this.#isStopped || this.#stream.destroyed) return
    while (this.#inFlightBytes === 0) {
      if (this.#control.length > 0 && this.#queue.isBetweenMessages) this.#writeControl()
      else if (this.#queue.bytes > 0) this.#writeQueue()
      else return this.#queue.recycle()
    }
  }

  /** While a write is under way there is nothing to schedule: its end writes the rest. */
  #schedule(): void {
    if (this.#isFlushScheduled || this.#inFlightBytes > 0 || !this.#isStarted) return
    this.#isFlushScheduled = true
    this.#flusher.add(this)
  }

  #writeControl(): void {
    const frames = this.#control
    this.#control = []
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
    // Mostly the operating system takes all of it at once, and nothing is under way any more.
    this.#inFlightBytes = this.#stream.writableLength
  }

  /** Comes after every write, also after one that had ended when `write` returned. */
  readonly #onWritten = (): void => {
    if (this.#isStopped || this.#stream.writableLength > 0) return
    const hasMoved = this.#inFlightBytes > 0
    this.#inFlightBytes = 0
    this.write()
    this.#onProgress(hasMoved)
  }
}

// Lets everything that was sent in one turn of the event loop leave together at its end: one
// `setImmediate` for all connections of a socket.

/** What has something to be written at the end of the turn. */
interface Flushable {
  flush(): void
}

/** Calls `flush` at the end of the turn on each item that was added in it. */
export class TurnFlusher {
  #waiting: Flushable[] = []
  readonly #flushAll = (): void => {
    const items = this.#waiting
    this.#waiting = []
    this.#flush(items)
  }

  /** Adds an item; once a turn is enough. */
  add(item: Flushable): void {
    if (this.#waiting.push(item) === 1) setImmediate(this.#flushAll)
  }

  /** An item that throws is an error of its owner: it must not cost the others their flush. */
  #flush(items: readonly Flushable[]): void {
    let flushed = 0
    try {
      for (const item of items) {
        flushed += 1
        item.flush()
      }
    } finally {
      if (flushed < items.length) setImmediate(() => this.#flush(items.slice(flushed)))
    }
  }
}
