// The possible faults of a world.

import type { CutKind } from './virtual-link.js'

/** When: at a time, or a delay after the n-th message of a kind was handled. */
export type FaultTrigger =
  | { readonly type: 'time'; readonly atMs: number }
  | {
      readonly type: 'message'
      readonly kind: string
      readonly reader: 'scheduler' | 'worker' | 'client'
      readonly count: number
      readonly delayMs: number
    }

/** The kinds. Agents, workers and clients are identified by their number. */
export type Fault =
  | { readonly type: 'killScheduler'; readonly downMs: number }
  | { readonly type: 'freezeScheduler'; readonly ms: number }
  /** -1: it does not come back. */
  | { readonly type: 'killAgent'; readonly agent: number; readonly backMs: number }
  | { readonly type: 'freezeAgent'; readonly agent: number; readonly ms: number }
  /** Its host loses power: no peer is notified. */
  | { readonly type: 'loseAgent'; readonly agent: number; readonly backMs: number }
  /** It is asked to leave; if urgently, twice. */
  | {
      readonly type: 'stopAgent'
      readonly agent: number
      readonly backMs: number
      readonly isUrgent: boolean
    }
  | { readonly type: 'strikeProcessor'; readonly agent: number; readonly worker: number }
  | { readonly type: 'exitProcessor'; readonly agent: number; readonly worker: number }
  | {
      readonly type: 'freezeProcessor'
      readonly agent: number
      readonly worker: number
      readonly ms: number
    }
  | { readonly type: 'killClient'; readonly client: number }
  | { readonly type: 'freezeClient'; readonly client: number; readonly ms: number }
  /** One of the connections of a host; of several, this one. */
  | {
      readonly type: 'cutLink'
      readonly host: string
      readonly index: number
      readonly cut: CutKind
      readonly laterMs: number
    }
  | { readonly type: 'stallHost'; readonly host: string; readonly ms: number }
  | { readonly type: 'swallowHost'; readonly host: string; readonly ms: number }
  /** The object storage server ends, and loses everything. */
  | { readonly type: 'loseServer' }
  /** It leaves: another one has what it had. */
  | { readonly type: 'moveServer' }

/** A fault and its time. */
export interface FaultPlan {
  readonly trigger: FaultTrigger
  readonly fault: Fault
}
