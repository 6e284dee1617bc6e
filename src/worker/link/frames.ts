// The frames between an agent and its processor: a length (4 bytes, little-endian), a kind (1 byte)
// and that many bytes. There is one pipe for each direction.
//
//   agent ── fd 3 ──► processor     its worker; messages: tasks, objects, deletes; orders to stop a
//                                   task, to collect garbage, to exit
//   agent ◄── fd 5 ── processor     messages: ProcessorInitialized, results, updates; log lines;
//                                   the exit note
//   agent ◄─ fd 4 ──► guardian      questions and their answers, in order (lifeline.ts); it closes
//                                   when the agent dies (guardian.ts)

import { asBuffer } from '../../base/bytes.js'
import { ProtocolError } from '../../base/errors.js'
import type { OutgoingFrame } from '../../transport/options.js'

/** The processor reads frames of the agent from here. */
export const INBOX_FD = 3

/** The lifeline of the guardian. */
export const LIFELINE_FD = 4

/** The processor writes here. Separate from the inbox, so that it can block (see outbox.ts). */
export const OUTBOX_FD = 5

/** A frame that is an encoded message. */
export const KIND_MESSAGE = 0

/** The last frame of a processor: what it ran when it exited (control.ts). */
export const KIND_EXIT_NOTE = 1

/** The first frame that a processor receives: its worker (control.ts). */
export const KIND_HOST = 2

/** An order to stop a task (control.ts). */
export const KIND_STOP = 3

/** A task has written a log line (control.ts). */
export const KIND_LOG = 4

/** On the lifeline: the status of a task. */
export const KIND_STATUS = 5

/** On the lifeline: tasks are taken back. */
export const KIND_RETRACT = 6

/** On the lifeline: checks that the guardian responds. */
export const KIND_PULSE = 7

/** An order to exit. A pipe that closes without it means that the agent has died. */
export const KIND_END = 8

/** An order to an idle processor to collect garbage (control.ts). */
export const KIND_COLLECT = 9

/** The units of the next task (control.ts). */
export const KIND_UNITS = 10

const HEADER_BYTES = 5
const MAX_LENGTH = 2 ** 32 - 1

/** Pieces of at least this size are not copied. */
const LARGE_PIECE_BYTES = 16 * 1024

const SLAB_BYTES = 64 * 1024

/** Frames up to this size get all their memory as soon as their length is known. */
const EAGER_BYTES = 1024 ** 2

/** Memory for larger frames grows by this factor when it is full. */
const GROWTH = 8

/**
 * Joins frames into one write. Small pieces are copied, large ones are not.
 */
export class FrameBatch {
  #pieces: Uint8Array[] = []
  #slab: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES)
  /** `#slab[#start..#end)` is filled and not in `#pieces` yet. */
  #start = 0
  #end = 0
  #bytes = 0

  /** Queued bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds one frame. Throws `ProtocolError` if it is 4 GiB or longer. */
  add(kind: number, frame: OutgoingFrame): void {
    if (frame instanceof Uint8Array) {
      this.#addHeader(kind, frame.byteLength)
      this.#addPiece(frame)
      return
    }
    let length = 0
    for (const piece of frame) length += piece.byteLength
    this.#addHeader(kind, length)
    for (const piece of frame) this.#addPiece(piece)
  }

  /** All queued pieces, in order; the caller owns them, and the batch is empty afterwards. */
  take(): readonly Uint8Array[] {
    this.#cut()
    const pieces = this.#pieces
    this.#pieces = []
    this.#bytes = 0
    return pieces
  }

  #addHeader(kind: number, length: number): void {
    if (length > MAX_LENGTH) throw new ProtocolError(`a frame of ${length} bytes: too long`)
    this.#reserve(HEADER_BYTES)
    this.#slab.writeUInt32LE(length, this.#end)
    this.#slab[this.#end + 4] = kind
    this.#end += HEADER_BYTES
    this.#bytes += HEADER_BYTES
  }

  #addPiece(piece: Uint8Array): void {
    this.#bytes += piece.byteLength
    if (piece.byteLength >= LARGE_PIECE_BYTES) {
      this.#cut()
      this.#pieces.push(piece)
      return
    }
    this.#reserve(piece.byteLength)
    this.#slab.set(piece, this.#end)
    this.#end += piece.byteLength
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#slab.length) return
    this.#cut()
    this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
    this.#start = 0
    this.#end = 0
  }

  #cut(): void {
    if (this.#end === this.#start) return
    this.#pieces.push(this.#slab.subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}

/**
 * Parses frames from chunks of any size. After it has thrown, it must not be fed again.
 */
export class FrameParser {
  readonly #onFrame: (kind: number, bytes: Buffer) => void
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerLength = 0
  /** The frame that is not complete yet. */
  #body: Buffer | undefined
  #bodyLength = 0
  #bodySize = 0

  /** Frames that lie completely in a chunk are views of it. */
  constructor(onFrame: (kind: number, bytes: Buffer) => void) {
    this.#onFrame = onFrame
  }

  /** Parses one chunk. Throws `ProtocolError` at a frame of an unknown kind. */
  feed(chunk: Uint8Array): void {
    const bytes = asBuffer(chunk)
    let at = this.#resume(bytes)
    while (at < bytes.length) {
      if (bytes.length - at < HEADER_BYTES) {
        this.#headerLength = bytes.copy(this.#header, 0, at)
        return
      }
      const bodyAt = at + HEADER_BYTES
      const size = bytes.readUInt32LE(at)
      const kind = checkKind(bytes[at + 4])
      if (bodyAt + size > bytes.length) {
        bytes.copy(this.#header, 0, at, bodyAt)
        this.#begin(size)
        this.#collect(bytes, bodyAt)
        return
      }
      at = bodyAt + size
      this.#onFrame(kind, bytes.subarray(bodyAt, at))
    }
  }

  /** Continues a frame from earlier chunks. Returns where the next frame starts. */
  #resume(chunk: Buffer): number {
    if (this.#body !== undefined) return this.#collect(chunk, 0)
    if (this.#headerLength === 0) return 0
    const bodyAt = HEADER_BYTES - this.#headerLength
    this.#headerLength += chunk.copy(this.#header, this.#headerLength, 0, bodyAt)
    if (this.#headerLength < HEADER_BYTES) return chunk.length
    this.#headerLength = 0
    checkKind(this.#header[4])
    this.#begin(this.#header.readUInt32LE(0))
    return this.#collect(chunk, bodyAt)
  }

  #begin(size: number): void {
    this.#bodySize = size
    this.#bodyLength = 0
    this.#body = Buffer.allocUnsafeSlow(Math.min(size, EAGER_BYTES))
  }

  /** Adds bytes to the unfinished frame. Returns where the next one starts. */
  #collect(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + this.#bodySize - this.#bodyLength)
    const needed = this.#bodyLength + end - start
    let body = this.#body as Buffer
    if (needed > body.length) {
      const size = Math.min(this.#bodySize, Math.max(needed, body.length * GROWTH))
      const larger = Buffer.allocUnsafeSlow(size)
      body.copy(larger, 0, 0, this.#bodyLength)
      this.#body = body = larger
    }
    chunk.copy(body, this.#bodyLength, start, end)
    this.#bodyLength = needed
    if (needed < this.#bodySize) return end
    this.#body = undefined
    this.#onFrame(checkKind(this.#header[4]), body)
    return end
  }
}

function checkKind(kind: number | undefined): number {
  if (kind !== undefined && kind <= KIND_UNITS) return kind
  throw new ProtocolError(`a frame of the unknown kind ${kind}`)
}
