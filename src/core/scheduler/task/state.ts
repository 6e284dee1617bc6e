// The life of a task in the scheduler, as a table: from a state and a cause to the next state. The
// state names are those of the wire protocol (docs/protocol.md#task).

import type { Transitions } from '../../../base/lifecycle.js'

/**
 * `inactive`: waits for a worker. `running`: assigned to a worker. `canceling`: that worker was
 * asked to cancel it.
 */
export type TaskState = 'inactive' | 'running' | 'canceling'

/** Why a task changes its state. */
export type TaskCause =
  /** A worker was chosen and the task sent to it. */
  | 'assigned'
  /** Its worker sent success or failed. */
  | 'finished'
  /** Its worker sent failed, and it may be retried. */
  | 'retried'
  /** Its worker sent canceled or notFound. */
  | 'gaveUp'
  /** Its worker left, was lost or timed out. */
  | 'workerLost'
  /** Its worker was lost or timed out, and its limit of lost workers is reached. */
  | 'wornOut'
  /** Its client cancelled it, or left. */
  | 'cancelled'

/**
 * The transitions between states. If a worker gives up a task that was not cancelled, the task is
 * requeued.
 */
export const TASK_TRANSITIONS: Transitions<TaskState, TaskCause> = {
  inactive: {
    assigned: 'running',
    finished: 'impossible',
    retried: 'impossible',
    gaveUp: 'impossible',
    workerLost: 'impossible',
    wornOut: 'impossible',
    cancelled: 'ended',
  },
  running: {
    assigned: 'impossible',
    finished: 'ended',
    retried: 'inactive',
    gaveUp: 'inactive',
    workerLost: 'inactive',
    wornOut: 'ended',
    cancelled: 'canceling',
  },
  canceling: {
    assigned: 'impossible',
    finished: 'ended',
    retried: 'impossible',
    gaveUp: 'ended',
    workerLost: 'ended',
    wornOut: 'impossible',
    cancelled: 'canceling',
  },
}
