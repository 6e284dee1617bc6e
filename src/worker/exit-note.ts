// The last words of a processor that ends by itself: which task it ran. Without them its agent
// would not know whom to blame.

import { bytesToLatin1, latin1ToBytes } from '../base/bytes.js'
import { taskId, type TaskId } from '../base/ids.js'
import type { LastRun } from '../core/worker/events.js'

const NOTHING = 0
const TASK = 1

/** The note as bytes: whether there was a task, and its id. */
export function encodeExitNote(running: TaskId | undefined): Uint8Array {
  if (running === undefined) return Uint8Array.of(NOTHING)
  return Buffer.concat([Uint8Array.of(TASK), latin1ToBytes(running)])
}

/** What a note says. One that makes no sense counts as none. */
export function decodeExitNote(bytes: Buffer): LastRun {
  if (bytes[0] === NOTHING) return 'nothing'
  if (bytes[0] !== TASK) return 'unknown'
  return { taskId: taskId(bytesToLatin1(bytes.subarray(1))) }
}
