// How tasks end: the processor has answered, their time is over, or an object is missing. (What
// ends with its processor is the matter of survivors.ts.)

import { totalBytes } from '../../base/bytes.js'
import { MissingObjectError } from '../../base/errors.js'
import { idToHex, type ObjectId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { TaskResult } from '../../wire/message.js'
import { decodeProfileResult } from '../../wire/profile.js'
import type { Answers } from './answers.js'
import type { Dispatcher } from './dispatcher.js'
import type { Fetcher } from './fetcher.js'
import type { TaskTable } from './task-table.js'
import { timeoutErrorOf } from './time-limit.js'
import { titleOf, type WorkerTask } from './worker-task.js'

/** Length of a profile result. */
const PROFILE_BYTES = 16

/** The parts of the worker that this needs. */
export interface TaskEndsParts {
  readonly tasks: TaskTable
  readonly dispatcher: Dispatcher
  readonly fetcher: Fetcher
  readonly answers: Answers
}

/** Ends tasks, each with an answer or a result that is kept, unless nobody wants that. */
export class TaskEnds {
  readonly #tasks: TaskTable
  readonly #dispatcher: Dispatcher
  readonly #fetcher: Fetcher
  readonly #answers: Answers

  constructor({ tasks, dispatcher, fetcher, answers }: TaskEndsParts) {
    this.#tasks = tasks
    this.#dispatcher = dispatcher
    this.#fetcher = fetcher
    this.#answers = answers
  }

  /** The processor is done with a task: it has run, or was skipped. */
  onAnswered(task: WorkerTask, result: TaskResult, now: InstantMs): void {
    const { state } = task
    this.#answers.outputs.onEnded(task)
    this.#tasks.change(task, 'answered')
    if (result.status === 'canceled') return
    if (!task.hasWaited) this.#learn(task, result)
    const ending = { isAwaited: state === 'dispatched', durationMs: now - task.dispatchedAt }
    const isWanted = state !== 'canceling'
    const objectId = isWanted ? this.#answers.end(result, task, ending) : undefined
    const [keptId] = result.results
    if (keptId === undefined) return
    // A busy processor may have kept it before it was told to forget all, or after.
    if (objectId !== keptId || task.isCutOff) this.#fetcher.drop(keptId)
    else this.#fetcher.onKept(keptId, totalBytes(result.inlineResults), now)
  }

  /** It has run for so long, which is longer than it may. It still has to be stopped. */
  onTimeout(task: WorkerTask, runningMs: number): void {
    const isAwaited = task.state === 'dispatched'
    this.#tasks.change(task, 'timedOut')
    this.#answers.fail(task, timeoutErrorOf(task.id, titleOf(task), task), {
      isAwaited,
      durationMs: runningMs,
    })
  }

  /** The scheduler does not have these objects. */
  onMissing(task: WorkerTask, ids: readonly ObjectId[]): void {
    this.#tasks.change(task, 'objectMissing')
    const list = ids.map(idToHex).join(', ')
    const text = `task ${idToHex(task.id)} needs objects that do not exist: ${list}`
    this.#answers.fail(task, new MissingObjectError(text), { isAwaited: true, durationMs: 0 })
  }

  #learn(task: WorkerTask, { metadata }: TaskResult): void {
    const profile =
      metadata.byteLength === PROFILE_BYTES ? decodeProfileResult(metadata) : undefined
    if (profile !== undefined) this.#dispatcher.learn(task, profile.durationSeconds * 1000)
  }
}

/** Results are chunks of one value, so at least one. Only what was stopped may be skipped. */
export function isAnswerTo(task: WorkerTask, result: TaskResult): boolean {
  const { byteLength } = result.metadata
  if (byteLength !== 0 && byteLength !== PROFILE_BYTES) return false
  if (result.status === 'canceled') return task.state === 'canceling'
  const isRun = result.status === 'success' || result.status === 'failed'
  return isRun && result.inlineResults.length > 0 && result.results.length <= 1
}
