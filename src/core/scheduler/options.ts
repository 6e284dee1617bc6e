// What the scheduler's core can be told. The shell checks the values
// (scheduler/scheduler-options.ts).

import type { SchedulerId } from '../../base/ids.js'

/** Settings of the core; times in milliseconds. */
export interface SchedulerCoreOptions {
  /** Random, new for every start: a change tells peers that the scheduler restarted. */
  readonly schedulerId: SchedulerId
  /** A client that is silent for longer is taken for gone. */
  readonly clientTimeoutMs: number
  /** A worker that is silent for longer is taken for gone, whatever it is. */
  readonly workerTimeoutMs: number
  /**
   * So soon a worker that can come back with what it has (feature bit 3) is taken for gone, if it
   * was never silent for a third of that (silence.ts).
   */
  readonly workerSilenceMs: number
  /** At least so long an object stays that nobody needs any more. Default: 0, it goes at once. */
  readonly objectRetentionMs?: number
  /**
   * A worker with several tasks from which nothing has come for so long gives some to those that
   * idle. 0 = never.
   */
  readonly loadBalanceMs: number
  /**
   * A task that its worker did not give back is asked for again after so many times
   * `loadBalanceMs`. Default: 2.
   */
  readonly loadBalanceTriggerTimes?: number
  /** Maximum number of tasks held by one worker. */
  readonly perWorkerQueueSize: number
  /**
   * With this many tasks beyond what the workers may hold, new ones are refused. -1 = never.
   */
  readonly maxNumberOfTasksWaiting: number
  /**
   * How much of the long work of graphs is done in one turn, in steps of some 100 ns each. Default:
   * 24,000.
   */
  readonly graphStepsPerTurn?: number
  /** Whether each step of each task is logged. Default: false. */
  readonly tellsTasks?: boolean
  /** Whether clients may not shut the cluster down. */
  readonly isProtected: boolean
}
