// Reads the results of tasks, and notifies their owners: usually at once. But a result can name a
// module that has to be imported here first. Until then the task is unfinished for its owner,
// although it is finished for the scheduler: it can still be cancelled.

import { copyOf, NO_BYTES } from '../../base/bytes.js'
import { withoutFrames } from '../../base/error-stack.js'
import { DeserializeError } from '../../base/errors.js'
import { type Identity, type TaskId, taskPhrase } from '../../base/ids.js'
import { SharedRegistry } from '../../base/finalization.js'
import type { TaskEndReason } from '../../core/client/events.js'
import { type TaskScope, taskScopes } from '../../runtime/task-scope.js'
import { deserializeError } from '../../serializer/error-codec.js'
import type { PendingImport } from '../../serializer/module/policy.js'
import { pendingImportOf, readWhenImported } from '../../serializer/pending-read.js'
import { type Serializer, sourcePositions } from '../../serializer/serializer.js'
import { PackedReader } from '../../serializer/value/packed/reader.js'
import { layoutOf, nthTaskId, placeInBlock, sliceProfiles } from '../../wire/run.js'
import { type AnyOwner, ownerOfTask, type TaskOwner, type TaskReport } from './home.js'

/** A task that returned or threw. */
interface FinishedTask extends TaskReport {
  readonly owner: TaskOwner
  readonly isSuccess: boolean
  /** A value, or an error. Like the profile, it is read during the call only. */
  readonly payload: Uint8Array
}

/** Tasks of a run that have returned. */
interface FinishedRun {
  readonly owner: AnyOwner
  readonly taskId: TaskId
  readonly count: number
  /** Checked. Like the profiles, read during the call only. */
  readonly packed: Uint8Array
  readonly metadata: Uint8Array
  readonly worker: Identity
}

/** The results of one client. */
export class ResultReader {
  readonly #serializer: Serializer
  /** Tasks whose result cannot be read yet. */
  readonly #late = new Map<TaskId, FinishedTask>()

  constructor(serializer: Serializer) {
    this.#serializer = serializer
  }

  /** Whether the result of a task has arrived but cannot be read yet. */
  has(id: TaskId): boolean {
    return this.#late.has(id)
  }

  /** The serialized value of such a task; undefined for other tasks, and if it has failed. */
  payloadOf(id: TaskId): Uint8Array | undefined {
    const task = this.#late.get(id)
    return task?.isSuccess === true ? task.payload : undefined
  }

  /** Notifies the owner of a task's result, immediately or as soon as it can be read. */
  finish(task: FinishedTask): void {
    let value: unknown
    try {
      value = this.#read(task)
    } catch (error) {
      const pending = pendingImportOf(error)
      if (pending === undefined) failUnread(task.owner, error, task)
      else void this.#finishLater(task, pending)
      return
    }
    deliver(task, value)
  }

  /** Notifies the owner of the results of a run, each immediately or as soon as it can be read. */
  finishRun(run: FinishedRun): void {
    const { owner } = run
    const { scope } = owner
    if (scope === undefined) this.#finishRun(run)
    else taskScopes.within(scope, () => this.#finishRun(run))
  }

  #finishRun(run: FinishedRun): void {
    const { owner, taskId, count, packed, metadata, worker } = run
    const reader = new PackedReader(packed, layoutOf(packed, count), this.#serializer)
    const first = placeInBlock(taskId)
    const report = { metadata, worker, failedTaskId: undefined }
    if ('ownerOf' in owner) owner.beginValues(first, count, report)
    let values: unknown[] = []
    const pass = (end: number): void => {
      if (!('ownerOf' in owner)) for (const value of values) owner.succeed(value, report)
      else if (values.length > 0) owner.succeedFrom(first + end - values.length, values)
      values = []
    }
    for (let index = 0; index < count; index += 1) {
      try {
        values.push(reader.value(index))
      } catch (error) {
        pass(index)
        this.#onUnreadable(run, index, error, reader)
      }
    }
    pass(count)
    if ('ownerOf' in owner) owner.endValues()
  }

  /** A value of a run cannot be read, or not yet. */
  #onUnreadable(run: FinishedRun, index: number, error: unknown, reader: PackedReader): void {
    const { count, metadata, worker } = run
    const owner = ownerOfTask({ owner: run.owner, taskId: nthTaskId(run.taskId, index) })
    const profile = sliceProfiles(metadata, count, index, index + 1)
    const report = { metadata: profile, worker, failedTaskId: undefined }
    const pending = pendingImportOf(error)
    if (pending === undefined) failUnread(owner, error, report)
    else {
      const [payload = NO_BYTES] = reader.serialized(index)
      void this.#finishLater({ owner, isSuccess: true, payload, ...report }, pending)
    }
  }

  /** The packed values of one task, each serialized by itself. */
  serializedValues(packed: Uint8Array): Uint8Array[] {
    return new PackedReader(packed, layoutOf(packed, 1), this.#serializer).serialized(0)
  }

  /** Ends a task whose result cannot be read yet. False if there is none. */
  end(id: TaskId, reason: TaskEndReason): boolean {
    const task = this.#late.get(id)
    if (task === undefined) return false
    this.#late.delete(id)
    task.owner.end(reason, '', undefined)
    return true
  }

  /** Ends all such tasks with an owner for which `isMeant` holds. */
  endAll(reason: TaskEndReason, isMeant: (owner: TaskOwner) => boolean): void {
    for (const [id, { owner }] of this.#late) if (isMeant(owner)) this.end(id, reason)
  }

  /** The value that the task returned, or its error. */
  #read(task: FinishedTask): unknown {
    const { scope } = task.owner
    return scope === undefined
      ? this.#readHere(task)
      : taskScopes.within(scope, () => this.#readHere(task))
  }

  #readHere({ isSuccess, payload }: FinishedTask): unknown {
    if (isSuccess) return this.#serializer.deserialize(payload)
    const error = deserializeError(payload)
    const pending = pendingImportOf(error)
    if (pending !== undefined) throw pending
    sourcePositions.apply(error)
    return error
  }

  async #finishLater(task: FinishedTask, pending: PendingImport): Promise<void> {
    const { owner } = task
    const { taskId } = owner
    const kept = { ...task, payload: copyOf(task.payload), metadata: copyOf(task.metadata) }
    this.#late.set(taskId, kept)
    try {
      const value = await readWhenImported(pending, () => this.#read(kept))
      if (this.#late.delete(taskId)) deliver(kept, value)
    } catch (error) {
      if (this.#late.delete(taskId)) failUnread(owner, error, kept)
    }
  }
}

/** The value of a task cannot be read. Errors of a serializer of the user's stay as they are. */
function failUnread(owner: TaskOwner, error: unknown, report: TaskReport): void {
  const told = error instanceof DeserializeError ? unreadable(owner.taskId, error) : error
  owner.fail(told, { ...report, isLocal: true })
}

function unreadable(id: TaskId, { message, cause }: DeserializeError): DeserializeError {
  const text = `the result of ${taskPhrase(id, '')} cannot be read here: ${message}`
  return withoutFrames(() => new DeserializeError(text, { cause }))
}

function deliver(task: FinishedTask, value: unknown): void {
  if (task.isSuccess) task.owner.succeed(value, task)
  else task.owner.fail(value, task)
}

// Results that stay in the cluster because they have not been requested. Each belongs to a future:
// when the future is garbage collected, the object is deleted.

/**
 * The owner of a task whose result has not been requested: does not keep the real one in memory.
 */
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
  readonly #registry: SharedRegistry<TaskId>

  /** `drop` is called when the result of a task cannot be requested any more. */
  constructor(drop: (id: TaskId) => void) {
    this.#registry = new SharedRegistry(drop)
  }

  /** The result of this owner's task is not requested. Returns the owner to notify from now on. */
  leave(owner: TaskOwner): TaskOwner {
    this.#registry.unregister(owner)
    this.#registry.register(owner, owner.taskId, owner)
    return new RestingOwner(owner)
  }

  /** It is requested after all. */
  take(owner: TaskOwner): void {
    this.#registry.unregister(owner)
  }
}
