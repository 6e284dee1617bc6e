// Everything that a processor reports about its runs: results, waiting and resumed tasks, progress,
// log lines. Reports are sent in batches; this file decides when.

import type { AsyncResource } from 'node:async_hooks'
import { NO_BYTES } from '../../base/bytes.js'
import { identity, type Identity, type ObjectId, taskId } from '../../base/ids.js'
import type { LogLevel } from '../../base/logger.js'
import { encodeFrame, PLAIN_RESULT, type TaskError, type TaskResult } from '../../wire/message.js'
import { splitChunks } from '../../wire/object-content.js'
import { logLineOf, type LogWords } from '../link/frames.js'
import type { Outbox } from '../link/outbox.js'
import type { RunnableTask } from './call.js'
import { newResultId } from '../object-ids.js'
import type { TaskRun } from './run.js'

// Reports the progress of tasks at a bounded rate: of several updates within a tenth of a second,
// only the last is sent.

/** Between two updates of one task, in milliseconds. */
const INTERVAL_MS = 100

/** Forwards the progress of tasks. */
class ProgressTeller {
  readonly #outbox: Outbox
  readonly #now: () => number
  /** Runs whose last progress was not sent yet. */
  readonly #late = new Set<TaskRun>()
  #isPlanned = false

  constructor(outbox: Outbox, now: () => number = () => performance.now()) {
    this.#outbox = outbox
    this.#now = now
  }

  /** A run has made progress: sends it now or later. */
  onProgress(run: TaskRun): void {
    if (this.#now() - run.progressToldAt >= INTERVAL_MS) {
      // The task may not return to the event loop for long.
      this.tell(run)
      this.#outbox.flush()
      return
    }
    this.#late.add(run)
    this.#plan()
  }

  /** Queues the last progress of the run, if it was not sent; it leaves with the next flush. */
  tell(run: TaskRun): void {
    const { progress } = run
    if (progress === undefined) return
    this.forget(run)
    run.progressToldAt = this.#now()
    const update = { kind: 'taskUpdate', taskId: run.id, update: 'progress', ...progress } as const
    this.#outbox.add(encodeFrame(update))
  }

  /** Drops the progress of the run. */
  forget(run: TaskRun): void {
    run.progress = undefined
    if (this.#late.size > 0) this.#late.delete(run)
  }

  #plan(): void {
    if (this.#isPlanned || this.#late.size === 0) return
    this.#isPlanned = true
    setTimeout(() => this.#tellDue(), INTERVAL_MS).unref()
  }

  #tellDue(): void {
    this.#isPlanned = false
    const now = this.#now()
    for (const run of this.#late) if (now - run.progressToldAt >= INTERVAL_MS) this.tell(run)
    this.#outbox.flush()
    this.#plan()
  }
}

/** How long a result waits for the next one, in milliseconds. */
const MAX_HOLD_MS = 0.2

const NO_TASK = taskId('')
const NO_RESULTS: readonly ObjectId[] = []

/** What reports need. */
interface RunReportsOptions {
  readonly outbox: Outbox
  /**
   * The async context outside all tasks: callbacks scheduled from there do not belong to a task.
   */
  readonly outside: AsyncResource
  /** Keeps a result as an object for later tasks. */
  readonly keep: (id: ObjectId, chunks: readonly Uint8Array[]) => void
}

/** Further facts about a finished run. */
interface RunEnd {
  readonly profile: Uint8Array
  /** By the meter's clock. */
  readonly now: number
  /** The error of a failed run. */
  readonly error: readonly TaskError[]
}

/** Reports the runs of a processor to its agent. */
export class RunReports {
  readonly #outbox: Outbox
  readonly #outside: AsyncResource
  readonly #keepObject: RunReportsOptions['keep']
  readonly #progress: ProgressTeller
  #worker: Identity = identity('')
  #inlineLimitBytes = Infinity
  #isFlushPlanned = false
  /** When the oldest unsent result was added to the outbox. */
  #heldSince = 0

  constructor({ outbox, outside, keep }: RunReportsOptions) {
    this.#outbox = outbox
    this.#outside = outside
    this.#keepObject = keep
    this.#progress = new ProgressTeller(outbox)
  }

  /** Sets the worker of the results, and the size above which results become objects. */
  setWorker(worker: Identity, inlineLimitBytes: number): void {
    this.#worker = worker
    this.#inlineLimitBytes = inlineLimitBytes
  }

  /** A run has finished. */
  result(
    run: TaskRun,
    status: 'success' | 'failed',
    payload: Uint8Array,
    { profile, now, error }: RunEnd,
  ): void {
    this.#progress.tell(run)
    if (this.#outbox.bytes === 0) this.#heldSince = now
    const chunks = payload.byteLength === 0 ? [payload] : splitChunks(payload)
    const isKept = run.task.keepsResult && status === 'success'
    const results = isKept ? this.#keep(run.task, payload.byteLength, chunks) : NO_RESULTS
    this.#answer(run, { status, metadata: profile, results, inlineResults: chunks, error })
  }

  /** A run was skipped or abandoned. */
  canceled(run: TaskRun): void {
    this.#progress.forget(run)
    const nothing = { metadata: NO_BYTES, results: NO_RESULTS, inlineResults: [], error: [] }
    this.#answer(run, { status: 'canceled', ...nothing })
    this.planFlush()
  }

  /** A run waits for its children, or resumes. Leaves with the next flush. */
  waits(run: TaskRun, isWaiting: boolean): void {
    const update = isWaiting ? 'waiting' : 'resumed'
    const message = { kind: 'taskUpdate', taskId: run.id, update, done: 0, total: 0 } as const
    this.#outbox.add(encodeFrame(message))
  }

  /** A run has made progress. */
  progress(run: TaskRun): void {
    this.#outside.runInAsyncScope(() => this.#progress.onProgress(run))
  }

  /** A run logs a line, which is sent immediately, because it may be the last. */
  log({ id }: TaskRun, level: LogLevel, words: LogWords): void {
    this.#outbox.send({ type: 'log', line: logLineOf(id, level, words) })
  }

  /** Whether this task could delay waiting results for too long. */
  mayHoldUp({ fn }: RunnableTask, now: number): boolean {
    if (this.#outbox.bytes === 0) return false
    if (!(fn.lastCallMs < MAX_HOLD_MS)) return true
    return now - this.#heldSince > MAX_HOLD_MS
  }

  /** Sends all queued reports. */
  flush(): void {
    this.#outbox.flush()
  }

  /** Flushes at the end of this turn, so that reports leave while a task is pending. */
  planFlush(): void {
    if (this.#isFlushPlanned || this.#outbox.bytes === 0) return
    this.#isFlushPlanned = true
    setImmediate(() => {
      this.#isFlushPlanned = false
      this.#outbox.flush()
    })
  }

  #answer(
    { id, task }: TaskRun,
    part: Pick<TaskResult, 'status' | 'metadata' | 'results' | 'inlineResults' | 'error'>,
  ): void {
    const result: TaskResult = {
      kind: 'taskResult',
      taskId: id,
      status: part.status,
      metadata: part.metadata,
      results: part.results,
      inlineResults: part.inlineResults,
      worker: this.#worker,
      failedTaskId: NO_TASK,
      attempt: task.attempt,
      attempts: PLAIN_RESULT.attempts,
      error: part.error,
      count: 0,
      packed: NO_BYTES,
    }
    this.#outbox.add(encodeFrame(result))
  }

  /** The id under which the result is kept, if it is large enough to become an object. */
  #keep(
    { source }: RunnableTask,
    bytes: number,
    chunks: readonly Uint8Array[],
  ): readonly ObjectId[] {
    if (bytes <= this.#inlineLimitBytes) return NO_RESULTS
    const id = newResultId(source)
    this.#keepObject(id, chunks)
    return [id]
  }
}
