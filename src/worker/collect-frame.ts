// The frame by which an agent has an idle processor collect garbage: only if it holds more memory
// than so many bytes (6 bytes, little-endian).

import { ProtocolError } from '../base/errors.js'

const NUMBER_BYTES = 6

/** The order as bytes. */
export function encodeCollect(aboveBytes: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES)
  bytes.writeUIntLE(aboveBytes, 0, NUMBER_BYTES)
  return bytes
}

/** The order again. Throws `ProtocolError`. */
export function decodeCollect(bytes: Buffer): number {
  if (bytes.length === NUMBER_BYTES) return bytes.readUIntLE(0, NUMBER_BYTES)
  throw new ProtocolError(`${bytes.length} bytes do not say when to collect garbage`)
}
