// The life of a task in a worker, as a table: from a state and a cause to the next state.

import { AssertionError } from '../../base/assert.js'
import { idToHex, type TaskId } from '../../base/ids.js'
import type { Story } from '../../base/story.js'

/**
 * - `fetching`: the processor does not have all objects that the task needs.
 * - `queued`: it has; the task waits for its turn.
 * - `dispatched`: the processor has the task, and the scheduler waits for the result.
 * - `canceling`: the processor has it, but it was cancelled by force; its result is dropped.
 * - `abandoned`: the processor has it, but the scheduler that sent it is gone.
 */
export type TaskState = 'fetching' | 'queued' | 'dispatched' | 'canceling' | 'abandoned'

/** Why a task changes its state. */
export type TaskCause =
  | 'objectsPresent'
  /** Objects were deleted, or the processor that had them has ended. */
  | 'objectsLost'
  /** The scheduler does not have an object that the task needs. */
  | 'objectMissing'
  | 'handedOver'
  /** The processor is done with it: it ran or was skipped. */
  | 'answered'
  /** Its processor ended because of something else. */
  | 'requeued'
  /** Its processor ended because of it. */
  | 'blamed'
  | 'cancelled'
  | 'disconnected'
  /**
   * The scheduler sent a task that is still in the processor from before the connection was lost.
   */
  | 'sentAgain'

/** `ended`: the task leaves the tables. `impossible`: reaching it is a bug. */
type Next = TaskState | 'ended' | 'impossible'

const TRANSITIONS: Readonly<Record<TaskState, Readonly<Record<TaskCause, Next>>>> = {
  fetching: {
    objectsPresent: 'queued',
    objectsLost: 'fetching',
    objectMissing: 'ended',
    handedOver: 'impossible',
    answered: 'impossible',
    requeued: 'impossible',
    blamed: 'impossible',
    cancelled: 'ended',
    disconnected: 'ended',
    sentAgain: 'impossible',
  },
  queued: {
    objectsPresent: 'impossible',
    objectsLost: 'fetching',
    objectMissing: 'impossible',
    handedOver: 'dispatched',
    answered: 'impossible',
    requeued: 'impossible',
    blamed: 'impossible',
    cancelled: 'ended',
    disconnected: 'ended',
    sentAgain: 'impossible',
  },
  dispatched: {
    objectsPresent: 'impossible',
    objectsLost: 'impossible',
    objectMissing: 'impossible',
    handedOver: 'impossible',
    answered: 'ended',
    requeued: 'fetching',
    blamed: 'ended',
    cancelled: 'canceling',
    disconnected: 'abandoned',
    sentAgain: 'impossible',
  },
  canceling: {
    objectsPresent: 'impossible',
    objectsLost: 'impossible',
    objectMissing: 'impossible',
    handedOver: 'impossible',
    answered: 'ended',
    requeued: 'ended',
    blamed: 'ended',
    cancelled: 'impossible',
    disconnected: 'canceling',
    sentAgain: 'impossible',
  },
  abandoned: {
    objectsPresent: 'impossible',
    objectsLost: 'impossible',
    objectMissing: 'impossible',
    handedOver: 'impossible',
    answered: 'ended',
    requeued: 'ended',
    blamed: 'ended',
    cancelled: 'impossible',
    disconnected: 'abandoned',
    sentAgain: 'dispatched',
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
