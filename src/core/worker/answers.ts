// How the scheduler is told what becomes of a task: small results travel inside the TaskResult,
// large ones as an object that is created first (docs/protocol.md#inline).

import { NO_BYTES, totalBytes } from '../../base/bytes.js'
import { FEATURE_INLINE, FEATURE_TASK_UPDATES, hasFeature } from '../../base/features.js'
import type { ObjectId, TaskId } from '../../base/ids.js'
import type { TaskResult, TaskUpdate } from '../../wire/message.js'
import { resultName } from '../../wire/object-content.js'
import { PLAIN_RESULT } from '../../wire/plain.js'
import { encodeProfileResult } from '../../wire/profile.js'
import type { WorkerCoreOptions } from './options.js'
import type { Output } from './output.js'
import type { WorkerTask } from './worker-task.js'

/** Sends TaskResults and TaskUpdates, and the objects that belong to results. */
export class Answers {
  readonly #options: WorkerCoreOptions
  readonly #output: Output
  #acceptsInline = false
  #acceptsUpdates = false

  constructor(options: WorkerCoreOptions, output: Output) {
    this.#options = options
    this.#output = output
  }

  /** What the scheduler of this connection understands; 0 until it has said so. */
  setFeatures(features: number): void {
    this.#acceptsInline = hasFeature(features, FEATURE_INLINE)
    this.#acceptsUpdates = hasFeature(features, FEATURE_TASK_UPDATES)
  }

  /**
   * Passes on what the processor answered: as it is, if the scheduler takes it and it is small.
   * Returns the id of the object that it became otherwise: that in `results`, if there is one.
   */
  forward(result: TaskResult, task: WorkerTask): ObjectId | undefined {
    const chunks = result.inlineResults
    const isInline = chunks.length === 1 && this.#mayBeInline(totalBytes(chunks))
    if (!isInline) return this.#sendObject(result, task)
    this.#output.send(result.results.length === 0 ? result : withoutBytes(result))
    return undefined
  }

  /** The task failed without the processor having said so. */
  fail(task: WorkerTask, error: Error, durationMs: number): void {
    const result: TaskResult = {
      kind: 'taskResult',
      taskId: task.id,
      status: 'failed',
      metadata: profileOf(durationMs),
      results: [],
      ...PLAIN_RESULT,
      inlineResults: [this.#options.encodeError(error)],
      worker: this.#options.identity,
    }
    this.forward(result, task)
  }

  /** The answer to a TaskCancel: whether the task is dropped. */
  cancel(taskId: TaskId, status: 'canceled' | 'notFound'): void {
    const result = { kind: 'taskResult', taskId, status, metadata: NO_BYTES, results: [] } as const
    this.#output.send({ ...result, ...PLAIN_RESULT })
  }

  /** A task waits for tasks of its own, or goes on. */
  waits({ id }: WorkerTask, isWaiting: boolean): void {
    const update = isWaiting ? 'waiting' : 'resumed'
    this.update({ kind: 'taskUpdate', taskId: id, update, done: 0, total: 0 })
  }

  /** Passes on that a task waits, goes on, or how far it is, to a scheduler that wants to know. */
  update(update: TaskUpdate): void {
    if (this.#acceptsUpdates) this.#output.send(update)
  }

  #mayBeInline(bytes: number): boolean {
    return this.#acceptsInline && bytes <= this.#options.inlineLimitBytes
  }

  #sendObject(result: TaskResult, { source }: WorkerTask): ObjectId {
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
    const worker = this.#acceptsInline ? result.worker : PLAIN_RESULT.worker
    this.#output.send({
      ...withoutBytes(result),
      results: [id],
      inlineResults: [],
      worker,
    })
    return id
  }
}

/** The same result, to be written anew. */
function withoutBytes({ taskId, status, metadata, inlineResults, worker }: TaskResult): TaskResult {
  return {
    kind: 'taskResult',
    taskId,
    status,
    metadata,
    results: [],
    ...PLAIN_RESULT,
    inlineResults,
    worker,
  }
}

function profileOf(durationMs: number): Uint8Array {
  return encodeProfileResult({
    durationSeconds: durationMs / 1000,
    peakMemoryBytes: 0,
    cpuSeconds: 0,
  })
}
