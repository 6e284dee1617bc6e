// How frames lie in a pipe between an agent and a processor: a length (4 bytes, little-endian), a
// kind (1 byte) and that many bytes. What the frames mean is in frames.ts.

import { asBuffer, copyOf } from '../../base/bytes.js'
import { ProtocolError } from '../../base/errors.js'
import type { OutgoingFrame } from '../../transport/options.js'
import { EAGER_BYTES, frameRoom } from '../../transport/zmtp/frame.js'
import { type AgentFrame, encodeControl, MAX_CONTROL_BYTES, type ProcessorFrame } from './frames.js'

/** An encoded message. */
const KIND_MESSAGE = 0

/** A control frame. */
const KIND_CONTROL = 1

/** An encoded task, after the number of its units (4 bytes, little-endian). */
const KIND_TASK_WITH_UNITS = 2

const NUMBER_BYTES = 4

const HEADER_BYTES = 5
const MAX_LENGTH = 2 ** 32 - 1

/** Pieces of at least this size are not copied. */
const LARGE_PIECE_BYTES = 16 * 1024

const SLAB_BYTES = 64 * 1024

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

  /**
   * Adds an encoded message; `unitNumber`: that of the units of a task. Throws `ProtocolError` if
   * it is 4 GiB or longer.
   */
  addMessage(message: OutgoingFrame, unitNumber?: number): void {
    if (message instanceof Uint8Array) {
      this.#beginMessage(message.byteLength, unitNumber)
      this.#addPiece(message)
      return
    }
    let length = 0
    for (const piece of message) length += piece.byteLength
    this.#beginMessage(length, unitNumber)
    for (const piece of message) this.#addPiece(piece)
  }

  /** Adds a control frame. */
  addControl(frame: AgentFrame | ProcessorFrame): void {
    const bytes = encodeControl(frame)
    this.#addHeader(KIND_CONTROL, bytes.byteLength)
    this.#addPiece(bytes)
  }

  /** All queued pieces, in order; the caller owns them, and the batch is empty afterwards. */
  take(): readonly Uint8Array[] {
    this.#cut()
    const pieces = this.#pieces
    this.#pieces = []
    this.#bytes = 0
    return pieces
  }

  #beginMessage(length: number, unitNumber: number | undefined): void {
    if (unitNumber === undefined) return this.#addHeader(KIND_MESSAGE, length)
    this.#addHeader(KIND_TASK_WITH_UNITS, NUMBER_BYTES + length)
    this.#reserve(NUMBER_BYTES)
    this.#end = this.#slab.writeUInt32LE(unitNumber, this.#end)
    this.#bytes += NUMBER_BYTES
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

/** A control frame with its header, for a pipe that carries nothing else. */
export function controlBytes(frame: AgentFrame | ProcessorFrame): Buffer {
  const bytes = encodeControl(frame)
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUInt32LE(bytes.byteLength, 0)
  header[4] = KIND_CONTROL
  return Buffer.concat([header, bytes])
}

/** Receives frames. Those that lie completely in a chunk are views of it. */
export interface FrameReceiver {
  /** `unitNumber`: that of the units of a task, if it has any. */
  onMessage(bytes: Buffer, unitNumber?: number): void
  onControl(bytes: Buffer): void
}

/**
 * Parses frames from chunks of any size. After it has thrown, it must not be fed again.
 */
export class FrameParser {
  readonly #receiver: FrameReceiver
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerLength = 0
  /** The frame that is not complete yet. */
  #body: Buffer | undefined
  #bodyLength = 0
  #bodySize = 0

  constructor(receiver: FrameReceiver) {
    this.#receiver = receiver
  }

  /** Parses one chunk. Throws `ProtocolError` at a frame that is not allowed. */
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
      const kind = bytes[at + 4] as number
      check(kind, size)
      if (bodyAt + size > bytes.length) {
        bytes.copy(this.#header, 0, at, bodyAt)
        this.#begin(size)
        this.#collect(bytes, bodyAt)
        return
      }
      at = bodyAt + size
      this.#receive(kind, bytes.subarray(bodyAt, at))
    }
  }

  /** Like `feed`, for memory that is overwritten afterwards. */
  feedCopy(memory: Buffer): void {
    const taken = this.#body === undefined ? 0 : this.#collect(memory, 0)
    if (taken < memory.length) this.feed(copyOf(memory.subarray(taken)))
  }

  /** Continues a frame from earlier chunks. Returns where the next frame starts. */
  #resume(chunk: Buffer): number {
    if (this.#body !== undefined) return this.#collect(chunk, 0)
    if (this.#headerLength === 0) return 0
    const bodyAt = HEADER_BYTES - this.#headerLength
    this.#headerLength += chunk.copy(this.#header, this.#headerLength, 0, bodyAt)
    if (this.#headerLength < HEADER_BYTES) return chunk.length
    this.#headerLength = 0
    const size = this.#header.readUInt32LE(0)
    check(this.#header[4] as number, size)
    this.#begin(size)
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
      const larger = Buffer.allocUnsafeSlow(frameRoom(this.#bodySize, needed))
      body.copy(larger, 0, 0, this.#bodyLength)
      this.#body = body = larger
    }
    chunk.copy(body, this.#bodyLength, start, end)
    this.#bodyLength = needed
    if (needed < this.#bodySize) return end
    this.#body = undefined
    this.#receive(this.#header[4] as number, body)
    return end
  }

  #receive(kind: number, bytes: Buffer): void {
    if (kind === KIND_MESSAGE) this.#receiver.onMessage(bytes)
    else if (kind === KIND_CONTROL) this.#receiver.onControl(bytes)
    else this.#receiver.onMessage(bytes.subarray(NUMBER_BYTES), bytes.readUInt32LE(0))
  }
}

/** Refuses a frame as soon as its header has arrived. */
function check(kind: number, size: number): void {
  if (kind === KIND_MESSAGE) return
  if (kind === KIND_TASK_WITH_UNITS) {
    if (size >= NUMBER_BYTES) return
    throw new ProtocolError(`a task with units of ${size} bytes: incomplete`)
  }
  if (kind !== KIND_CONTROL) throw new ProtocolError(`a frame of the unknown kind ${kind}`)
  if (size <= MAX_CONTROL_BYTES) return
  const limit = `at most ${MAX_CONTROL_BYTES} are allowed`
  throw new ProtocolError(`a control frame of ${size} bytes; ${limit}`)
}
