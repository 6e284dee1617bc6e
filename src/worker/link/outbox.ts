// The processor's way out. It writes synchronously to a pipe that blocks: so it is always known
// what was written, and what was not can be written by the 'exit' handler when user code ends the
// process. While the pipe is full there is nothing better to do anyway: one task runs at a time. A
// system call of this kind also costs less than a write through a stream.

import { writevSync } from 'node:fs'
import type { OutgoingFrame } from '../../transport/options.js'
import { FrameBatch } from './frames.js'

/** `flush` is due when this much waits, in bytes. */
const FLUSH_BYTES = 64 * 1024

/** How long to wait before trying again, also where user code has made the pipe non-blocking. */
const RETRY_MS = 1

/** What the system refuses for a moment. */
const PASSING = new Set(['EAGAIN', 'ENOMEM', 'ENOBUFS'])

/** Collects frames and writes them to a file descriptor. */
export class Outbox {
  readonly #fd: number
  readonly #onBroken: () => void
  readonly #batch = new FrameBatch()
  readonly #cell = new Int32Array(new SharedArrayBuffer(4))
  #isBroken = false

  /** `onBroken` is called once, when nobody reads any more. */
  constructor(fd: number, onBroken: () => void) {
    this.#fd = fd
    this.#onBroken = onBroken
  }

  /** What waits, in bytes. */
  get bytes(): number {
    return this.#batch.bytes
  }

  /** Adds a frame, which leaves with the next `flush`, or now if much waits. */
  add(kind: number, frame: OutgoingFrame): void {
    this.#batch.add(kind, frame)
    if (this.#batch.bytes >= FLUSH_BYTES) this.flush()
  }

  /** Writes all that waits, however long that takes. */
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

/** What is left of some pieces after their first bytes. */
function after(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let left = bytes
  for (const [index, piece] of pieces.entries()) {
    if (left < piece.byteLength) return [piece.subarray(left), ...pieces.slice(index + 1)]
    left -= piece.byteLength
  }
  return []
}
