// The return value of `submit`: the future result of one task.

import { inspect } from 'node:util'
import { ConfigError, TimeoutError } from '../../base/errors.js'
import { idToHex } from '../../base/ids.js'
import { checkNames, numberOption } from '../../base/option.js'
import { blameCaller, type CallSite, captureSite } from '../../runtime/call-site.js'
import type { TaskExplanation, WaitingState } from '../explanation.js'
import { signalWatches } from '../submit/signal.js'
import type { TaskProfile, TaskProgress } from './profile.js'
import type { FutureState } from './state.js'

// Limits on waiting for one future.

/** How long to wait for a result. */
export interface ResultOptions {
  /**
   * Reject with `TimeoutError` after this time. Default: never. 0 to 2,147,483,647 milliseconds.
   */
  readonly timeoutMs?: number | undefined
  /** Reject with the signal's reason when it is aborted. This does not cancel the task. */
  readonly signal?: AbortSignal | undefined
}

const NAMES: Record<keyof ResultOptions, true> = { timeoutMs: true, signal: true }
const MAX_TIMER_MS = 2 ** 31 - 1
/** So long before a time limit ends, the scheduler is asked why the task waits. */
const ASK_MS = 100

/** Checks a time limit; undefined = none. Throws `ConfigError`. */
export function checkTimeLimit(timeoutMs: unknown): number | undefined {
  if (timeoutMs === undefined) return undefined
  return numberOption('timeoutMs', timeoutMs, 0, { min: 0, max: MAX_TIMER_MS, fraction: true })
}

/** The outcome of a future, unless the time limit or the signal comes first. */
async function waitForOutcome(state: FutureState, options: ResultOptions): Promise<unknown> {
  checkNames('result', NAMES, options)
  const { timeoutMs, signal } = options
  const limit = checkTimeLimit(timeoutMs)
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new ConfigError('option signal: expected an AbortSignal')
  }
  signal?.throwIfAborted()
  const { promise } = state
  if (state.outcome !== undefined || (limit === undefined && signal === undefined)) return promise
  // The two innermost frames are this function and the method that the user's program called.
  return raced(state, { promise, limit, signal, site: captureSite(2) })
}

function timeoutError(
  state: FutureState,
  limit: number | undefined,
  told: WaitingState | undefined,
): TimeoutError {
  const waiting = state.waitingAfter(told)
  const why = waiting === undefined ? '' : `: ${waiting.text} (${waiting.reason})`
  const id = idToHex(state.taskId)
  const message = `task ${id} has no result after ${limit} ms; it continues${why}`
  return new TimeoutError(message, { reason: waiting?.reason })
}

interface Race {
  readonly promise: Promise<unknown>
  readonly limit: number | undefined
  readonly signal: AbortSignal | undefined
  readonly site: CallSite
}

function raced(state: FutureState, { promise, limit, signal, site }: Race): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const watch = signal === undefined ? undefined : signalWatches.of(signal)
    const waiting = { cancel: (reason: unknown) => settle(() => reject(reason)) }
    let told: WaitingState | undefined
    const ask = async (): Promise<void> => {
      if (!state.isUnexplained) return
      const { reason, text, needs } = await state.explain()
      if (reason !== undefined) told = { reason, text, needs }
    }
    const onTimeout = (): void => {
      settle(() => reject(blameCaller(timeoutError(state, limit, told), site)))
    }
    const settle = (decide: () => void): void => {
      clearTimeout(timer)
      clearTimeout(question)
      watch?.delete(waiting)
      decide()
    }
    const timer = limit === undefined ? undefined : setTimeout(onTimeout, limit)
    const question =
      limit === undefined
        ? undefined
        : setTimeout(() => void ask().catch(() => {}), limit - Math.min(limit / 2, ASK_MS))
    watch?.add(waiting)
    promise.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}

/**
 * The result of one task. It can be used like any promise: `await`, `Promise.all`, `race`, `any`
 * and `allSettled` work. Unlike a promise, a failed future that is never awaited does not end the
 * process; promises derived from it with `then`, `catch`, `finally` or `result` are ordinary ones
 * and do. An unsettled future keeps the process alive.
 */
export class Future<T> implements Promise<T> {
  readonly #state: FutureState

  static {
    // The form in which `console.log` shows it: like a promise, with its id.
    const value = function (this: Future<unknown>): string {
      return `Future { ${this.id}, ${this.state} }`
    }
    Object.defineProperty(this.prototype, inspect.custom, { value })
  }

  /** Futures are made by `submit`. @internal */
  constructor(state: FutureState) {
    this.#state = state
  }

  /** The inside of a future, for the library only. @internal */
  static stateOf(future: Future<unknown>): FutureState {
    return future.#state
  }

  /** The id of the task, in hex: unique in the whole cluster. */
  get id(): string {
    return idToHex(this.#state.taskId)
  }

  /**
   * `pending`: the task has not left this process. `queued`: the cluster has it. `running`: a
   * worker has started it, which is reported for tasks that run for a quarter of a second or
   * longer; if the worker is lost, it is `queued` again. `done`, `failed` and `cancelled` are
   * final. A large value is `done` while it is still in the cluster: it is fetched on request.
   */
  get state(): 'pending' | 'queued' | 'running' | 'done' | 'failed' | 'cancelled' {
    return this.#state.state
  }

  /** The cost of running the task; undefined until it has ended, and if it did not run. */
  get profile(): TaskProfile | undefined {
    return this.#state.profile
  }

  /**
   * The last progress that the task reported (`currentTask().setProgress`); undefined if it has
   * reported none.
   */
  get progress(): TaskProgress | undefined {
    return this.#state.progressSoFar
  }

  /** For `Object.prototype.toString`. */
  get [Symbol.toStringTag](): string {
    return 'Future'
  }

  /**
   * Where the task is, why it waits if it does, and which workers had it, as known by the
   * scheduler. If no scheduler answers within five seconds (or at all, like those of Python Scaler
   * 1.9.9), as known by this client. Never rejects.
   */
  explain(): Promise<TaskExplanation> {
    return this.#state.explain()
  }

  /**
   * Rejects the future immediately with `TaskCancelledError`, whose `cause` is `reason`, and makes
   * the cluster drop the task, by force if it is running (a Python Scaler 1.9.9 lets it run to its
   * end). Tasks and nodes of graphs that need its result are cancelled with it. False if the future
   * had already settled.
   */
  cancel(reason?: unknown): boolean {
    return this.#state.cancel(reason)
  }

  /**
   * The result as an ordinary promise with limits: it rejects with `TimeoutError` after
   * `timeoutMs`, which says why the task waits if it does, or with the reason of `signal`; the task
   * continues in both cases. Rejects with `ConfigError` for a bad option.
   */
  result(options: ResultOptions = {}): Promise<T> {
    return waitForOutcome(this.#state, options) as Promise<T>
  }

  /**
   * Calls `listener` when the task reports its progress, `done` of `total` (0 = unknown), until the
   * returned function is called. Reports in quick succession may be skipped. Throws `TypeError` if
   * `listener` is not a function.
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

// The argument of callbacks of futures, typed so that they can be written like those of any
// promise.

type OnRejected = NonNullable<Parameters<Promise<unknown>['catch']>[0]>

/** The argument of a callback for a rejection: of any type, as for a `Promise`. */
export type RejectionReason = Parameters<OnRejected>[0]
