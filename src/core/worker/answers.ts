// How the scheduler is told what became of a task: small results travel inside the TaskResult,
// large ones as an object that is created first (docs/protocol.md#inline).

import { NO_BYTES, totalBytes } from '../../base/bytes.js'
import { FEATURE_INLINE, hasFeature } from '../../base/features.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { TaskResult } from '../../wire/message.js'
import { resultName } from '../../wire/object-content.js'
import { encodeProfileResult } from '../../wire/profile.js'
import type { WorkerCoreOptions } from './options.js'
import type { Output } from './output.js'
import type { WorkerTask } from './worker-task.js'
import { PLAIN_RESULT } from '../../wire/plain.js'

/** Sends TaskResults, and the objects that belong to them. */
export class Answers {
  readonly #options: WorkerCoreOptions
  readonly #output: Output
  #acceptsInline = false

  constructor(options: WorkerCoreOptions, output: Output) {
    this.#options = options
    this.#output = output
  }

  /** What the scheduler of this connection understands; 0 until it has said so. */
  setFeatures(features: number): void {
    this.#acceptsInline = hasFeature(features, FEATURE_INLINE)
  }

  /** Passes on what the processor answered: as it is, if the scheduler takes it and it is small. */
  forward(result: TaskResult, source: Identity): void {
    const chunks = result.inlineResults
    const isInline = chunks.length === 1 && this.#mayBeInline(totalBytes(chunks))
    if (isInline) this.#output.send(result)
    else this.#sendObject(result, source)
  }

  /** The task failed without the processor having said so. */
  fail(task: WorkerTask, error: Error, durationMs: number): void {
    this.forward(
      {
        kind: 'taskResult',
        taskId: task.id,
        status: 'failed',
        metadata: profileOf(durationMs),
        results: [],
        ...PLAIN_RESULT,
        inlineResults: [this.#options.encodeError(error)],
      },
      task.source,
    )
  }

  /** The answer to a TaskCancel: whether the task is dropped. */
  cancel(taskId: TaskId, status: 'canceled' | 'notFound'): void {
    this.#output.send(resultOf(taskId, status, NO_BYTES, []))
  }

  #mayBeInline(bytes: number): boolean {
    return this.#acceptsInline && bytes <= this.#options.inlineLimitBytes
  }

  #sendObject(result: TaskResult, source: Identity): void {
    const id = this.#options.newResultId(source)
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
    this.#output.send(resultOf(result.taskId, result.status, result.metadata, [id]))
  }
}

function profileOf(durationMs: number): Uint8Array {
  return encodeProfileResult({
    durationSeconds: durationMs / 1000,
    peakMemoryBytes: 0,
    cpuSeconds: 0,
  })
}

function resultOf(
  taskId: TaskId,
  status: TaskResult['status'],
  metadata: Uint8Array,
  results: readonly ObjectId[],
): TaskResult {
  return { kind: 'taskResult', taskId, status, metadata, results, ...PLAIN_RESULT }
}
