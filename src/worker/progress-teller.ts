// Tells how far tasks are, but not more often than anybody can look: what a task says within a
// tenth of a second is left out, but for the last.

import { encodeFrame } from '../wire/message.js'
import { KIND_MESSAGE } from './link.js'
import type { Outbox } from './outbox.js'
import type { TaskRun } from './task-run.js'

/** Between two updates of one task, in milliseconds. */
const INTERVAL_MS = 100

/** Passes on what tasks say of their progress. */
export class ProgressTeller {
  readonly #outbox: Outbox
  readonly #now: () => number
  /** Runs whose last word was not told. */
  readonly #late = new Set<TaskRun>()
  #isPlanned = false

  constructor(outbox: Outbox, now: () => number = () => performance.now()) {
    this.#outbox = outbox
    this.#now = now
  }

  /** A run has said something: tells it now or later. */
  onProgress(run: TaskRun): void {
    if (this.#now() - run.progressToldAt >= INTERVAL_MS) {
      // The task may not return to the event loop for long.
      this.tell(run)
      this.#outbox.flush()
      return
    }
    this.#late.add(run)
    this.#plan()
  }

  /** Tells what the run has said last, if that was not told; leaves with the next flush. */
  tell(run: TaskRun): void {
    const { progress } = run
    if (progress === undefined) return
    this.forget(run)
    run.progressToldAt = this.#now()
    const update = { kind: 'taskUpdate', taskId: run.id, update: 'progress', ...progress } as const
    this.#outbox.add(KIND_MESSAGE, encodeFrame(update))
  }

  /** Nobody wants to know any more. */
  forget(run: TaskRun): void {
    run.progress = undefined
    if (this.#late.size > 0) this.#late.delete(run)
  }

  #plan(): void {
    if (this.#isPlanned || this.#late.size === 0) return
    this.#isPlanned = true
    setTimeout(() => this.#tellDue(), INTERVAL_MS).unref()
  }

  #tellDue(): void {
    this.#isPlanned = false
    const now = this.#now()
    for (const run of this.#late) if (now - run.progressToldAt >= INTERVAL_MS) this.tell(run)
    this.#outbox.flush()
    this.#plan()
  }
}
