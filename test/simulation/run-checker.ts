// How often tasks ran, and whether there was a reason for running one more than once.

import type { Journal, RunRecord } from './journal.js'
import { Violation } from './violation.js'

/** The counts. */
export interface RunCount {
  readonly runs: number
  /** Runs of tasks that had been started before. */
  readonly repeats: number
  /** Those of them that started during another run. */
  readonly overlaps: number
}

/** Counts runs. Throws `Violation` if one was repeated in a world without faults. */
export function countRuns(journal: Journal, mayRepeat: (run: RunRecord) => boolean): RunCount {
  let repeats = 0
  let overlaps = 0
  const isCalm = journal.faults.length === 0 && journal.deaths.length === 0
  for (const runs of journal.runsOf.values()) {
    for (const [index, run] of runs.entries()) {
      if (index === 0) continue
      repeats += 1
      const before = runs.slice(0, index)
      if (before.some((other) => isOver(other, run.beganAt) === false)) overlaps += 1
      if (isCalm && !mayRepeat(run)) {
        throw new Violation('run', `${run.name} ran ${index + 1} times, and nothing was wrong`)
      }
    }
  }
  return { runs: journal.runs.length, repeats, overlaps }
}

function isOver(run: RunRecord, at: number): boolean {
  return run.endedAt !== undefined && run.endedAt <= at
}
