// What a future knows and does, apart from the class that users see, so that nobody but the
// connection can end one. There is one per submitted task: a promise is made only when somebody
// asks for it.

import { NO_BYTES } from '../../base/bytes.js'
import { TaskCancelledError } from '../../base/errors.js'
import { identity, type Identity, type TaskId } from '../../base/ids.js'
import type { TaskWhereabouts } from '../../core/client/client-machine.js'
import type { TaskEndReason } from '../../core/client/events.js'
import type { TaskScope } from '../../runtime/task-scope.js'
import type { ClientConnection } from '../connection.js'
import type { FutureHome, TaskOwner, TaskReport } from './home.js'
import { outcomeError, storedResultError } from './error.js'
import type { Cancellable } from '../submit/signal.js'
import { moveToSite, placeError, type CallSite } from '../../runtime/call-site.js'
import type { TaskExplanation as SentExplanation } from '../../wire/message.js'
import {
  explainEnd,
  explainUnfinished,
  type TaskExplanation,
  type WaitingState,
} from '../explanation.js'
import {
  type ProgressListener,
  ProgressReport,
  type TaskProfile,
  type TaskProgress,
} from './profile.js'

/** The states of a future that has ended. */
export type EndState = 'done' | 'failed' | 'cancelled'

/** Told when a future has ended, synchronously. */
export interface EndListener {
  onEnd(state: FutureState): void
}

/** What a task returned, or why it did not. */
export type FutureOutcome =
  | { readonly isSuccess: true; readonly value: unknown }
  | { readonly isSuccess: false; readonly error: unknown }

/**
 * `cancelling`: still open, and not for long. Of those that are done: `stored`, the value is in the
 * cluster, and nobody wants it; `fetching`, it is on its way from there; `lost`, it is gone.
 */
type Status = 'open' | 'cancelling' | 'stored' | 'fetching' | 'lost' | EndState

interface Settlers {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

const NOTHING: TaskReport = { metadata: NO_BYTES, worker: identity(''), failedTaskId: undefined }

/** The inside of one future. There may be millions: each field counts. */
export class FutureState implements TaskOwner, Cancellable {
  readonly taskId: TaskId
  #home: FutureHome
  #site: CallSite | undefined
  #status: Status = 'open'
  #isObserved = false
  /** The value, or the error; while cancelling, the reason. */
  #outcome: unknown
  #promise: Promise<unknown> | undefined
  /** Of the promise, until it is settled. */
  #settlers: Settlers | undefined
  #listeners: Set<EndListener> | undefined
  #profile: TaskProfile | undefined
  #progress: ProgressReport | undefined

  /** The process stays alive until it has ended. */
  constructor(taskId: TaskId, home: FutureHome, site: CallSite | undefined) {
    this.taskId = taskId
    this.#home = home
    this.#site = site
    home.connection.retain()
    home.context?.begin(this)
  }

  get scope(): TaskScope | undefined {
    return this.#home.scope
  }

  get state(): TaskWhereabouts | EndState {
    switch (this.#status) {
      case 'open':
      case 'cancelling':
        return this.#home.connection.whereIs(this.taskId)
      case 'stored':
      case 'fetching':
      case 'lost':
        return 'done'
      default:
        return this.#status
    }
  }

  /** Why its task waits; undefined if it does not, or nobody knows. */
  get waiting(): WaitingState | undefined {
    return this.hasEnded ? undefined : this.#home.connection.waitingOf(this.taskId)
  }

  /** See `Future.explain`. */
  async explain(): Promise<TaskExplanation> {
    const { taskId } = this
    const { connection } = this.#home
    const sent = this.hasEnded ? undefined : await this.#ask(connection)
    const { state, profile, waiting } = this
    if (state === 'done' || state === 'failed' || state === 'cancelled') {
      return explainEnd({
        taskId,
        state,
        profile,
        attempts: connection.explanations.attemptsOf(this),
      })
    }
    const dependsOn = connection.dependenciesOf(taskId)
    const local = { taskId, state, waiting, dependsOn, address: connection.address }
    return explainUnfinished(local, sent, Date.now())
  }

  /** Whether its task has. The value may still have to be fetched. */
  get hasEnded(): boolean {
    return this.#status !== 'open' && this.#status !== 'cancelling'
  }

  /** What has come of it; undefined as long as that is not here. */
  get outcome(): FutureOutcome | undefined {
    if (!this.#isSettled) return undefined
    if (this.#status === 'done') return { isSuccess: true, value: this.#outcome }
    return { isSuccess: false, error: this.#outcome }
  }

  get profile(): TaskProfile | undefined {
    return this.#profile
  }

  /** What the task has told last of how far it is. */
  get progressSoFar(): TaskProgress | undefined {
    return this.#progress?.last
  }

  /** Whether it is a future of the client with this connection. */
  isOf(connection: ClientConnection): boolean {
    return this.#home.connection === connection
  }

  /** The native promise of the outcome. Whoever asks looks after its rejection. */
  get promise(): Promise<unknown> {
    this.markObserved()
    if (this.#promise === undefined) {
      this.#promise = this.#makePromise()
      if (this.#status === 'stored') this.#fetch()
    }
    return this.#promise
  }

  /** Somebody knows, or will know, how this ended. */
  markObserved(): void {
    if (this.#isObserved) return
    this.#isObserved = true
    if (this.#status === 'failed') this.#home.failures.subtract()
  }

  /** False if it had ended, or is being cancelled. */
  cancel(reason: unknown): boolean {
    if (this.#status !== 'open') return false
    this.#status = 'cancelling'
    this.#outcome = reason
    this.#home.connection.cancel(this.taskId, reason)
    return true
  }

  /** Tells `listener` when this ends; never at once. */
  listen(listener: EndListener): void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  /** Takes `listen` back. */
  ignore(listener: EndListener): void {
    this.#listeners?.delete(listener)
  }

  /** Tells `listener` how far the task is, until the returned function is called. */
  onProgress(listener: ProgressListener): () => void {
    this.#progress ??= new ProgressReport()
    return this.#progress.listen(listener)
  }

  succeed(value: unknown, report: TaskReport): void {
    if (this.hasEnded) return this.#arrive('done', value)
    this.#profile = this.#home.profileOf(report.metadata, report.worker)
    this.#end('done', value)
  }

  fail(error: unknown, report: TaskReport): void {
    if (this.hasEnded) return this.#lose(error)
    this.#profile = this.#home.profileOf(report.metadata, report.worker)
    if (this.#site !== undefined) placeError(error, this.#site, report.isLocal === true)
    this.#home.names?.explain(error, this.taskId, report.failedTaskId)
    this.#end('failed', error)
  }

  end(reason: TaskEndReason, detail: string, failedTaskId?: TaskId): void {
    if (this.hasEnded) return this.#lose(storedResultError(this.taskId, { reason, detail }))
    const { names, connection } = this.#home
    const cause = this.#outcome ?? connection.cancelReasons.of(failedTaskId) ?? names?.cancelReason
    const name = this.#site?.taskName ?? ''
    const error = outcomeError(this.taskId, { reason, name, detail, failedTaskId, cause })
    if (this.#site !== undefined) moveToSite(error, this.#site)
    const isCancelled = error instanceof TaskCancelledError
    if (!isCancelled || failedTaskId !== undefined) names?.explain(error, this.taskId, failedTaskId)
    this.#end(isCancelled ? 'cancelled' : 'failed', error)
  }

  offer(metadata: Uint8Array, worker: Identity): void {
    const { connection } = this.#home
    if (this.#promise !== undefined && !this.#isSettled) return connection.want(this)
    connection.leave(this)
    if (this.hasEnded) return
    this.#profile = this.#home.profileOf(metadata, worker)
    this.#status = 'stored'
    this.#leave()
  }

  progress(done: number, total: number): void {
    if (this.hasEnded) return
    this.#progress ??= new ProgressReport()
    this.#progress.tell({ done, total })
  }

  /** The task was never submitted. */
  refuse(error: unknown): void {
    this.#site = undefined
    this.fail(error, NOTHING)
  }

  /** The task was never submitted: a signal had aborted before. */
  abort(reason: unknown): void {
    this.#outcome = reason
    this.end('cancelled', '')
  }

  /** The task was never submitted: it needs the value of another one, which has none. */
  inherit(other: FutureState): void {
    if (!other.hasEnded) return other.listen({ onEnd: () => this.inherit(other) })
    const { outcome } = other
    const error = outcome?.isSuccess === false ? outcome.error : undefined
    if (other.state !== 'cancelled') return this.refuse(error)
    this.#outcome = error instanceof Error ? error.cause : undefined
    this.end('cancelled', '', other.taskId)
  }

  /** The process stays alive for the answer. */
  async #ask(connection: ClientConnection): Promise<SentExplanation | undefined> {
    connection.retain()
    try {
      // What was submitted in this turn leaves at its end.
      if (this.state === 'pending') await new Promise((resolve) => setImmediate(resolve))
      return await connection.explanations.of(this.taskId)
    } finally {
      connection.release()
    }
  }

  /** Whether the value, or the error, is here. */
  get #isSettled(): boolean {
    return this.hasEnded && this.#status !== 'stored' && this.#status !== 'fetching'
  }

  #end(status: EndState, outcome: unknown): void {
    this.#status = status
    this.#outcome = outcome
    if (status === 'failed' && !this.#isObserved) this.#home.failures.add(outcome)
    this.#settle()
    this.#leave()
  }

  /** Nothing more will happen, as far as those know who are told now. */
  #leave(): void {
    const { connection, context, scope, after } = this.#home
    // Its value, if it is fetched later, is made for the task that has submitted it.
    if (this.#status !== 'stored' || scope === undefined) this.#home = after
    this.#site = undefined
    connection.release()
    context?.end(this)
    const listeners = this.#listeners
    this.#listeners = undefined
    for (const listener of listeners ?? []) listener.onEnd(this)
  }

  #fetch(): void {
    const { connection } = this.#home
    this.#status = 'fetching'
    connection.retain()
    connection.want(this)
  }

  /** What was stored is here, or why it never will be. */
  #arrive(status: 'done' | 'failed' | 'lost', outcome: unknown): void {
    if (this.#isSettled) return
    const wasFetching = this.#status === 'fetching'
    this.#status = status
    this.#outcome = outcome
    if (wasFetching) this.#home.connection.release()
    this.#settle()
  }

  /** The value that was stored cannot be had any more. */
  #lose(error: unknown): void {
    this.#arrive(this.#status === 'fetching' ? 'failed' : 'lost', error)
  }

  #settle(): void {
    const settlers = this.#settlers
    this.#settlers = undefined
    if (this.#status === 'done') settlers?.resolve(this.#outcome)
    else settlers?.reject(this.#outcome)
  }

  #makePromise(): Promise<unknown> {
    if (this.#isSettled) {
      return this.#status === 'done'
        ? Promise.resolve(this.#outcome)
        : Promise.reject(this.#outcome)
    }
    return new Promise((resolve, reject) => {
      this.#settlers = { resolve, reject }
    })
  }
}
