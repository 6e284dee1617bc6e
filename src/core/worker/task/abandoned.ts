// Tasks that continue in the processor after the connection to the scheduler was lost: when they
// may be ended here because they were not requested again. docs/protocol.md#return

import type { InstantMs } from '../../../base/machine.js'

/**
 * How long a scheduler that has received the list of abandoned tasks has to cancel unneeded ones;
 * afterwards they may be ended here, in milliseconds.
 */
const ABANDONED_MS = 10_000

/** Whether a worker may have abandoned tasks, and until when they may be recovered. */
export class Abandonment {
  #mayHaveTasks = false
  /** Undefined: they cannot be recovered. */
  #recoverableUntil: InstantMs | undefined

  /** The tasks in the processor are not awaited any more. */
  onDisconnected(): void {
    this.#mayHaveTasks = true
    this.#recoverableUntil = Infinity
  }

  /** The scheduler has received the list of them. If it `canRecover`, it decides about each. */
  onReported(canRecover: boolean, now: InstantMs): void {
    this.#recoverableUntil = canRecover ? now + ABANDONED_MS : undefined
  }

  /** Whether they may be ended here. */
  isOver(now: InstantMs): boolean {
    const isRecoverable = this.#recoverableUntil !== undefined && now < this.#recoverableUntil
    return this.#mayHaveTasks && !isRecoverable
  }

  /** They were ended here. */
  onEnded(): void {
    this.#mayHaveTasks = false
  }
}
