// The content of `TaskResult.metadata`: what running a task has cost. Big-endian, unlike all around
// it.

import { asBuffer } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'

const LENGTH = 16
const TWO_32 = 2 ** 32

/** What running a task has cost (docs/protocol.md#profile-result). */
export interface ProfileResult {
  /** From handing the task to the processor to its result, in seconds. */
  readonly durationSeconds: number
  /** The most memory that it used beyond what the processor had before, in bytes. */
  readonly peakMemoryBytes: number
  /** Processor time, user and system, in seconds. */
  readonly cpuSeconds: number
}

/** The 16 bytes of a profile. The times lose precision: they travel as 32-bit floats. */
export function encodeProfileResult(profile: ProfileResult): Uint8Array {
  const bytes = Buffer.allocUnsafe(LENGTH)
  const memory = Math.min(Math.trunc(amount(profile.peakMemoryBytes)), Number.MAX_SAFE_INTEGER)
  bytes.writeFloatBE(amount(profile.durationSeconds), 0)
  bytes.writeUInt32BE(Math.floor(memory / TWO_32), 4)
  bytes.writeUInt32BE(memory % TWO_32, 8)
  bytes.writeFloatBE(amount(profile.cpuSeconds), 12)
  return bytes
}

/**
 * The profile in a `TaskResult.metadata`, undefined where it is empty. Amounts that make no sense
 * (negative, infinite, not a number) become 0. Throws `ProtocolError` for any other length.
 */
export function decodeProfileResult(metadata: Uint8Array): ProfileResult | undefined {
  if (metadata.byteLength === 0) return undefined
  if (metadata.byteLength !== LENGTH) {
    throw new ProtocolError(
      `TaskResult.metadata of ${metadata.byteLength} bytes: must have 16 or none`,
    )
  }
  const bytes = asBuffer(metadata)
  const memory = bytes.readUInt32BE(4) * TWO_32 + bytes.readUInt32BE(8)
  return {
    durationSeconds: amount(bytes.readFloatBE(0)),
    peakMemoryBytes: Math.min(memory, Number.MAX_SAFE_INTEGER),
    cpuSeconds: amount(bytes.readFloatBE(12)),
  }
}

/** How long the function took, in milliseconds; undefined where there is no profile. */
export function durationMsOf(metadata: Uint8Array): number | undefined {
  return metadata.byteLength === LENGTH
    ? amount(asBuffer(metadata).readFloatBE(0)) * 1000
    : undefined
}

function amount(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0
}
