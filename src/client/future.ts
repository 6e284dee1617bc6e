// What `submit` returns: the result of one task, which is on its way.

import { inspect } from 'node:util'
import { idToHex } from '../base/ids.js'
import type { FutureState } from './future-state.js'
import type { RejectionReason } from './rejection-reason.js'
import type { TaskExplanation } from './task-explanation.js'
import type { TaskProfile } from './task-profile.js'
import type { TaskProgress } from './task-progress.js'
import { waitForOutcome, type ResultOptions } from './timed-wait.js'

/**
 * The result of one task. It can be used like any promise: `await`, `Promise.all`, `race`, `any`
 * and `allSettled` work. Unlike one, a failed future that nobody awaits does not end the process;
 * what is made from it with `then`, `catch`, `finally` or `result` is an ordinary promise and
 * does. While a future has not ended, the process stays alive.
 */
export class Future<T> implements Promise<T> {
  readonly #state: FutureState

  static {
    // What `console.log` shows: like a promise, and which one.
    const value = function (this: Future<unknown>): string {
      return `Future { ${this.id}, ${this.state} }`
    }
    Object.defineProperty(this.prototype, inspect.custom, { value })
  }

  /** Futures are made by `submit`. @internal */
  constructor(state: FutureState) {
    this.#state = state
  }

  /** The inside of a future, for the library alone. @internal */
  static stateOf(future: Future<unknown>): FutureState {
    return future.#state
  }

  /** The id of the task, in hex: unique in the whole cluster. */
  get id(): string {
    return idToHex(this.#state.taskId)
  }

  /**
   * `pending`: the task has not left this process. `queued`: the cluster has it. `running`: a
   * worker has begun it, which is told of tasks that run for a quarter of a second or longer; after
   * a lost worker it is `queued` again. `done`, `failed` and `cancelled` are final. A large value
   * is `done` while it is still in the cluster: it is fetched when somebody asks for it.
   */
  get state(): 'pending' | 'queued' | 'running' | 'done' | 'failed' | 'cancelled' {
    return this.#state.state
  }

  /** What running the task has cost; undefined until it has ended, and if it did not run. */
  get profile(): TaskProfile | undefined {
    return this.#state.profile
  }

  /**
   * What the task has told last of how far it is (`currentTask().setProgress`); undefined if it has
   * told nothing.
   */
  get progress(): TaskProgress | undefined {
    return this.#state.progressSoFar
  }

  get [Symbol.toStringTag](): string {
    return 'Future'
  }

  /**
   * Where the task is, why it waits if it does, and which workers had it: as the scheduler knows
   * it, which is asked, or as this client does where no scheduler answers within five seconds (or
   * at all, as those of Python Scaler 1.9.9). Never rejects.
   */
  explain(): Promise<TaskExplanation> {
    return this.#state.explain()
  }

  /**
   * Ends the future at once with `TaskCancelledError`, whose `cause` is `reason`, and has the
   * cluster drop the task, by force if it runs already (a Python Scaler 1.9.9 lets it run to its
   * end). Tasks and nodes of graphs that need its result are cancelled with it. False if the future
   * had ended.
   */
  cancel(reason?: unknown): boolean {
    return this.#state.cancel(reason)
  }

  /**
   * The result as an ordinary promise, for those who will not wait for ever: it rejects with
   * `TimeoutError` after `timeoutMs`, which says why the task waits if it does, or with the reason
   * of `signal`; the task goes on in both cases. Rejects with `ConfigError` for a bad option.
   */
  result(options: ResultOptions = {}): Promise<T> {
    return waitForOutcome(this.#state, options) as Promise<T>
  }

  /**
   * Calls `listener` when the task tells how far it is: `done` of `total`, 0 = unknown; until the
   * returned function is called. What comes in quick succession may be left out.
   * Throws `TypeError` for what is no function.
   */
  onProgress(listener: (done: number, total: number) => void): () => void {
    return this.#state.onProgress(listener)
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: RejectionReason) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.#state.promise as Promise<T>).then(onFulfilled, onRejected)
  }

  catch<B = never>(
    onRejected?: ((reason: RejectionReason) => B | PromiseLike<B>) | null,
  ): Promise<T | B> {
    return this.then(undefined, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return (this.#state.promise as Promise<T>).finally(onFinally)
  }
}
