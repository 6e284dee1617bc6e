// How the scheduler is notified of the outcome of a task: small results travel inside the
// TaskResult, large ones as an object that is created first (docs/protocol.md#inline). Results that
// cannot be sent now are kept.

import { totalBytes } from '../../../base/bytes.js'
import { errorTextOf } from '../../../base/text.js'
import { MissingObjectError } from '../../../base/errors.js'
import {
  FEATURE_INLINE,
  FEATURE_MONITORS,
  FEATURE_RECOVERY,
  FEATURE_TASK_UPDATES,
  FEATURE_WAITING,
  hasFeature,
} from '../../../base/features.js'
import { type Identity, idToHex, type ObjectId, type TaskId } from '../../../base/ids.js'
import type { Alarm } from '../../../base/machine.js'
import {
  PLAIN_RESULT,
  type TaskError,
  type TaskPast,
  type TaskResult,
  type TaskUpdate,
} from '../../../wire/message.js'
import { resultName } from '../../../wire/object-content.js'
import { countOf } from '../../../wire/run.js'
import { type RunStatus, send, type WorkerCoreOptions, type WorkerTurn } from '../events.js'
import type { Fetcher } from '../objects.js'
import type { ProcessorSlot } from '../processor/slot.js'
import type { Dispatcher, Durations } from '../queue/dispatcher.js'
import { KeptResults, type SentResults } from './kept-results.js'
import { TaskOutputs } from './outputs.js'
import { bytesOf, failureOf, statusOnly, withoutBytes } from './result.js'
import type { WorkerTaskTable } from './table.js'
import { timeoutErrorOf, titleOf, type WorkerTask } from './task.js'

/** How a task has ended. */
interface Ending {
  /** Whether the scheduler of this connection is waiting for it. */
  readonly isAwaited: boolean
  readonly durationMs: number
}

/** Sends TaskResults and TaskUpdates, and the objects that belong to results. */
export class Answers {
  readonly #options: WorkerCoreOptions
  readonly #turn: WorkerTurn
  readonly #kept: KeptResults
  /** The output of tasks. */
  readonly outputs: TaskOutputs
  /** The features of the scheduler of this connection; undefined before its first echo. */
  #features: number | undefined

  constructor(options: WorkerCoreOptions, turn: WorkerTurn) {
    this.#options = options
    this.#turn = turn
    this.outputs = new TaskOutputs(turn)
    this.#kept = new KeptResults((file, isKept) => turn.act({ type: 'keepFile', file, isKept }))
  }

  /** The tasks of kept results; a scheduler that has not sent these tasks yet may do so. */
  get kept(): Iterable<TaskPast> {
    return this.#kept.pasts()
  }

  /** Whether any results are kept. */
  get hasKept(): boolean {
    return this.#kept.size > 0
  }

  /** A heartbeat was sent. */
  onHeartbeat(): void {
    this.#kept.onHeartbeat()
  }

  /** Sent results wait outside, and heartbeats overtake them; or they have left. */
  onHeld(results: SentResults, isHeld: boolean): void {
    this.#kept.onHeld(results, isHeld)
  }

  /** The scheduler has read a heartbeat; its echo contains its features. */
  onEcho(features: number): void {
    this.#features = features
    this.outputs.onEcho(features)
    this.#kept.onEcho()
    if (!this.#canRecover) this.#kept.clear()
  }

  /** The next scheduler may be a different one. */
  onDisconnected(): void {
    this.#features = undefined
    this.outputs.onDisconnected()
    this.#kept.onDisconnected()
  }

  /**
   * The tasks of an entry have ended. Forwards the processor's answer, unchanged if the scheduler
   * supports that and it is small. Otherwise the result becomes an object, whose id is returned:
   * the one in `results`, if any. A result that is not awaited is kept instead.
   */
  end(
    result: TaskResult,
    task: WorkerTask,
    { isAwaited, durationMs }: Ending,
  ): ObjectId | undefined {
    if (!isAwaited) {
      // A scheduler that had received the list of kept results would have requested it already.
      if (this.#features === undefined || this.#canRecover) this.#kept.keep(result, task)
      return undefined
    }
    if (this.#canRecover) this.#kept.onSent(result, task, durationMs)
    return this.#send(result, task.source, task.attempt)
  }

  /** The time since the task was dispatched, in milliseconds. */
  runningMs({ dispatchedAt }: WorkerTask): number {
    return this.#turn.now - dispatchedAt
  }

  /** The task failed, but the processor did not report it. */
  fail(task: WorkerTask, error: Error, ending: Ending): void {
    const encoded = { bytes: this.#options.encodeError(error), text: errorTextOf(error) }
    this.end(failureOf(task, this.#options.identity, encoded, ending.durationMs), task, ending)
  }

  /** A task has arrived. Answers it if its result was kept; false: it must run. */
  answerKept(task: WorkerTask): boolean {
    const kept = this.#kept.take(task.id)
    const isPacked = (kept?.result.packed.byteLength ?? 0) > 0
    // A task of a run may be answered with an object, but no other task with packed values.
    if (kept === undefined || (isPacked && !task.isPacked)) return false
    this.end(kept.result, task, { isAwaited: true, durationMs: Infinity })
    return true
  }

  /** Whether the result of a task is kept from before this connection. */
  keeps(id: TaskId): boolean {
    return this.#kept.has(id)
  }

  /** The result of a task will not be requested. False if it was not kept. */
  dropKept(id: TaskId): boolean {
    return this.#kept.drop(id)
  }

  /** The answer to a TaskCancel: whether `count` consecutive tasks are dropped. */
  cancel(taskId: TaskId, status: 'canceled' | 'notFound', count: number = 1): void {
    send(this.#turn, statusOnly(taskId, status, count))
  }

  /**
   * A task waits for its children. The update contains how often it has lost its processor while
   * waiting.
   */
  waits({ id, lossCount }: WorkerTask): void {
    this.update({ kind: 'taskUpdate', taskId: id, update: 'waiting', done: lossCount, total: 0 })
  }

  /** A task that was waiting counts as load again. */
  resumes({ id }: WorkerTask): void {
    this.update({ kind: 'taskUpdate', taskId: id, update: 'resumed', done: 0, total: 0 })
  }

  /** Whether the scheduler requests updates when tasks start. */
  get areStartsReported(): boolean {
    return this.#has(FEATURE_WAITING)
  }

  /** A task has started. */
  begins(task: WorkerTask): void {
    task.isReported = true
    this.#reportStart(task, 'running')
  }

  /** A task that may have started waits for a processor again. */
  requeues(task: WorkerTask): void {
    if (task.isReported) this.#reportStart(task, 'queued')
    task.isReported = false
  }

  /** Forwards a TaskUpdate to a scheduler that supports it. */
  update(update: TaskUpdate): void {
    if (this.#has(FEATURE_TASK_UPDATES)) send(this.#turn, update)
  }

  /** Throws if the kept results are miscounted. */
  checkInvariants(): void {
    this.#kept.checkInvariants()
  }

  get #canRecover(): boolean {
    return this.#has(FEATURE_RECOVERY)
  }

  #reportStart({ id }: WorkerTask, update: 'running' | 'queued'): void {
    if (!this.areStartsReported) return
    send(this.#turn, { kind: 'taskUpdate', taskId: id, update, done: 0, total: 0 })
  }

  #has(feature: number): boolean {
    return hasFeature(this.#features ?? 0, feature)
  }

  /** A task that was sent again is answered with its latest attempt number. */
  #send(result: TaskResult, source: Identity, attempt: number): ObjectId | undefined {
    const chunks = result.inlineResults
    const isPacked = result.packed.byteLength > 0
    const isShort = chunks.length === 1 && this.#mayBeInline(totalBytes(chunks))
    const isInline = isPacked || (isShort && !result.isInFile)
    if (!isInline) return this.#sendObject(result, source, attempt)
    const error = this.#errorIn(result)
    const isSame = result.attempt === attempt && result.error.length === error.length
    const isAsItWas = result.results.length === 0 && isSame
    send(this.#turn, isAsItWas ? result : { ...withoutBytes(result, error), attempt })
    return undefined
  }

  /** The error as text, if there is one, the scheduler supports it, and the settings allow it. */
  #errorIn({ error }: TaskResult): readonly TaskError[] {
    const isReported = this.#options.reportsErrors !== false && this.#has(FEATURE_MONITORS)
    return isReported ? error : PLAIN_RESULT.error
  }

  #mayBeInline(bytes: number): boolean {
    return this.#has(FEATURE_INLINE) && bytes <= this.#options.inlineLimitBytes
  }

  #sendObject(result: TaskResult, source: Identity, attempt: number): ObjectId {
    const id = result.results[0] ?? this.#options.newResultId(source)
    send(this.#turn, {
      kind: 'objectInstruction',
      instructionType: 'create',
      objectUser: source,
      objectContent: {
        objectIds: [id],
        objectTypes: [result.isInFile ? 'file' : 'object'],
        objectNames: [resultName(id)],
        // An empty object has no chunks, rather than one empty chunk.
        objectBytes: [result.inlineResults.filter((chunk) => chunk.byteLength > 0)],
      },
    })
    // A 1.9.9 scheduler receives only the fields that it supports.
    const own = this.#has(FEATURE_INLINE) ? { worker: result.worker, attempt } : PLAIN_RESULT
    const { worker } = own
    const { taskId, status, metadata } = result
    send(this.#turn, {
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

// Reports to the scheduler which tasks have started, but only those that run for a while. Short
// tasks are not reported, so this costs nothing per task: the processor is checked at intervals.

/** The time between checks; a task that was dispatched more recently is not checked. */
const INTERVAL_MS = 250

/** A task dispatched less than this before the exit was noticed cannot have begun. */
const EXIT_MS = 2

/** This long after its dispatch, a task that has begun is known to have: it was asked about. */
const KNOWN_AFTER_MS = 1_000

/** The guardian is queried about this many tasks at a time: usually, the first one is running. */
const MAX_QUERIES = 8

/** The parts that are needed here. */
interface BeginningParts {
  readonly turn: WorkerTurn
  readonly slot: ProcessorSlot
  readonly answers: Answers
  readonly tasks: WorkerTaskTable
  readonly dispatcher: Dispatcher
}

/** Checks which tasks of the processor have started. */
export class Beginnings {
  readonly #parts: BeginningParts
  /** The dispatch numbers of the tasks with an open query. */
  readonly #queried = new Set<number>()
  readonly #alarm: Alarm

  constructor(parts: BeginningParts) {
    this.#parts = parts
    this.#alarm = parts.turn.alarm(() => this.#onDue())
  }

  /** A task was dispatched. */
  onHandedOver(): void {
    if (!this.#alarm.isSet) this.#alarm.set(this.#parts.turn.now + INTERVAL_MS)
  }

  /** The guardian has reported the status of a task. */
  onStatus({ dispatchNumber, taskNumber, isStarted, runningMs }: RunStatus): void {
    if (!this.#queried.delete(dispatchNumber) || !isStarted) return
    const { turn, answers, dispatcher, tasks } = this.#parts
    const entry = dispatcher.at(taskNumber)
    if (entry === undefined || !isUnreported(entry)) return
    const task = tasks.separate(entry, taskNumber - entry.dispatchNumber)
    // `runningMs` is below 0 while the task's inputs are still being read.
    task.begunAt ??= turn.now - Math.max(0, runningMs)
    answers.begins(task)
  }

  /** Whether a task of a processor that has just exited may have begun there. */
  mayHaveBegun({ hasBegun, isReported, dispatchedAt }: WorkerTask): boolean {
    if (hasBegun || isReported) return true
    const { turn, answers } = this.#parts
    const forMs = turn.now - dispatchedAt
    return forMs >= EXIT_MS && (forMs < KNOWN_AFTER_MS || !answers.areStartsReported)
  }

  /** The processor is gone. */
  onProcessorExited(): void {
    this.#queried.clear()
    this.#alarm.clear()
  }

  #onDue(): void {
    const { turn, answers, dispatcher } = this.#parts
    if (!dispatcher.isEmpty) this.#alarm.set(turn.now + INTERVAL_MS)
    if (answers.areStartsReported) this.#check()
  }

  #check(): void {
    const { turn, slot, answers, dispatcher } = this.#parts
    for (const task of dispatcher.unanswered()) {
      if (task.dispatchedAt > turn.now - INTERVAL_MS) return
      if (!isUnreported(task)) continue
      // A task that is not given back may have finished: only the guardian knows.
      if (task.begunAt !== undefined) answers.begins(task)
      else if (
        slot.isListening &&
        this.#queried.size < MAX_QUERIES &&
        !this.#queried.has(task.dispatchNumber)
      ) {
        const { dispatchNumber, count } = task
        this.#queried.add(dispatchNumber)
        turn.act({ type: 'askStatus', dispatchNumber, count })
      }
    }
  }
}

/** Whether the scheduler waits for the task and was not notified that it has started. */
function isUnreported({ isReported, state }: WorkerTask): boolean {
  return !isReported && state === 'dispatched'
}

// How tasks end: the processor has answered, their time limit has passed, or an object is missing.
// (Tasks that end with their processor are handled in core/worker/processor/death.ts.)

/** The parts of the worker that are needed here. */
interface TaskEndsParts {
  readonly tasks: WorkerTaskTable
  readonly dispatcher: Dispatcher
  readonly fetcher: Fetcher
  readonly answers: Answers
}

/** Ends tasks, each with an answer or a kept result if it is still needed. */
export class WorkerTaskEnds {
  readonly #tasks: WorkerTaskTable
  readonly #dispatcher: Dispatcher
  readonly #fetcher: Fetcher
  readonly #answers: Answers

  constructor({ tasks, dispatcher, fetcher, answers }: TaskEndsParts) {
    this.#tasks = tasks
    this.#dispatcher = dispatcher
    this.#fetcher = fetcher
    this.#answers = answers
  }

  /** The processor has finished the tasks of an entry: they have run, or were skipped. */
  onAnswered(task: WorkerTask, result: TaskResult): void {
    const { state } = task
    this.#answers.outputs.onEnded(task)
    this.#tasks.change(task, 'answered')
    if (result.status === 'canceled') return
    const durations = durationsIn(result)
    if (!task.hasWaited && durations !== undefined) this.#dispatcher.learn(task, durations)
    const isOne = task.count === 1
    const durationMs = isOne ? this.#answers.runningMs(task) : (durations?.meanMs ?? 0)
    const ending = { isAwaited: state === 'dispatched', durationMs }
    const isWanted = state !== 'canceling'
    const objectId = isWanted ? this.#answers.end(result, task, ending) : undefined
    const [keptId] = result.results
    if (keptId === undefined) return
    // A busy processor may have kept the result before the instruction to forget everything, or
    // after it.
    if (objectId !== keptId || task.isCutOff) this.#fetcher.drop(keptId)
    else this.#fetcher.onKept(keptId, bytesOf(result))
  }

  /** It has exceeded its time limit after `runningMs`. It must still be stopped. */
  onTimeout(task: WorkerTask, runningMs: number): void {
    const isAwaited = task.state === 'dispatched'
    this.#tasks.change(task, 'timedOut')
    this.#answers.fail(task, timeoutErrorOf(task.id, titleOf(task), task), {
      isAwaited,
      durationMs: runningMs,
    })
  }

  /** The scheduler does not have these objects. */
  onMissing(entry: WorkerTask, ids: readonly ObjectId[]): void {
    const list = ids.map(idToHex).join(', ')
    for (const task of this.#tasks.separateAll(entry)) {
      this.#tasks.change(task, 'objectMissing')
      const text = `task ${idToHex(task.id)} needs objects that do not exist: ${list}`
      this.#answers.fail(task, new MissingObjectError(text), { isAwaited: true, durationMs: 0 })
    }
  }
}

/** The durations in the metadata of a result; undefined without a profile. */
function durationsIn(result: TaskResult): Durations | undefined {
  const { byteLength } = result.metadata
  if (byteLength === 0) return undefined
  const view = new DataView(result.metadata.buffer, result.metadata.byteOffset, byteLength)
  const count = countOf(result)
  const stride = byteLength / count
  let sum = 0
  let longest = 0
  for (let at = 0; at < byteLength; at += stride) {
    const seconds = view.getFloat32(at)
    // What a processor says is not trusted.
    if (!(seconds > 0 && seconds < Infinity)) continue
    sum += seconds
    if (seconds > longest) longest = seconds
  }
  return { count, meanMs: (sum / count) * 1000, longestMs: longest * 1000 }
}
