// The two forms of a ZMTP frame header: flags and a length of one byte, or of eight
// (docs/protocol.md#zmtp). Shared by everything that writes frames.

/** Flag bit: more frames of the same message follow. */
export const FLAG_MORE = 1
/** Flag bit: the length has eight bytes, big-endian. */
export const FLAG_LONG = 2
/** Flag bit: a command, not a message. */
export const FLAG_COMMAND = 4

/** The longest body of a frame with a one-byte length. */
export const SHORT_BODY_BYTES = 255
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
