// The life of a task in the scheduler, as a table: from a state and a cause to the next state. The
// names of the states are those of the wire (docs/protocol.md#task).

import { AssertionError } from '../../base/assert.js'
import type { Story } from '../../base/story.js'
import { idToHex, type TaskId } from '../../base/ids.js'

/**
 * `inactive`: waits for a worker. `running`: a worker has it. `canceling`: that worker was told.
 */
export type TaskState = 'inactive' | 'running' | 'canceling'

/** Why a task changes its state. */
export type TaskCause =
  /** A worker was chosen and the task sent to it. */
  | 'assigned'
  /** Its worker sent success or failed. */
  | 'finished'
  /** Its worker sent canceled or notFound. */
  | 'gaveUp'
  /** Its worker left, was lost or timed out. */
  | 'workerLost'
  /** Its client asked, or left. */
  | 'cancelled'

/** `ended`: the task leaves the tables. `impossible`: reaching it is a bug. */
type Next = TaskState | 'ended' | 'impossible'

/** Giving up what nobody cancelled means "take it back": the task waits again. */
const TRANSITIONS: Readonly<Record<TaskState, Readonly<Record<TaskCause, Next>>>> = {
  inactive: {
    assigned: 'running',
    finished: 'impossible',
    gaveUp: 'impossible',
    workerLost: 'impossible',
    cancelled: 'ended',
  },
  running: {
    assigned: 'impossible',
    finished: 'ended',
    gaveUp: 'inactive',
    workerLost: 'inactive',
    cancelled: 'canceling',
  },
  canceling: {
    assigned: 'impossible',
    finished: 'ended',
    gaveUp: 'ended',
    workerLost: 'ended',
    cancelled: 'canceling',
  },
}

/** The state after `cause`. Throws `AssertionError` with the task's story if there is none. */
export function nextState(
  id: TaskId,
  state: TaskState,
  cause: TaskCause,
  story: Story,
): TaskState | 'ended' {
  const next = TRANSITIONS[state][cause]
  if (next === 'impossible') {
    throw new AssertionError(`task ${idToHex(id)}: ${cause} while ${state}; ${story.of(id)}`)
  }
  story.record(id, state, cause, next)
  return next
}
