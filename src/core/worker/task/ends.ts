// How the scheduler is told what becomes of a task: small results travel inside the TaskResult,
// large ones as an object that is created first (docs/protocol.md#inline). What nobody can be told
// now is kept.

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
  type TaskResult,
  type TaskUpdate,
} from '../../../wire/message.js'
import { resultName } from '../../../wire/object-content.js'
import { decodeProfileResult } from '../../../wire/metadata.js'
import { type RunStatus, send, type WorkerCoreOptions, type WorkerTurn } from '../events.js'
import type { Fetcher } from '../objects.js'
import type { ProcessorSlot } from '../processor/slot.js'
import type { Dispatcher } from '../queue/dispatcher.js'
import { KeptResults } from './kept-results.js'
import { TaskOutputs } from './outputs.js'
import { failureOf, statusOnly, withoutBytes } from './result.js'
import { type TaskTable, timeoutErrorOf, titleOf, type WorkerTask } from './task.js'

/** How a task has ended. */
interface Ending {
  /** Whether the scheduler of this connection waits for it. */
  readonly isAwaited: boolean
  readonly durationMs: number
}

/** Sends TaskResults and TaskUpdates, and the objects that belong to results. */
export class Answers {
  readonly #options: WorkerCoreOptions
  readonly #turn: WorkerTurn
  readonly #kept = new KeptResults()
  /** What tasks print. */
  readonly outputs: TaskOutputs
  /** What the scheduler of this connection understands; undefined until it has said so. */
  #features: number | undefined

  constructor(options: WorkerCoreOptions, turn: WorkerTurn) {
    this.#options = options
    this.#turn = turn
    this.outputs = new TaskOutputs(turn)
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

  /** How long ago the task was handed over, in milliseconds. */
  runningMs({ dispatchedAt }: WorkerTask): number {
    return this.#turn.now - dispatchedAt
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

  /** The result of a task will not be requested. False if it was not kept. */
  dropKept(id: TaskId): boolean {
    return this.#kept.drop(id)
  }

  /** The answer to a TaskCancel: whether the task is dropped. */
  cancel(taskId: TaskId, status: 'canceled' | 'notFound'): void {
    send(this.#turn, statusOnly(taskId, status))
  }

  /** A task waits for tasks of its own, and so often has lost its processor meanwhile before. */
  waits({ id, lossCount }: WorkerTask): void {
    this.update({ kind: 'taskUpdate', taskId: id, update: 'waiting', done: lossCount, total: 0 })
  }

  /** A task that has waited counts again. */
  resumes({ id }: WorkerTask): void {
    this.update({ kind: 'taskUpdate', taskId: id, update: 'resumed', done: 0, total: 0 })
  }

  /** Whether the scheduler asks to be notified when tasks begin. */
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

  /** Passes on that a task waits or goes on, or its progress, to a scheduler that supports it. */
  update(update: TaskUpdate): void {
    if (this.#has(FEATURE_TASK_UPDATES)) send(this.#turn, update)
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
    send(this.#turn, { kind: 'taskUpdate', taskId: id, update, done: 0, total: 0 })
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
    send(this.#turn, isAsItWas ? result : { ...withoutBytes(result, error), attempt })
    return undefined
  }

  /** What the scheduler may know of the error, if there is one and the scheduler supports it. */
  #errorIn({ error }: TaskResult): readonly TaskError[] {
    const isTold = this.#options.tellsErrors !== false && this.#has(FEATURE_MONITORS)
    return isTold ? error : PLAIN_RESULT.error
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

// Tells the scheduler which tasks have begun, but only such as run for a while: of tasks that end
// at once nothing is said. So it costs nothing per task: the processor is looked at now and then.

/** Between two looks; a task that the processor has had for less is not looked at. */
const INTERVAL_MS = 250

/** The guardian is asked about this many tasks at a time: usually, the first one runs. */
const MAX_QUESTIONS = 8

/** What looking needs. */
interface BeginningParts {
  readonly turn: WorkerTurn
  readonly slot: ProcessorSlot
  readonly answers: Answers
  readonly dispatcher: Dispatcher
}

/** Looks at what the processor has. */
export class Beginnings {
  readonly #parts: BeginningParts
  /** Those of which the guardian has not told yet, by their dispatch numbers. */
  readonly #asked = new Map<number, WorkerTask>()
  readonly #alarm: Alarm

  constructor(parts: BeginningParts) {
    this.#parts = parts
    this.#alarm = parts.turn.alarm(() => this.#onDue())
  }

  /** The processor has got a task. */
  onHandedOver(): void {
    if (!this.#alarm.isSet) this.#alarm.set(this.#parts.turn.now + INTERVAL_MS)
  }

  /** The processor's guardian has told how far a task is. */
  onStatus({ dispatchNumber, isStarted, runningMs }: RunStatus): void {
    const task = this.#asked.get(dispatchNumber)
    if (task === undefined || !this.#asked.delete(dispatchNumber) || !isStarted) return
    const { turn, answers, dispatcher } = this.#parts
    const isCurrent = dispatcher.get(task.id) === task && task.dispatchNumber === dispatchNumber
    if (!isCurrent || !isUntold(task)) return
    // Below 0 while it still reads what it needs.
    task.begunAt ??= turn.now - Math.max(0, runningMs)
    answers.begins(task)
  }

  /** The processor is gone. */
  onProcessorExited(): void {
    this.#asked.clear()
    this.#alarm.clear()
  }

  #onDue(): void {
    const { turn, answers, dispatcher } = this.#parts
    if (!dispatcher.isEmpty) this.#alarm.set(turn.now + INTERVAL_MS)
    if (answers.areBeginningsWanted) this.#look()
  }

  #look(): void {
    const { turn, slot, answers, dispatcher } = this.#parts
    for (const task of dispatcher.unanswered()) {
      if (task.dispatchedAt > turn.now - INTERVAL_MS) return
      if (!isUntold(task)) continue
      if (task.hasBegun) answers.begins(task)
      else if (
        slot.isListening &&
        this.#asked.size < MAX_QUESTIONS &&
        !this.#asked.has(task.dispatchNumber)
      ) {
        this.#asked.set(task.dispatchNumber, task)
        turn.act({ type: 'askStatus', dispatchNumber: task.dispatchNumber })
      }
    }
  }
}

/** Whether the scheduler waits for the task and does not know that it has begun. */
function isUntold({ isTold, state }: WorkerTask): boolean {
  return !isTold && state === 'dispatched'
}

// How tasks end: the processor has answered, their time is over, or an object is missing. (What
// ends with its processor is the matter of core/worker/processor/death.ts.)

/** Length of a profile result. */
const PROFILE_BYTES = 16

/** The parts of the worker that this needs. */
interface TaskEndsParts {
  readonly tasks: TaskTable
  readonly dispatcher: Dispatcher
  readonly fetcher: Fetcher
  readonly answers: Answers
}

/** Ends tasks, each with an answer or a result that is kept, unless it is not needed. */
export class TaskEnds {
  readonly #tasks: TaskTable
  readonly #dispatcher: Dispatcher
  readonly #fetcher: Fetcher
  readonly #answers: Answers

  constructor({ tasks, dispatcher, fetcher, answers }: TaskEndsParts) {
    this.#tasks = tasks
    this.#dispatcher = dispatcher
    this.#fetcher = fetcher
    this.#answers = answers
  }

  /** The processor is done with a task: it has run, or was skipped. */
  onAnswered(task: WorkerTask, result: TaskResult): void {
    const { state } = task
    this.#answers.outputs.onEnded(task)
    this.#tasks.change(task, 'answered')
    if (result.status === 'canceled') return
    if (!task.hasWaited) this.#learn(task, result)
    const ending = { isAwaited: state === 'dispatched', durationMs: this.#answers.runningMs(task) }
    const isWanted = state !== 'canceling'
    const objectId = isWanted ? this.#answers.end(result, task, ending) : undefined
    const [keptId] = result.results
    if (keptId === undefined) return
    // A busy processor may have kept it before the order to forget everything, or after it.
    if (objectId !== keptId || task.isCutOff) this.#fetcher.drop(keptId)
    else this.#fetcher.onKept(keptId, totalBytes(result.inlineResults))
  }

  /** It has exceeded its time limit after `runningMs`. It still has to be stopped. */
  onTimeout(task: WorkerTask, runningMs: number): void {
    const isAwaited = task.state === 'dispatched'
    this.#tasks.change(task, 'timedOut')
    this.#answers.fail(task, timeoutErrorOf(task.id, titleOf(task), task), {
      isAwaited,
      durationMs: runningMs,
    })
  }

  /** The scheduler does not have these objects. */
  onMissing(task: WorkerTask, ids: readonly ObjectId[]): void {
    this.#tasks.change(task, 'objectMissing')
    const list = ids.map(idToHex).join(', ')
    const text = `task ${idToHex(task.id)} needs objects that do not exist: ${list}`
    this.#answers.fail(task, new MissingObjectError(text), { isAwaited: true, durationMs: 0 })
  }

  #learn(task: WorkerTask, { metadata }: TaskResult): void {
    const profile =
      metadata.byteLength === PROFILE_BYTES ? decodeProfileResult(metadata) : undefined
    if (profile !== undefined) this.#dispatcher.learn(task, profile.durationSeconds * 1000)
  }
}

/** Results are chunks of one value, so at least one. Only what was stopped may be skipped. */
export function isAnswerTo(task: WorkerTask, result: TaskResult): boolean {
  const { byteLength } = result.metadata
  if (byteLength !== 0 && byteLength !== PROFILE_BYTES) return false
  if (result.status === 'canceled') return task.state === 'canceling'
  const isRun = result.status === 'success' || result.status === 'failed'
  return isRun && result.inlineResults.length > 0 && result.results.length <= 1
}
