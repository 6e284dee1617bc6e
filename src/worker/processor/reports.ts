// All that a processor tells of its runs: results, that a task waits or goes on, how far it is,
// what it logs. What is told together leaves together; when it has to leave is decided here.

import type { AsyncResource } from 'node:async_hooks'
import { NO_BYTES } from '../../base/bytes.js'
import { identity, type Identity, type ObjectId, taskId } from '../../base/ids.js'
import type { LogLevel } from '../../base/logger.js'
import { encodeFrame, PLAIN_RESULT, type TaskError, type TaskResult } from '../../wire/message.js'
import { splitChunks } from '../../wire/object-content.js'
import { encodeLog, type LogWords } from '../link/control.js'
import { KIND_LOG, KIND_MESSAGE } from '../link/frames.js'
import type { Outbox } from '../link/outbox.js'
import type { RunnableTask } from './call.js'
import { newResultId } from './processor.js'
import type { TaskRun } from './run.js'

// Tells how far tasks are, but not more often than anybody can look: what a task says within a
// tenth of a second is left out, but for the last.

/** Between two updates of one task, in milliseconds. */
const INTERVAL_MS = 100

/** Passes on what tasks say of their progress. */
class ProgressTeller {
  readonly #outbox: Outbox
  readonly #now: () => number
  /** Runs whose last word was not told. */
  readonly #late = new Set<TaskRun>()
  #isPlanned = false

  constructor(outbox: Outbox, now: () => number = () => performance.now()) {
    this.#outbox = outbox
    this.#now = now
  }

  /** A run has said something: tells it now or later. */
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

  /** Tells what the run has said last, if that was not told; leaves with the next flush. */
  tell(run: TaskRun): void {
    const { progress } = run
    if (progress === undefined) return
    this.forget(run)
    run.progressToldAt = this.#now()
    const update = { kind: 'taskUpdate', taskId: run.id, update: 'progress', ...progress } as const
    this.#outbox.add(KIND_MESSAGE, encodeFrame(update))
  }

  /** Nobody wants to know any more. */
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

/** A result waits no longer for the next one, in milliseconds. */
const MAX_HOLD_MS = 0.2

const NO_TASK = taskId('')
const NO_RESULTS: readonly ObjectId[] = []

/** What reports work with. */
interface RunReportsOptions {
  readonly outbox: Outbox
  /** Where no task runs: what is planned from there takes nothing of a task along. */
  readonly outside: AsyncResource
  /** Keeps a result as an object for tasks to come. */
  readonly keep: (id: ObjectId, chunks: readonly Uint8Array[]) => void
}

/** What else is known of a run that has ended. */
interface RunEnd {
  readonly profile: Uint8Array
  /** By the meter's clock. */
  readonly now: number
  /** Of one that has failed. */
  readonly error: readonly TaskError[]
}

/** What a processor tells its agent of its runs. */
export class RunReports {
  readonly #outbox: Outbox
  readonly #outside: AsyncResource
  readonly #keepObject: RunReportsOptions['keep']
  readonly #progress: ProgressTeller
  #worker: Identity = identity('')
  #inlineLimitBytes = Infinity
  #isFlushPlanned = false
  /** When the oldest result was put into the outbox that has not left it. */
  #heldSince = 0

  constructor({ outbox, outside, keep }: RunReportsOptions) {
    this.#outbox = outbox
    this.#outside = outside
    this.#keepObject = keep
    this.#progress = new ProgressTeller(outbox)
  }

  /** Whose results these are; longer ones than the limit become objects. */
  setWorker(worker: Identity, inlineLimitBytes: number): void {
    this.#worker = worker
    this.#inlineLimitBytes = inlineLimitBytes
  }

  /** A run has ended. */
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

  /** A run was skipped, or is of no interest any more. */
  canceled(run: TaskRun): void {
    this.#progress.forget(run)
    const nothing = { metadata: NO_BYTES, results: NO_RESULTS, inlineResults: [], error: [] }
    this.#answer(run, { status: 'canceled', ...nothing })
    this.planFlush()
  }

  /** A run waits for what it has submitted, or goes on. Leaves with the next flush. */
  waits(run: TaskRun, isWaiting: boolean): void {
    const update = isWaiting ? 'waiting' : 'resumed'
    const message = { kind: 'taskUpdate', taskId: run.id, update, done: 0, total: 0 } as const
    this.#outbox.add(KIND_MESSAGE, encodeFrame(message))
  }

  /** A run says how far it is. */
  progress(run: TaskRun): void {
    this.#outside.runInAsyncScope(() => this.#progress.onProgress(run))
  }

  /** A run logs something: that leaves at once, for it may be the last. */
  log({ id }: TaskRun, level: LogLevel, words: LogWords): void {
    this.#outbox.add(KIND_LOG, encodeLog(id, level, words))
    this.#outbox.flush()
  }

  /** Whether results that wait could wait for this task too long. */
  mayHoldUp({ fn }: RunnableTask, now: number): boolean {
    if (this.#outbox.bytes === 0) return false
    if (!(fn.lastCallMs < MAX_HOLD_MS)) return true
    return now - this.#heldSince > MAX_HOLD_MS
  }

  /** Tells all that was not told. */
  flush(): void {
    this.#outbox.flush()
  }

  /** The same with the end of this turn: while a task goes on, what is told leaves. */
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
    }
    this.#outbox.add(KIND_MESSAGE, encodeFrame(result))
  }

  /** The id under which a result that becomes an object is kept, if it will be one. */
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
