// What a scheduler has counted, for metrics: docs/monitoring.md#metrics. Totals by kind only, never
// an entry for a worker, client or task; derived from the tables, so that no task costs anything.

import type { Histogram } from '../../../base/histogram.js'
import { WAITING_REASONS, type WaitingReason } from '../../../base/waiting-reason.js'
import type { LossCause, TaskStatus } from '../../../wire/message.js'
import { waitingReasonOf } from '../../../wire/wait-reason.js'
import type { FunctionTotals } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { taskDurations } from '../../function-tally.js'
import { totalsOf } from './report.js'
import { waitingTotals } from './waiting.js'

/** The name for all other functions. */
const OTHER = 'other'

const NOTHING: FunctionTotals = { ended: 0, failed: 0, measured: 0, totalMs: 0 }

/** Why tasks wait that a scheduler has; the others only clients know. */
const SCHEDULER_REASONS = WAITING_REASONS.filter((reason) => {
  return reason !== 'no-scheduler' && reason !== 'limit'
})

/** All outcomes, so that each is shown from the start. */
const OUTCOMES = (
  ['success', 'failed', 'canceled', 'notFound', 'workerDied', 'noWorker'] satisfies TaskStatus[]
).map((status) => [status, 0] as const)

/** The finished tasks of a function since it was listed, or of all others. */
interface FunctionRow extends FunctionTotals {
  readonly name: string
}

/** Totals since the start, and how many there are now. */
export interface SchedulerMetrics {
  /** Tasks that ended, per status. */
  readonly ended: ReadonlyMap<TaskStatus, number>
  /** Waiting tasks per reason. */
  readonly waiting: ReadonlyMap<WaitingReason, number>
  readonly running: number
  /** Workers per state; one that will leave accepts no more tasks. */
  readonly workers: Readonly<Record<'idle' | 'busy' | 'leaving', number>>
  /** Workers that were lost, per cause. */
  readonly lost: Readonly<Record<LossCause, number>>
  readonly objects: {
    readonly count: number
    readonly bytes: number
    /** The part of `bytes` that is in files, in memory or on disk. */
    readonly fileBytes: number
    /** The part of `bytes` that is on disk. */
    readonly diskBytes: number
    /** The size of what is on object storage servers. */
    readonly serverBytes: number
    /** How much can be stored. */
    readonly limitBytes: number
    /** Objects that were not stored, since the start. */
    readonly refused: number
  }
  /** Durations of tasks in milliseconds, as far as workers measured them. */
  readonly durations: Histogram
  /** How long tasks were queued before each assignment to a worker, in milliseconds. */
  readonly queueTimes: Histogram
  readonly functions: readonly FunctionRow[]
}

/** Counts. One pass over workers, functions, and kinds of nodes; none over tasks. */
export function metricsOf(state: SchedulerState): SchedulerMetrics {
  const workers = { idle: 0, busy: 0, leaving: 0 }
  let running = 0
  for (const { taskCount, isLeaving } of state.workers.values()) {
    running += taskCount
    workers[isLeaving ? 'leaving' : taskCount > 0 ? 'busy' : 'idle'] += 1
  }
  // All reasons, so that a series does not disappear while it is zero.
  const waiting = new Map<WaitingReason, number>(SCHEDULER_REASONS.map((reason) => [reason, 0]))
  for (const [sent, tasks] of waitingTotals(state)) {
    const reason = waitingReasonOf(sent)
    waiting.set(reason, (waiting.get(reason) ?? 0) + tasks)
  }
  const { count, bytes, fileBytes, diskBytes, serverBytes } = state.objects
  const { limitBytes, refusedCount: refused } = state.objects
  const objects = { count, bytes, fileBytes, diskBytes, serverBytes, limitBytes, refused }
  const ended = new Map([...OUTCOMES, ...state.ended])
  const { queueTimes, losses } = state
  const counts = { ended, waiting, running, workers, lost: { ...losses.totals }, objects }
  return { ...counts, queueTimes, ...functionTotals(state) }
}

function functionTotals({
  functions,
}: SchedulerState): Pick<SchedulerMetrics, 'durations' | 'functions'> {
  const all = taskDurations()
  const rows: FunctionRow[] = []
  let others: FunctionTotals = NOTHING
  for (const counts of functions.all()) {
    const { name, durations, before } = counts
    if (durations !== undefined) all.addAll(durations)
    const totals = totalsOf(counts)
    if (before !== undefined) rows.push({ name, ...sum(totals, before, -1) })
    others = sum(others, before ?? totals)
  }
  return { durations: all, functions: [...rows, { name: OTHER, ...others }] }
}

function sum(a: FunctionTotals, b: FunctionTotals, sign: 1 | -1 = 1): FunctionTotals {
  return {
    ended: a.ended + sign * b.ended,
    failed: a.failed + sign * b.failed,
    measured: a.measured + sign * b.measured,
    totalMs: a.totalMs + sign * b.totalMs,
  }
}
