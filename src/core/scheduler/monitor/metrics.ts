// What a scheduler has counted, for metrics: docs/monitoring.md#metrics. Totals by kind only, never
// an entry for a worker, client or task; derived from the tables, so that no task costs anything.

import type { Histogram } from '../../../base/histogram.js'
import { WAITING_REASONS, type WaitingReason } from '../../../base/waiting-reason.js'
import type { TaskStatus } from '../../../wire/message.js'
import { waitingReasonOf } from '../../../wire/wait-reason.js'
import type { SchedulerState } from '../state.js'
import { FunctionTable } from './report.js'
import { waitingCounts } from './waiting.js'

/** Functions that are counted separately: the first ones, so that no counter ever goes down. */
const MAX_FUNCTIONS = 50

/** The name for all other functions. */
const OTHER = 'other'

/** Why tasks wait that a scheduler has; the others only clients know. */
const SCHEDULER_REASONS = WAITING_REASONS.filter((reason) => {
  return reason !== 'no-scheduler' && reason !== 'limit'
})

/** The finished tasks of a function since the start. */
interface FunctionTotals {
  readonly name: string
  readonly ended: number
  readonly failed: number
}

/** Totals since the start, and how many there are now. */
export interface SchedulerMetrics {
  /** Tasks that ended, per status. */
  readonly ended: ReadonlyMap<TaskStatus, number>
  /** Waiting tasks per reason; of very many groups of tasks, only the largest are counted. */
  readonly waiting: ReadonlyMap<WaitingReason, number>
  readonly running: number
  /** Workers per state; one that will leave accepts no more tasks. */
  readonly workers: Readonly<Record<'idle' | 'busy' | 'leaving', number>>
  readonly objects: { readonly count: number; readonly bytes: number }
  /** Durations of tasks in milliseconds, as far as workers measured them. */
  readonly durations: { readonly histogram: Histogram; readonly sumMs: number }
  readonly functions: readonly FunctionTotals[]
}

/** Counts. One pass over workers, groups of waiting tasks, and functions; none over tasks. */
export function metricsOf(state: SchedulerState): SchedulerMetrics {
  const workers = { idle: 0, busy: 0, leaving: 0 }
  let running = 0
  for (const { assigned, isLeaving } of state.workers.values()) {
    running += assigned.size
    workers[isLeaving ? 'leaving' : assigned.size > 0 ? 'busy' : 'idle'] += 1
  }
  // All reasons, so that a series does not disappear while it is zero.
  const waiting = new Map<WaitingReason, number>(SCHEDULER_REASONS.map((reason) => [reason, 0]))
  for (const { reason: sent, tasks } of waitingCounts(state)) {
    const reason = waitingReasonOf(sent)
    waiting.set(reason, (waiting.get(reason) ?? 0) + tasks)
  }
  const objects = { count: state.objects.size, bytes: state.objects.bytes }
  return { ended: new Map(state.ended), waiting, running, workers, objects, ...totals(state) }
}

function totals({ functions }: SchedulerState): Pick<SchedulerMetrics, 'durations' | 'functions'> {
  const histogram = FunctionTable.durations()
  let sumMs = 0
  const rows: FunctionTotals[] = []
  const other = { name: OTHER, ended: 0, failed: 0 }
  for (const { name, ended, failed, durations, totalMs } of functions.all()) {
    if (durations !== undefined) histogram.addAll(durations)
    sumMs += totalMs
    if (rows.length < MAX_FUNCTIONS) rows.push({ name, ended, failed })
    else {
      other.ended += ended
      other.failed += failed
    }
  }
  return { durations: { histogram, sumMs }, functions: [...rows, other] }
}
