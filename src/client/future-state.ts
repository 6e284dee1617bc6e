// What a future knows and does, apart from the class that users see, so that nobody but the
// connection can end one. There is one per submitted task: a promise is made only when somebody
// asks for it.

import { NO_BYTES } from '../base/bytes.js'
import { TaskCancelledError } from '../base/errors.js'
import type { TaskId } from '../base/ids.js'
import type { TaskEndReason } from '../core/client/events.js'
import type { ClientConnection } from './client-connection.js'
import type { FailureCount } from './failure-count.js'
import { outcomeError } from './outcome-error.js'
import { addSite, moveToSite, type SubmitSite } from './submit-site.js'
import type { TaskOwner } from './task-owner.js'
import { taskProfile, type TaskProfile } from './task-profile.js'

/** The states of a future that has ended. */
export type EndState = 'done' | 'failed' | 'cancelled'

/** Told when a future has ended, synchronously. */
export interface EndListener {
  onEnd(state: FutureState): void
}

interface Settlers {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The inside of one future. */
export class FutureState implements TaskOwner {
  readonly taskId: TaskId
  readonly #connection: ClientConnection
  readonly #failures: FailureCount
  #site: SubmitSite | undefined
  #endState: EndState | undefined
  /** The value, or the error. */
  #outcome: unknown
  #cancelReason: unknown
  #isObserved = false
  #promise: Promise<unknown> | undefined
  #settlers: Settlers | undefined
  #listeners: Set<EndListener> | undefined
  #profile: TaskProfile | undefined

  /** The process stays alive until it has ended. */
  constructor(
    taskId: TaskId,
    connection: ClientConnection,
    failures: FailureCount,
    site: SubmitSite | undefined,
  ) {
    this.taskId = taskId
    this.#connection = connection
    this.#failures = failures
    this.#site = site
    connection.retain()
  }

  get state(): 'pending' | 'running' | EndState {
    if (this.#endState !== undefined) return this.#endState
    return this.#connection.isSent(this.taskId) ? 'running' : 'pending'
  }

  get hasEnded(): boolean {
    return this.#endState !== undefined
  }

  get profile(): TaskProfile | undefined {
    return this.#profile
  }

  /** The native promise of the outcome. Whoever asks looks after its rejection. */
  get promise(): Promise<unknown> {
    this.markObserved()
    this.#promise ??= this.#makePromise()
    return this.#promise
  }

  /** Somebody knows, or will know, how this ended. */
  markObserved(): void {
    if (this.#isObserved) return
    this.#isObserved = true
    if (this.#endState === 'failed') this.#failures.subtract()
  }

  /** False if it had ended. */
  cancel(reason: unknown): boolean {
    if (this.#endState !== undefined) return false
    this.#cancelReason = reason
    this.#connection.cancel(this.taskId)
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

  succeed(value: unknown, metadata: Uint8Array): void {
    this.#profile = taskProfile(metadata)
    this.#end('done', value)
  }

  fail(error: unknown, metadata: Uint8Array): void {
    this.#profile = taskProfile(metadata)
    if (this.#site !== undefined) addSite(error, this.#site)
    this.#end('failed', error)
  }

  end(reason: TaskEndReason, detail: string): void {
    const error = outcomeError(this.taskId, reason, detail, this.#cancelReason)
    if (this.#site !== undefined) moveToSite(error, this.#site)
    this.#end(error instanceof TaskCancelledError ? 'cancelled' : 'failed', error)
  }

  /** The task was never submitted. */
  refuse(error: unknown): void {
    this.#site = undefined
    this.fail(error, NO_BYTES)
  }

  #end(state: EndState, outcome: unknown): void {
    if (this.#endState !== undefined) return
    this.#endState = state
    this.#outcome = outcome
    this.#site = undefined
    this.#connection.release()
    if (state === 'failed' && !this.#isObserved) this.#failures.add(outcome)
    const settlers = this.#settlers
    this.#settlers = undefined
    if (state === 'done') settlers?.resolve(outcome)
    else settlers?.reject(outcome)
    const listeners = this.#listeners
    this.#listeners = undefined
    for (const listener of listeners ?? []) listener.onEnd(this)
  }

  #makePromise(): Promise<unknown> {
    switch (this.#endState) {
      case undefined:
        return new Promise((resolve, reject) => {
          this.#settlers = { resolve, reject }
        })
      case 'done':
        return Promise.resolve(this.#outcome)
      case 'failed':
      case 'cancelled':
        return Promise.reject(this.#outcome)
    }
  }
}
