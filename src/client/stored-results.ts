// Results that stay in the cluster because nobody has asked for them. Each belongs to a future, and
// goes with it: when the future is collected as garbage, the object is deleted.

import type { Identity, TaskId } from '../base/ids.js'
import type { TaskEndReason } from '../core/client/events.js'
import type { TaskScope } from '../runtime/task-scope.js'
import type { TaskOwner, TaskReport } from './task-owner.js'

/** The owner of a task whose result nobody wants: does not keep the real one in memory. */
class RestingOwner implements TaskOwner {
  readonly taskId: TaskId
  readonly #owner: WeakRef<TaskOwner>

  constructor(owner: TaskOwner) {
    this.taskId = owner.taskId
    this.#owner = new WeakRef(owner)
  }

  get scope(): TaskScope | undefined {
    return this.#owner.deref()?.scope
  }

  succeed(value: unknown, report: TaskReport): void {
    this.#owner.deref()?.succeed(value, report)
  }

  fail(error: unknown, report: TaskReport): void {
    this.#owner.deref()?.fail(error, report)
  }

  end(reason: TaskEndReason, detail: string, failedTaskId: TaskId | undefined): void {
    this.#owner.deref()?.end(reason, detail, failedTaskId)
  }

  offer(metadata: Uint8Array, worker: Identity): void {
    this.#owner.deref()?.offer(metadata, worker)
  }

  progress(done: number, total: number): void {
    this.#owner.deref()?.progress(done, total)
  }
}

/** The stored results of one client. */
export class StoredResults {
  readonly #registry: FinalizationRegistry<TaskId>

  /** `drop` is called when nobody can ask for the result of a task any more. */
  constructor(drop: (id: TaskId) => void) {
    this.#registry = new FinalizationRegistry(drop)
  }

  /** Nobody wants the result of this owner's task. Returns who is told of it from now on. */
  leave(owner: TaskOwner): TaskOwner {
    this.#registry.unregister(owner)
    this.#registry.register(owner, owner.taskId, owner)
    return new RestingOwner(owner)
  }

  /** Somebody wants it after all. */
  take(owner: TaskOwner): void {
    this.#registry.unregister(owner)
  }
}
