// Shares one listener per signal between all tasks and results of this process, of which there may
// be a hundred thousand; there is no listener while nothing waits. (Node warns of more than ten
// listeners of one signal.)

import type { TaskId } from '../../base/ids.js'

// Why tasks are being cancelled. The core does not have these reasons, but dependent tasks end at
// the same moment and must report them, too.

/** The reasons of the cancels in progress. */
export class CancelReasons {
  readonly #reasons = new Map<TaskId, unknown>()

  /** A task is about to be cancelled. */
  add(id: TaskId, reason: unknown): void {
    if (reason !== undefined) this.#reasons.set(id, reason)
  }

  /** Why a task is being cancelled, if it is and there is a reason. */
  of(id: TaskId | undefined): unknown {
    return id === undefined ? undefined : this.#reasons.get(id)
  }

  /** All cancels are complete. */
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
    // A copy, because members are removed as they are cancelled.
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

/** The signals in use. */
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

/** The signals of this process, for all clients. */
export const signalWatches: SignalWatches = new SignalWatches()
