// Everything that a processor reports about its runs: results, waiting and resumed tasks, progress,
// log lines. Reports are sent in batches; this file decides when.

import type { AsyncResource } from 'node:async_hooks'
import { endianness } from 'node:os'
import { copyOf, NO_BYTES } from '../../base/bytes.js'
import { identity, type Identity, NO_TASK, type ObjectId } from '../../base/ids.js'
import type { LogLevel } from '../../base/logger.js'
import { encodeFrame, PLAIN_RESULT, type TaskError, type TaskResult } from '../../wire/message.js'
import { splitChunks } from '../../wire/object-content.js'
import { logLineOf, type LogWords } from '../link/frames.js'
import type { Outbox } from '../link/outbox.js'
import { withPathPrefix } from '../../serializer/refusal.js'
import { defaultCodec, type TaskCodec } from '../../serializer/task-codec.js'
import { PackedWriter } from '../../serializer/value/packed-writer.js'
import { MAX_RUN_TASKS, nthTaskId, sliceProfiles, slicePacked } from '../../wire/run.js'
import type { ResultBoard } from './result-board.js'
import type { PackedArguments, PackedEntry, RunnableTask, TaskCall } from './call.js'
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

/** The results of consecutive tasks that arrived together. */
interface OpenResults {
  readonly run: PackedArguments
  readonly codec: TaskCodec
  readonly writer: PackedWriter
  readonly isProfiled: boolean
  /** The index of the first task. */
  readonly first: number
  /** The number of complete results. */
  count: number
}

/** Entries of this size leave together, in bytes. */
const FULL_BYTES = 64 * 1024

/** Writes the results of consecutive tasks into one message, for as long as they fit together. */
class PackedResults {
  readonly #add: (part: PackedPart) => void
  readonly #writers = new WeakMap<TaskCodec, PackedWriter>()
  /** The same for results that are written by the serializer alone. */
  readonly #serializers = new WeakMap<TaskCodec, PackedWriter>()
  readonly #seconds = new Float32Array(MAX_RUN_TASKS)
  readonly #board: ResultBoard
  readonly #profiles: Uint8Array[] = []
  #open: OpenResults | undefined

  /** `add`: sends complete results. */
  constructor(board: ResultBoard, add: (part: PackedPart) => void) {
    this.#board = board
    this.#add = add
  }

  /** Whether there are any. */
  get isEmpty(): boolean {
    return this.#open === undefined || this.#open.count === 0
  }

  /**
   * Writes the result of a task; `end` must follow. Returns its serialized bytes instead if there
   * are more than `limit` of them. Throws `SerializeError` with a path from `result`.
   */
  write(entry: PackedEntry, place: ResultPlace, value: unknown): Uint8Array | undefined {
    const { writer } = this.#openFor(entry, place)
    writer.beginEntry()
    try {
      const large = writer.value(value, place.limitBytes)
      if (large === undefined) writer.endEntry()
      else writer.dropEntry()
      return large
    } catch (error) {
      writer.dropEntry()
      throw withPathPrefix(error, ['result'])
    }
  }

  /** The task whose result was written last has ended. `profile`: if it is profiled. */
  end(tookMs: number, profile: Uint8Array | undefined): void {
    const open = this.#open as OpenResults
    const seconds = tookMs / 1000
    if (profile === undefined) this.#seconds[open.count] = seconds
    else this.#profiles.push(profile)
    open.count += 1
    if (profile === undefined) this.#board.add(open.count, open.writer, seconds)
    if (open.writer.byteLength >= FULL_BYTES) this.close()
  }

  /** Something else has to reach the agent before further results. */
  hold(): void {
    this.#board.stop()
  }

  /** Sends the results, but for those that the guardian has sent. */
  close(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined || open.count === 0) return
    const { run, writer, count, first } = open
    // User code ends the process while its result is written.
    if (writer.isOpen) writer.dropEntry()
    const taken = this.#board.close()
    const packed = writer.finish()
    const metadata = this.#metadata(open)
    if (taken === count) return
    this.#add({
      taskId: nthTaskId(run.id, first + taken),
      attempt: run.attempt,
      count: count - taken,
      packed: taken === 0 ? packed : slicePacked(packed, count, taken, count),
      metadata: sliceProfiles(metadata, count, taken, count),
    })
  }

  #metadata({ isProfiled, count }: OpenResults): Uint8Array {
    if (isProfiled) return Buffer.concat(this.#profiles.splice(0))
    const bytes = Buffer.from(this.#seconds.slice(0, count).buffer)
    return endianness() === 'LE' ? bytes.swap32() : bytes
  }

  #openFor({ run, index }: PackedEntry, { codec, isProfiled }: ResultPlace): OpenResults {
    const open = this.#open
    const isNext = open?.run === run && open.first + open.count === index
    if (isNext && open.codec === codec) return open
    this.close()
    const writers = run.keepsResult ? this.#serializers : this.#writers
    let writer = writers.get(codec)
    if (writer === undefined) {
      const target = { serialize: (value: unknown) => codec.serialize(value) }
      const { memory } = this.#board
      writers.set(codec, (writer = new PackedWriter(run.keepsResult ? target : codec, memory)))
    }
    this.#board.open(nthTaskId(run.id, index), run.attempt)
    return (this.#open = { run, codec, writer, isProfiled, first: index, count: 0 })
  }
}

/** The parts of a packed TaskResult. */
type PackedPart = Pick<TaskResult, 'taskId' | 'attempt' | 'count' | 'packed' | 'metadata'>

/** How a result is written. */
interface ResultPlace {
  readonly codec: TaskCodec
  readonly isProfiled: boolean
  readonly limitBytes: number
}

/** How long a result waits for those of the tasks behind it, in milliseconds. */
export const MAX_HOLD_MS = 4

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

/** Reports the runs of a processor to its agent. */
export class RunReports {
  readonly #outbox: Outbox
  readonly #outside: AsyncResource
  readonly #keepObject: RunReportsOptions['keep']
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
  /** When the oldest unsent result was added to the outbox. */
  #heldSince = 0

  constructor({ outbox, outside, keep, results }: RunReportsOptions) {
    this.#outbox = outbox
    this.#outside = outside
    this.#keepObject = keep
    this.#progress = new ProgressTeller(outbox)
    this.#packed = new PackedResults(results, (part) => this.#sendPacked(part))
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
    payload: Uint8Array,
    { profile, now, error }: RunEnd,
  ): void {
    this.#progress.tell(run)
    this.#hold(now)
    const chunks = payload.byteLength === 0 ? [payload] : splitChunks(payload)
    const isKept = run.task.keepsResult && status === 'success'
    const isSmall = payload.byteLength <= this.#inlineLimitBytes
    if (isKept && isSmall && run.kept !== undefined) run.kept.bytes = copyOf(payload)
    const results = isKept ? this.#keep(run.task, payload.byteLength, chunks) : NO_RESULTS
    const content = { results, inlineResults: chunks, error }
    this.#answer(run.task, { status, metadata: profile, ...content })
  }

  /** Writes the result of a task whose arguments were packed: see `PackedResults`. */
  write(
    entry: PackedEntry,
    { codec }: Pick<TaskCall, 'codec'>,
    value: unknown,
    isProfiled: boolean = false,
  ): Uint8Array | undefined {
    this.#place.codec = codec
    this.#place.isProfiled = isProfiled
    return this.#packed.write(entry, this.#place, value)
  }

  /** The task whose result was written last has ended at `now`. */
  written(run: TaskRun | undefined, tookMs: number, now: number, profile?: Uint8Array): void {
    if (run !== undefined) this.#progress.tell(run)
    if (this.#packed.isEmpty) this.#hold(now)
    // Such as output, which comes before results.
    if (this.#outbox.bytes > 0) this.#packed.hold()
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
    this.#answer(task, { status: 'canceled', ...nothing })
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
    return this.#isHolding && this.mayHoldUpSlice(fn.lastCallMs, now)
  }

  /** The same for the next task of a slice, the last one of which took so long. */
  mayHoldUpSlice(lastMs: number, now: number): boolean {
    return now - this.#heldSince + lastMs > MAX_HOLD_MS
  }

  /** Sends all queued reports. */
  flush(): void {
    this.#packed.close()
    this.#outbox.flush()
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
    return this.#outbox.bytes > 0 || !this.#packed.isEmpty
  }

  /** A report was made, and waits. */
  #hold(now: number): void {
    if (!this.#isHolding) this.#heldSince = now
  }

  #sendPacked(part: PackedPart): void {
    const result = { ...PLAIN_RESULT, ...part, worker: this.#worker, results: NO_RESULTS }
    this.#outbox.add(encodeFrame({ kind: 'taskResult', status: 'success', ...result }))
  }

  #answer(
    { id, attempt }: RunnableTask,
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
      attempt,
      attempts: PLAIN_RESULT.attempts,
      error: part.error,
      count: PLAIN_RESULT.count,
      packed: NO_BYTES,
    }
    // Results are reported in order.
    this.#packed.close()
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
