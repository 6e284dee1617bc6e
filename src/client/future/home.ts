// State that many futures share: their client, and the circumstances in which they were made. One
// object for all of them, as there may be millions.

import type { Identity, TaskId } from '../../base/ids.js'
import type { TaskEnd, TaskEndReason } from '../../core/client/events.js'
import type { TaskScope } from '../../runtime/task-scope.js'
import type { TaskSpan } from '../../runtime/tracing.js'
import { nthTaskId } from '../../wire/run.js'
import type { ClientConnection } from '../connection.js'
import type { SubmitContext } from '../submit/submitter.js'
import { type RunProfiles, taskProfile, type TaskProfile } from './profile.js'

// The number of futures and maps that failed without being awaited: reported once, when the client
// closes.

/** Counts failures that were not observed. One per client. */
export class FailureCount {
  #unobserved = 0
  #firstMessage = ''

  /** A future that is not awaited has failed. */
  add(error: unknown): void {
    if (this.#unobserved === 0) this.#firstMessage = String(error)
    this.#unobserved += 1
  }

  /** It was awaited after all. */
  subtract(): void {
    this.#unobserved -= 1
  }

  /** Emits one process warning if there are any, and starts again from zero. */
  warn(): void {
    const count = this.#unobserved
    if (count <= 0) return
    this.#unobserved = 0
    const what = count === 1 ? 'a future failed and was' : `${count} futures failed and were`
    process.emitWarning(`${what} never awaited; the first error: ${this.#firstMessage}`, {
      type: 'ScalerWarning',
      code: 'SCALER_UNOBSERVED_FAILURES',
    })
  }
}

/** A graph's information for the errors of its targets. */
export interface TargetNames {
  /** Why the whole graph was cancelled, if it was. */
  readonly cancelReason: unknown
  /** Names the failed node in an error of a target. */
  explain(error: unknown, target: TaskId, failedTaskId: TaskId | undefined): void
}

/** The circumstances of some futures until they settle. */
interface FutureCircumstances {
  /** Notified when each begins and ends. */
  readonly context?: SubmitContext | undefined
  /** Of the targets of a graph. */
  readonly names?: TargetNames | undefined
  /** The task that submits them, where that is not in `context`. */
  readonly scope?: TaskScope | undefined
  /** Of the one future that has this home. */
  readonly span?: TaskSpan | undefined
}

/** The most names of workers to remember. */
const MAX_WORKERS = 10_000

/** The home of some futures of one client. */
export class FutureHome {
  readonly connection: ClientConnection
  readonly failures: FailureCount
  readonly context: SubmitContext | undefined
  readonly names: TargetNames | undefined
  /** The task that has submitted them, for which their values are created. */
  readonly scope: TaskScope | undefined
  /** Ended with the only future that has this home. */
  readonly span: TaskSpan | undefined
  /** Their home once they have settled, without circumstances. */
  readonly after: FutureHome
  /** Each message brings the name of a worker as a new string: futures share one. */
  readonly #workers: Map<Identity, string>

  /** `after`: that of the client without circumstances, where there are some. */
  constructor(
    connection: ClientConnection,
    failures: FailureCount,
    { context, names, scope, span }: FutureCircumstances = {},
    after?: FutureHome,
  ) {
    this.connection = connection
    this.failures = failures
    this.context = context
    this.names = names
    this.scope = context?.scope ?? scope
    this.span = span
    this.after = after ?? this
    this.#workers = after === undefined ? new Map<Identity, string>() : after.#workers
  }

  /** Futures of the same client, in certain circumstances. */
  with(circumstances: FutureCircumstances): FutureHome {
    return new FutureHome(this.connection, this.failures, circumstances, this.after)
  }

  /** The same for a task of a run. */
  profileIn(profiles: RunProfiles, index: number): TaskProfile | undefined {
    return taskProfile(profiles.of(index), this.#nameOf(profiles.worker))
  }

  /** The cost of running a task, if it has run. */
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

// The owner of a task, a future or a map, and how the connection notifies it of the outcome.

/** Further facts about a finished task. Byte strings may be read during the call only. */
export interface TaskReport {
  /** Its profile. */
  readonly metadata: Uint8Array
  /** The worker that ran it; '' = unknown. */
  readonly worker: Identity
  /** The task that failed, if this task needed the result of another one. */
  readonly failedTaskId: TaskId | undefined
  /** The error was created here, not by the task. */
  readonly isLocal?: boolean
}

/** The owner of the tasks of a run, which have consecutive ids. */
export interface RunOwner {
  /** The task that submitted them; undefined outside tasks. */
  readonly scope: TaskScope | undefined
  /** The owner of one of them, to notify it of anything but a value in a run. */
  ownerOf(id: TaskId): TaskOwner
  /** Values of `count` tasks follow; `first` is the place of the first one in its block of ids. */
  beginValues(first: number, count: number, report: RunReport): void
  /** The tasks from this place on have returned. */
  succeedFrom(place: number, values: readonly unknown[]): void
  /** All have been passed to `succeedFrom`, or to the owner of the task. */
  endValues(): void
}

/** Further facts about finished tasks of a run. Byte strings may be read during the call only. */
export interface RunReport {
  /** The profiles of all tasks, or nothing. */
  readonly metadata: Uint8Array
  readonly worker: Identity
}

/** The owner of one task, or of a run. */
export type AnyOwner = TaskOwner | RunOwner

/** A task, and its owner or that of its run. */
interface OwnedTask {
  readonly owner: AnyOwner
  readonly taskId: TaskId
}

/** The owner of one task. */
export function ownerOfTask({ owner, taskId }: OwnedTask): TaskOwner {
  return 'ownerOf' in owner ? owner.ownerOf(taskId) : owner
}

/** Consecutive tasks, and their owner. */
interface OwnedTasks extends OwnedTask {
  readonly count: number
}

/** Notifies the owner of each task of its end. */
export function endEach(tasks: OwnedTasks, { reason, detail, failedTaskId }: TaskEnd): void {
  for (const owner of ownersOf(tasks)) owner.end(reason, detail, failedTaskId)
}

/** Notifies the owner of each task of an error. */
export function failEach(tasks: OwnedTasks, error: unknown, report: TaskReport): void {
  for (const owner of ownersOf(tasks)) owner.fail(error, report)
}

function* ownersOf({ owner, taskId, count }: OwnedTasks): Generator<TaskOwner, void, undefined> {
  for (let index = 0; index < count; index += 1) {
    yield ownerOfTask({ owner, taskId: nthTaskId(taskId, index) })
  }
}

/** Notified exactly once per task of its outcome, by one of the first three methods. */
export interface TaskOwner {
  readonly taskId: TaskId
  /** The task that submitted it and that receives the value; undefined outside tasks. */
  readonly scope: TaskScope | undefined
  /** The task returned. */
  succeed(value: unknown, report: TaskReport): void
  /** The task threw, or its value could not be read. */
  fail(error: unknown, report: TaskReport): void
  /** The task ended in another way; `detail` is for people. */
  end(reason: TaskEndReason, detail: string, failedTaskId: TaskId | undefined): void
  /**
   * The task returned; its value stays in the cluster until it is requested. Answers with `want` or
   * `leave` of the connection.
   */
  offer(metadata: Uint8Array, worker: Identity): void
  /** The task reports its progress: `done` of `total`, 0 = unknown. */
  progress(done: number, total: number): void
}
