// What waits for a signal: one listener for all that this process does under the same signal, as
// there may be a hundred thousand tasks and results under one, and none while nothing waits. (Node
// warns of more than ten listeners of one signal.)

import type { TaskId } from '../../base/ids.js'

// Why tasks are being cancelled. The core does not know, but tasks end in the same moment that need
// their results, and shall say it, too.

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

/** Something that ends when a signal aborts: a task, or the wait for a result. */
export interface Cancellable {
  cancel(reason: unknown): void
}

/** One signal, and what it cancels. */
export class SignalWatch {
  readonly signal: AbortSignal
  readonly #members = new Set<Cancellable>()
  readonly #onAbort = (): void => {
    const reason: unknown = this.signal.reason
    // A copy: members leave as they are cancelled.
    for (const member of Array.from(this.#members)) member.cancel(reason)
  }

  constructor(signal: AbortSignal) {
    this.signal = signal
  }

  /** `member` is cancelled when the signal aborts, until it is deleted. */
  add(member: Cancellable): void {
    this.#members.add(member)
    if (this.#members.size === 1) this.signal.addEventListener('abort', this.#onAbort)
  }

  /** See `add`. */
  delete(member: Cancellable): void {
    if (!this.#members.delete(member) || this.#members.size > 0) return
    this.signal.removeEventListener('abort', this.#onAbort)
  }
}

/** Signals that somebody was given. */
export class SignalWatches {
  readonly #watches = new WeakMap<AbortSignal, SignalWatch>()

  /** The one watch of a signal. */
  of(signal: AbortSignal): SignalWatch {
    let watch = this.#watches.get(signal)
    if (watch === undefined) {
      watch = new SignalWatch(signal)
      this.#watches.set(signal, watch)
    }
    return watch
  }
}

/** Those of this process, whichever client they were given to. */
export const signalWatches: SignalWatches = new SignalWatches()
