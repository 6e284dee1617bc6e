// The life of a task in a worker, as a table: from a state and a cause to the next state.

import type { Transitions } from '../../../base/lifecycle.js'

/**
 * - `fetching`: the processor lacks some objects that the task needs.
 * - `queued`: the processor has them all; the task waits for its turn.
 * - `dispatched`: the processor has the task, and the scheduler waits for the result.
 * - `canceling`: the processor has it, but it was cancelled by force or exceeded its time limit;
 *   its result is dropped.
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
  /** The processor has finished it: it ran or was skipped. */
  | 'answered'
  /** Its processor ended for another reason. */
  | 'requeued'
  /** Its processor ended because of it, or because of its children. */
  | 'blamed'
  | 'cancelled'
  /** It has exceeded its time limit. */
  | 'timedOut'
  | 'disconnected'
  /**
   * The scheduler sent a task again that is in the processor since before the connection was lost.
   */
  | 'sentAgain'

/** The state that follows each state and cause. */
export const TASK_TRANSITIONS: Transitions<TaskState, TaskCause> = {
  fetching: {
    objectsPresent: 'queued',
    objectsLost: 'fetching',
    objectMissing: 'ended',
    handedOver: 'impossible',
    answered: 'impossible',
    requeued: 'impossible',
    blamed: 'ended',
    cancelled: 'ended',
    timedOut: 'impossible',
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
    timedOut: 'impossible',
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
    timedOut: 'canceling',
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
    timedOut: 'impossible',
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
    cancelled: 'canceling',
    timedOut: 'canceling',
    disconnected: 'abandoned',
    sentAgain: 'dispatched',
  },
}
