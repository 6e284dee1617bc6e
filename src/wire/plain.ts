// What the fields that 1.9.9 does not have say when they say nothing: for those who build messages
// by hand. (A struct in which all of them say nothing is written as 1.9.9 writes it.)

import { identity, taskId } from '../base/ids.js'
import type { Task, TaskResult, WorkerHeartbeat } from './message.js'

/** A task that asks for nothing beyond 1.9.9. */
export const PLAIN_TASK: Pick<
  Task,
  | 'capabilities'
  | 'parentTaskId'
  | 'name'
  | 'timeoutMs'
  | 'retries'
  | 'workerDeathLimit'
  | 'attempt'
  | 'keepsResult'
  | 'mayHaveRun'
  | 'output'
  | 'outputClient'
> = {
  capabilities: [],
  parentTaskId: taskId(''),
  name: '',
  timeoutMs: 0,
  retries: 0,
  workerDeathLimit: 0,
  attempt: 0,
  keepsResult: false,
  mayHaveRun: false,
  output: 'log',
  outputClient: identity(''),
}

/** A result that tells nothing beyond 1.9.9. */
export const PLAIN_RESULT: Pick<
  TaskResult,
  'inlineResults' | 'worker' | 'failedTaskId' | 'attempt'
> = {
  inlineResults: [],
  worker: identity(''),
  failedTaskId: taskId(''),
  attempt: 0,
}

/** A heartbeat of a worker that has nothing from before and stays. */
export const PLAIN_HEARTBEAT: Pick<
  WorkerHeartbeat,
  'capabilities' | 'tasks' | 'isLeaving' | 'agentId'
> = {
  capabilities: [],
  tasks: [],
  isLeaving: false,
  agentId: '',
}
