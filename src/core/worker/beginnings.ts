// Tells the scheduler which tasks have begun, but only such as run for a while: of tasks that end
// at once nothing is said. So it costs nothing per task: the processor is looked at now and then.

import type { InstantMs } from '../../base/machine.js'
import type { Answers } from './answers.js'
import type { Dispatcher } from './dispatcher.js'
import type { RunStatus } from './events.js'
import type { Output } from './output.js'
import type { WorkerTask } from './worker-task.js'

/** Between two looks; a task that the processor has had for less is not looked at. */
const INTERVAL_MS = 250

/** The guardian is asked about so many tasks at a time: mostly it is the first one that runs. */
const MAX_QUESTIONS = 8

/** What looking needs. */
export interface BeginningParts {
  readonly output: Output
  readonly answers: Answers
  readonly dispatcher: Dispatcher
}

/** Looks at what the processor has. */
export class Beginnings {
  readonly #parts: BeginningParts
  /** Those of which the guardian has not told yet, by their dispatch numbers. */
  readonly #asked = new Map<number, WorkerTask>()
  #lookAt: InstantMs | undefined

  constructor(parts: BeginningParts) {
    this.#parts = parts
  }

  /** When `onTick` must be called next; undefined while the processor has nothing. */
  get deadline(): InstantMs | undefined {
    return this.#lookAt
  }

  /** The processor has got a task. */
  onHandedOver(now: InstantMs): void {
    this.#lookAt ??= now + INTERVAL_MS
  }

  /** Looks, if that is due. `canAsk`: the processor listens. */
  onTick(now: InstantMs, canAsk: boolean): void {
    if (this.#lookAt === undefined || now < this.#lookAt) return
    const { answers, dispatcher } = this.#parts
    this.#lookAt = dispatcher.isEmpty ? undefined : now + INTERVAL_MS
    if (answers.areBeginningsWanted) this.#look(now, canAsk)
  }

  /** The processor's guardian has told how far a task is. */
  onStatus({ dispatchNumber, isStarted, runningMs }: RunStatus, now: InstantMs): void {
    const task = this.#asked.get(dispatchNumber)
    if (task === undefined || !this.#asked.delete(dispatchNumber) || !isStarted) return
    const { answers, dispatcher } = this.#parts
    const isCurrent = dispatcher.get(task.id) === task && task.dispatchNumber === dispatchNumber
    if (!isCurrent || !isUntold(task)) return
    // Below 0 while it still reads what it needs.
    task.begunAt ??= now - Math.max(0, runningMs)
    answers.begins(task)
  }

  /** The processor is gone. */
  onProcessorExited(): void {
    this.#asked.clear()
    this.#lookAt = undefined
  }

  #look(now: InstantMs, canAsk: boolean): void {
    const { output, answers, dispatcher } = this.#parts
    for (const task of dispatcher.unanswered()) {
      if (task.dispatchedAt > now - INTERVAL_MS) return
      if (!isUntold(task)) continue
      if (task.hasBegun) answers.begins(task)
      else if (
        canAsk &&
        this.#asked.size < MAX_QUESTIONS &&
        !this.#asked.has(task.dispatchNumber)
      ) {
        this.#asked.set(task.dispatchNumber, task)
        output.act({ type: 'askStatus', dispatchNumber: task.dispatchNumber })
      }
    }
  }
}

/** Whether the scheduler waits for the task and does not know that it has begun. */
function isUntold({ isTold, state }: WorkerTask): boolean {
  return !isTold && state === 'dispatched'
}
