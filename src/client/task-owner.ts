// Who is told how a task ended: a future, or a map. Between the connection, which tells, and these.

import type { TaskId } from '../base/ids.js'
import type { TaskEndReason } from '../core/client/events.js'

/** Told exactly once per task, by one of its three methods. */
export interface TaskOwner {
  readonly taskId: TaskId
  /** The task returned. `metadata` is its profile; both may be read during the call only. */
  succeed(value: unknown, metadata: Uint8Array): void
  /** The task threw, or its value could not be read. */
  fail(error: unknown, metadata: Uint8Array): void
  /** The task ended in another way; `detail` is for people. */
  end(reason: TaskEndReason, detail: string): void
}
