// The life of a task in its client, as a table: from a state and a cause to the next state.

import type { Transitions } from '../../../base/lifecycle.js'

/**
 * `blocked`: needs results of other tasks that have not ended. `waiting`: not sent, or to be sent
 * again. `sent`: the scheduler has it. `stored`: it has ended; its result is an object that stays
 * in the cluster. `fetching`: the same, and the object was requested, or will be on the next
 * connection.
 */
export type TaskState = 'blocked' | 'waiting' | 'sent' | 'stored' | 'fetching'

/** Why a task changes its state. */
export type TaskCause =
  /** All results that it needs have arrived. */
  | 'inputsReady'
  /** A result that it needs must be made, or made again. */
  | 'inputMissing'
  /** The Task message was passed to the transport. */
  | 'taskSent'
  /** A TaskResult that contains the result arrived. */
  | 'resultArrived'
  /** A TaskResult that names the object with the result arrived. */
  | 'resultStored'
  /** A TaskResult that refuses the task or takes it back arrived. */
  | 'refused'
  /** The result was requested. */
  | 'wanted'
  /** The object with the result arrived. */
  | 'contentArrived'
  /** It arrived, and other tasks need it in the cluster. */
  | 'contentShared'
  /** The scheduler does not have the object with the result. */
  | 'contentMissing'
  /** The same, on the first request after a lost connection: the task must run again. */
  | 'contentLost'
  /** The scheduler may no longer have the task, or its result: it is sent again. */
  | 'forgotten'
  /** The user cancelled, the client ended or gave up the scheduler, or it is not needed. */
  | 'givenUp'

/** The state that follows each state and cause. */
export const TASK_TRANSITIONS: Transitions<TaskState, TaskCause> = {
  // Results for a blocked or waiting task come from an earlier run: they are as good as any.
  blocked: {
    inputsReady: 'waiting',
    inputMissing: 'blocked',
    taskSent: 'impossible',
    resultArrived: 'ended',
    resultStored: 'stored',
    refused: 'blocked',
    wanted: 'impossible',
    contentArrived: 'impossible',
    contentShared: 'impossible',
    contentMissing: 'impossible',
    contentLost: 'impossible',
    forgotten: 'waiting',
    givenUp: 'ended',
  },
  waiting: {
    inputsReady: 'impossible',
    inputMissing: 'blocked',
    taskSent: 'sent',
    resultArrived: 'ended',
    resultStored: 'stored',
    refused: 'waiting',
    wanted: 'impossible',
    contentArrived: 'impossible',
    contentShared: 'impossible',
    contentMissing: 'impossible',
    contentLost: 'impossible',
    forgotten: 'waiting',
    givenUp: 'ended',
  },
  sent: {
    inputsReady: 'impossible',
    inputMissing: 'impossible',
    taskSent: 'impossible',
    resultArrived: 'ended',
    resultStored: 'stored',
    refused: 'ended',
    wanted: 'impossible',
    contentArrived: 'impossible',
    contentShared: 'impossible',
    contentMissing: 'impossible',
    contentLost: 'impossible',
    forgotten: 'waiting',
    givenUp: 'ended',
  },
  // Further results come from a second run: the first one counts.
  stored: {
    inputsReady: 'impossible',
    inputMissing: 'impossible',
    taskSent: 'impossible',
    resultArrived: 'stored',
    resultStored: 'stored',
    refused: 'stored',
    wanted: 'fetching',
    contentArrived: 'impossible',
    contentShared: 'impossible',
    contentMissing: 'impossible',
    contentLost: 'impossible',
    forgotten: 'waiting',
    givenUp: 'ended',
  },
  fetching: {
    inputsReady: 'impossible',
    inputMissing: 'impossible',
    taskSent: 'impossible',
    resultArrived: 'fetching',
    resultStored: 'fetching',
    refused: 'fetching',
    wanted: 'fetching',
    contentArrived: 'ended',
    contentShared: 'stored',
    contentMissing: 'ended',
    contentLost: 'waiting',
    forgotten: 'waiting',
    givenUp: 'ended',
  },
}
