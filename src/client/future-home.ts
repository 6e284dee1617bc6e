// What many futures have in common: their client, and the circumstances in which they were made.
// One object for all of them, as there may be millions.

import type { Identity, TaskId } from '../base/ids.js'
import type { ClientConnection } from './client-connection.js'
import type { FailureCount } from './failure-count.js'
import type { SubmitContext } from './submit-context.js'
import { taskProfile, type TaskProfile } from './task-profile.js'

/** What a graph can say about the ends of its targets. */
export interface TargetNames {
  /** Why the whole graph was cancelled, if it was. */
  readonly cancelReason: unknown
  /** Names the node that has failed in an error of a target. */
  explain(error: unknown, target: TaskId, failedTaskId: TaskId | undefined): void
}

/** What is peculiar to some futures until they have ended. */
export interface FutureCircumstances {
  /** Told when each begins and ends. */
  readonly context?: SubmitContext | undefined
  /** Of the targets of a graph. */
  readonly names?: TargetNames | undefined
}

/** So many names of workers are remembered. */
const MAX_WORKERS = 10_000

/** Where some futures of one client belong. */
export class FutureHome {
  readonly connection: ClientConnection
  readonly failures: FailureCount
  readonly context: SubmitContext | undefined
  readonly names: TargetNames | undefined
  /** Where they belong once they have ended: nothing is peculiar then. */
  readonly after: FutureHome
  /** Each message brings the name of a worker as a new string: futures share one. */
  readonly #workers: Map<Identity, string>

  /** `after`: that of the client without circumstances, where there are some. */
  constructor(
    connection: ClientConnection,
    failures: FailureCount,
    { context, names }: FutureCircumstances = {},
    after?: FutureHome,
  ) {
    this.connection = connection
    this.failures = failures
    this.context = context
    this.names = names
    this.after = after ?? this
    this.#workers = after === undefined ? new Map<Identity, string>() : after.#workers
  }

  /** Futures of the same client, in certain circumstances. */
  with(circumstances: FutureCircumstances): FutureHome {
    return new FutureHome(this.connection, this.failures, circumstances, this.after)
  }

  /** What running a task has cost, if it has run. */
  profileOf(metadata: Uint8Array, worker: Identity): TaskProfile | undefined {
    return metadata.byteLength === 0 ? undefined : taskProfile(metadata, this.#nameOf(worker))
  }

  #nameOf(worker: Identity): string {
    const known = this.#workers.get(worker)
    if (known !== undefined) return known
    if (this.#workers.size >= MAX_WORKERS) this.#workers.clear()
    this.#workers.set(worker, worker)
    return worker
  }
}
