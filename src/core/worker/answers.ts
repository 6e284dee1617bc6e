// How the scheduler is told what becomes of a task: small results travel inside the TaskResult,
// large ones as an object that is created first (docs/protocol.md#inline). What nobody can be told
// now is kept.

import { totalBytes } from '../../base/bytes.js'
import { errorTextOf } from '../../base/error-text.js'
import {
  FEATURE_INLINE,
  FEATURE_MONITORS,
  FEATURE_RECOVERY,
  FEATURE_TASK_UPDATES,
  FEATURE_WAITING,
  hasFeature,
} from '../../base/features.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { TaskError, TaskResult, TaskUpdate } from '../../wire/message.js'
import { resultName } from '../../wire/object-content.js'
import { PLAIN_RESULT } from '../../wire/plain.js'
import { KeptResults } from './kept-results.js'
import type { WorkerCoreOptions } from './options.js'
import type { Output } from './output.js'
import { failureOf, statusOnly, withoutBytes } from './result.js'
import { TaskOutputs } from './task-outputs.js'
import type { WorkerTask } from './worker-task.js'

/** How a task has ended. */
export interface Ending {
  /** Whether the scheduler of this connection waits for it. */
  readonly isAwaited: boolean
  readonly durationMs: number
}

/** Sends TaskResults and TaskUpdates, and the objects that belong to results. */
export class Answers {
  readonly #options: WorkerCoreOptions
  readonly #output: Output
  readonly #kept = new KeptResults()
  /** What tasks print. */
  readonly outputs: TaskOutputs
  /** What the scheduler of this connection understands; undefined until it has said so. */
  #features: number | undefined

  constructor(options: WorkerCoreOptions, output: Output) {
    this.#options = options
    this.#output = output
    this.outputs = new TaskOutputs(output)
  }

  /** Results that may be asked for by a scheduler that has not sent their tasks yet. */
  get keptIds(): Iterable<TaskId> {
    return this.#kept.ids()
  }

  /** Whether there are any. */
  get hasKept(): boolean {
    return this.#kept.size > 0
  }

  /** A heartbeat was sent. */
  onHeartbeat(): void {
    this.#kept.onHeartbeat()
  }

  /** The scheduler has read a heartbeat, and shows what it understands. */
  onEcho(features: number): void {
    this.#features = features
    this.outputs.onEcho(features)
    this.#kept.onEcho()
    if (!this.#canRecover) this.#kept.clear()
  }

  /** The next scheduler may be another one. */
  onDisconnected(): void {
    this.#features = undefined
    this.outputs.onDisconnected()
    this.#kept.onDisconnected()
  }

  /**
   * A task is over. Passes on what the processor answered: as it is, if the scheduler takes it and
   * it is small. Returns the id of the object that it became otherwise: that in `results`, if there
   * is one. What nobody waits for is kept instead.
   */
  end(
    result: TaskResult,
    task: WorkerTask,
    { isAwaited, durationMs }: Ending,
  ): ObjectId | undefined {
    if (!isAwaited) {
      // One that was told of would have asked for it already.
      if (this.#features === undefined || this.#canRecover) this.#kept.keep(result, task)
      return undefined
    }
    if (this.#canRecover) this.#kept.onSent(result, task, durationMs)
    return this.#send(result, task.source, task.attempt)
  }

  /** The task failed without the processor having said so. */
  fail(task: WorkerTask, error: Error, ending: Ending): void {
    const told = { bytes: this.#options.encodeError(error), text: errorTextOf(error) }
    this.end(failureOf(task, this.#options.identity, told, ending.durationMs), task, ending)
  }

  /** A task has come. Answers it if its result was kept; false: it is to be run. */
  answerKept(task: WorkerTask): boolean {
    const kept = this.#kept.take(task.id)
    if (kept === undefined) return false
    this.end(kept.result, task, { isAwaited: true, durationMs: Infinity })
    return true
  }

  /** Nobody will ask for the result of a task. False if it was not kept. */
  dropKept(id: TaskId): boolean {
    return this.#kept.drop(id)
  }

  /** The answer to a TaskCancel: whether the task is dropped. */
  cancel(taskId: TaskId, status: 'canceled' | 'notFound'): void {
    this.#output.send(statusOnly(taskId, status))
  }

  /** A task waits for tasks of its own, and so often has lost its processor meanwhile before. */
  waits({ id, lossCount }: WorkerTask): void {
    this.update({ kind: 'taskUpdate', taskId: id, update: 'waiting', done: lossCount, total: 0 })
  }

  /** A task that has waited counts again. */
  resumes({ id }: WorkerTask): void {
    this.update({ kind: 'taskUpdate', taskId: id, update: 'resumed', done: 0, total: 0 })
  }

  /** Whether the scheduler wants to know when tasks begin. */
  get areBeginningsWanted(): boolean {
    return this.#has(FEATURE_WAITING)
  }

  /** A task has begun. */
  begins(task: WorkerTask): void {
    task.isTold = true
    this.#tellBeginning(task, 'running')
  }

  /** A task that may have begun waits for a processor again. */
  requeues(task: WorkerTask): void {
    if (task.isTold) this.#tellBeginning(task, 'queued')
    task.isTold = false
  }

  /** Passes on that a task waits, goes on, or how far it is, to a scheduler that wants to know. */
  update(update: TaskUpdate): void {
    if (this.#has(FEATURE_TASK_UPDATES)) this.#output.send(update)
  }

  /** Throws if what is kept is miscounted. */
  checkInvariants(): void {
    this.#kept.checkInvariants()
  }

  get #canRecover(): boolean {
    return this.#has(FEATURE_RECOVERY)
  }

  #tellBeginning({ id }: WorkerTask, update: 'running' | 'queued'): void {
    if (!this.areBeginningsWanted) return
    this.#output.send({ kind: 'taskUpdate', taskId: id, update, done: 0, total: 0 })
  }

  #has(feature: number): boolean {
    return hasFeature(this.#features ?? 0, feature)
  }

  /** A task that was sent again is answered with the number that it had last. */
  #send(result: TaskResult, source: Identity, attempt: number): ObjectId | undefined {
    const chunks = result.inlineResults
    const isInline = chunks.length === 1 && this.#mayBeInline(totalBytes(chunks))
    if (!isInline) return this.#sendObject(result, source, attempt)
    const error = this.#errorIn(result)
    const isSame = result.attempt === attempt && result.error.length === error.length
    const isAsItWas = result.results.length === 0 && isSame
    this.#output.send(isAsItWas ? result : { ...withoutBytes(result, error), attempt })
    return undefined
  }

  /** What the scheduler may know of the error, if it is one and the scheduler wants to. */
  #errorIn({ error }: TaskResult): readonly TaskError[] {
    const isTold = this.#options.tellsErrors !== false && this.#has(FEATURE_MONITORS)
    return isTold ? error : PLAIN_RESULT.error
  }

  #mayBeInline(bytes: number): boolean {
    return this.#has(FEATURE_INLINE) && bytes <= this.#options.inlineLimitBytes
  }

  #sendObject(result: TaskResult, source: Identity, attempt: number): ObjectId {
    const id = result.results[0] ?? this.#options.newResultId(source)
    this.#output.send({
      kind: 'objectInstruction',
      instructionType: 'create',
      objectUser: source,
      objectContent: {
        objectIds: [id],
        objectTypes: ['object'],
        objectNames: [resultName(id)],
        // An object of no bytes has no chunks, not an empty one.
        objectBytes: [result.inlineResults.filter((chunk) => chunk.byteLength > 0)],
      },
    })
    // A 1.9.9 scheduler gets what it knows and nothing else.
    const own = this.#has(FEATURE_INLINE) ? { worker: result.worker, attempt } : PLAIN_RESULT
    const { worker } = own
    const { taskId, status, metadata } = result
    this.#output.send({
      kind: 'taskResult',
      taskId,
      status,
      metadata,
      results: [id],
      ...PLAIN_RESULT,
      worker,
      attempt: own.attempt,
      error: this.#errorIn(result),
    })
    return id
  }
}
