// The events that the scheduler's core handles, and the actions that it returns.

import type { Identity, ObjectId, SchedulerId } from '../../base/ids.js'
import type { LogAction } from '../../base/machine.js'
import type {
  ClientHeartbeatEcho,
  Message,
  ObjectContentType,
  Resource,
  SchedulerReport,
  StorageServerStatus,
  TaskOutput,
} from '../../wire/message.js'
import type { ObjectFile, StoredContent } from '../../wire/object-content.js'
import type { StorageLimits } from './object/room.js'

/** An echo with the core's part of its report. docs/protocol.md#report */
export interface ReportedEcho extends Omit<ClientHeartbeatEcho, 'reports' | 'bytes'> {
  readonly report: CoreReport
}

/** The core's part of a report. */
export type CoreReport = Omit<SchedulerReport, 'version' | 'runtime' | 'clockMS' | 'monitorAddress'>

/** An object storage server, and the connection over which it has made itself known, if it has. */
export interface SeenServer extends StorageServerStatus {
  readonly registrant: Identity | undefined
}

/** Facts. Messages have already been decoded and validated. */
export type SchedulerEvent =
  | { readonly type: 'messageReceived'; readonly from: Identity; readonly message: Message }
  /** Part of a long message arrived, so the peer is alive. At most once a second per peer. */
  | { readonly type: 'peerProgressed'; readonly peer: Identity }
  /** The connection of a peer ended. */
  | { readonly type: 'peerDisconnected'; readonly peer: Identity }
  /** The number of listening monitors. Nothing is published if there are none. */
  | { readonly type: 'subscribersChanged'; readonly count: number }
  /** Once a second: the resource usage of the scheduler process. */
  | {
      readonly type: 'statisticsSampled'
      readonly scheduler: Resource
      /** Available memory of the machine, in bytes. */
      readonly rssFree: number
      /** See `MonitorState.turnP99MS`; 0 if it is not measured. */
      readonly turnP99Ms: number
      /** The object storage servers; undefined: there are none. */
      readonly storageServers?: readonly SeenServer[]
    }
  /** The content of `moveToDisk` is in this file, or could not be written. */
  | { readonly type: 'movedToDisk'; readonly move: number; readonly file: ObjectFile }
  | { readonly type: 'moveFailed'; readonly move: number; readonly error: string }
  /** A file that a response named was removed before it was read: the peer must get another one. */
  | {
      readonly type: 'responseOutdated'
      readonly peer: Identity
      readonly objectIds: readonly ObjectId[]
    }
  /** An object storage server is gone, with everything that was there. */
  | { readonly type: 'serverLost'; readonly address: string }
  /** The content of an object was copied to the server at `address`, and is needed there only. */
  | {
      readonly type: 'contentMoved'
      readonly objectId: ObjectId
      /** Its length does not count. */
      readonly from: StoredContent
      readonly address: string
    }
  /** The content of an object is not on its server. */
  | {
      readonly type: 'contentLost'
      readonly objectId: ObjectId
      /** Its length does not count. */
      readonly content: StoredContent
    }
  | { readonly type: 'tick' }

/** An action for the shell to carry out. */
export type SchedulerAction =
  | { readonly type: 'send'; readonly to: Identity; readonly message: Message }
  /** A message exactly as it was received, without re-encoding. */
  | { readonly type: 'forward'; readonly to: Identity; readonly bytes: Uint8Array }
  /** The echo for a client that requested a report. The shell adds its own part. */
  | { readonly type: 'report'; readonly to: Identity; readonly report: ReportedEcho }
  /** Task output for its client. Dropped and counted if too much output is already queued. */
  | { readonly type: 'passOutput'; readonly message: TaskOutput }
  | { readonly type: 'publish'; readonly message: Message }
  /** Write this content into a new file on disk. Answered by `movedToDisk` or `moveFailed`. */
  | {
      readonly type: 'moveToDisk'
      /** Unique. */
      readonly move: number
      readonly objectType: ObjectContentType
      readonly chunks: readonly Uint8Array[]
    }
  /** The content of this file is not needed any more. */
  | { readonly type: 'removeFile'; readonly path: string }
  /** The same for content on an object storage server. */
  | { readonly type: 'removeStored'; readonly content: StoredContent }
  | LogAction
  /** A peer was given up: close its connection, so that it notices and can register again. */
  | { readonly type: 'disconnect'; readonly peer: Identity; readonly reason: string }
  /** A client shut the cluster down: exit once everything is sent. */
  | { readonly type: 'stop'; readonly reason: string }

/** Takes one action; the machine calls it any number of times per event. */
export type Act = (action: SchedulerAction) => void

// The settings of the scheduler's core. The shell validates them
// (scheduler/scheduler-options.ts).

/** Settings of the core; times in milliseconds. */
export interface SchedulerCoreOptions {
  /** Random, and new for each start: a changed id shows peers that the scheduler restarted. */
  readonly schedulerId: SchedulerId
  /** A client that is silent for longer is considered lost. */
  readonly clientTimeoutMs: number
  /** A worker of any version that is silent for longer is considered lost. */
  readonly workerTimeoutMs: number
  /**
   * How long a worker that can return with its tasks (feature bit 3) may be silent before it is
   * considered lost, if none of its earlier pauses exceeded a third of this (worker/peer.ts).
   */
  readonly workerSilenceMs: number
  /** Minimum time that an unused object is kept. Default: 0, it is deleted immediately. */
  readonly objectRetentionMs?: number
  /** The same for objects that have a name. Default: 0. */
  readonly sharedRetentionMs?: number
  /** It only stores objects: it refuses workers and tasks. Default: false. */
  readonly isStorage?: boolean
  /** How much content is stored. Default: no limits, and nothing on disk. */
  readonly storage?: StorageLimits
  /**
   * A worker with several tasks that reports no progress for this long gives some of them to idle
   * workers. 0 = never.
   */
  readonly loadBalanceMs: number
  /**
   * How many intervals of `loadBalanceMs` pass before a worker is asked again for a task that it
   * did not give back. Default: 2.
   */
  readonly loadBalanceTriggerTimes?: number
  /** Maximum number of tasks held by one worker. */
  readonly perWorkerQueueSize: number
  /**
   * New tasks are refused once this many tasks exceed what the workers may hold. -1 = never.
   */
  readonly maxNumberOfTasksWaiting: number
  /**
   * Maximum work on graphs in one turn, in steps of about 100 ns each. Default: 24,000.
   */
  readonly graphStepsPerTurn?: number
  /** Whether every state change of every task is logged. Default: false. */
  readonly logsTasks?: boolean
  /** Whether clients are forbidden to shut the cluster down. */
  readonly isProtected: boolean
}
