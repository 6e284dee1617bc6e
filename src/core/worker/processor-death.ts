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

/** So often a task is tried again that each time may have been the cause, and never certainly. */
const MAX_UNCERTAIN_DEATHS = 6

/** So often tasks may end the processor that waits for them in the task that has submitted them. */
const MAX_DEATHS_BY_CHILDREN = 3

/**
 * So often a task may lose its processor while it waits, to whatever it is. It may be to what it
 * has submitted, which shows neither if that was submitted by a task on another worker, nor if it
 * ends with the processor: then it would go on like that for ever.
 */
const MAX_LOSSES = 6

/** What becomes of the tasks that a processor left unanswered. */
export interface Verdict {
  /** The task that ended it, if that is certain. */
  readonly culprit: WorkerTask | undefined
  /** Those of which each may have been it. They run again, one by one, and then it shows. */
  readonly suspects: ReadonlySet<WorkerTask>
}

const NO_TASKS: ReadonlySet<WorkerTask> = new Set()

/** For a processor that was ended on purpose. */
export const NOBODY_TO_BLAME: Verdict = { culprit: undefined, suspects: NO_TASKS }

/**
 * Judges by what the processor could still tell. Where it could not, one task is certain to be the
 * culprit and of several each may be that did not wait for others.
 */
export function judge(unanswered: readonly WorkerTask[], lastRun: LastRun): Verdict {
  if (lastRun === 'retired') return NOBODY_TO_BLAME
  if (lastRun === 'nothing') return judgeIdle(unanswered)
  if (lastRun === 'unknown') return judgeCrash(unanswered)
  const { taskIds } = lastRun
  const noted = unanswered.filter(({ id }) => taskIds.includes(id))
  return taskIds.length === 1 ? certainly(noted[0]) : possibly(noted)
}

/** Whether a task is given up that may have ended so many processors. */
export function isHopeless({ deaths }: WorkerTask): boolean {
  return deaths >= MAX_UNCERTAIN_DEATHS
}

/** Whether a task is given up because of those that it has submitted. */
export function hasDeadlyChildren({ deaths }: WorkerTask): boolean {
  return deaths >= MAX_DEATHS_BY_CHILDREN
}

/** Whether a task is given up because it lost its processor while it waited. */
export function isUnlucky({ lossCount }: WorkerTask): boolean {
  return lossCount >= MAX_LOSSES
}

/** One line: how the processor of a task ended. */
export function describeDeath(id: TaskId, death: ProcessorDeath): string {
  return `task ${idToHex(id)}: the process that ran it ${causeOf(death)}`
}

/** One line: that it did so because of another task. */
export function describeDeathByChild(id: TaskId, child: TaskId, death: ProcessorDeath): string {
  const times = `for the ${MAX_DEATHS_BY_CHILDREN}rd time`
  const cause = `because of what it has submitted: task ${idToHex(child)}`
  return `${describeDeath(id, death)}, ${times} ${cause}`
}

/** One line: that it did so while the task waited, once too often. */
export function describeLoss(id: TaskId, death: ProcessorDeath): string {
  const times = `for the ${MAX_LOSSES}th time`
  return `${describeDeath(id, death)}, ${times} while it waited for others`
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
  if (only?.isSuspect === true) return certainly(only)
  return { culprit: undefined, suspects: oftenLost(unanswered) }
}

/**
 * It said nothing. One that runs beside waiting ones is most likely it, but one of these may have
 * gone on unnoticed just before: it has to do it twice.
 */
function judgeCrash(unanswered: readonly WorkerTask[]): Verdict {
  const only = onlyOf(unanswered)
  if (only !== undefined) return certainly(only)
  const active = unanswered.filter(({ isWaiting }) => !isWaiting)
  const lone = onlyOf(active)
  if (lone?.isSuspect === true) return certainly(lone)
  return active.length > 0
    ? possibly(active)
    : { culprit: undefined, suspects: oftenLost(unanswered) }
}

function certainly(culprit: WorkerTask | undefined): Verdict {
  return { culprit, suspects: NO_TASKS }
}

function possibly(tasks: readonly WorkerTask[]): Verdict {
  return { culprit: undefined, suspects: new Set(tasks) }
}

function oftenLost(tasks: readonly WorkerTask[]): ReadonlySet<WorkerTask> {
  return new Set(tasks.filter(({ deaths }) => deaths >= MAX_UNSUSPECTED_DEATHS))
}

function onlyOf(tasks: readonly WorkerTask[]): WorkerTask | undefined {
  return tasks.length === 1 ? tasks[0] : undefined
}
