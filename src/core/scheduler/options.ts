// What the scheduler's core can be told. The shell checks the values
// (scheduler/scheduler-options.ts).

import type { SchedulerId } from '../../base/ids.js'

/** Settings of the core; times in milliseconds. */
export interface SchedulerCoreOptions {
  /** Random, new for every start: a change tells peers that the scheduler restarted. */
  readonly schedulerId: SchedulerId
  /** A client that is silent for longer is taken for gone. */
  readonly clientTimeoutMs: number
  /** A worker that is silent for longer is taken for gone. */
  readonly workerTimeoutMs: number
  /** Most tasks that one worker holds. */
  readonly perWorkerQueueSize: number
  /**
   * With this many tasks beyond what the workers may hold, new ones are refused. -1 = never.
   */
  readonly maxTasksWaiting: number
  /**
   * How much of the long work of graphs is done in one turn, in steps of some 100 ns each. Default:
   * 24,000.
   */
  readonly graphStepsPerTurn?: number
  /** Whether clients may not shut the cluster down. */
  readonly isProtected: boolean
}
