// What many futures have in common: their client, and the circumstances in which they were made.
// One object for all of them, as there may be millions.

import type { Identity, TaskId } from '../../base/ids.js'
import type { TaskEndReason } from '../../core/client/events.js'
import type { TaskScope } from '../../runtime/task-scope.js'
import type { ClientConnection } from '../connection.js'
import type { SubmitContext } from '../submit/submitter.js'
import { taskProfile, type TaskProfile } from './profile.js'

// How many futures and maps have failed without anybody looking: told once, when the client ends.

/** Counts failures that nobody has seen. One per client. */
export class FailureCount {
  #unobserved = 0
  #firstMessage = ''

  /** A future has failed that nobody awaits. */
  add(error: unknown): void {
    if (this.#unobserved === 0) this.#firstMessage = String(error)
    this.#unobserved += 1
  }

  /** Somebody came for it after all. */
  subtract(): void {
    this.#unobserved -= 1
  }

  /** Emits one process warning if there is anything to tell, and forgets it. */
  warn(): void {
    const count = this.#unobserved
    if (count <= 0) return
    this.#unobserved = 0
    const what =
      count === 1 ? 'a future has failed that nobody' : `${count} futures have failed that nobody`
    process.emitWarning(`${what} awaited; the first one: ${this.#firstMessage}`, {
      type: 'ScalerWarning',
      code: 'SCALER_UNOBSERVED_FAILURES',
    })
  }
}

/** What a graph can say about the ends of its targets. */
export interface TargetNames {
  /** Why the whole graph was cancelled, if it was. */
  readonly cancelReason: unknown
  /** Names the node that has failed in an error of a target. */
  explain(error: unknown, target: TaskId, failedTaskId: TaskId | undefined): void
}

/** What is peculiar to some futures until they have ended. */
interface FutureCircumstances {
  /** Told when each begins and ends. */
  readonly context?: SubmitContext | undefined
  /** Of the targets of a graph. */
  readonly names?: TargetNames | undefined
  /** The task that submits them, where that is not in `context`. */
  readonly scope?: TaskScope | undefined
}

/** So many names of workers are remembered. */
const MAX_WORKERS = 10_000

/** Where some futures of one client belong. */
export class FutureHome {
  readonly connection: ClientConnection
  readonly failures: FailureCount
  readonly context: SubmitContext | undefined
  readonly names: TargetNames | undefined
  /** The task that has submitted them, which their values are made for. */
  readonly scope: TaskScope | undefined
  /** Where they belong once they have ended: nothing is peculiar then. */
  readonly after: FutureHome
  /** Each message brings the name of a worker as a new string: futures share one. */
  readonly #workers: Map<Identity, string>

  /** `after`: that of the client without circumstances, where there are some. */
  constructor(
    connection: ClientConnection,
    failures: FailureCount,
    { context, names, scope }: FutureCircumstances = {},
    after?: FutureHome,
  ) {
    this.connection = connection
    this.failures = failures
    this.context = context
    this.names = names
    this.scope = context?.scope ?? scope
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

// Who is told how a task ended: a future, or a map. Between the connection, which tells, and these.

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
