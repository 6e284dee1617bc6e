// Under which circumstances something is submitted: its options, signals that cancel it, and the
// task inside of which that happens.

import type { TaskOptions } from '../core/client/events.js'
import { taskScopes, type TaskScope } from '../runtime/task-scope.js'
import type { Cancellable } from './signal-watch.js'
import { encodeTaskSettings, type TaskSettings } from './task-options.js'

/** The circumstances of all that one view submits in one place. */
export class SubmitContext {
  readonly options: TaskOptions
  readonly #settings: TaskSettings
  /** The task that submits. */
  readonly scope: TaskScope | undefined
  /** Whether somebody wants to know of beginnings and ends. */
  readonly isWatched: boolean

  constructor(settings: TaskSettings, scope: TaskScope | undefined) {
    this.options = encodeTaskSettings(settings, scope)
    this.#settings = settings
    this.scope = scope
    this.isWatched = settings.signals.length > 0 || scope !== undefined
  }

  /** Whether it is that of a task. */
  isOf(scope: TaskScope): boolean {
    return this.scope === scope
  }

  /** The signal that has aborted, if one has: what is submitted is cancelled at once then. */
  get aborted(): AbortSignal | undefined {
    const { signals } = this.#settings
    return signals.find(({ signal }) => signal.aborted)?.signal
  }

  /** Something was submitted: one call for a map or a graph. */
  begin(item: Cancellable): void {
    for (const watch of this.#settings.signals) watch.add(item)
    this.scope?.childStarted()
  }

  /** It has ended; called once. */
  end(item: Cancellable): void {
    for (const watch of this.#settings.signals) watch.delete(item)
    this.scope?.childEnded()
  }
}

/** The circumstances in which one view submits. */
export class SubmitContexts {
  readonly #settings: TaskSettings
  readonly #outside: SubmitContext
  /** That of the task in which something was submitted last. */
  #inside: SubmitContext | undefined

  constructor(settings: TaskSettings) {
    this.#settings = settings
    this.#outside = new SubmitContext(settings, undefined)
  }

  /** Those of the caller. */
  get current(): SubmitContext {
    const scope = taskScopes.current
    if (scope === undefined) return this.#outside
    if (this.#inside?.isOf(scope) !== true) this.#inside = new SubmitContext(this.#settings, scope)
    return this.#inside
  }
}
