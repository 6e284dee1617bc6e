// The life of a task in its client, as a table: from a state and a cause to the next state.

import type { Transitions } from '../../base/lifecycle.js'

/**
 * `waiting`: not sent, or to be sent again. `sent`: the scheduler has it. `fetching`: it has
 * ended; its result is an object that was requested, or will be on the next connection.
 */
export type TaskState = 'waiting' | 'sent' | 'fetching'

/** Why a task changes its state. */
export type TaskCause =
  /** The Task message was handed to the transport. */
  | 'taskSent'
  /** A TaskResult came that has the result in it. */
  | 'resultArrived'
  /** A TaskResult came that names the object which holds the result. */
  | 'resultStored'
  /** A TaskResult came that refuses the task or takes it back. */
  | 'refused'
  /** The object with the result came. */
  | 'contentArrived'
  /** The scheduler does not have the object with the result. */
  | 'contentMissing'
  /** Nor had it when it was asked again after a lost connection: the task has to run again. */
  | 'contentLost'
  /** The scheduler may not have the task any more: it is sent again. */
  | 'forgotten'
  /** The user cancelled, or the client ended or gave the scheduler up. */
  | 'givenUp'

/** What comes after each state. */
export const TASK_TRANSITIONS: Transitions<TaskState, TaskCause> = {
  // Results for a waiting task come from its first time: they are as good as any.
  waiting: {
    taskSent: 'sent',
    resultArrived: 'ended',
    resultStored: 'fetching',
    refused: 'waiting',
    contentArrived: 'impossible',
    contentMissing: 'impossible',
    contentLost: 'impossible',
    forgotten: 'waiting',
    givenUp: 'ended',
  },
  sent: {
    taskSent: 'impossible',
    resultArrived: 'ended',
    resultStored: 'fetching',
    refused: 'ended',
    contentArrived: 'impossible',
    contentMissing: 'impossible',
    contentLost: 'impossible',
    forgotten: 'waiting',
    givenUp: 'ended',
  },
  // Further results are those of a second run: the first one counts.
  fetching: {
    taskSent: 'impossible',
    resultArrived: 'fetching',
    resultStored: 'fetching',
    refused: 'fetching',
    contentArrived: 'ended',
    contentMissing: 'ended',
    contentLost: 'waiting',
    forgotten: 'waiting',
    givenUp: 'ended',
  },
}
