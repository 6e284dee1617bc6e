// What becomes of the tasks that a processor had when it ended: the one that has ended it fails,
// the others run again in the next.

import { ProcessorDiedError, type ProcessorDeath } from '../../base/errors.js'
import type { InstantMs } from '../../base/machine.js'
import type { Answers } from './answers.js'
import {
  describeDeath,
  describeDeathByChild,
  describeLoss,
  hasDeadlyChildren,
  isHopeless,
  isUnlucky,
  type Verdict,
} from './processor-death.js'
import type { TaskTable } from './task-table.js'
import type { WorkerTask } from './worker-task.js'

/** How a processor ended, and who has done it. */
export interface Aftermath extends Verdict {
  readonly death: ProcessorDeath
  /** It was ended by us, so it counts for nobody. */
  readonly isOnPurpose: boolean
  readonly now: InstantMs
}

/** Sorts out the tasks of processors that have ended. */
export class Survivors {
  readonly #tasks: TaskTable
  readonly #answers: Answers

  constructor(tasks: TaskTable, answers: Answers) {
    this.#tasks = tasks
    this.#answers = answers
  }

  /** Ends or gives back all that a processor had left unanswered. */
  sort(unanswered: readonly WorkerTask[], aftermath: Aftermath): void {
    const { culprit, isOnPurpose } = aftermath
    this.#answers.outputs.onProcessorExited(unanswered)
    // Who had to be ended by force is as deadly to what waits for it as who ends its process.
    const ended = isOnPurpose ? unanswered.filter(({ state }) => state === 'canceling') : []
    for (const task of unanswered) {
      if (task.isWaiting) task.lossCount += 1
      if (!isOnPurpose && culprit === undefined) task.deaths += 1
      if (task === culprit) this.#blame(task, describeDeath(task, aftermath.death), aftermath)
      else this.#giveBack(task, aftermath)
      task.isWaiting = false
    }
    const lost = new Set(unanswered)
    for (const task of culprit === undefined ? ended : [culprit]) {
      this.#blameAncestors(task, lost, aftermath)
    }
  }

  /** The task is run again by the next processor, if anybody still waits for it. */
  #giveBack(task: WorkerTask, aftermath: Aftermath): void {
    const isSuspect = aftermath.suspects.has(task)
    if (isSuspect && isHopeless(task)) {
      this.#blame(task, describeDeath(task, aftermath.death), aftermath)
      return
    }
    if (isUnlucky(task)) {
      this.#blame(task, describeLoss(task, aftermath.death), aftermath)
      return
    }
    if (this.#tasks.change(task, 'requeued') !== 'fetching') return
    if (isSuspect) this.#tasks.suspect(task)
    // Where it runs again it has not waited yet: it counts again for what it is.
    if (task.isWaiting) this.#answers.resumes(task)
    this.#answers.requeues(task)
  }

  /**
   * What submits the same deadly task again whenever it is run again would do so for ever: it ends
   * after some times. One that was not in the processor (`lost`) has lost nothing: the culprit is a
   * child of an earlier run of it. One that has several such children has lost it once: who has
   * been counted is no longer among the lost.
   */
  #blameAncestors(culprit: WorkerTask, lost: Set<WorkerTask>, aftermath: Aftermath): void {
    const seen = new Set<WorkerTask>()
    let task = this.#tasks.get(culprit.parentId)
    for (; task !== undefined && !seen.has(task); task = this.#tasks.get(task.parentId)) {
      seen.add(task)
      if (!lost.delete(task)) continue
      task.deaths += 1
      if (!hasDeadlyChildren(task)) continue
      this.#blame(task, describeDeathByChild(task, culprit, aftermath.death), aftermath)
    }
  }

  #blame(task: WorkerTask, text: string, { death, now }: Aftermath): void {
    const { state } = task
    this.#tasks.change(task, 'blamed')
    if (state === 'canceling') return
    const ending = { isAwaited: state !== 'abandoned', durationMs: now - task.dispatchedAt }
    this.#answers.fail(task, new ProcessorDiedError(text, death), ending)
  }
}
