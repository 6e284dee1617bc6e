// Who is to blame when a processor ended: exactly the task that took it down fails, the others that
// it had run again.

import type { ProcessorDeath } from '../../base/errors.js'
import { idToHex, type TaskId } from '../../base/ids.js'
import type { LastRun } from './events.js'
import type { WorkerTask } from './worker-task.js'

/**
 * So often a task is given back without suspicion by processors that ended while they ran nothing.
 */
const MAX_UNSUSPECTED_DEATHS = 3

/** What becomes of the tasks that a processor left unanswered. */
export interface Verdict {
  /** The task that ended it, if that is certain. */
  readonly culprit: WorkerTask | undefined
  /** Whether each of the others may have been it. They run again, one by one, and then it shows. */
  isSuspect(task: WorkerTask): boolean
}

/** For a processor that was ended on purpose. */
export const NOBODY_TO_BLAME: Verdict = { culprit: undefined, isSuspect: () => false }

/**
 * Judges by what the processor could still tell. Where it could not, one task is certain to be the
 * culprit and of several each may be.
 */
export function judge(unanswered: readonly WorkerTask[], lastRun: LastRun): Verdict {
  if (lastRun === 'nothing') return judgeIdle(unanswered)
  const culprit = lastRun === 'unknown' ? onlyOf(unanswered) : byId(unanswered, lastRun.taskId)
  const isSuspect = (): boolean => culprit === undefined && lastRun === 'unknown'
  return { culprit, isSuspect }
}

/** One line: how the processor of a task ended. */
export function describeDeath(id: TaskId, death: ProcessorDeath): string {
  return `task ${idToHex(id)}: the process that ran it ${causeOf(death)}`
}

/** How a processor ended, as the rest of a sentence. */
export function causeOf(death: ProcessorDeath): string {
  if (death.stderr.includes('JavaScript heap out of memory')) return 'ran out of memory'
  if (death.signal !== undefined) return `was ended by ${death.signal}`
  if (death.exitCode !== undefined) return `exited with code ${death.exitCode}`
  return 'could not be started'
}

/** It ran none of them. But what it cannot even start must not come back for ever. */
function judgeIdle(unanswered: readonly WorkerTask[]): Verdict {
  const only = onlyOf(unanswered)
  const culprit = only?.isSuspect === true ? only : undefined
  return { culprit, isSuspect: (task) => task.deaths >= MAX_UNSUSPECTED_DEATHS }
}

function onlyOf(tasks: readonly WorkerTask[]): WorkerTask | undefined {
  return tasks.length === 1 ? tasks[0] : undefined
}

function byId(tasks: readonly WorkerTask[], id: TaskId): WorkerTask | undefined {
  return tasks.find((task) => task.id === id)
}
