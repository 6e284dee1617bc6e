// The processor's outgoing pipe. It is written synchronously and blocks: this way it is always
// known what was written, and the 'exit' handler can write the rest when user code ends the
// process. While the pipe is full there is nothing better to do: one task runs at a time. Such a
// system call also costs less than a write through a stream.

import { writevSync } from 'node:fs'
import type { OutgoingFrame } from '../../transport/options.js'
import type { ProcessorFrame } from './frames.js'
import { FrameBatch } from './pipe.js'

/** Queued bytes that trigger a `flush`. */
const FLUSH_BYTES = 64 * 1024

/** How long to wait before a retry, for example if user code has made the pipe non-blocking. */
const RETRY_MS = 1

/** Errors that pass. */
const PASSING = new Set(['EAGAIN', 'ENOMEM', 'ENOBUFS'])

/** Collects frames and writes them to a file descriptor. */
export class Outbox {
  readonly #fd: number
  readonly #onBroken: () => void
  readonly #batch = new FrameBatch()
  readonly #cell = new Int32Array(new SharedArrayBuffer(4))
  #isBroken = false
  /**
   * Whether anything but results was added since this was reset: the results of the same tasks must
   * not overtake it, and follow it at once.
   */
  hasOther = false

  /** `onBroken` is called once, when the reader has closed the pipe. */
  constructor(fd: number, onBroken: () => void) {
    this.#fd = fd
    this.#onBroken = onBroken
  }

  /** Queued bytes. */
  get bytes(): number {
    return this.#batch.bytes
  }

  /** Adds a result, which leaves with the next `flush`, or now if many bytes are queued. */
  addResult(message: OutgoingFrame): void {
    this.#batch.addMessage(message)
    if (this.#batch.bytes >= FLUSH_BYTES) this.flush()
  }

  /** The same for any other message. */
  add(message: OutgoingFrame): void {
    this.#batch.addMessage(message)
    this.hasOther = true
    if (this.#batch.bytes >= FLUSH_BYTES) this.flush()
  }

  /** Sends a control frame now, after all queued frames. */
  send(frame: ProcessorFrame): void {
    this.#batch.addControl(frame)
    this.flush()
  }

  /** Writes all queued frames, however long that takes. */
  flush(): void {
    if (this.#batch.bytes === 0) return
    const pieces = this.#batch.take()
    if (this.#isBroken) return
    try {
      this.#write(pieces)
    } catch {
      this.#isBroken = true
      this.#onBroken()
    }
  }

  #write(all: readonly Uint8Array[]): void {
    let pieces = all
    while (pieces.length > 0) pieces = after(pieces, this.#tryWrite(pieces))
  }

  #tryWrite(pieces: readonly Uint8Array[]): number {
    try {
      return writevSync(this.#fd, pieces)
    } catch (error) {
      if (!PASSING.has((error as NodeJS.ErrnoException).code ?? '')) throw error
      Atomics.wait(this.#cell, 0, 0, RETRY_MS)
      return 0
    }
  }
}

/** The rest of some pieces after their first bytes. */
function after(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let left = bytes
  for (const [index, piece] of pieces.entries()) {
    if (left < piece.byteLength) return [piece.subarray(left), ...pieces.slice(index + 1)]
    left -= piece.byteLength
  }
  return []
}
