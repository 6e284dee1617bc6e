// The meaning of a seed, as data: the parts, their requests, the faults and their times. As data,
// it can be printed, and reduced until only the essential is left.

import type { ClientSettings } from './client-host.js'
import type { FaultPlan } from './fault.js'
import type { ResultWish } from './future.js'
import type { Program } from './program.js'
import type { SchedulerSettings } from './scheduler-host.js'
import type { PipeSettings } from './virtual-pipe.js'
import type { WorkerSettings } from './worker-host.js'

/** A whole world. Times in milliseconds. */
export interface Scenario {
  readonly seed: number
  readonly pipes: PipeSettings
  /** Hosts with a different network. */
  readonly hostPipes: Readonly<Record<string, PipeSettings>>
  readonly scheduler: SchedulerSettings
  readonly worker: WorkerSettings
  readonly client: ClientSettings
  readonly hasMonitor: boolean
  /** Content of at least this size is on an object storage server. Default: none. */
  readonly minStoredBytes?: number
  readonly agents: readonly AgentPlan[]
  readonly clients: readonly ClientPlan[]
  readonly faults: readonly FaultPlan[]
  /** When all faults are over. */
  readonly stormMs: number
}

/** An agent. Its host is `a` and its number. */
export interface AgentPlan {
  readonly startMs: number
  readonly workers: number
}

/** An application. Its host is `c` and its number. */
export interface ClientPlan {
  readonly startMs: number
  readonly steps: readonly Step[]
}

/** A step of an application, this long after its start. */
export type Step =
  | {
      readonly type: 'submit'
      readonly atMs: number
      readonly program: Program
      /** Names of its inputs: earlier tasks, pinned objects. */
      readonly needs: readonly string[]
      readonly wish: ResultWish
    }
  | {
      /** Tasks that are submitted together. They have the function and options of the first. */
      readonly type: 'run'
      readonly atMs: number
      readonly name: string
      readonly programs: readonly Program[]
      readonly wish: ResultWish
    }
  | {
      readonly type: 'graph'
      readonly atMs: number
      readonly name: string
      readonly nodes: readonly NodePlan[]
    }
  | { readonly type: 'cancel'; readonly atMs: number; readonly name: string }
  | { readonly type: 'cancelGraph'; readonly atMs: number; readonly name: string }
  | { readonly type: 'pin'; readonly atMs: number; readonly name: string; readonly bytes: number }
  | { readonly type: 'unpin'; readonly atMs: number; readonly name: string }
  /** Like `pin`, for other clients, which find it by its name, and know its size. */
  | {
      readonly type: 'share'
      readonly atMs: number
      readonly name: string
      readonly bytes: number
      /** All workers fetch it in advance. Default: false. */
      readonly isReplicated?: boolean
    }
  | { readonly type: 'find'; readonly atMs: number; readonly name: string; readonly bytes: number }
  /** No object has this name any more. */
  | { readonly type: 'removeName'; readonly atMs: number; readonly name: string }
  | { readonly type: 'clear'; readonly atMs: number }
  | { readonly type: 'close'; readonly atMs: number }

/** A node of a graph. Its inputs: names of earlier nodes, tasks, pinned objects. */
export interface NodePlan {
  readonly program: Program
  readonly needs: readonly string[]
  /** Its result is requested. */
  readonly isTarget: boolean
  readonly wish: ResultWish
}

/** All programs of an application. */
export function programsOf(client: ClientPlan): readonly Program[] {
  return client.steps.flatMap((step) => {
    if (step.type === 'submit') return [step.program]
    if (step.type === 'run') return step.programs
    return step.type === 'graph' ? step.nodes.map(({ program }) => program) : []
  })
}
