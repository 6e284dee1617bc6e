// The life of a task in the scheduler, as a table: from a state and a cause to the next state. The
// names of the states are those of the wire (docs/protocol.md#task).

import type { Transitions } from '../../../base/lifecycle.js'

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
  /** Its worker sent failed, and it may be run again. */
  | 'retried'
  /** Its worker sent canceled or notFound. */
  | 'gaveUp'
  /** Its worker left, was lost or timed out. */
  | 'workerLost'
  /** Its worker was lost or timed out, and so were too many before. */
  | 'wornOut'
  /** Its client asked, or left. */
  | 'cancelled'

/**
 * What comes after each state. Giving up what nobody cancelled means "take it back": the task
 * waits again.
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
