// The last words of a processor that ends by itself: which task it ran. Without them its agent
// would not know whom to blame.

import { latin1Slice, latin1ToBytes } from '../base/bytes.js'
import { taskId, type TaskId } from '../base/ids.js'
import type { LastRun } from '../core/worker/events.js'

/** What a processor can say of itself. */
export type ExitNote = Exclude<LastRun, 'unknown'>

const NOTHING = 0
const TASKS = 1
const RETIRED = 2

/** So many tasks are named at most. */
const MAX_TASKS = 1_000

/** The note of a processor in which one of these tasks is the cause of its end. */
export function exitNoteOf(ids: readonly TaskId[]): ExitNote {
  const [first, ...others] = ids
  return first === undefined ? 'nothing' : { taskIds: [first, ...others.slice(0, MAX_TASKS - 1)] }
}

/** The note as bytes: what it says, then each id behind its length. */
export function encodeExitNote(note: ExitNote): Uint8Array {
  if (note === 'nothing') return Uint8Array.of(NOTHING)
  if (note === 'retired') return Uint8Array.of(RETIRED)
  const pieces = note.taskIds.flatMap((id) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(id.length, 0)
    return [length, latin1ToBytes(id)]
  })
  return Buffer.concat([Uint8Array.of(TASKS), ...pieces])
}

/** What a note says. One that makes no sense counts as none. */
export function decodeExitNote(bytes: Buffer): LastRun {
  if (bytes.length === 1 && bytes[0] === NOTHING) return 'nothing'
  if (bytes.length === 1 && bytes[0] === RETIRED) return 'retired'
  if (bytes[0] !== TASKS) return 'unknown'
  const ids: TaskId[] = []
  let at = 1
  while (at + 4 <= bytes.length) {
    const end = at + 4 + bytes.readUInt32LE(at)
    if (end > bytes.length) return 'unknown'
    ids.push(taskId(latin1Slice(bytes, at + 4, end)))
    at = end
  }
  const [first, ...others] = ids
  return first === undefined || at !== bytes.length ? 'unknown' : { taskIds: [first, ...others] }
}
