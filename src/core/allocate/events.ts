// The events and actions of an allocator's core. docs/allocate.md describes the behaviour,
// docs/protocol.md#allocators the report.

import type { InstantMs, LogAction } from '../../base/machine.js'

/** Tasks that wait for the same workers. */
export interface WaitingWork {
  /** What they require: `gpu=1, linux`; empty: nothing. */
  readonly needs: string
  readonly runtime: 'javascript' | 'python'
  readonly tasks: number
  /** How long one of them takes, as measured; undefined: never measured. */
  readonly seconds: number | undefined
  /** How long one of their function has been running; 0: none is known to. */
  readonly runningSeconds: number
  /** How long the first of them has waited, in seconds. */
  readonly waitedSeconds: number
}

/** A worker of the cluster. */
export interface SeenWorker {
  readonly id: string
  /** `NAME/KEY` of the allocator and the unit that started it; anything else: not by one. */
  readonly allocation: string
  readonly runtime: 'javascript' | 'python'
  readonly isIdle: boolean
  readonly isLeaving: boolean
  readonly offers: ReadonlyMap<string, number>
  /** Until its time limit ends; Infinity: it has none. */
  readonly endsInMs: number
}

/** What an allocator announces, and what it learns about the others. Numbers are of workers. */
export interface Announcement {
  readonly name: string
  readonly provider: string
  readonly offers: ReadonlyMap<string, number>
  readonly runtime: 'javascript' | 'python'
  /** How many more it could ask for now. */
  readonly room: number
  /** Asked for, and not there yet. */
  readonly pending: number
  /** About to be asked for, unless another allocator does so first. */
  readonly claim: number
  /** There. */
  readonly running: number
  readonly isPaused: boolean
  /** The last decision. */
  readonly action: DecisionAction
  readonly reason: string
  /** Why the last start or list failed; empty: none has, or others have succeeded since. */
  readonly problem: string
}

/** A cluster, as its scheduler describes it. */
export interface ClusterView {
  readonly waiting: readonly WaitingWork[]
  readonly workers: readonly SeenWorker[]
  /** All allocators, this one among them once the scheduler has its report. */
  readonly allocators: readonly Announcement[]
}

/** What a provider starts and ends as one: a job, a process, a host's agent. */
export interface ListedUnit {
  /** The provider's own name for it: the id of a job. */
  readonly id: string
  /** With the allocator's name, the allocation of its workers. */
  readonly key: string
  readonly state: 'queued' | 'running'
  /** Why it is still queued, if the provider knows: `0/3 nodes are available`. */
  readonly why?: string
}

/** Facts. */
export type AllocatorEvent =
  | { readonly type: 'viewed'; readonly view: ClusterView }
  /** All units of this allocator that the provider knew at `begunAt`. */
  | {
      readonly type: 'listed'
      readonly units: readonly ListedUnit[]
      readonly begunAt: InstantMs
    }
  /** The provider could not list its units: those that are known may still be there. */
  | { readonly type: 'listFailed'; readonly problem: string }
  /** The answer to `start`. `problem`: why there are fewer than `asked`; empty: there are not. */
  | {
      readonly type: 'started'
      readonly asked: number
      readonly units: readonly ListedUnit[]
      readonly problem: string
    }
  /** The last output of a unit that has failed. */
  | { readonly type: 'inspected'; readonly key: string; readonly output: string }
  | { readonly type: 'pauseOrdered'; readonly isPaused: boolean }
  | { readonly type: 'tick' }

/** What an allocator does now. */
type DecisionAction = 'start' | 'drain' | 'wait' | 'back-off'

/** A decision with its reason. */
export interface Decision {
  readonly action: DecisionAction
  /** start: how many units are started. drain: how many end. */
  readonly units: number
  readonly reason: string
  /** Tasks that wait for workers that this allocator can start, */
  readonly waitingTasks: number
  /** how long they take one after the other, as far as that was measured, */
  readonly waitingSeconds: number
  /** the workers that can run them, of whatever origin, */
  readonly workers: number
  /** and those that are on their way, including those of other allocators. */
  readonly pending: number
}

/** What the shell carries out. */
export type AllocatorAction =
  | { readonly type: 'start'; readonly units: number }
  /** Have the workers leave once they have finished what they run. */
  | { readonly type: 'drain'; readonly unit: ListedUnit; readonly workers: readonly string[] }
  /** End units without workers. */
  | { readonly type: 'cancel'; readonly units: readonly ListedUnit[] }
  /** Find out what a failed unit has written last. */
  | { readonly type: 'inspect'; readonly unit: ListedUnit }
  | { readonly type: 'announce'; readonly report: Announcement }
  /** A decision that differs from the last one in more than its numbers. */
  | { readonly type: 'decided'; readonly decision: Decision }
  | LogAction

/** Settings; times in milliseconds. */
export interface AllocatorCoreOptions {
  readonly name: string
  readonly provider: string
  /** What its workers offer; -1: without a quantity. */
  readonly offers: ReadonlyMap<string, number>
  readonly runtime: 'javascript' | 'python'
  readonly minWorkers: number
  readonly maxWorkers: number
  readonly workersPerUnit: number
  /** How long the waiting work may take. */
  readonly backlogMs: number
  /** How long a unit is idle before it is drained. */
  readonly idleMs: number
  /** How many units may be asked for and not running. */
  readonly maxQueuedUnits: number
  /** How long a unit runs without a worker before it is considered failed. */
  readonly startTimeoutMs: number
  /** How long workers live. Default: 0, without a limit. */
  readonly lifetimeMs?: number | undefined
  /** Whether it only decides. */
  readonly isDryRun: boolean
}
