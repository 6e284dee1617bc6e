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
  /** All results that it needs are there. */
  | 'inputsReady'
  /** A result that it needs has to be made, or made again. */
  | 'inputMissing'
  /** The Task message was handed to the transport. */
  | 'taskSent'
  /** A TaskResult came that has the result in it. */
  | 'resultArrived'
  /** A TaskResult came that names the object which holds the result. */
  | 'resultStored'
  /** A TaskResult came that refuses the task or takes it back. */
  | 'refused'
  /** Somebody asks for the result. */
  | 'wanted'
  /** The object with the result came. */
  | 'contentArrived'
  /** It came, and other tasks need it where it is. */
  | 'contentShared'
  /** The scheduler does not have the object with the result. */
  | 'contentMissing'
  /** Nor had it when it was asked after a lost connection: the task has to run again. */
  | 'contentLost'
  /** The scheduler may not have the task, or its result, any more: it is sent again. */
  | 'forgotten'
  /** The user cancelled, the client ended or gave up the scheduler, or it is not needed. */
  | 'givenUp'

/** What comes after each state. */
export const TASK_TRANSITIONS: Transitions<TaskState, TaskCause> = {
  // Results for a blocked or waiting task come from its first time: they are as good as any.
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
  // Further results are those of a second run: the first one counts.
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
