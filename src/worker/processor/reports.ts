// Everything that a processor reports about its runs: results, waiting and resumed tasks, progress,
// log lines. Reports are sent in batches; this file decides when.

import type { AsyncResource } from 'node:async_hooks'
import { copyOf, NO_BYTES } from '../../base/bytes.js'
import { identity, type Identity, NO_TASK, type ObjectId } from '../../base/ids.js'
import type { LogLevel } from '../../base/logger.js'
import { encodeFrame, PLAIN_RESULT, type TaskError, type TaskResult } from '../../wire/message.js'
import { MIN_LARGE_BYTES, splitChunks } from '../../wire/object-content.js'
import { logLineOf, type LogWords } from '../link/frames.js'
import type { Outbox } from '../link/outbox.js'
import { memorySize } from '../../serializer/bytes/message.js'
import { withPathPrefix } from '../../serializer/refusal.js'
import { defaultCodec, serializeTo } from '../../serializer/task-codec.js'
import { findBrokenBuiltIn } from './built-ins.js'
import type { ResultBoard } from './result-board.js'
import type { PackedEntry, ResultBytes, RunnableTask, TaskCall } from './call.js'
import { type PackedPart, PackedResults, type ResultPlace } from './packed-results.js'
import { newResultId } from '../object-ids.js'
import type { TaskRun } from './run.js'

// Reports the progress of tasks at a bounded rate: of several updates within a tenth of a second,
// only the last is sent.

/** Between two updates of one task, in milliseconds. */
const INTERVAL_MS = 100

/** Forwards the progress of tasks. */
class ProgressTeller {
  readonly #outbox: Outbox
  /** Runs whose last progress was not sent yet. */
  readonly #late = new Set<TaskRun>()
  #isPlanned = false

  constructor(outbox: Outbox) {
    this.#outbox = outbox
  }

  /** A run has made progress: sends it now or later. */
  onProgress(run: TaskRun): void {
    if (performance.now() - run.progressToldAt >= INTERVAL_MS) {
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
    run.progressToldAt = performance.now()
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
    const now = performance.now()
    for (const run of this.#late) if (now - run.progressToldAt >= INTERVAL_MS) this.tell(run)
    this.#outbox.flush()
    this.#plan()
  }
}

/** How long a result waits for the next one, in milliseconds. */
export const MAX_HOLD_MS = 0.2

/** How long results of consecutive tasks wait for each other, in milliseconds. */
const MAX_SLICE_HOLD_MS = 4

/** Those of other tasks are left behind in the outbox only if they are younger than this. */
const MAX_LEFT_MS = 0.5

/** The most of these: the guardian cannot send them, however long the next task takes. */
const MAX_LEFT = 32

const NO_RESULTS: readonly ObjectId[] = []

/** The parts of the processor that reports need. */
export interface RunReportsOptions {
  readonly outbox: Outbox
  /**
   * The async context outside all tasks: callbacks scheduled from there do not belong to a task.
   */
  readonly outside: AsyncResource
  /** Keeps a result as an object for later tasks. */
  readonly keep: (id: ObjectId, chunks: readonly Uint8Array[]) => void
  /** Writes large content into a file, and returns the chunk that names it, if it can. */
  readonly moveOut?: (chunks: readonly Uint8Array[]) => Uint8Array | undefined
  /** Where the guardian finds results that are not sent yet. */
  readonly results: ResultBoard
}

/** Further facts about a finished run. */
interface RunEnd {
  readonly profile: Uint8Array
  /** By the meter's clock. */
  readonly now: number
  /** The error of a failed run. */
  readonly error: readonly TaskError[]
}

/** The fields in which answers differ. */
type AnswerField = 'status' | 'metadata' | 'results' | 'inlineResults' | 'isInFile' | 'error'

/** Reports the runs of a processor to its agent. */
export class RunReports {
  readonly #outbox: Outbox
  readonly #outside: AsyncResource
  readonly #keepObject: RunReportsOptions['keep']
  readonly #moveOut: RunReportsOptions['moveOut']
  readonly #progress: ProgressTeller
  readonly #packed: PackedResults
  #worker: Identity = identity('')
  #inlineLimitBytes = Infinity
  /** Of the result that is written; one object for all of them. */
  readonly #place: { -readonly [K in keyof ResultPlace]: ResultPlace[K] } = {
    codec: defaultCodec,
    isProfiled: false,
    limitBytes: Infinity,
  }
  #isFlushPlanned = false
  /** How many packed results have been left behind in the outbox since the last flush. */
  #leftCount = 0
  /** When the oldest unsent result was added to the outbox. */
  #heldSince = 0
  #isSound = true
  /** When the last packed result was complete. */
  #lastNow = 0

  constructor({ outbox, outside, keep, moveOut, results }: RunReportsOptions) {
    this.#outbox = outbox
    this.#outside = outside
    this.#keepObject = keep
    this.#moveOut = moveOut
    this.#progress = new ProgressTeller(outbox)
    this.#packed = new PackedResults(
      results,
      (part) => this.#sendPacked(part),
      () => this.#onOther(),
    )
  }

  /** Sets the worker of the results, and the size above which results become objects. */
  setWorker(worker: Identity, inlineLimitBytes: number): void {
    this.#worker = worker
    this.#inlineLimitBytes = inlineLimitBytes
    this.#place.limitBytes = inlineLimitBytes
  }

  /** A run has finished. */
  result(
    run: TaskRun,
    status: 'success' | 'failed',
    payload: ResultBytes,
    { profile, now, error }: RunEnd,
  ): void {
    this.#progress.tell(run)
    this.#hold(now)
    if (!(payload instanceof Uint8Array)) {
      const inlineResults = [payload.chunk]
      const content = { results: NO_RESULTS, inlineResults, isInFile: true, error }
      return this.#answer(run.task, { status, metadata: profile, ...content })
    }
    const chunks = payload.byteLength === 0 ? [payload] : splitChunks(payload)
    const isKept = run.task.keepsResult && status === 'success'
    const isSmall = payload.byteLength <= this.#inlineLimitBytes
    if (isKept && isSmall && run.kept !== undefined) run.kept.bytes = copyOf(payload)
    const results = isKept ? this.#keep(run.task, payload.byteLength, chunks) : NO_RESULTS
    const isLarge = status === 'success' && !isSmall
    const inFile = isLarge ? this.#moveOut?.(chunks) : undefined
    const inlineResults = inFile === undefined ? chunks : [inFile]
    const content = { results, inlineResults, isInFile: inFile !== undefined, error }
    this.#answer(run.task, { status, metadata: profile, ...content })
  }

  /**
   * Writes a result that is large memory into a file, straight from there. Returns undefined if it
   * is not, or must be kept here. Throws `SerializeError` with a path from `result`.
   */
  moveOut(
    { codec }: Pick<TaskCall, 'codec'>,
    value: unknown,
    keepsResult: boolean,
  ): ResultBytes | undefined {
    const put = this.#moveOut
    const byteLength = memorySize(value)
    const isLarge = byteLength >= MIN_LARGE_BYTES && byteLength > this.#inlineLimitBytes
    if (!isLarge || keepsResult || put === undefined) return undefined
    try {
      return serializeTo(codec, value as object, put)
    } catch (error) {
      throw withPathPrefix(error, ['result'])
    }
  }

  /** Writes the result of a task whose arguments were packed: see `PackedResults`. */
  write(
    entry: PackedEntry,
    { codec }: Pick<TaskCall, 'codec'>,
    value: unknown,
    isProfiled: boolean = false,
  ): ResultBytes | undefined {
    const moved = this.moveOut({ codec }, value, entry.run.keepsResult)
    if (moved !== undefined) return moved
    this.#place.codec = codec
    this.#place.isProfiled = isProfiled
    return this.#packed.write(entry, this.#place, value)
  }

  /** The task whose result was written last has ended at `now`. */
  written(run: TaskRun | undefined, tookMs: number, now: number, profile?: Uint8Array): void {
    if (run !== undefined) this.#progress.tell(run)
    if (this.#packed.count === 0) this.#hold(now)
    this.#lastNow = now
    // Its output, for example, comes before its result.
    if (this.#outbox.hasOther) this.#packed.hold()
    this.#packed.end(tookMs, profile)
  }

  /** A run was abandoned. */
  abandoned(run: TaskRun): void {
    this.#progress.forget(run)
    this.canceled(run.task)
  }

  /** A task was skipped. */
  canceled(task: RunnableTask): void {
    const nothing = { metadata: NO_BYTES, results: NO_RESULTS, inlineResults: [], error: [] }
    this.#answer(task, { status: 'canceled', ...nothing, isInFile: false })
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
    if (!this.#isHolding) return false
    if (!(fn.lastCallMs < MAX_HOLD_MS)) return true
    return now - this.#heldSince > MAX_HOLD_MS
  }

  /**
   * The same for the next task of a slice, if it takes as long. The result of a task that has
   * printed never waits: until it arrives, the lines of the next one seem to be mixed with its own.
   */
  mayHoldUpSlice(lastMs: number, now: number): boolean {
    if (this.#outbox.hasOther) return true
    return this.#isHolding && now - this.#heldSince + lastMs > MAX_SLICE_HOLD_MS
  }

  /** Sends all queued reports. Throws, once, if a task has broken what this process needs. */
  flush(): void {
    this.#packed.close()
    this.#outbox.flush()
    this.#outbox.hasOther = false
    this.#leftCount = 0
    const broken = this.#isSound ? findBrokenBuiltIn() : undefined
    if (broken === undefined) return
    this.#isSound = false
    throw new Error(`a task has replaced a method of ${broken} with one that does not work`)
  }

  /** Flushes at the end of this turn, so that reports leave while a task is pending. */
  planFlush(): void {
    if (this.#isFlushPlanned || !this.#isHolding) return
    this.#isFlushPlanned = true
    setImmediate(() => {
      this.#isFlushPlanned = false
      this.flush()
    })
  }

  get #isHolding(): boolean {
    return this.#outbox.bytes > 0 || this.#packed.count > 0
  }

  /** A report was made, and waits. */
  #hold(now: number): void {
    if (!this.#isHolding) this.#heldSince = now
  }

  /** Results that are not the next ones follow: the guardian can send only those. */
  #onOther(): void {
    this.#leftCount += this.#packed.count
    this.#packed.close()
    const isOld = this.#lastNow - this.#heldSince > MAX_LEFT_MS
    if (!isOld && this.#leftCount <= MAX_LEFT) return
    this.#outbox.flush()
    this.#leftCount = 0
  }

  #sendPacked(part: PackedPart): void {
    const result: TaskResult = {
      kind: 'taskResult',
      taskId: part.taskId,
      status: 'success',
      metadata: part.metadata,
      results: NO_RESULTS,
      inlineResults: PLAIN_RESULT.inlineResults,
      worker: this.#worker,
      failedTaskId: NO_TASK,
      attempt: part.attempt,
      attempts: PLAIN_RESULT.attempts,
      error: PLAIN_RESULT.error,
      count: part.count,
      packed: part.packed,
      isInFile: false,
    }
    this.#outbox.addResult(encodeFrame(result))
  }

  #answer({ id, attempt }: RunnableTask, part: Pick<TaskResult, AnswerField>): void {
    const result: TaskResult = {
      kind: 'taskResult',
      taskId: id,
      status: part.status,
      metadata: part.metadata,
      results: part.results,
      inlineResults: part.inlineResults,
      worker: this.#worker,
      failedTaskId: NO_TASK,
      attempt,
      attempts: PLAIN_RESULT.attempts,
      error: part.error,
      count: PLAIN_RESULT.count,
      packed: NO_BYTES,
      isInFile: part.isInFile,
    }
    // Results are reported in order.
    this.#packed.close()
    this.#outbox.addResult(encodeFrame(result))
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
