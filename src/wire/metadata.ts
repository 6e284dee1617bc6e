// The content of `TaskResult.metadata`: the cost of running a task. Big-endian, unlike everything
// around it.

import { asBuffer } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'

const PROFILE_BYTES = 16
/** A profile of a task in a run may have only the duration (docs/protocol.md#runs). */
const DURATION_BYTES = 4
const TWO_32 = 2 ** 32

/** The cost of running a task (docs/protocol.md#profile-result). */
export interface ProfileResult {
  /** From handing the task to the processor until its result, in seconds. */
  readonly durationSeconds: number
  /** The peak memory beyond what the processor used before, in bytes. */
  readonly peakMemoryBytes: number
  /** Processor time, user and system, in seconds. */
  readonly cpuSeconds: number
}

/** The 16 bytes of a profile. The times lose precision: they are sent as 32-bit floats. */
export function encodeProfileResult(profile: ProfileResult): Uint8Array {
  const bytes = Buffer.allocUnsafe(PROFILE_BYTES)
  const memory = Math.min(Math.trunc(amount(profile.peakMemoryBytes)), Number.MAX_SAFE_INTEGER)
  bytes.writeFloatBE(amount(profile.durationSeconds), 0)
  bytes.writeUInt32BE(Math.floor(memory / TWO_32), 4)
  bytes.writeUInt32BE(memory % TWO_32, 8)
  bytes.writeFloatBE(amount(profile.cpuSeconds), 12)
  return bytes
}

/**
 * The profile of one task in a `TaskResult.metadata`, undefined if empty. Invalid amounts
 * (negative, infinite, NaN) become 0. Throws `ProtocolError` for any other length.
 */
export function decodeProfileResult(metadata: Uint8Array): ProfileResult | undefined {
  if (metadata.byteLength === 0) return undefined
  const { byteLength } = metadata
  if (byteLength !== PROFILE_BYTES && byteLength !== DURATION_BYTES) {
    throw new ProtocolError(`TaskResult.metadata of ${byteLength} bytes: expected 16, 4 or 0`)
  }
  const bytes = asBuffer(metadata)
  if (byteLength === DURATION_BYTES) {
    return { durationSeconds: amount(bytes.readFloatBE(0)), peakMemoryBytes: 0, cpuSeconds: 0 }
  }
  const memory = bytes.readUInt32BE(4) * TWO_32 + bytes.readUInt32BE(8)
  return {
    durationSeconds: amount(bytes.readFloatBE(0)),
    peakMemoryBytes: Math.min(memory, Number.MAX_SAFE_INTEGER),
    cpuSeconds: amount(bytes.readFloatBE(12)),
  }
}

/** How long the function took, in milliseconds; undefined without a profile. */
export function durationMsOf(metadata: Uint8Array): number | undefined {
  return metadata.byteLength === PROFILE_BYTES || metadata.byteLength === DURATION_BYTES
    ? amount(asBuffer(metadata).readFloatBE(0)) * 1000
    : undefined
}

/**
 * The durations in the profiles of `count` tasks (docs/protocol.md#runs), in milliseconds;
 * undefined without profiles.
 */
export function durationsOf(metadata: Uint8Array, count: number): Float64Array | undefined {
  const stride = metadata.byteLength / count
  if (stride !== PROFILE_BYTES && stride !== DURATION_BYTES) return undefined
  const view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength)
  const durations = new Float64Array(count)
  for (let at = 0; at < count; at += 1) durations[at] = amount(view.getFloat32(at * stride)) * 1000
  return durations
}

/**
 * The mean of the durations in the profiles of `count` tasks, in milliseconds; undefined without
 * profiles.
 */
export function meanDurationMs(metadata: Uint8Array, count: number): number | undefined {
  const stride = metadata.byteLength / count
  if (stride !== PROFILE_BYTES && stride !== DURATION_BYTES) return undefined
  const view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength)
  let seconds = 0
  for (let at = 0; at < count; at += 1) seconds += amount(view.getFloat32(at * stride))
  return (seconds / count) * 1000
}

/** The peak memory in bytes; 0 without a profile, or if it was not measured. */
export function peakBytesOf(metadata: Uint8Array): number {
  if (metadata.byteLength !== PROFILE_BYTES) return 0
  const bytes = asBuffer(metadata)
  return Math.min(bytes.readUInt32BE(4) * TWO_32 + bytes.readUInt32BE(8), Number.MAX_SAFE_INTEGER)
}

/** The largest peak memory of the `count` tasks of a run, likewise. */
export function largestPeakBytes(metadata: Uint8Array, count: number): number {
  if (metadata.byteLength !== PROFILE_BYTES * count) return 0
  let largest = 0
  for (let at = 0; at < metadata.byteLength; at += PROFILE_BYTES) {
    largest = Math.max(largest, peakBytesOf(metadata.subarray(at, at + PROFILE_BYTES)))
  }
  return largest
}

function amount(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0
}

// The content of `Task.metadata`: how to run a task. Big-endian, unlike everything around it.

const FLAGS_BYTES = 5
const MAX_PRIORITY = 2 ** 31 - 1

/** How to run a task (docs/protocol.md#task-flags). */
export interface TaskFlags {
  /** Whether the client requests a profile. */
  readonly profiling: boolean
  /**
   * Higher is more urgent: 0 for a task submitted by an application, one more than its parent's for
   * a task submitted inside a task. A signed 32-bit number; negative ones crash 1.9.9 workers.
   */
  readonly priority: number
}

/** The meaning of an empty `Task.metadata`. */
export const DEFAULT_TASK_FLAGS: TaskFlags = { profiling: true, priority: 0 }

/** The five bytes of the flags. A priority out of range is clamped. */
export function encodeTaskFlags(flags: TaskFlags): Uint8Array {
  const bytes = Buffer.allocUnsafe(FLAGS_BYTES)
  const priority = Math.max(-MAX_PRIORITY - 1, Math.min(Math.trunc(flags.priority), MAX_PRIORITY))
  bytes[0] = flags.profiling ? 1 : 0
  bytes.writeInt32BE(Number.isNaN(priority) ? 0 : priority, 1)
  return bytes
}

/** The flags in a `Task.metadata`. Throws `ProtocolError` unless its length is 5 or 0. */
export function decodeTaskFlags(bytes: Uint8Array): TaskFlags {
  if (bytes.byteLength === 0) return DEFAULT_TASK_FLAGS
  if (bytes.byteLength !== FLAGS_BYTES) {
    throw new ProtocolError(`Task.metadata of ${bytes.byteLength} bytes: expected 5 or 0`)
  }
  return { profiling: bytes[0] !== 0, priority: asBuffer(bytes).readInt32BE(1) }
}
