// The task in which code runs. A processor says it; user code (`currentTask`) and clients that are
// used inside of tasks ask. Apart from both, because a worker knows nothing of clients.
//
// Following a task through all that it awaits costs something at every `await`, so that is switched
// on only when tasks can be mixed up: a processor runs one after the other until a task has
// submitted tasks itself.

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { TaskNotFoundError } from '../base/errors.js'
import type { Identity, TaskId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'

/** What a function can learn of the task that it runs in, and tell about it. */
export interface TaskContext {
  /** The id of the task in hex: that of its future. */
  readonly id: string
  /** That of its options, else that of its function. */
  readonly name: string
  /** 1 for the first run, 2 for the second one, … */
  readonly attempt: number
  /**
   * By name what the task has of the `capabilities` that it was submitted with: the numbers of its
   * units, from 0, which no other task on the same host has meanwhile; none of what it only needs
   * the name of. `{ gpu: [0] }`.
   */
  readonly capabilities: Readonly<Record<string, readonly number[]>>
  /** Aborts when the task is cancelled or has run for too long; the reason says which. */
  readonly signal: AbortSignal
  /** Goes to the log of the worker, with the task's id. */
  readonly log: Logger
  /**
   * Tells the future of the task how far it is: `done` of `total`, in whatever unit; a `total` of 0
   * stands for unknown. May be called often: what cannot be told in time is left out. Throws
   * `RangeError` for what is not a finite number or below 0.
   */
  setProgress(done: number, total?: number): void
}

/** How values travel between this process and the client of a task. */
export interface ScopeSerializer {
  serialize(value: unknown): Uint8Array
  deserialize(bytes: Uint8Array): unknown
}

/** The worker that tasks run in, as clients inside of them need it. */
export interface TaskHost {
  /** Where the worker's scheduler is. */
  readonly address: string
  readonly worker: Identity
  /** The clients of this process, one per serializer, for as long as the process lives. */
  readonly clients: Map<ScopeSerializer, unknown>
}

/** One run of a task. */
export interface TaskScope {
  readonly taskId: TaskId
  /** Tasks that it submits are one more urgent. */
  readonly priority: number
  /** Where what it prints goes, and what tasks print that it submits. */
  readonly output: 'log' | 'forward' | 'off'
  /** The client that prints it. */
  readonly outputClient: Identity
  readonly context: TaskContext
  /** That of the client whose task it is. */
  readonly serializer: ScopeSerializer
  readonly host: TaskHost
  /** It has submitted something: until that has ended others may run beside it. */
  childStarted(): void
  /** Called as often as `childStarted`. */
  childEnded(): void
}

/** Nothing is told when the resource goes, so nobody has to watch for that. */
const UNWATCHED = { requireManualDestroy: true }

/** Which task runs. One per process: `taskScopes`. */
export class TaskScopes {
  #storage: AsyncLocalStorage<TaskScope> | undefined
  /** While nothing is followed: the only task that runs, or the one that began to submit tasks. */
  #only: TaskScope | undefined

  /** The task in which the caller runs; undefined outside of tasks. */
  get current(): TaskScope | undefined {
    return this.#storage?.getStore() ?? this.#only
  }

  /** The same where it is certain: undefined while nothing is followed. */
  get followed(): TaskScope | undefined {
    return this.#storage?.getStore()
  }

  /**
   * Calls `fn` as a part of the task, in an asynchronous context of its own: `enterWith` in one
   * task does not reach the next.
   */
  run<R>(scope: TaskScope, fn: () => R): R {
    const storage = this.#storage
    const resource = new AsyncResource('ScalerTask', UNWATCHED)
    if (storage !== undefined) return resource.runInAsyncScope(() => storage.run(scope, fn))
    this.#only = scope
    return resource.runInAsyncScope(fn)
  }

  /** Calls `fn` on behalf of a task that has submitted something. */
  within<R>(scope: TaskScope, fn: () => R): R {
    return this.#storage === undefined ? fn() : this.#storage.run(scope, fn)
  }

  /** The task has ended. */
  end(scope: TaskScope): void {
    if (this.#only === scope) this.#only = undefined
  }

  /** From now on tasks may run beside each other. Called inside of a task. */
  follow(): void {
    if (this.#storage !== undefined) return
    this.#storage = new AsyncLocalStorage()
    if (this.#only !== undefined) this.#storage.enterWith(this.#only)
  }
}

/** Which task runs in this process. */
export const taskScopes: TaskScopes = new TaskScopes()

/** The task that the calling function runs in. Throws `TaskNotFoundError` outside of tasks. */
export function currentTask(): TaskContext {
  const scope = taskScopes.current
  if (scope === undefined) throw new TaskNotFoundError('currentTask: this code runs in no task')
  return scope.context
}
