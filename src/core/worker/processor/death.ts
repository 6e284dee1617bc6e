// Who is to blame when a processor ended: exactly the task that took it down fails, the others that
// it had run again.

import { type ProcessorDeath, ProcessorDiedError } from '../../../base/errors.js'
import type { LastRun } from '../events.js'
import type { Answers } from '../task/ends.js'
import { describeTask, type TaskTable, type WorkerTask } from '../task/task.js'

/**
 * So often a task is given back without suspicion by processors that ended while they ran nothing.
 */
const MAX_UNATTRIBUTED_DEATHS = 3

/** How often a task that may have ended its processor, but not certainly, is tried again. */
const MAX_UNCERTAIN_DEATHS = 6

/** How often the children of a task may end the processor in which it waits for them. */
const MAX_DEATHS_BY_CHILDREN = 3

/**
 * So often a task may lose its processor while it waits, to whatever it is. It may be to what it
 * has submitted, which shows neither if that was submitted by a task on another worker, nor if it
 * ends with the processor: then it would go on like that for ever.
 */
const MAX_LOSSES = 6

/** How much of one line of stderr is reported. */
const MAX_LINE_LENGTH = 400

/** The last line of what Node writes about an error that nobody has caught, */
const NODE_VERSION = /^Node\.js v\d/
/** and the line that says which: `TypeError: no`, `[Error: no]`, `Uncaught 'no'`. */
const HEADLINE = /^(?:\[?[\w$]*(?:Error|Exception|Rejection)\b|Uncaught\b)/

/** What V8 writes when a process is aborted begins so. */
const NATIVE_STACK = '----- Native stack trace -----'

/** What becomes of the tasks that a processor left unanswered. */
interface Attribution {
  /** The task that ended it, if that is certain. */
  readonly cause: WorkerTask | undefined
  /** Those of which each may have been it. They run again, one by one, and then it shows. */
  readonly candidates: ReadonlySet<WorkerTask>
}

const NO_TASKS: ReadonlySet<WorkerTask> = new Set()

/** For a processor that was ended on purpose. */
export const NO_CAUSE: Attribution = { cause: undefined, candidates: NO_TASKS }

/**
 * Finds the task that ended a processor, from what the processor reported last. Without a report, a
 * single task is certainly the cause; of several, each one that did not wait for others may be.
 */
export function attributeDeath(unanswered: readonly WorkerTask[], lastRun: LastRun): Attribution {
  if (lastRun === 'retired') return NO_CAUSE
  if (lastRun === 'nothing') return attributeIdleDeath(unanswered)
  if (lastRun === 'unknown') return attributeCrash(unanswered)
  const { taskIds } = lastRun
  const noted = unanswered.filter(({ id }) => taskIds.includes(id))
  return taskIds.length === 1 ? certainly(noted[0]) : possibly(noted)
}

/** Whether a task is given up because it may have ended several processors. */
function retriesExhausted({ deaths }: WorkerTask): boolean {
  return deaths >= MAX_UNCERTAIN_DEATHS
}

/** Whether a task is given up because of those that it has submitted. */
function hasDeadlyChildren({ deaths }: WorkerTask): boolean {
  return deaths >= MAX_DEATHS_BY_CHILDREN
}

/** Whether a task that lost its processor while it waited may run again. */
function isRetriable({ lossCount }: WorkerTask): boolean {
  return lossCount < MAX_LOSSES
}

/** One line: how the processor of a task ended, and what it wrote last. */
function describeDeath(task: WorkerTask, death: ProcessorDeath): string {
  return describe(task, death, '')
}

/** One line: that it did so because of another task. */
function describeDeathByChild(task: WorkerTask, child: WorkerTask, death: ProcessorDeath): string {
  const times = `, for the ${MAX_DEATHS_BY_CHILDREN}rd time`
  return describe(task, death, `${times} because of what it has submitted: ${describeTask(child)}`)
}

/** One line: that it did so while the task waited, once too often. */
function describeLoss(task: WorkerTask, death: ProcessorDeath): string {
  return describe(task, death, `, for the ${MAX_LOSSES}th time while it waited for others`)
}

function describe(task: WorkerTask, death: ProcessorDeath, more: string): string {
  const line = hasRunOutOfMemory(death) ? '' : lastLineOf(death.stderr)
  const said = line === '' ? '' : `: ${line}`
  return `${describeTask(task)}: the process that ran it ${causeOf(death)}${more}${said}`
}

/**
 * What a process wrote last, without what Node adds to the report of an error: its stack, its
 * properties, the version of Node. Empty: nothing.
 */
export function lastLineOf(stderr: string): string {
  const [said = ''] = stderr.split(NATIVE_STACK, 1)
  const lines = said.split(/\r?\n/).filter((line) => line.trim() !== '')
  const isReport = NODE_VERSION.test(lines.at(-1) ?? '')
  const headline = isReport ? lines.findLast((line) => HEADLINE.test(line)) : undefined
  const line = headline ?? lines.findLast((text) => !NODE_VERSION.test(text)) ?? ''
  return line.trim().slice(0, MAX_LINE_LENGTH)
}

function hasRunOutOfMemory({ stderr }: ProcessorDeath): boolean {
  return stderr.includes('JavaScript heap out of memory')
}

/** How a processor ended, as the rest of a sentence. */
export function causeOf(death: ProcessorDeath): string {
  if (hasRunOutOfMemory(death)) return 'ran out of memory'
  if (death.signal !== undefined) return `was ended by ${death.signal}`
  if (death.exitCode !== undefined) return `exited with code ${death.exitCode}`
  return 'could not be started'
}

/** The same in one word, for logs. */
export function kindOf(death: ProcessorDeath): string {
  if (hasRunOutOfMemory(death)) return 'memory'
  if (death.signal !== undefined) return 'signal'
  return death.exitCode === undefined ? 'not started' : 'exit'
}

/** It ran none of them. But what it cannot even start must not come back for ever. */
function attributeIdleDeath(unanswered: readonly WorkerTask[]): Attribution {
  const only = onlyOf(unanswered)
  if (only?.isCandidate === true) return certainly(only)
  return { cause: undefined, candidates: oftenLost(unanswered) }
}

/**
 * It said nothing. One that runs beside waiting ones is most likely it, but one of these may have
 * gone on unnoticed just before: it has to do it twice.
 */
function attributeCrash(unanswered: readonly WorkerTask[]): Attribution {
  const only = onlyOf(unanswered)
  if (only !== undefined) return certainly(only)
  const active = unanswered.filter(({ isWaiting }) => !isWaiting)
  const lone = onlyOf(active)
  if (lone?.isCandidate === true) return certainly(lone)
  return active.length > 0
    ? possibly(active)
    : { cause: undefined, candidates: oftenLost(unanswered) }
}

function certainly(cause: WorkerTask | undefined): Attribution {
  return { cause, candidates: NO_TASKS }
}

function possibly(tasks: readonly WorkerTask[]): Attribution {
  return { cause: undefined, candidates: new Set(tasks) }
}

function oftenLost(tasks: readonly WorkerTask[]): ReadonlySet<WorkerTask> {
  return new Set(tasks.filter(({ deaths }) => deaths >= MAX_UNATTRIBUTED_DEATHS))
}

function onlyOf(tasks: readonly WorkerTask[]): WorkerTask | undefined {
  return tasks.length === 1 ? tasks[0] : undefined
}

// What becomes of the tasks that a processor had when it ended: the one that has ended it fails,
// the others run again in the next.

/** How a processor ended, and which task is the cause. */
interface Aftermath extends Attribution {
  readonly death: ProcessorDeath
  /** It was ended by us, so it does not count against any task. */
  readonly isOnPurpose: boolean
}

/** Sorts out the tasks of processors that have ended. */
export class RequeuedTasks {
  readonly #tasks: TaskTable
  readonly #answers: Answers

  constructor(tasks: TaskTable, answers: Answers) {
    this.#tasks = tasks
    this.#answers = answers
  }

  /** Ends or gives back all that a processor had left unanswered. */
  sort(unanswered: readonly WorkerTask[], aftermath: Aftermath): void {
    const { cause, isOnPurpose } = aftermath
    this.#answers.outputs.onProcessorExited(unanswered)
    // Who had to be ended by force is as deadly to what waits for it as who ends its process.
    const ended = isOnPurpose ? unanswered.filter(({ state }) => state === 'canceling') : []
    for (const task of unanswered) {
      if (task.isWaiting) task.lossCount += 1
      if (!isOnPurpose && cause === undefined) task.deaths += 1
      if (task === cause) this.#blame(task, describeDeath(task, aftermath.death), aftermath)
      else this.#giveBack(task, aftermath)
      task.isWaiting = false
    }
    const lost = new Set(unanswered)
    for (const task of cause === undefined ? ended : [cause]) {
      this.#blameAncestors(task, lost, aftermath)
    }
  }

  /** The task is run again by the next processor, if anybody still waits for it. */
  #giveBack(task: WorkerTask, aftermath: Aftermath): void {
    const isCandidate = aftermath.candidates.has(task)
    if (isCandidate && retriesExhausted(task)) {
      this.#blame(task, describeDeath(task, aftermath.death), aftermath)
      return
    }
    if (!isRetriable(task)) {
      this.#blame(task, describeLoss(task, aftermath.death), aftermath)
      return
    }
    if (this.#tasks.change(task, 'requeued') !== 'fetching') return
    if (isCandidate) this.#tasks.markCandidate(task)
    // Where it runs again it has not waited yet: it counts again for what it is.
    if (task.isWaiting) this.#answers.resumes(task)
    this.#answers.requeues(task)
  }

  /**
   * What submits the same deadly task again whenever it is run again would do so for ever: it ends
   * after some times. One that was not in the processor (`lost`) has lost nothing: the cause is a
   * child of an earlier run of it. One that has several such children has lost it once: who has
   * been counted is no longer among the lost.
   */
  #blameAncestors(cause: WorkerTask, lost: Set<WorkerTask>, aftermath: Aftermath): void {
    const seen = new Set<WorkerTask>()
    let task = this.#tasks.get(cause.parentId)
    for (; task !== undefined && !seen.has(task); task = this.#tasks.get(task.parentId)) {
      seen.add(task)
      if (!lost.delete(task)) continue
      task.deaths += 1
      if (!hasDeadlyChildren(task)) continue
      this.#blame(task, describeDeathByChild(task, cause, aftermath.death), aftermath)
    }
  }

  #blame(task: WorkerTask, text: string, { death }: Aftermath): void {
    const { state } = task
    this.#tasks.change(task, 'blamed')
    if (state === 'canceling') return
    const ending = { isAwaited: state !== 'abandoned', durationMs: this.#answers.runningMs(task) }
    this.#answers.fail(task, new ProcessorDiedError(text, death), ending)
  }
}
