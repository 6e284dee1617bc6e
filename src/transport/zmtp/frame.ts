// Turns bytes into messages and commands, however they were cut into chunks. Small frames that lie
// entirely in a chunk are views of it; others are collected in memory of their own, which grows
// with what has actually arrived: a peer that declares a gigabyte and sends nothing costs at most
// 64 KiB.

import { ProtocolError } from '../../base/errors.js'
import type { IncomingMessage } from '../options.js'

// The two forms of a ZMTP frame header: flags and a length of one byte or of eight
// (docs/protocol.md#zmtp). Shared by all code that writes frames.

/** Flag bit: more frames of the same message follow. */
export const FLAG_MORE = 1
/** Flag bit: the length has eight bytes, big-endian. */
const FLAG_LONG = 2
/** Flag bit: a command, not a message. */
export const FLAG_COMMAND = 4

/** The longest body of a frame with a one-byte length. */
const SHORT_BODY_BYTES = 255
/** The longest header. */
export const MAX_HEADER_BYTES = 9

/** The length of the header for a body of `size` bytes. */
export function headerBytes(size: number): number {
  return size > SHORT_BODY_BYTES ? MAX_HEADER_BYTES : 2
}

/**
 * Writes the header of a frame with `size` bytes of body at `offset` and returns where the body
 * goes. `flags` is `FLAG_MORE`, `FLAG_COMMAND` or 0. The caller has checked that there is room.
 */
export function writeHeader(target: Buffer, offset: number, size: number, flags: number): number {
  if (size <= SHORT_BODY_BYTES) {
    target[offset] = flags
    target[offset + 1] = size
    return offset + 2
  }
  target[offset] = flags | FLAG_LONG
  target.writeUInt32BE(Math.floor(size / 2 ** 32), offset + 1)
  target.writeUInt32BE(size % 2 ** 32, offset + 5)
  return offset + MAX_HEADER_BYTES
}

/** The limits of a parser. */
export interface FrameLimits {
  readonly maxFrameBytes: number
  readonly maxFramesPerMessage: number
}

/** The longest command: far more than any defined command needs. */
const MAX_COMMAND_BYTES = 65_536

/** Frames of up to this size get all their memory as soon as their length is known. */
export const EAGER_BYTES: number = 64 * 1024
/** Larger ones get at most this many times what has arrived. What is not filled costs nothing. */
const GROWTH = 4096

/**
 * Takes the rest of a long frame as it arrives, so that no memory is needed for it. The bytes are
 * overwritten after the call. Must not throw.
 */
export type FrameSink = (bytes: Buffer) => void

/**
 * A message of one frame has begun to arrive that is longer than `EAGER_BYTES`: `head` of its
 * `size` bytes are here. Returns what takes the rest; the message is then delivered, once it is
 * complete, as `head` itself. Undefined: all of it is delivered.
 */
export type OnLongFrame = (head: Buffer, size: number) => FrameSink | undefined

/** The memory for a frame of `size` bytes of which `arrived` have arrived and more are coming. */
export function frameRoom(size: number, arrived: number): number {
  const room = Math.max(EAGER_BYTES, arrived * GROWTH)
  // Rather a little more at once than a copy later.
  return size <= room * 1.5 ? size : room
}

/** Reads the frames of one connection. Once it has thrown, it must not be used again. */
export class FrameParser {
  readonly #limits: FrameLimits
  readonly #onCommand: (body: Buffer) => void
  readonly #onLong: OnLongFrame | undefined
  /** -1 until messages are allowed. */
  #maxMessageFrameBytes = -1
  /** An incomplete header, and how many of its bytes have arrived. */
  #header: Buffer | undefined
  #headerLength = 0
  /** The incomplete frame. */
  #body: Buffer | undefined
  #bodyLength = 0
  #bodySize = 0
  #bodyFlags = 0
  /** What takes the rest of it. */
  #sink: FrameSink | undefined
  /** The earlier frames of an incomplete message. */
  #frames: Buffer[] | undefined

  /** `onCommand` receives the body of each command, inside `feed`; it may throw `ProtocolError`. */
  constructor(limits: FrameLimits, onCommand: (body: Buffer) => void, onLong?: OnLongFrame) {
    this.#limits = limits
    this.#onCommand = onCommand
    this.#onLong = onLong
  }

  /** Whether part of a message has arrived without its end. */
  get isInsideMessage(): boolean {
    return this.#header !== undefined || this.#body !== undefined || this.#frames !== undefined
  }

  /** From now on messages are accepted; until then, only commands. */
  allowMessages(): void {
    this.#maxMessageFrameBytes = this.#limits.maxFrameBytes
  }

  /**
   * Reads `chunk` from `start` to its end and appends each complete message to `messages`. Throws
   * `ProtocolError` at a frame that is not allowed; messages completed before it have been
   * appended.
   */
  feed(chunk: Buffer, start: number, messages: IncomingMessage[]): void {
    const end = chunk.length
    let at = this.#resume(chunk, start, messages)
    while (at < end) {
      const flags = chunk[at] as number
      if (flags > FLAG_LONG) checkFlags(flags)
      const isLong = (flags & FLAG_LONG) !== 0
      const bodyAt = at + (isLong ? MAX_HEADER_BYTES : 2)
      if (bodyAt > end) break
      const size = isLong ? readLongSize(chunk, at + 1) : (chunk[at + 1] as number)
      if (flags > FLAG_LONG || size > this.#maxMessageFrameBytes) this.#checkSize(flags, size)
      if (bodyAt + size > end) {
        this.#begin(flags, size)
        this.#collect(chunk, bodyAt, messages)
        return
      }
      at = bodyAt + size
      this.#accept(flags, chunk.subarray(bodyAt, at), messages)
    }
    if (at === end) return
    this.#header = Buffer.alloc(MAX_HEADER_BYTES)
    this.#headerLength = chunk.copy(this.#header, 0, at)
  }

  /**
   * Takes the bytes that belong to an incomplete large frame, and returns their number. They are
   * copied, so that `memory` need not be kept.
   */
  fill(memory: Buffer, messages: IncomingMessage[]): number {
    return this.#body === undefined ? 0 : this.#collect(memory, 0, messages)
  }

  /** Continues with an incomplete frame. Returns where the next frame starts. */
  #resume(chunk: Buffer, start: number, messages: IncomingMessage[]): number {
    if (this.#body !== undefined) return this.#collect(chunk, start, messages)
    const header = this.#header
    if (header === undefined) return start
    const bodyAt = this.#finishHeader(header, chunk, start)
    if (bodyAt === undefined) return chunk.length
    const flags = header[0] as number
    const size = (flags & FLAG_LONG) !== 0 ? readLongSize(header, 1) : (header[1] as number)
    this.#checkSize(flags, size)
    if (bodyAt + size > chunk.length) {
      this.#begin(flags, size)
      return this.#collect(chunk, bodyAt, messages)
    }
    this.#accept(flags, chunk.subarray(bodyAt, bodyAt + size), messages)
    return bodyAt + size
  }

  /** Returns where the body begins, or undefined if the chunk ends first. */
  #finishHeader(header: Buffer, chunk: Buffer, start: number): number | undefined {
    const needed = ((header[0] as number) & FLAG_LONG) !== 0 ? MAX_HEADER_BYTES : 2
    const bodyAt = start + needed - this.#headerLength
    this.#headerLength += chunk.copy(header, this.#headerLength, start, bodyAt)
    if (this.#headerLength < needed) return undefined
    this.#header = undefined
    return bodyAt
  }

  /** Refuses a frame by the length in its header. */
  #checkSize(flags: number, size: number): void {
    const isCommand = (flags & FLAG_COMMAND) !== 0
    if (!isCommand && this.#maxMessageFrameBytes < 0)
      throw new ProtocolError('a message before READY')
    const limit = isCommand ? MAX_COMMAND_BYTES : this.#maxMessageFrameBytes
    if (size <= limit) return
    throw new ProtocolError(
      `a ${isCommand ? 'command' : 'frame'} of ${size} bytes; at most ${limit} are allowed`,
    )
  }

  /** Starts a frame that does not end in this chunk. */
  #begin(flags: number, size: number): void {
    this.#body = allocate(Math.min(size, EAGER_BYTES))
    this.#bodyLength = 0
    this.#bodySize = size
    this.#bodyFlags = flags
  }

  /** Takes the bytes that belong to the incomplete frame. Returns where the next one starts. */
  #collect(chunk: Buffer, start: number, messages: IncomingMessage[]): number {
    const end = Math.min(chunk.length, start + this.#bodySize - this.#bodyLength)
    const body = this.#roomFor(this.#bodyLength + end - start)
    if (this.#sink === undefined) chunk.copy(body, this.#bodyLength, start, end)
    else this.#sink(chunk.subarray(start, end))
    this.#bodyLength += end - start
    if (this.#bodyLength === this.#bodySize) {
      this.#body = undefined
      this.#sink = undefined
      this.#accept(this.#bodyFlags, body, messages)
    }
    return end
  }

  /** The memory of the incomplete frame, with room for `length` bytes unless a sink takes them. */
  #roomFor(length: number): Buffer {
    const body = this.#body as Buffer
    if (length <= body.length || this.#sink !== undefined) return body
    const isAlone = (this.#bodyFlags & FLAG_MORE) === 0 && this.#frames === undefined
    if (isAlone && body.length === EAGER_BYTES) {
      const head = body.subarray(0, this.#bodyLength)
      this.#sink = this.#onLong?.(head, this.#bodySize)
      if (this.#sink !== undefined) return (this.#body = head)
    }
    const larger = allocate(frameRoom(this.#bodySize, length))
    body.copy(larger, 0, 0, this.#bodyLength)
    this.#body = larger
    return larger
  }

  /** Takes a whole frame whose header has been checked. */
  #accept(flags: number, body: Buffer, messages: IncomingMessage[]): void {
    if ((flags & FLAG_COMMAND) !== 0) this.#onCommand(body)
    else if ((flags & FLAG_MORE) === 0 && this.#frames === undefined) messages.push(body)
    else this.#acceptPart(flags, body, messages)
  }

  #acceptPart(flags: number, body: Buffer, messages: IncomingMessage[]): void {
    const frames = (this.#frames ??= [])
    if (frames.length >= this.#limits.maxFramesPerMessage) {
      const limit = this.#limits.maxFramesPerMessage
      throw new ProtocolError(`a message of more than ${limit} frames`)
    }
    frames.push(body)
    if ((flags & FLAG_MORE) !== 0) return
    this.#frames = undefined
    messages.push(frames)
  }
}

/** Checked at the first byte of a header, so that garbage is refused as soon as it arrives. */
function checkFlags(flags: number): void {
  const isKnown = flags <= (FLAG_MORE | FLAG_LONG | FLAG_COMMAND)
  if (isKnown && (flags & (FLAG_MORE | FLAG_COMMAND)) !== (FLAG_MORE | FLAG_COMMAND)) return
  throw new ProtocolError(`wrong frame flags 0x${flags.toString(16)}`)
}

/** Inexact above 2^53, which is far above any limit. */
function readLongSize(bytes: Buffer, offset: number): number {
  return bytes.readUInt32BE(offset) * 2 ** 32 + bytes.readUInt32BE(offset + 4)
}

/** Large frames get memory of their own, so that keeping a frame keeps nothing else alive. */
function allocate(size: number): Buffer {
  try {
    return size < 4096 ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size)
  } catch (cause) {
    throw new ProtocolError(`no memory for a frame of ${size} bytes`, { cause })
  }
}
