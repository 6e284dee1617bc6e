// What is known of a cluster, in the words of its users: `Client.info()`, `Client.events()`,
// `scaler status` and the screens all use these.

import type { WaitingReason } from '../../base/waiting-reason.js'
import type { TaskAttempt } from '../explanation.js'

/**
 * A cluster at one moment. Something that its scheduler does not report (one of Python Scaler
 * reports less) is undefined.
 */
export interface ClusterInfo {
  /** When this was received, by the clock of this machine. */
  readonly time: Date
  /** The scheduler that this client is connected to. */
  readonly scheduler: SchedulerInfo
  /** The tasks of all clients. */
  readonly tasks: TaskCounts
  /** Over the last full second of the scheduler; 0 in its first. Undefined if not reported. */
  readonly rates: TaskRates | undefined
  /** Why tasks wait, the largest count first; at most 200. */
  readonly waiting: readonly WaitingInfo[]
  /** The machines that have workers, in the order in which their first workers joined. */
  readonly hosts: readonly HostInfo[]
  /** Workers that were lost a short while ago; undefined if not reported. */
  readonly lost: LostWorkers | undefined
  /** In the order in which they connected. */
  readonly clients: readonly ConnectedClient[]
  /** By name, those with the most finished tasks first; at most 200. */
  readonly functions: readonly FunctionInfo[]
  /** The last failures that the scheduler keeps, the oldest first; at most 1,000. */
  readonly failures: readonly FailureInfo[]
  /** What is stored for all clients. */
  readonly objects: ObjectTotals
  /** The processes that start workers, by `scaler allocate`; undefined if not reported. */
  readonly allocators: readonly AllocatorInfo[] | undefined
  /** The object storage servers, at most 100; undefined if not reported. */
  readonly storageServers: readonly StorageServerInfo[] | undefined
}

/** An object storage server, as the scheduler sees it. */
export interface StorageServerInfo {
  /** By which clients and workers reach it. */
  readonly address: string
  /** `away`: the scheduler cannot reach it. `leaving`: what it holds is being copied to others. */
  readonly state: 'up' | 'away' | 'leaving'
  /** Why the scheduler has no connection to it; empty: it has. */
  readonly problem: string
  /** How many objects of this scheduler have their content there, and its size in bytes. */
  readonly objects: number
  readonly bytes: number
}

/** An allocator: it starts workers as they are needed. Numbers are of workers. */
export interface AllocatorInfo {
  /** Its name, for `scaler allocate pause` and `resume`. */
  readonly name: string
  /** What starts its workers: `local`, `slurm`. */
  readonly provider: string
  /** Whose tasks its workers run. */
  readonly runtime: 'javascript' | 'python'
  /** What its workers offer, by name; -1 for a capability without a quantity. */
  readonly offers: Readonly<Record<string, number>>
  /** How many more it could ask for now. */
  readonly room: number
  /** Asked for, and not there yet. */
  readonly pending: number
  /** About to be asked for, unless another allocator does so first. */
  readonly claim: number
  /** There. */
  readonly running: number
  /** Whether an operator has paused it. */
  readonly paused: boolean
  /** Its last decision. */
  readonly action: 'start' | 'drain' | 'wait' | 'back-off'
  /** Why it made that decision. */
  readonly reason: string
  /** Why its last start has failed; empty: none has, or others have succeeded since. */
  readonly problem: string
}

/** The scheduler. */
export interface SchedulerInfo {
  /**
   * Where its clients and workers connect, as this client does. Undefined if only what it publishes
   * is known.
   */
  readonly address: string | undefined
  /** Where 1.9.9 monitors connect, as bound: `tcp://0.0.0.0:2347`. */
  readonly monitorAddress: string | undefined
  /** The version of its package: `0.1.0`. */
  readonly version: string | undefined
  /** For how long it has run, in seconds. */
  readonly uptimeS: number | undefined
  /** Percent of one core. */
  readonly cpu: number
  /** Resident memory in bytes. */
  readonly rssBytes: number
  /** The 99th percentile of how long its event loop worked in one turn, in milliseconds. */
  readonly turnP99Ms: number | undefined
  /** Available memory of its machine in bytes. */
  readonly freeBytes: number
  /** The messages since it started, by their names in the protocol; undefined if not reported. */
  readonly messages: MessageTotals | undefined
}

/** How many messages there have been of each kind: `{ TaskResult: 53764 }`. */
export interface MessageTotals {
  /** What the scheduler has sent. */
  readonly sent: Readonly<Record<string, number>>
  /** What the scheduler has received. */
  readonly received: Readonly<Record<string, number>>
}

/** How many tasks there are, and how they have ended since the scheduler started. */
export interface TaskCounts {
  /** Without a worker, including nodes of graphs that are ready to run. */
  readonly waiting: number
  /** Assigned to workers. */
  readonly running: number
  /** Their functions returned. */
  readonly success: number
  /** They threw, or took down too many workers. Not those refused because too many wait. */
  readonly failed: number
  /** Cancelled by their clients, by operators, or with a task whose result they needed. */
  readonly canceled: number
  /** Cancelled when the scheduler did not have them (any more). */
  readonly notFound: number
}

/** Tasks per second, over about the last second. */
export interface TaskRates {
  /** Received from clients. */
  readonly submitted: number
  /** With any outcome. */
  readonly ended: number
  /** Those of `ended` that count as `failed` in `TaskCounts`. */
  readonly failed: number
}

/** Tasks of one function that wait for the same reason. */
export interface WaitingInfo {
  /** Why they wait, for example `all-busy`. */
  readonly reason: WaitingReason
  /** What they require: `gpu=1, linux`; empty if they require nothing. */
  readonly requirement: string
  /** Empty: their function has no name. */
  readonly function: string
  /** Absent: they need a worker of Node. */
  readonly runtime?: 'python'
  /** How many tasks. */
  readonly count: number
  /** For how long the first of them has waited, in seconds; 0 if that is not measured. */
  readonly seconds: number
}

/** A machine with workers. */
export interface HostInfo {
  /** Its host name. For workers of Python Scaler their name, by default that of the host. */
  readonly host: string
  /** Its IP address as seen by the scheduler; undefined if it is connected by a unix socket. */
  readonly address: string | undefined
  /** Percent of one core, for all workers and agents of this cluster on it together. */
  readonly cpu: number
  /** Available memory in bytes. */
  readonly freeBytes: number
  /** In the order in which they joined. */
  readonly workers: readonly WorkerInfo[]
}

/**
 * - `starting`: it has no process that could run a task yet.
 * - `idle`: it has no task.
 * - `busy`: it has tasks.
 * - `leaving`: it takes no further tasks.
 */
export type WorkerState = 'starting' | 'idle' | 'busy' | 'leaving'

/** A worker. */
export interface WorkerInfo {
  /** Its identity, as in logs, profiles and explanations. */
  readonly id: string
  /** Its name for people; empty if it has none. */
  readonly name: string
  /** What it is doing. */
  readonly state: WorkerState
  /** What it offers, by name; -1 for a capability without a quantity. */
  readonly capabilities: Readonly<Record<string, number>>
  /** What it runs, as of its last heartbeat. */
  readonly running: readonly RunningInfo[]
  /** How many tasks the scheduler has assigned to it that it does not run. */
  readonly queued: number
  /** Percent of one core, of the process in which tasks run. */
  readonly cpu: number
  /** Resident memory of that process in bytes. */
  readonly rssBytes: number
  /** Half of the round trip of its last heartbeat, in milliseconds. */
  readonly lagMs: number
  /** Percent of one core, of its agent; workers of one agent share it. */
  readonly agentCpu: number
  /** Resident memory of its agent in bytes. */
  readonly agentRssBytes: number
  /** Available memory of its machine in bytes. */
  readonly freeBytes: number
  /** How many further tasks the scheduler may assign to it. */
  readonly free: number
  /** How many tasks the scheduler has assigned to it. */
  readonly sent: number
  /** How many of its processes are suspended: their tasks wait for others. */
  readonly suspended: number
  /** Three digits, 0 or 1: its process is initialized, has a task, holds the task lock. */
  readonly itl: string
  /** Full seconds since its last heartbeat; at most 255. */
  readonly silentS: number
  /** The version of its package; undefined for workers of Python Scaler. */
  readonly version: string | undefined
  /** The job that it was started in, or the name and the unit of its allocator; absent: neither. */
  readonly allocation?: string | undefined
  /** When its time limit ends, if it is known to have one. */
  readonly endsAt: Date | undefined
}

/** A task that runs. */
export interface RunningInfo {
  /** Its id, in hex. */
  readonly task: string
  /** Its name, or that of its function; empty if neither has one. */
  readonly name: string
  /** Empty: it has no name, or the scheduler does not report it. */
  readonly function: string
  /**
   * Since when it runs: milliseconds before `time`. On a worker of Python Scaler, since when the
   * worker has it.
   */
  readonly sinceMs: number
}

/** The workers that were lost in the last ten minutes. */
export interface LostWorkers {
  /** How many have not returned. */
  readonly count: number
  /** The oldest first; the last 100 of them. */
  readonly workers: readonly LostWorker[]
}

/** A worker that has left without saying so. */
export interface LostWorker {
  /** When the scheduler noticed, by the clock of this machine. */
  readonly time: Date
  /** Its identity, as in logs, profiles and explanations. */
  readonly id: string
  /** Its name for people; empty if it has none. */
  readonly name: string
  /** As in `HostInfo`; empty if it did not report it. */
  readonly host: string
  /**
   * How the scheduler noticed.
   * - `connection`: its connection was closed, as when its agent is killed.
   * - `silence`: it sent nothing for too long, as when its machine has stopped.
   */
  readonly cause: 'connection' | 'silence'
  /** Whether it has reconnected. It then has kept those of its tasks that it had begun. */
  readonly hasReturned: boolean
  /** The tasks that it had, the oldest first, at most 8. They run again on other workers. */
  readonly tasks: readonly { readonly task: string; readonly name: string }[]
  /** How many tasks it had. */
  readonly taskCount: number
}

/** A client. */
export interface ConnectedClient {
  /** Its identity, as in logs. */
  readonly id: string
  /** Its name for people; empty if it has none. */
  readonly name: string
  /** Its host name; empty if it does not report it. */
  readonly host: string
  /** How many of its tasks, nodes of graphs included, have not ended. */
  readonly unfinished: number
  /** The size of the stored objects that it uses: functions, shared values and large results. */
  readonly bytes: number | undefined
  /** The worker in whose task it was created. */
  readonly worker: string | undefined
}

/** All tasks whose functions have one name, since the scheduler started. */
export interface FunctionInfo {
  /** Empty: those without a name. `(others)`: those beyond the first 1,000 names. */
  readonly name: string
  /** How many have finished, with any status. */
  readonly count: number
  /** How many of these have failed. */
  readonly failed: number
  /** How long the function took on average. Undefined, like the next four, if never measured. */
  readonly meanMs: number | undefined
  /** Half of the runs took no longer. Percentiles of more than 20 runs are within five percent. */
  readonly p50Ms: number | undefined
  /** 90 percent of the runs took no longer. */
  readonly p90Ms: number | undefined
  /** 99 percent of the runs took no longer. */
  readonly p99Ms: number | undefined
  /** The longest run. */
  readonly maxMs: number | undefined
  /** The largest memory that one of them used; undefined unless tasks are profiled. */
  readonly peakBytes: number | undefined
}

/** A task that has failed. */
export interface FailureInfo {
  /** When the scheduler received it, by the clock of this machine. */
  readonly time: Date
  /** Its id, in hex. */
  readonly task: string
  /** Its name, or that of its function; empty if neither has one. */
  readonly name: string
  /** The name of its function; empty if it has none. */
  readonly function: string
  /** Undefined if the client has left. */
  readonly client: string | undefined
  /** The last worker that had it. */
  readonly worker: string | undefined
  /** Empty if unknown: the worker is a 1.9.9 worker, or sends no texts of errors. */
  readonly errorName: string
  /** What the error says; empty if unknown. */
  readonly message: string
  /** At most 4 KiB of it. */
  readonly stack: string
  /** How many workers had it. */
  readonly attempts: number
}

/** What the scheduler stores. */
export interface ObjectTotals {
  /** How many objects: functions, arguments, results, shared values. */
  readonly count: number
  /** Everywhere, including object storage servers. */
  readonly bytes: number | undefined
  /** How many of them are on object storage servers, which have limits of their own. */
  readonly serverBytes: number | undefined
  /** How many bytes the scheduler can store, in memory and on disk. */
  readonly limitBytes: number | undefined
  /** How many bytes were moved to disk. */
  readonly diskBytes: number | undefined
  /** How many objects were not stored for lack of room, since the start of the scheduler. */
  readonly refused: number | undefined
  /** Why no objects are moved to disk; `''`: they are, or need not be. */
  readonly diskError: string | undefined
}

/** Something that has happened in the cluster, or a sample of its state. */
export type ClusterEvent =
  | TaskEnded
  /** A worker has joined, or has left for whatever reason. */
  | { readonly type: 'worker'; readonly change: 'joined' | 'left'; readonly worker: WorkerInfo }
  /** A client has connected, or has left for whatever reason. */
  | {
      readonly type: 'client'
      readonly change: 'joined' | 'left'
      readonly client: ConnectedClient
    }
  /** About once per second. */
  | { readonly type: 'sample'; readonly info: ClusterInfo }
  /**
   * The number of events that were left out here: the loop was too slow, or more than 5,000 tasks
   * ended per second. The latter leaves out events of type `task` only.
   */
  | { readonly type: 'lost'; readonly count: number }

/** How a task ended. */
export type TaskEnd = 'success' | 'failed' | 'canceled' | 'notFound' | 'workerDied' | 'noWorker'

/** A task has ended. */
export interface TaskEnded {
  /** Which event this is. */
  readonly type: 'task'
  /** When it ended. */
  readonly time: Date
  /** Its id, in hex. */
  readonly task: string
  /** Its name, or that of its function; empty if neither has one. */
  readonly name: string
  /** The name of its function; empty if it has none. */
  readonly function: string
  /** The identity of its client; undefined if it is not reported. */
  readonly client: string | undefined
  /** The identity of the last worker that had it; undefined if none had. */
  readonly worker: string | undefined
  /** How it ended. */
  readonly status: TaskEnd
  /** How long it waited before its last attempt, in milliseconds; undefined if unknown. */
  readonly queuedMs: number | undefined
  /** How long its function took, in milliseconds; undefined if unknown. */
  readonly durationMs: number | undefined
  /** failed: the name of the error, if it is known. */
  readonly errorName: string
  /** How many workers had it. */
  readonly attempts: number
  /** The attempts before the last one, the oldest first; at most 20. */
  readonly past: readonly TaskAttempt[]
}
