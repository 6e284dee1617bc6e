// What the scheduler's core is told, and what it answers.

import type { Identity } from '../../base/ids.js'
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
