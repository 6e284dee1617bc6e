// The content of `Task.metadata`: how a task wants to be run. Big-endian, unlike all around it.

import { asBuffer } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'

const LENGTH = 5
const MAX_PRIORITY = 2 ** 31 - 1

/** How a task wants to be run (docs/protocol.md#task-flags). */
export interface TaskFlags {
  /** Whether the client asks for a profile. */
  readonly profiling: boolean
  /**
   * Higher is more urgent: 0 for a task submitted by an application, one more than its parent's for
   * one submitted inside a task. A signed number of 32 bits; 1.9.9 workers die of negative ones.
   */
  readonly priority: number
}

/** What an empty `Task.metadata` stands for. */
export const DEFAULT_TASK_FLAGS: TaskFlags = { profiling: true, priority: 0 }

/** The five bytes of some flags. A priority out of range is clamped. */
export function encodeTaskFlags(flags: TaskFlags): Uint8Array {
  const bytes = Buffer.allocUnsafe(LENGTH)
  const priority = Math.max(-MAX_PRIORITY - 1, Math.min(Math.trunc(flags.priority), MAX_PRIORITY))
  bytes[0] = flags.profiling ? 1 : 0
  bytes.writeInt32BE(Number.isNaN(priority) ? 0 : priority, 1)
  return bytes
}

/** The flags in a `Task.metadata`. Throws `ProtocolError` unless it has 5 bytes, or none. */
export function decodeTaskFlags(bytes: Uint8Array): TaskFlags {
  if (bytes.byteLength === 0) return DEFAULT_TASK_FLAGS
  if (bytes.byteLength !== LENGTH) {
    throw new ProtocolError(`Task.metadata of ${bytes.byteLength} bytes: must have 5 or none`)
  }
  return { profiling: bytes[0] !== 0, priority: asBuffer(bytes).readInt32BE(1) }
}
