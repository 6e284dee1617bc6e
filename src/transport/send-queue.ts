// The outgoing data for one peer, already framed. Small frames are copied into a slab one after the
// other, so that they leave in one write; large pieces keep their place between cuts of the slab.
// The queue tracks message boundaries: after a lost connection it can continue with whole messages.

import type { OutgoingFrame } from './options.js'
import { FLAG_MORE, MAX_HEADER_BYTES, writeHeader } from './zmtp/frame.js'

// Memory in which small frames are combined for one write. A connection borrows a slab when it has
// data to send and returns it once that is written, so idle connections hold none.

/** Frames are written as soon as this many bytes are queued. */
export const FLUSH_BYTES = 65_536
/** Pieces of a frame of at least this size are written in place, without copying, in bytes. */
export const LARGE_PIECE_BYTES = 16_384

/** Most connections send little at a time. */
const SMALL_SLAB_BYTES = 4096
/** With less than `FLUSH_BYTES` used, a small piece and its header always fit. */
const LARGE_SLAB_BYTES: number = FLUSH_BYTES + LARGE_PIECE_BYTES + 64
/** The most slabs kept for reuse: 64 of each kind are 5 MiB. */
const KEPT_SLABS = 64

/** The slabs of all connections of one socket. */
export class SlabPool {
  readonly #small: Buffer[] = []
  readonly #large: Buffer[] = []

  /**
   * A slab with at least `bytes` of room, which must not exceed `LARGE_PIECE_BYTES` and a header.
   */
  take(bytes: number): Buffer {
    return bytes <= SMALL_SLAB_BYTES
      ? (this.#small.pop() ?? Buffer.allocUnsafeSlow(SMALL_SLAB_BYTES))
      : (this.#large.pop() ?? Buffer.allocUnsafeSlow(LARGE_SLAB_BYTES))
  }

  /** A slab of the larger kind. */
  takeLarge(): Buffer {
    return this.take(LARGE_SLAB_BYTES)
  }

  /** Returns a slab to the pool. Nothing may read or write it any more. */
  giveBack(slab: Buffer): void {
    const kept = slab.length === SMALL_SLAB_BYTES ? this.#small : this.#large
    if (kept.length < KEPT_SLABS) kept.push(slab)
  }
}

/** A run of bytes that is written in place. */
interface Piece {
  bytes: Uint8Array
  readonly endsMessage: boolean
  /** Where the first message in this piece begins or could begin; -1 = it lies inside a message. */
  readonly boundary: number
}

/** Frames in the order in which they were pushed; taken out as pieces of bytes. */
export class SendQueue {
  /** The owner was notified that too much is queued, and waits for `onDrain`. */
  wantsDrain = false
  readonly #pool: SlabPool
  /** Invariant: all pieces precede the content of the slab. */
  #pieces: Piece[] = []
  #firstPiece = 0
  #slab: Buffer | undefined
  /** The part of the slab that has not been cut off as a piece. */
  #slabStart = 0
  #slabEnd = 0
  /** Where in that part the first message begins or could begin; -1 = it lies inside a message. */
  #boundary = 0
  /** The last pushed frame does not end a message. */
  #isPushedPart = false
  /** The last taken piece does not end a message. */
  #isTakenPart = false
  #bytes = 0

  constructor(pool: SlabPool) {
    this.#pool = pool
  }

  /** Queued bytes, including frame headers. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether everything taken so far ends with a message, so that a command may follow. */
  get isBetweenMessages(): boolean {
    return !this.#isTakenPart
  }

  /** Adds a frame. Pieces of less than `LARGE_PIECE_BYTES` are copied. */
  push(frame: OutgoingFrame, hasMore: boolean): void {
    if (frame instanceof Uint8Array && frame.length < LARGE_PIECE_BYTES)
      this.#pushSmall(frame, hasMore)
    else this.#pushPieces(frame instanceof Uint8Array ? [frame] : frame, hasMore)
  }

  /** Adds a message of several frames. */
  pushMessage(frames: readonly OutgoingFrame[]): void {
    const last = frames.length - 1
    for (let index = 0; index <= last; index += 1) {
      this.push(frames[index] as OutgoingFrame, index < last)
    }
  }

  /** Whether everything queued is one run of bytes, which `takeSlab` returns. */
  get isOneRun(): boolean {
    return this.#firstPiece === this.#pieces.length
  }

  /** Takes everything; requires `isOneRun`. */
  takeSlab(): Uint8Array {
    const bytes = (this.#slab as Buffer).subarray(this.#slabStart, this.#slabEnd)
    this.#slabStart = this.#slabEnd
    this.#boundary = this.#slabEnd
    this.#isTakenPart = this.#isPushedPart
    this.#bytes = 0
    return bytes
  }

  /** Takes queued data as runs of bytes in order, at most `maxBytes` plus one slab. */
  takeBatch(maxBytes: number): Uint8Array[] {
    const batch: Uint8Array[] = []
    this.#cut()
    let taken = 0
    while (taken < maxBytes && this.#firstPiece < this.#pieces.length) {
      const bytes = this.#takePiece(maxBytes - taken)
      batch.push(bytes)
      taken += bytes.length
    }
    this.#bytes -= taken
    this.#dropTaken()
    return batch
  }

  /** Returns the slab if the queue is empty. Call only once everything taken has been written. */
  recycle(): void {
    if (this.#slab === undefined || this.#bytes > 0) return
    this.#pool.giveBack(this.#slab)
    this.#forgetSlab()
  }

  /** After a lost connection: drops the rest of a partly taken message, keeps whole ones. */
  restart(): void {
    this.#cut()
    while (this.#isTakenPart && this.#firstPiece < this.#pieces.length) this.#skipPart()
    this.#dropTaken()
    this.#isTakenPart = false
    // An unfinished write may still read from it.
    this.#forgetSlab()
  }

  /** Drops everything. */
  clear(): void {
    this.#pieces = []
    this.#firstPiece = 0
    this.#isPushedPart = false
    this.#isTakenPart = false
    this.#forgetSlab()
    this.#bytes = 0
    this.wantsDrain = false
  }

  /** Only large pieces, each of which belongs to one message, are taken in parts. */
  #takePiece(room: number): Uint8Array {
    const piece = this.#pieces[this.#firstPiece] as Piece
    if (piece.boundary < 0 && piece.bytes.length > room) {
      const part = piece.bytes.subarray(0, room)
      piece.bytes = piece.bytes.subarray(room)
      this.#isTakenPart = true
      return part
    }
    this.#firstPiece += 1
    this.#isTakenPart = !piece.endsMessage
    return piece.bytes
  }

  /** Drops the part of the first piece that belongs to a partly taken message. */
  #skipPart(): void {
    const piece = this.#pieces[this.#firstPiece] as Piece
    const dropped = piece.boundary < 0 ? piece.bytes.length : piece.boundary
    this.#bytes -= dropped
    this.#isTakenPart = piece.boundary < 0 && !piece.endsMessage
    if (dropped === piece.bytes.length) this.#firstPiece += 1
    else piece.bytes = piece.bytes.subarray(dropped)
  }

  #pushSmall(frame: Uint8Array, hasMore: boolean): void {
    const slab = this.#room(frame.length + MAX_HEADER_BYTES)
    const start = this.#slabEnd
    const bodyAt = writeHeader(slab, start, frame.length, hasMore ? FLAG_MORE : 0)
    slab.set(frame, bodyAt)
    this.#slabEnd = bodyAt + frame.length
    this.#bytes += this.#slabEnd - start
    this.#endFrame(hasMore)
  }

  #pushPieces(pieces: readonly Uint8Array[], hasMore: boolean): void {
    let size = 0
    for (const piece of pieces) size += piece.length
    const slab = this.#room(MAX_HEADER_BYTES)
    const bodyAt = writeHeader(slab, this.#slabEnd, size, hasMore ? FLAG_MORE : 0)
    this.#bytes += bodyAt - this.#slabEnd + size
    this.#slabEnd = bodyAt
    this.#isPushedPart = true
    let left = size
    for (const piece of pieces) {
      left -= piece.length
      if (piece.length >= LARGE_PIECE_BYTES) this.#pushLarge(piece, left === 0 && !hasMore)
      else this.#copy(piece)
    }
    this.#endFrame(hasMore)
  }

  #endFrame(hasMore: boolean): void {
    this.#isPushedPart = hasMore
    if (!hasMore && this.#boundary < 0) this.#boundary = this.#slabEnd
  }

  #copy(piece: Uint8Array): void {
    this.#room(piece.length).set(piece, this.#slabEnd)
    this.#slabEnd += piece.length
  }

  #pushLarge(bytes: Uint8Array, endsMessage: boolean): void {
    this.#cut()
    this.#pieces.push({ bytes, endsMessage, boundary: -1 })
  }

  /** The slab, with room for `bytes` at its end. */
  #room(bytes: number): Buffer {
    const slab = this.#slab
    if (slab !== undefined && this.#slabEnd + bytes <= slab.length) return slab
    return this.#renew(bytes)
  }

  #renew(bytes: number): Buffer {
    const full = this.#slab
    if (full === undefined) return (this.#slab = this.#pool.take(bytes))
    const slab = this.#pool.takeLarge()
    if (this.#slabStart === 0 && this.#slabEnd + bytes <= slab.length) {
      full.copy(slab, 0, 0, this.#slabEnd)
      this.#pool.giveBack(full)
    } else {
      this.#cut()
      this.#startSlab()
    }
    this.#slab = slab
    return slab
  }

  /** Turns the content of the slab into a piece. */
  #cut(): void {
    if (this.#slabStart === this.#slabEnd) return
    const bytes = (this.#slab as Buffer).subarray(this.#slabStart, this.#slabEnd)
    const boundary = this.#boundary < 0 ? -1 : this.#boundary - this.#slabStart
    this.#pieces.push({ bytes, endsMessage: !this.#isPushedPart, boundary })
    this.#slabStart = this.#slabEnd
    this.#boundary = this.#isPushedPart ? -1 : this.#slabEnd
  }

  #dropTaken(): void {
    if (this.#firstPiece < this.#pieces.length && this.#firstPiece < 1024) return
    this.#pieces.splice(0, this.#firstPiece)
    this.#firstPiece = 0
  }

  #forgetSlab(): void {
    this.#slab = undefined
    this.#startSlab()
  }

  #startSlab(): void {
    this.#slabStart = 0
    this.#slabEnd = 0
    this.#boundary = this.#isPushedPart ? -1 : 0
  }
}
