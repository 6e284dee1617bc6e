// The state and behaviour of a future, apart from the class that users see, so that only the
// connection can settle one. There is one per submitted task; a promise is only created on request.

import { NO_BYTES } from '../../base/bytes.js'
import { TaskCancelledError } from '../../base/errors.js'
import { identity, type Identity, type TaskId } from '../../base/ids.js'
import type { TaskWhereabouts } from '../../core/client/client-machine.js'
import type { TaskEndReason } from '../../core/client/events.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type { TaskScope } from '../../runtime/task-scope.js'
import type { ClientConnection } from '../connection.js'
import type { FutureHome, TaskOwner, TaskReport } from './home.js'
import { clientEndError, outcomeError, storedResultError } from './error.js'
import type { Cancellable } from '../submit/signal.js'
import { moveToSite, placeError, type CallSite } from '../../runtime/call-site.js'
import type { TaskExplanation as SentExplanation } from '../../wire/message.js'
import {
  explainEnd,
  explainUnfinished,
  type TaskAttempt,
  type TaskExplanation,
  type WaitingState,
} from '../explanation.js'
import {
  type ProgressListener,
  ProgressReport,
  RunProfiles,
  type TaskProfile,
  type TaskProgress,
} from './profile.js'

/** The states of a settled future. */
type EndState = 'done' | 'failed' | 'cancelled'

/** Called when a future has settled, synchronously. */
export interface EndListener {
  onEnd(state: FutureState): void
}

/** The value of a task, or its error. */
type FutureOutcome =
  | { readonly isSuccess: true; readonly value: unknown }
  | { readonly isSuccess: false; readonly error: unknown }

/**
 * `cancelling`: still open, but about to settle. Of those that are done: `stored`, the value is in
 * the cluster and has not been requested; `fetching`, it is being fetched; `lost`, it no longer
 * exists.
 */
type Status = 'open' | 'cancelling' | 'stored' | 'fetching' | 'lost' | EndState

/** What settles a promise. */
export type Settlers<T> = {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

/** Why a task waits, as this client itself knows. */
const OWN_REASONS: ReadonlySet<WaitingReason> = new Set(['no-scheduler', 'dependency', 'limit'])

const NOTHING: TaskReport = { metadata: NO_BYTES, worker: identity(''), failedTaskId: undefined }

function isCertain(waiting: WaitingState | undefined): boolean {
  return waiting !== undefined && OWN_REASONS.has(waiting.reason)
}

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
  #settlers: Settlers<unknown> | undefined
  /** Usually there is at most one. */
  #listeners: EndListener | Set<EndListener> | undefined
  #profile: TaskProfile | RunProfiles | undefined
  /** When its profile arrived; for a task of a run, its place among the profiles. */
  #endedAtMs: number | undefined
  #progress: ProgressReport | undefined

  /** Keeps the process alive until it has settled. */
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

  /** Why its task waits; undefined if it does not, or if the reason is unknown. */
  get waiting(): WaitingState | undefined {
    return this.hasEnded ? undefined : this.#home.connection.waitingOf(this.taskId)
  }

  /**
   * Whether only the scheduler knows why it waits, if it does, and has few such questions: what it
   * has reported without being asked may be about another task of this client.
   */
  get isUnexplained(): boolean {
    const { state, waiting } = this
    return state === 'queued' && !isCertain(waiting) && !this.#home.connection.explanations.isBusy
  }

  /** Why it waits now; `told`: why the scheduler said that it did. */
  waitingAfter(told: WaitingState | undefined): WaitingState | undefined {
    const { state, waiting } = this
    return isCertain(waiting) || state !== 'queued' ? waiting : (told ?? waiting)
  }

  /** See `Future.explain`. */
  async explain(): Promise<TaskExplanation> {
    const { taskId } = this
    const { connection } = this.#home
    const sent = this.hasEnded ? undefined : await this.#ask(connection)
    const { state, profile, waiting } = this
    // After the profile, which determines it.
    const endedAtMs = this.#endedAtMs
    if (state === 'done' || state === 'failed' || state === 'cancelled') {
      return explainEnd({
        taskId,
        state,
        profile,
        endedAtMs,
        attempts: await this.#attempts(connection),
      })
    }
    const dependsOn = connection.dependenciesOf(taskId)
    const local = { taskId, state, waiting, dependsOn, address: connection.address }
    return explainUnfinished(local, sent, Date.now())
  }

  /** Whether its task has ended. The value may still have to be fetched. */
  get hasEnded(): boolean {
    return this.#status !== 'open' && this.#status !== 'cancelling'
  }

  /** Its value or error; undefined until that is here. */
  get outcome(): FutureOutcome | undefined {
    if (!this.#isSettled) return undefined
    if (this.#status === 'done') return { isSuccess: true, value: this.#outcome }
    return { isSuccess: false, error: this.#outcome }
  }

  get profile(): TaskProfile | undefined {
    const profile = this.#profile
    if (!(profile instanceof RunProfiles)) return profile
    this.#profile = this.#home.profileIn(profile, this.#endedAtMs ?? 0)
    this.#endedAtMs = profile.endedAtMs
    return this.#profile
  }

  /** The last progress that the task reported. */
  get progressSoFar(): TaskProgress | undefined {
    return this.#progress?.last
  }

  /** Whether it is a future of the client with this connection. */
  isOf(connection: ClientConnection): boolean {
    return this.#home.connection === connection
  }

  /** The native promise of the outcome. The caller handles its rejection. */
  get promise(): Promise<unknown> {
    this.markObserved()
    if (this.#promise === undefined) {
      this.#promise = this.#makePromise()
      if (this.#status === 'stored') this.#fetch()
    }
    return this.#promise
  }

  /** The outcome is, or will be, observed. */
  markObserved(): void {
    if (this.#isObserved) return
    this.#isObserved = true
    if (this.#status === 'failed') this.#home.failures.subtract()
  }

  /** False if it had settled, or is being cancelled. */
  cancel(reason: unknown): boolean {
    if (this.#status !== 'open') return false
    this.#status = 'cancelling'
    this.#outcome = reason
    this.#home.connection.cancel(this.taskId, reason)
    return true
  }

  /** Calls `listener` when this settles; never immediately. Returns whether it is a new one. */
  listen(listener: EndListener): boolean {
    if (this.#listeners === undefined) {
      this.#listeners = listener
      return true
    }
    if (!(this.#listeners instanceof Set)) {
      if (this.#listeners === listener) return false
      this.#listeners = new Set([this.#listeners])
    }
    const { size } = this.#listeners
    return this.#listeners.add(listener).size > size
  }

  /** Removes `listener`. */
  ignore(listener: EndListener): void {
    if (this.#listeners instanceof Set) this.#listeners.delete(listener)
    else if (this.#listeners === listener) this.#listeners = undefined
  }

  /** Calls `listener` with the progress of the task, until the returned function is called. */
  onProgress(listener: ProgressListener): () => void {
    this.#progress ??= new ProgressReport()
    return this.#progress.listen(listener)
  }

  succeed(value: unknown, report: TaskReport): void {
    if (this.hasEnded) return this.#arrive('done', value)
    // It was cancelled while another result of the same message was read.
    if (this.#status === 'cancelling') return this.end('cancelled', '')
    this.#measure(report.metadata, report.worker)
    this.#end('done', value)
  }

  /** The task returned, as part of a run: its profile is the one at `index`, if there are any. */
  succeedInRun(value: unknown, profiles: RunProfiles | undefined, index: number): void {
    if (this.hasEnded) return this.#arrive('done', value)
    if (this.#status === 'cancelling') return this.end('cancelled', '')
    this.#profile = profiles
    if (profiles !== undefined) this.#endedAtMs = index
    this.#end('done', value)
  }

  fail(error: unknown, report: TaskReport): void {
    if (this.hasEnded) return this.#lose(error)
    this.#measure(report.metadata, report.worker)
    if (this.#site !== undefined) placeError(error, this.#site, report.isLocal === true)
    this.#home.names?.explain(error, this.taskId, report.failedTaskId)
    this.#end('failed', error)
  }

  end(reason: TaskEndReason, detail: string, failedTaskId?: TaskId): void {
    if (this.hasEnded) return this.#lose(storedResultError(this.taskId, { reason, detail }))
    const { names, connection } = this.#home
    // Nothing else is known about this task alone.
    const isPlain = this.#site === undefined && names === undefined && this.#outcome === undefined
    const common = isPlain ? clientEndError(reason) : undefined
    if (common !== undefined) return this.#end('cancelled', common)
    const causes = [this.#outcome, connection.cancelReasons.of(failedTaskId), names?.cancelReason]
    const cause = causes.find((reason) => reason !== undefined)
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
    this.#measure(metadata, worker)
    this.#status = 'stored'
    this.#endSpan('done', undefined)
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

  /** The task was never submitted: it needs the value of another one that has none. */
  inherit(other: FutureState): void {
    if (!other.hasEnded) {
      other.listen({ onEnd: () => this.inherit(other) })
      return
    }
    const { outcome } = other
    const error = outcome?.isSuccess === false ? outcome.error : undefined
    if (other.state !== 'cancelled') return this.refuse(error)
    this.#outcome = error instanceof Error ? error.cause : undefined
    this.end('cancelled', '', other.taskId)
  }

  /** Keeps the process alive for the answer about a task that was cancelled just now. */
  async #attempts(connection: ClientConnection): Promise<readonly TaskAttempt[]> {
    connection.retain()
    try {
      return await connection.explanations.attemptsOf(this)
    } finally {
      connection.release()
    }
  }

  /** Keeps the process alive for the answer. */
  async #ask(connection: ClientConnection): Promise<SentExplanation | undefined> {
    connection.retain()
    try {
      // Everything submitted in this turn is sent at its end.
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

  #measure(metadata: Uint8Array, worker: Identity): void {
    this.#profile = this.#home.profileOf(metadata, worker)
    if (this.#profile !== undefined) this.#endedAtMs = Date.now()
  }

  #end(status: EndState, outcome: unknown): void {
    this.#status = status
    this.#outcome = outcome
    if (status === 'failed' && !this.#isObserved) this.#home.failures.add(outcome)
    this.#endSpan(status, outcome)
    this.#settle()
    this.#leave()
  }

  #endSpan(outcome: EndState, error: unknown): void {
    if (this.#home.span === undefined) return
    const worker = this.#profile?.worker ?? ''
    const attributes = worker === '' ? {} : { 'scaler.worker': worker }
    this.#home.span.end({ outcome, error, attributes })
  }

  /** For the listeners that are called now, this is final. */
  #leave(): void {
    const { connection, context, scope, after } = this.#home
    // Its value, if it is fetched later, is made for the task that has submitted it.
    if (this.#status !== 'stored' || scope === undefined) this.#home = after
    this.#site = undefined
    connection.release()
    context?.end(this)
    const listeners = this.#listeners
    this.#listeners = undefined
    if (listeners instanceof Set) for (const listener of listeners) listener.onEnd(this)
    else listeners?.onEnd(this)
  }

  #fetch(): void {
    const { connection } = this.#home
    this.#status = 'fetching'
    connection.retain()
    connection.want(this)
  }

  /** A stored value has arrived, or the reason why it never will. */
  #arrive(status: 'done' | 'failed' | 'lost', outcome: unknown): void {
    if (this.#isSettled) return
    const wasFetching = this.#status === 'fetching'
    this.#status = status
    this.#outcome = outcome
    if (wasFetching) this.#home.connection.release()
    this.#settle()
  }

  /** The stored value is no longer available. */
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
