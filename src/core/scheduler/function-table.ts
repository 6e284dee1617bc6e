// What is counted of functions, by name: monitors show it, and what waits is counted by it.

import type { FunctionReport, TaskStatus } from '../../wire/message.js'
import { spokenName } from '../../wire/object-content.js'
import type { FunctionCounts, ObjectEntry } from './entries.js'

/** So many names are counted by themselves. */
const MAX_NAMES = 1_000

/** What is counted under for all others: no function can have this name. */
const OTHERS = '(others)'

/** Longer names are cut. */
const MAX_NAME_BYTES = 256

/** The functions of all tasks since the start. */
export class FunctionTable {
  readonly #byName = new Map<string, FunctionCounts>()

  /** What a task with this function is counted under. */
  of(fn: ObjectEntry | undefined): FunctionCounts {
    if (fn === undefined) return this.#named('')
    return (fn.counts ??= this.#named(spokenName(fn.name, MAX_NAME_BYTES)))
  }

  /** A task has ended. `durationMs`: how long its function took; undefined: that is not known. */
  count(fn: ObjectEntry | undefined, status: TaskStatus, durationMs: number | undefined): void {
    const counts = this.of(fn)
    counts.ended += 1
    if (hasFailed(status)) counts.failed += 1
    if (durationMs === undefined) return
    counts.measured += 1
    counts.totalMs += durationMs
    if (durationMs > counts.longestMs) counts.longestMs = durationMs
  }

  /** Those first of which most tasks have ended. */
  reports(most: number): readonly FunctionReport[] {
    const busiest = [...this.#byName.values()].filter(({ ended }) => ended > 0)
    busiest.sort((a, b) => b.ended - a.ended)
    return busiest.slice(0, most).map(({ name, ended, failed, measured, ...times }) => {
      return { name, ended, failed, measured, totalMS: times.totalMs, longestMS: times.longestMs }
    })
  }

  #named(name: string): FunctionCounts {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    if (this.#byName.size >= MAX_NAMES && name !== OTHERS) return this.#named(OTHERS)
    const counts = { name, ended: 0, failed: 0, measured: 0, totalMs: 0, longestMs: 0 }
    this.#byName.set(name, counts)
    return counts
  }
}

/** Whether a status is told as a failure. */
export function hasFailed(status: TaskStatus): boolean {
  return status === 'failed' || status === 'workerDied'
}
