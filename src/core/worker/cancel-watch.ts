// What happens to a task that was cancelled by force when the processor has it already. Only if it
// is the one that runs is the processor killed: it is asked, again and again, until the task is
// gone. Other tasks are not run twice because a neighbour was cancelled.

import type { InstantMs } from '../../base/machine.js'
import type { Output } from './output.js'
import type { WorkerTask } from './worker-task.js'

/** Between two questions. */
const ASK_INTERVAL_MS = 50

/** A processor that does not even tell its progress for so long is killed. */
const ANSWER_TIMEOUT_MS = 2_000

/** Decides when a processor must be killed for a cancelled task. */
export class CancelWatch {
  readonly #output: Output
  #askAt: InstantMs | undefined
  #askedAt: InstantMs | undefined

  constructor(output: Output) {
    this.#output = output
  }

  /** When `onTick` must be called next. */
  get deadline(): InstantMs | undefined {
    return this.#askedAt === undefined ? this.#askAt : this.#askedAt + ANSWER_TIMEOUT_MS
  }

  /** A task that the processor has was cancelled by force: asks at once. */
  onCancelled(now: InstantMs): void {
    if (this.#askedAt === undefined) this.#ask(now)
  }

  /**
   * The processor has told its progress, and `unanswered` is what it still has. Returns whether it
   * must be killed.
   */
  onProgress(progress: number, unanswered: Iterable<WorkerTask>, now: InstantMs): boolean {
    this.#askedAt = undefined
    this.#askAt = undefined
    for (const task of unanswered) {
      if (task.state !== 'canceling') continue
      if (progress === (2 * task.dispatchNumber + 1) >>> 0) return true
      this.#askAt = now + ASK_INTERVAL_MS
    }
    return false
  }

  /** Asks again, or returns true: the processor must be killed, because it does not answer. */
  onTick(now: InstantMs): boolean {
    if (this.#askedAt !== undefined) return now >= this.#askedAt + ANSWER_TIMEOUT_MS
    if (this.#askAt !== undefined && now >= this.#askAt) this.#ask(now)
    return false
  }

  /** The processor is gone or being killed. */
  clear(): void {
    this.#askAt = undefined
    this.#askedAt = undefined
  }

  #ask(now: InstantMs): void {
    this.#askedAt = now
    this.#askAt = undefined
    this.#output.act({ type: 'askProgress' })
  }
}
