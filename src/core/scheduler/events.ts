// What the scheduler's core is told, and what it answers.

import type { Identity, SchedulerId } from '../../base/ids.js'
import type { LogFields } from '../../base/logger.js'
import type {
  ClientHeartbeatEcho,
  Message,
  Resource,
  SchedulerReport,
  TaskOutput,
} from '../../wire/message.js'

/** An echo, and what the core knows for the report in it. docs/protocol.md#report */
export interface ReportedEcho extends Omit<ClientHeartbeatEcho, 'reports' | 'bytes'> {
  readonly report: CoreReport
}

/** What the core knows for a report. */
export type CoreReport = Omit<SchedulerReport, 'version' | 'runtime' | 'clockMS' | 'monitorAddress'>

/** Facts. Messages have been decoded, and so checked, before they come here. */
export type SchedulerEvent =
  | { readonly type: 'messageReceived'; readonly from: Identity; readonly message: Message }
  /** Bytes of a long message are coming in: the peer lives. At most once a second per peer. */
  | { readonly type: 'peerProgressed'; readonly peer: Identity }
  /** The connection of a peer ended. */
  | { readonly type: 'peerDisconnected'; readonly peer: Identity }
  /** How many monitors listen: with none, nothing is published. */
  | { readonly type: 'subscribersChanged'; readonly count: number }
  /** Once a second: what the scheduler's own process uses. */
  | {
      readonly type: 'statisticsSampled'
      readonly scheduler: Resource
      /** Memory that the machine could still give, in bytes. */
      readonly rssFree: number
    }
  | { readonly type: 'tick' }

/** What the shell carries out. */
export type SchedulerAction =
  | { readonly type: 'send'; readonly to: Identity; readonly message: Message }
  /** A message as it was received: nothing is encoded. */
  | { readonly type: 'forward'; readonly to: Identity; readonly bytes: Uint8Array }
  /** The echo for a client that has asked for a report: the shell adds what only it knows. */
  | { readonly type: 'report'; readonly to: Identity; readonly report: ReportedEcho }
  /** What a task has printed, for its client: dropped and counted where too much waits already. */
  | { readonly type: 'passOutput'; readonly message: TaskOutput }
  | { readonly type: 'publish'; readonly message: Message }
  | {
      readonly type: 'log'
      readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly text: string
      readonly fields: LogFields
    }
  /** A peer was given up: close its connection, so that it finds out and can begin anew. */
  | { readonly type: 'disconnect'; readonly peer: Identity; readonly reason: string }
  /** A client shut the cluster down: end, once what was sent is out. */
  | { readonly type: 'stop'; readonly reason: string }

/** Takes one action; the machine calls it any number of times per event. */
export type Act = (action: SchedulerAction) => void

// What the scheduler's core can be told. The shell checks the values
// (scheduler/scheduler-options.ts).

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
   * was never silent for a third of that (worker/peer.ts).
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
