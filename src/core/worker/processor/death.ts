// Which task caused a processor to exit: that task fails, and the other tasks of the processor run
// again.

import { type ProcessorDeath, ProcessorDiedError } from '../../../base/errors.js'
import type { LastRun, StopReason } from '../events.js'
import type { Answers } from '../task/ends.js'
import type { WorkerTaskTable } from '../task/table.js'
import { describeTask, type WorkerTask } from '../task/task.js'

/**
 * A task becomes a suspect after this many processors exited with it while they were running
 * nothing.
 */
const MAX_UNATTRIBUTED_DEATHS = 3

/**
 * How often a task that may have caused the exit of its processor, without certainty, is retried.
 */
const MAX_UNCERTAIN_DEATHS = 6

/** How often the children of a task may end the processor in which it waits for them. */
const MAX_DEATHS_BY_CHILDREN = 3

/**
 * How often a task may lose its processor for any reason while it waits. The reason may be its
 * children, but that is not visible if a task on another worker submitted them, or if they end with
 * the processor: without a limit, the task would be retried forever.
 */
const MAX_LOSSES = 6

/** Why a worker killed its processor, for logs. */
export const KILL_CAUSES: Readonly<Record<StopReason, string>> = {
  cancelled: 'cancel',
  givenUp: 'cancel',
  timedOut: 'time limit',
}

/** The longest part of a line of stderr that is reported, in characters. */
const MAX_LINE_LENGTH = 400

/** The last line of Node's report of an uncaught error, */
const NODE_VERSION = /^Node\.js v\d/
/** and the line with the error itself: `TypeError: no`, `[Error: no]`, `Uncaught 'no'`. */
const HEADLINE = /^(?:\[?[\w$]*(?:Error|Exception|Rejection)\b|Uncaught\b)/

/** The first line that V8 writes when a process aborts. */
const NATIVE_STACK = '----- Native stack trace -----'

/** The attribution of a processor's exit to the tasks that it left unanswered. */
interface Attribution {
  /** The task that caused the exit, if that is certain. */
  readonly cause: WorkerTask | undefined
  /** The possible causes. They run again one at a time, which then shows the cause. */
  readonly candidates: ReadonlySet<WorkerTask>
}

/** What is known about the exit of a processor. */
interface Exit {
  /** The tasks that it left unanswered, in the order in which it was sent them. */
  readonly unanswered: readonly WorkerTask[]
  readonly lastRun: LastRun
  /** The one of these that it had not read. */
  readonly unread: WorkerTask | undefined
}

const NO_TASKS: ReadonlySet<WorkerTask> = new Set()

/** For a processor that was stopped on purpose. */
export const NO_CAUSE: Attribution = { cause: undefined, candidates: NO_TASKS }

/**
 * Finds the task that ended a processor, using the processor's last report. Without a report, a
 * single task is certainly the cause; of several, each one that was not waiting for others may be.
 * What it had not read is no cause. `mayHaveBegun`: whether a task has begun, as far as that can be
 * known.
 */
export function attributeDeath(
  { unanswered, lastRun, unread }: Exit,
  mayHaveBegun: (task: WorkerTask) => boolean,
): Attribution {
  if (lastRun === 'retired' || lastRun === 'unusable') return NO_CAUSE
  if (lastRun === 'nothing') return attributeIdleDeath(unanswered)
  if (lastRun === 'unknown' || lastRun === 'unread') {
    if (unanswered.length === 1 && unanswered[0] === unread) return attributeIdleDeath(unanswered)
    return attributeCrash(unanswered, (task) => task !== unread && mayHaveBegun(task))
  }
  const { taskIds } = lastRun
  const noted = unanswered.filter(({ id }) => taskIds.includes(id))
  return taskIds.length === 1 ? certainly(noted[0]) : possibly(noted)
}

/** Whether a task fails because it may have ended several processors. */
function retriesExhausted({ deaths }: WorkerTask): boolean {
  return deaths >= MAX_UNCERTAIN_DEATHS
}

/** Whether a task fails because its children ended several processors. */
function hasDeadlyChildren({ deaths }: WorkerTask): boolean {
  return deaths >= MAX_DEATHS_BY_CHILDREN
}

/** Whether a task that lost its processor while waiting may run again. */
function isRetriable({ lossCount }: WorkerTask): boolean {
  return lossCount < MAX_LOSSES
}

/** One line: how the processor of a task ended, and the last line that it wrote. */
function describeDeath(task: WorkerTask, death: ProcessorDeath): string {
  return describe(task, death, '')
}

/** One line: the processor ended because of a child of the task. */
function describeDeathByChild(task: WorkerTask, child: WorkerTask, death: ProcessorDeath): string {
  const times = `, for the ${MAX_DEATHS_BY_CHILDREN}rd time`
  return describe(
    task,
    death,
    `${times} because of a task that it submitted: ${describeTask(child)}`,
  )
}

/** One line: the processor ended while the task was waiting, and the limit was reached. */
function describeLoss(task: WorkerTask, death: ProcessorDeath): string {
  return describe(task, death, `, for the ${MAX_LOSSES}th time while it waited for other tasks`)
}

function describe(task: WorkerTask, death: ProcessorDeath, more: string): string {
  const line = hasRunOutOfMemory(death) ? '' : lastLineOf(death.stderr)
  const stderr = line === '' ? '' : `: ${line}`
  return `${describeTask(task)}: the process that ran it ${causeOf(death)}${more}${stderr}`
}

/**
 * The last line that a process wrote, without what Node adds to its report of an error: stack,
 * properties, version. Empty: none.
 */
export function lastLineOf(stderr: string): string {
  const [report = ''] = stderr.split(NATIVE_STACK, 1)
  const lines = report.split(/\r?\n/).filter((line) => line.trim() !== '')
  const isReport = NODE_VERSION.test(lines.at(-1) ?? '')
  const headline = isReport ? lines.findLast((line) => HEADLINE.test(line)) : undefined
  const line = headline ?? lines.findLast((text) => !NODE_VERSION.test(text)) ?? ''
  return line.trim().slice(0, MAX_LINE_LENGTH)
}

function hasRunOutOfMemory({ stderr }: ProcessorDeath): boolean {
  return stderr.includes('JavaScript heap out of memory')
}

/** Node exits with this code if it does not support one of its options. */
const BAD_OPTION_EXIT_CODE = 9
/** A module of `--import` or `--require`, or one that these load. */
const MISSING_MODULE = /\b(?:ERR_)?MODULE_NOT_FOUND\b/

/** Why no processor will ever start; undefined if that is not certain. */
export function certainFailureOf({ exitCode, stderr }: ProcessorDeath): string | undefined {
  if (exitCode === BAD_OPTION_EXIT_CODE) return stderr.trim().split('\n', 1)[0] ?? ''
  return exitCode === 1 && MISSING_MODULE.test(stderr) ? lastLineOf(stderr) : undefined
}

/** How a processor ended, as the rest of a sentence. */
export function causeOf(death: ProcessorDeath): string {
  if (hasRunOutOfMemory(death)) return 'ran out of memory'
  if (death.signal !== undefined) return `was killed by ${death.signal}`
  if (death.exitCode !== undefined) return `exited with code ${death.exitCode}`
  return 'could not be started'
}

/** The same in one word, for logs. */
export function kindOf(death: ProcessorDeath): string {
  if (hasRunOutOfMemory(death)) return 'memory'
  if (death.signal !== undefined) return 'signal'
  return death.exitCode === undefined ? 'not started' : 'exit'
}

/**
 * The processor was running none of these tasks. But a task that cannot even be started must not be
 * retried forever.
 */
function attributeIdleDeath(unanswered: readonly WorkerTask[]): Attribution {
  const only = onlyOf(unanswered)
  if (only?.isCandidate === true) return certainly(only)
  return { cause: undefined, candidates: oftenLost(unanswered) }
}

/**
 * There is no report. A task that runs next to waiting ones is the most likely cause, but one of
 * those may have continued unnoticed just before: the task becomes the certain cause only the
 * second time. What cannot have begun is no cause.
 */
function attributeCrash(
  unanswered: readonly WorkerTask[],
  mayHaveBegun: (task: WorkerTask) => boolean,
): Attribution {
  const only = onlyOf(unanswered)
  if (only !== undefined) return certainly(only)
  const active = unanswered.filter((task) => !task.isWaiting && mayHaveBegun(task))
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
  const [first] = tasks
  return tasks.length === 1 && first?.count === 1 ? first : undefined
}

// The tasks of a processor that ended: the cause fails, and the others run again in the next
// processor.

/** How a processor ended, and which task is the cause. */
interface Aftermath extends Attribution {
  readonly death: ProcessorDeath
  /** This package stopped it, so it does not count against any task. */
  readonly isOnPurpose: boolean
}

/** Makes tasks that are looked at one by one entries of their own. */
export function separateCauses(
  tasks: WorkerTaskTable,
  unanswered: readonly WorkerTask[],
  lastRun: LastRun,
): void {
  const noted = typeof lastRun === 'object' ? lastRun.taskIds : []
  for (const id of noted) tasks.getOut(id)
  for (const { parentId } of unanswered.slice()) tasks.get(parentId)
}

/** Requeues or fails the tasks of processors that have ended. */
export class RequeuedTasks {
  readonly #tasks: WorkerTaskTable
  readonly #answers: Answers

  constructor(tasks: WorkerTaskTable, answers: Answers) {
    this.#tasks = tasks
    this.#answers = answers
  }

  /** Fails or requeues every task that the processor left unanswered. */
  sort(unanswered: readonly WorkerTask[], aftermath: Aftermath): void {
    const { cause, isOnPurpose } = aftermath
    this.#answers.outputs.onProcessorExited(unanswered)
    // For a task that waits for it, a child that had to be killed counts like one that ends its
    // process.
    const ended = isOnPurpose ? unanswered.filter(({ state }) => state === 'canceling') : []
    for (const task of unanswered) {
      if (task.isWaiting) task.lossCount += 1
      if (!isOnPurpose && cause === undefined) task.deaths += 1
      if (task === cause) this.#blame(task, (one) => describeDeath(one, aftermath.death), aftermath)
      else this.#giveBack(task, aftermath)
      task.isWaiting = false
    }
    const lost = new Set(unanswered)
    for (const task of cause === undefined ? ended : [cause]) {
      this.#blameAncestors(task, lost, aftermath)
    }
  }

  /** The task runs again in the next processor, if it is still awaited. */
  #giveBack(task: WorkerTask, aftermath: Aftermath): void {
    const isCandidate = aftermath.candidates.has(task)
    if (isCandidate && retriesExhausted(task)) {
      this.#blame(task, (one) => describeDeath(one, aftermath.death), aftermath)
      return
    }
    if (!isRetriable(task)) {
      this.#blame(task, (one) => describeLoss(one, aftermath.death), aftermath)
      return
    }
    if (this.#tasks.change(task, 'requeued') !== 'fetching') return
    if (isCandidate) this.#tasks.markCandidate(task)
    // It has not waited yet when it runs again: it counts as load again.
    if (task.isWaiting) this.#answers.resumes(task)
    this.#answers.requeues(task)
  }

  /**
   * A task that submits the same deadly task on each run would be retried forever: it fails after a
   * few times. A task that was not in the processor (not in `lost`) has lost nothing: the cause is
   * a child of an earlier run of it. A task with several such children has lost its processor once:
   * a counted task is removed from `lost`.
   */
  #blameAncestors(cause: WorkerTask, lost: Set<WorkerTask>, aftermath: Aftermath): void {
    const seen = new Set<WorkerTask>()
    let task = this.#tasks.get(cause.parentId)
    for (; task !== undefined && !seen.has(task); task = this.#tasks.get(task.parentId)) {
      seen.add(task)
      if (!lost.delete(task)) continue
      task.deaths += 1
      if (!hasDeadlyChildren(task)) continue
      this.#blame(task, (one) => describeDeathByChild(one, cause, aftermath.death), aftermath)
    }
  }

  #blame(entry: WorkerTask, textOf: (task: WorkerTask) => string, { death }: Aftermath): void {
    for (const task of this.#tasks.separateAll(entry)) {
      const { state } = task
      this.#tasks.change(task, 'blamed')
      if (state === 'canceling') continue
      const ending = { isAwaited: state !== 'abandoned', durationMs: this.#answers.runningMs(task) }
      this.#answers.fail(task, new ProcessorDiedError(textOf(task), death), ending)
    }
  }
}
