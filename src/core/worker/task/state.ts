// The life of a task in a worker, as a table: from a state and a cause to the next state.

import type { Transitions } from '../../../base/lifecycle.js'

/**
 * - `fetching`: the processor does not have all objects that the task needs.
 * - `queued`: it has; the task waits for its turn.
 * - `dispatched`: the processor has the task, and the scheduler waits for the result.
 * - `canceling`: the processor has it, but it was cancelled by force or has run for too long; its
 *   result is dropped.
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
  /** Its processor ended because of it, or because of tasks that it had submitted. */
  | 'blamed'
  | 'cancelled'
  /** It has run for longer than it may. */
  | 'timedOut'
  | 'disconnected'
  /**
   * The scheduler sent a task that is still in the processor from before the connection was lost.
   */
  | 'sentAgain'

/** What comes after each state. */
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
