// Who is told how a task ended: a future, or a map. Between the connection, which tells, and these.

import type { Identity, TaskId } from '../base/ids.js'
import type { TaskEndReason } from '../core/client/events.js'
import type { TaskScope } from '../runtime/task-scope.js'

/** What else is known of a task that ended. Byte strings may be read during the call only. */
export interface TaskReport {
  /** Its profile. */
  readonly metadata: Uint8Array
  /** Who ran it; '' = unknown. */
  readonly worker: Identity
  /** The task that has failed, if it was another one, whose result this one needed. */
  readonly failedTaskId: TaskId | undefined
  /** An error was made here, and not by the task. */
  readonly isLocal?: boolean
}

/** Told exactly once per task how it ended, by one of the first three methods. */
export interface TaskOwner {
  readonly taskId: TaskId
  /** The task that has submitted it, which the value is made for; undefined outside of tasks. */
  readonly scope: TaskScope | undefined
  /** The task returned. */
  succeed(value: unknown, report: TaskReport): void
  /** The task threw, or its value could not be read. */
  fail(error: unknown, report: TaskReport): void
  /** The task ended in another way; `detail` is for people. */
  end(reason: TaskEndReason, detail: string, failedTaskId: TaskId | undefined): void
  /**
   * The task returned; its value stays in the cluster until somebody wants it. Answers with `want`
   * or `leave` of the connection.
   */
  offer(metadata: Uint8Array, worker: Identity): void
  /** The task tells how far it is: `done` of `total`, 0 = unknown. */
  progress(done: number, total: number): void
}
