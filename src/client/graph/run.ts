// The state and behaviour of a graph future, apart from the class that users see.

import { TaskCancelledError } from '../../base/errors.js'
import type { TaskId } from '../../base/ids.js'
import { blameCaller, type CallSite } from '../../runtime/call-site.js'
import type { SpanEnd, TaskSpan } from '../../runtime/tracing.js'
import type { ClientConnection } from '../connection.js'
import type { Future, RejectionReason } from '../future/future.js'
import { allEnded } from '../future/gather.js'
import type { EndListener, FutureState } from '../future/state.js'
import type { Cancellable } from '../submit/signal.js'
import type { SubmitContext } from '../submit/submitter.js'
import type { GraphFutures, NodeNames } from './futures.js'
import { toRecord } from './reading.js'

// The return value of `get`: the future values of the requested keys.

/**
 * The values of the requested keys of a graph. It can be used like any promise of a record; the
 * first failure rejects it, while the other nodes continue: see `futures`. A failed graph that is
 * never awaited does not end the process.
 */
export class GraphFuture<T extends object> implements Promise<T> {
  readonly #run: GraphRun

  /** Made by `get`. @internal */
  constructor(run: GraphRun) {
    this.#run = run
  }

  /** For `Object.prototype.toString`. */
  get [Symbol.toStringTag](): string {
    return 'GraphFuture'
  }

  /** A future for each requested key. Those of values have settled already. */
  get futures(): { readonly [P in keyof T]: Future<T[P]> } {
    return this.#run.futures as { readonly [P in keyof T]: Future<T[P]> }
  }

  /**
   * Cancels all unfinished nodes: the graph is rejected immediately with `TaskCancelledError`,
   * whose `cause` is `reason`, and so are its futures; futures that are nodes continue. False if
   * everything had already ended.
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

/** The parts that the run of a graph needs. */
interface GraphRunSetup {
  readonly connection: ClientConnection
  readonly graphId: TaskId
  readonly site: CallSite
  readonly context: SubmitContext
  readonly span: TaskSpan | undefined
  readonly names: NodeNames
  readonly futures: GraphFutures
}

/** One call of `get`. */
export class GraphRun implements Cancellable, EndListener {
  readonly #setup: GraphRunSetup
  #futures: Record<string, Future<unknown>> | undefined
  #promise: Promise<unknown> | undefined
  #reject: ((error: unknown) => void) | undefined
  #cancelError: TaskCancelledError | undefined
  /** Unfinished targets, while their outcome is awaited. */
  #openCount = 0
  /** One of those that have no value; one that failed, if there is one. */
  #lost: FutureState | undefined

  constructor(setup: GraphRunSetup) {
    this.#setup = setup
  }

  get futures(): Record<string, Future<unknown>> {
    const { futures } = this.#setup
    this.#futures ??= toRecord(futures.keys, futures.all())
    return this.#futures
  }

  /** The native promise of the record. The caller handles its rejection. */
  get promise(): Promise<unknown> {
    this.#promise ??= this.#makePromise()
    return this.#promise
  }

  /** Call it when the graph is submitted, before it can have ended. */
  begin(): void {
    const { context, span, futures } = this.#setup
    if (!context.isWatched && span === undefined) return
    this.#openCount = futures.targets.length
    for (const target of futures.targets) target.listen(this)
    context.begin(this)
  }

  onEnd(target: FutureState): void {
    this.#openCount -= 1
    if (target.state !== 'done' && this.#lost?.state !== 'failed') this.#lost = target
    if (this.#openCount > 0) return
    const { context, span } = this.#setup
    context.end(this)
    span?.end(endOf(this.#lost))
  }

  /** False if all had ended. */
  cancel(reason: unknown): boolean {
    const { connection, graphId, names, futures } = this.#setup
    if (!this.#cancelWith(reason)) return false
    names.cancelReason = reason
    for (const { taskId } of futures.targets) connection.cancelReasons.add(taskId, reason)
    connection.request({ type: 'graphCancelRequested', graphId })
    // The unfinished work that the core does not know of: results that cannot be read yet, for
    // example.
    for (const target of futures.targets) target.cancel(reason)
    return true
  }

  /** It was never submitted: a signal had aborted before. */
  abort(reason: unknown): void {
    if (!this.#cancelWith(reason)) return
    for (const target of this.#setup.futures.targets) target.abort(reason)
  }

  #cancelWith(reason: unknown): boolean {
    if (this.#cancelError !== undefined) return false
    const { states } = this.#setup.futures
    if (states.every((state) => state.hasEnded)) return false
    const error = new TaskCancelledError('the graph was cancelled', { cause: reason })
    blameCaller(error, this.#setup.site)
    this.#cancelError = error
    this.#reject?.(error)
    this.#reject = undefined
    return true
  }

  #makePromise(): Promise<unknown> {
    const { futures } = this.#setup
    const all = allEnded(futures.states).then(() => toRecord(futures.keys, futures.values))
    return new Promise((resolve, reject) => {
      this.#reject = reject
      if (this.#cancelError !== undefined) reject(this.#cancelError)
      all.then(resolve, reject)
    })
  }
}

/** `lost`: a target without a value. */
function endOf(lost: FutureState | undefined): SpanEnd {
  if (lost === undefined) return { outcome: 'done', error: undefined }
  const { outcome, state } = lost
  const error = outcome?.isSuccess === false ? outcome.error : undefined
  return { outcome: state === 'failed' ? 'failed' : 'cancelled', error }
}
