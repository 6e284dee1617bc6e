// How often tasks ran, and whether there was a reason when one ran more than once.

import type { Journal, RunRecord } from './journal.js'
import { Violation } from './violation.js'

/** What came of it. */
export interface RunCount {
  readonly runs: number
  /** Runs of tasks that had been begun before. */
  readonly repeats: number
  /** Of these, such as began while another run went on. */
  readonly overlaps: number
}

/** Counts runs. Throws `Violation` if one was repeated in a world in which nothing went wrong. */
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
