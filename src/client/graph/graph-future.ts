// What `get` returns: the values of the requested keys, which are on their way.

import type { Future } from '../future.js'
import type { RejectionReason } from '../rejection-reason.js'
import type { GraphRun } from './graph-run.js'

/**
 * The values of the requested keys of a graph. It can be used like any promise of a record; its
 * first failure rejects it, while the others go on: they are in `futures`. One that fails and that
 * nobody uses does not end the process.
 */
export class GraphFuture<T extends object> implements Promise<T> {
  readonly #run: GraphRun

  /** These are made by `get`. @internal */
  constructor(run: GraphRun) {
    this.#run = run
  }

  get [Symbol.toStringTag](): string {
    return 'GraphFuture'
  }

  /** A future for each requested key. Those of values are done. */
  get futures(): { readonly [P in keyof T]: Future<T[P]> } {
    return this.#run.futures as { readonly [P in keyof T]: Future<T[P]> }
  }

  /**
   * Cancels what has not ended: the graph ends at once with `TaskCancelledError`, whose `cause` is
   * `reason`, and so do its futures; futures that are nodes go on. False if all had ended.
   */
  cancel(reason?: unknown): boolean {
    return this.#run.cancel(reason)
  }

  then<A = T, B = never>(
    onFulfilled?: ((values: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: RejectionReason) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.#run.promise as Promise<T>).then(onFulfilled, onRejected)
  }

  catch<B = never>(
    onRejected?: ((reason: RejectionReason) => B | PromiseLike<B>) | null,
  ): Promise<T | B> {
    return this.then(undefined, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return (this.#run.promise as Promise<T>).finally(onFinally)
  }
}
