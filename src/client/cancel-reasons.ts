// Why tasks are being cancelled. The core does not know, but tasks end in the same moment that need
// their results, and shall say it, too.

import type { TaskId } from '../base/ids.js'

/** The reasons of the cancels that are being carried out. */
export class CancelReasons {
  readonly #reasons = new Map<TaskId, unknown>()

  /** A task is about to be cancelled. */
  add(id: TaskId, reason: unknown): void {
    if (reason !== undefined) this.#reasons.set(id, reason)
  }

  /** Why a task was cancelled, if that is happening now and has a reason. */
  of(id: TaskId | undefined): unknown {
    return id === undefined ? undefined : this.#reasons.get(id)
  }

  /** All is carried out. */
  clear(): void {
    if (this.#reasons.size > 0) this.#reasons.clear()
  }
}
