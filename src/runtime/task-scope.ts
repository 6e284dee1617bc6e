// The task in which code runs. The processor sets it; user code (`currentTask`) and clients used
// inside tasks read it. Kept apart from both, because a worker does not depend on the client.
//
// Following a task through everything it awaits has a cost at every `await`, so it is enabled only
// once tasks can overlap: a processor runs one task after the other until a task has submitted
// tasks itself.

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { TaskNotFoundError } from '../base/errors.js'
import type { Identity, TaskId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'

/** What a function can find out about the task it runs in, and report about it. */
export interface TaskContext {
  /** The id of the task in hex: the same as its future's. */
  readonly id: string
  /** The name from its options, otherwise that of its function. */
  readonly name: string
  /** 1 for the first run, 2 for the second, … */
  readonly attempt: number
  /**
   * The units assigned to the task, by name of the `capabilities` it was submitted with: unit
   * numbers from 0, not shared with any other task on the same host at that time; empty for a
   * capability without units. `{ gpu: [0] }`.
   */
  readonly capabilities: Readonly<Record<string, readonly number[]>>
  /** Aborts when the task is cancelled or exceeds its time limit; the reason says which. */
  readonly signal: AbortSignal
  /** Writes to the log of the worker, with the task's id. */
  readonly log: Logger
  /**
   * Reports progress to the task's future: `done` of `total`, in any unit; a `total` of 0 means
   * unknown. May be called often: updates that come too fast are skipped. Throws `RangeError` for a
   * number that is negative or not finite.
   */
  setProgress(done: number, total?: number): void
}

/** How values travel between this process and the client that submitted a task. */
export interface ScopeSerializer {
  serialize(value: unknown): Uint8Array
  deserialize(bytes: Uint8Array): unknown
}

/** The worker that runs the tasks, as needed by clients inside them. */
export interface TaskHost {
  /** The address of the worker's scheduler. */
  readonly address: string
  readonly worker: Identity
  /** The clients of this process, one per serializer, for the lifetime of the process. */
  readonly clients: Map<ScopeSerializer, unknown>
}

/** One run of a task. */
export interface TaskScope {
  readonly taskId: TaskId
  /** Tasks that it submits are more urgent by one. */
  readonly priority: number
  /** Where its output goes, and the output of tasks that it submits. */
  readonly output: 'log' | 'forward' | 'off'
  /** The client that prints it. */
  readonly outputClient: Identity
  /** The trace of tasks that it submits (runtime/tracing.ts); '' = none. */
  readonly traceContext: string
  readonly context: TaskContext
  /** The serializer of the client that submitted the task. */
  readonly serializer: ScopeSerializer
  readonly host: TaskHost
  /** The task has submitted another task: until that has finished, others may run concurrently. */
  childStarted(): void
  /** Called as often as `childStarted`. */
  childEnded(): void
}

/** A task whose scope is only made when somebody asks for it. */
export abstract class LazyScope {
  /** Makes it with the first request. */
  abstract get scope(): TaskScope
  /** The scope, if somebody has asked for it. */
  abstract get made(): TaskScope | undefined
}

/** A task that is tracked. */
type Tracked = TaskScope | LazyScope

function scopeOf(tracked: Tracked | undefined): TaskScope | undefined {
  return tracked instanceof LazyScope ? tracked.scope : tracked
}

/** No callback is needed when the resource is collected, so it need not be tracked. */
const UNWATCHED = { requireManualDestroy: true }

/** Tracks which task is running. One per process: `taskScopes`. */
export class TaskScopes {
  #storage: AsyncLocalStorage<Tracked> | undefined
  /** While tasks are not followed: the only running task, or the one that began to submit tasks. */
  #only: Tracked | undefined

  /** The task in which the caller runs; undefined outside tasks. */
  get current(): TaskScope | undefined {
    return scopeOf(this.#storage?.getStore() ?? this.#only)
  }

  /** The same, but only where it is certain: undefined while tasks are not followed. */
  get followed(): TaskScope | undefined {
    return scopeOf(this.#storage?.getStore())
  }

  /**
   * Calls `fn` as part of the task, in its own asynchronous context: `enterWith` in one task does
   * not affect the next.
   */
  run<R>(scope: Tracked, fn: () => R): R {
    const storage = this.#storage
    const resource = new AsyncResource('ScalerTask', UNWATCHED)
    if (storage !== undefined) return resource.runInAsyncScope(() => storage.run(scope, fn))
    this.#only = scope
    return resource.runInAsyncScope(fn)
  }

  /** Calls `fn` on behalf of a task that has begun and has not ended. */
  within<R>(scope: Tracked, fn: () => R): R {
    if (this.#storage !== undefined) return this.#storage.run(scope, fn)
    const before = this.#only
    this.#only = scope
    try {
      return fn()
    } finally {
      this.#only = before
    }
  }

  /** The task has ended. */
  end(scope: Tracked): void {
    const only = this.#only
    if (only === scope || (only instanceof LazyScope && only.made === scope)) this.#only = undefined
  }

  /** From now on tasks may overlap. Called inside a task. */
  follow(): void {
    if (this.#storage !== undefined) return
    this.#storage = new AsyncLocalStorage()
    if (this.#only !== undefined) this.#storage.enterWith(this.#only)
  }
}

/** Tracks which task is running in this process. */
export const taskScopes: TaskScopes = new TaskScopes()

/** The task in which the calling function runs. Throws `TaskNotFoundError` outside tasks. */
export function currentTask(): TaskContext {
  const scope = taskScopes.current
  if (scope === undefined) throw new TaskNotFoundError('currentTask: this code is not in a task')
  return scope.context
}
