// What came of a task that ran.

import type { Identity, TaskId } from '../../base/ids.js'

/** What a task returned or threw. */
export interface Outcome {
  readonly isSuccess: boolean
  /** Valid during the call only, like the profile. */
  readonly payload: Uint8Array
  readonly metadata: Uint8Array
  readonly worker: Identity
  /** The task that has failed, if it was another one. */
  readonly failedTaskId: TaskId | undefined
}
