// What is counted of the tasks of one function: how many have ended, and how long they took.

import { Histogram } from '../base/histogram.js'
import type { FunctionReport, TaskStatus } from '../wire/message.js'

/** Counts of the tasks of one function. */
export interface FunctionTally {
  readonly name: string
  /** Tasks that finished. */
  ended: number
  /** Tasks that failed. */
  failed: number
  longestMs: number
  /** The known durations in milliseconds; undefined if there are none. */
  durations: Histogram | undefined
  /** The first of them, of which quantiles are exact. */
  readonly first: number[]
  /** The largest memory that a profiled task used; 0 if none was profiled. */
  peakBytes: number
}

/** What a finished task has cost. */
export interface TaskCost {
  /** How long its function took. */
  readonly durationMs: number
  /** The memory that it used; 0 if it was not profiled. */
  readonly peakBytes: number
}

/** What finished tasks of one run have cost. */
export interface RunCosts {
  /** How long the function took for each of them, in milliseconds. */
  readonly durations: Float64Array
  /** The most memory that one of them used; 0 if they were not profiled. */
  readonly peakBytes: number
}

/** The bounds of measured durations, in milliseconds: a microsecond to two weeks. */
const [SHORTEST_MS, LONGEST_MS] = [0.001, 1_209_600_000]

/** The histogram has buckets: of fewer durations than this, their bounds would stand out. */
const MAX_FIRST = 20

/** An empty histogram for durations of tasks, in milliseconds. */
export function taskDurations(): Histogram {
  return new Histogram(SHORTEST_MS, LONGEST_MS)
}

/** No task has ended. */
export function emptyTally(name: string): FunctionTally {
  return { name, ended: 0, failed: 0, longestMs: 0, durations: undefined, first: [], peakBytes: 0 }
}

/** Counts a finished task. `cost`: its profile, if its worker measured it. */
export function countTask(
  tally: FunctionTally,
  status: TaskStatus,
  cost: TaskCost | undefined,
): void {
  countEnded(tally, status, 1)
  if (cost === undefined) return
  tally.durations ??= taskDurations()
  addDuration(tally, tally.durations, cost.durationMs)
  tally.peakBytes = Math.max(tally.peakBytes, cost.peakBytes)
}

/** Counts `tasks` finished tasks. `costs`: their profiles, if their worker measured them. */
export function countTasks(
  tally: FunctionTally,
  status: TaskStatus,
  tasks: number,
  costs: RunCosts | undefined,
): void {
  countEnded(tally, status, tasks)
  if (costs === undefined) return
  const durations = (tally.durations ??= taskDurations())
  for (const durationMs of costs.durations) addDuration(tally, durations, durationMs)
  tally.peakBytes = Math.max(tally.peakBytes, costs.peakBytes)
}

function countEnded(tally: FunctionTally, status: TaskStatus, tasks: number): void {
  tally.ended += tasks
  if (hasFailed(status)) tally.failed += tasks
}

function addDuration(tally: FunctionTally, durations: Histogram, durationMs: number): void {
  durations.add(durationMs)
  if (tally.first.length < MAX_FIRST) tally.first.push(durationMs)
  if (durationMs > tally.longestMs) tally.longestMs = durationMs
}

/** At most `most` functions, those with the most finished tasks first. */
export function functionReports(
  tallies: Iterable<FunctionTally>,
  most: number,
): readonly FunctionReport[] {
  const busiest = [...tallies].filter(({ ended }) => ended > 0)
  busiest.sort((a, b) => b.ended - a.ended)
  return busiest.slice(0, most).map(functionReport)
}

function functionReport({ durations, first, longestMs, ...tally }: FunctionTally): FunctionReport {
  const few = durations?.count === first.length ? first.toSorted((a, b) => a - b) : undefined
  const quantile = (share: number): number => {
    const exact = few?.[Math.ceil(share * first.length) - 1]
    // Those of a histogram are not exact, but none exceeds the longest.
    return exact ?? Math.min(durations?.quantile(share) ?? 0, longestMs)
  }
  return {
    name: tally.name,
    ended: tally.ended,
    failed: tally.failed,
    measured: durations?.count ?? 0,
    totalMS: durations?.sum ?? 0,
    longestMS: longestMs,
    p50MS: quantile(0.5),
    p90MS: quantile(0.9),
    p99MS: quantile(0.99),
    peakBytes: tally.peakBytes,
  }
}

/** Whether a status is reported as a failure. */
export function hasFailed(status: TaskStatus): boolean {
  return status === 'failed' || status === 'workerDied'
}
