// What the fields that 1.9.9 does not have say when they say nothing: for those who build messages
// by hand. (A struct in which all of them say nothing is written as 1.9.9 writes it.)

import { identity, taskId } from '../base/ids.js'
import type {
  ClientHeartbeat,
  SchedulerReport,
  Task,
  TaskResult,
  WaitingTasks,
  WorkerHeartbeat,
} from './message.js'

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
  'inlineResults' | 'worker' | 'failedTaskId' | 'attempt' | 'attempts' | 'error'
> = {
  inlineResults: [],
  worker: identity(''),
  failedTaskId: taskId(''),
  attempt: 0,
  attempts: [],
  error: [],
}

/** A heartbeat of a worker that has nothing from before and stays. */
export const PLAIN_HEARTBEAT: Pick<
  WorkerHeartbeat,
  'capabilities' | 'tasks' | 'isLeaving' | 'agentId' | 'info' | 'running'
> = {
  capabilities: [],
  tasks: [],
  isLeaving: false,
  agentId: '',
  info: [],
  running: [],
}

/** A heartbeat of a client that is in no task and asks for nothing. */
export const PLAIN_CLIENT_HEARTBEAT: Pick<
  ClientHeartbeat,
  'worker' | 'wantsReport' | 'wantsPeers' | 'info'
> = {
  worker: identity(''),
  wantsReport: false,
  wantsPeers: false,
  info: [],
}

/** A report of numbers alone. */
export const PLAIN_REPORT: Pick<
  SchedulerReport,
  'workerReports' | 'clientReports' | 'clients' | 'waiting'
> = {
  workerReports: [],
  clientReports: [],
  clients: 0,
  waiting: [],
}

/** Tasks that do not wait for a capability. */
export const PLAIN_WAITING: Pick<WaitingTasks, 'needs'> = { needs: '' }
