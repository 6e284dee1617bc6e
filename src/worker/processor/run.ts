// One run of a task in a processor: its state, and what user code and nested clients can see of it.
// It decides nothing: it forwards events to its runner.

import type { AsyncResource } from 'node:async_hooks'
import { TaskCancelledError } from '../../base/errors.js'
import { Fifo } from '../../base/collection/fifo.js'
import { type Identity, idToHex, type TaskId, taskPhrase } from '../../base/ids.js'
import type { Logger, LogLevel } from '../../base/logger.js'
import type { Units } from '../../core/worker/queue/units.js'
import { timeoutErrorOf } from '../../core/worker/task/task.js'
import type { ScopeSerializer, TaskContext, TaskHost, TaskScope } from '../../runtime/task-scope.js'
import { findTracing, type SpanEnd, type TaskSpan } from '../../runtime/tracing.js'
import type { TaskIdentities } from '../../serializer/class/registry.js'
import { newTaskIdentities } from '../../serializer/serializer.js'
import type { OutputPlace } from '../../wire/message.js'
import type { LogWords } from '../link/frames.js'
import { readCall, type RunnableTask, type TaskCall } from './call.js'
import type { Measured } from './meter.js'
import type { BoardSlot } from './shared-memory.js'

// The tasks that a processor has not started, by priority and then in order of arrival.

/** An entry of the queue. */
export interface QueuedRun {
  readonly priority: number
  /** Whether it was taken out of the queue. */
  isSkipped: boolean
}

/** Runs of one priority. */
interface Rank<T> {
  readonly priority: number
  readonly runs: Fifo<T>
}

/** A priority queue, made for few different priorities at a time: usually there is one. */
export class RunQueue<T extends QueuedRun> {
  /** Highest priority first. Skipped runs are removed when they reach the front. */
  readonly #ranks: Rank<T>[] = []
  #size = 0

  /** Number of waiting runs. */
  get size(): number {
    return this.#size
  }

  /** Adds a run after all others of its priority. */
  push(run: T): void {
    this.#rankOf(run.priority).runs.push(run)
    this.#size += 1
  }

  /** The first run, which stays. */
  get first(): T | undefined {
    for (let rank = this.#ranks[0]; rank !== undefined; rank = this.#ranks[0]) {
      const run = rank.runs.first
      if (run !== undefined && !run.isSkipped) return run
      rank.runs.shift()
      // The last rank stays: usually the next run has the same priority.
      if (rank.runs.size > 0) continue
      if (this.#ranks.length === 1) return undefined
      this.#ranks.shift()
    }
    return undefined
  }

  /** Takes out a run that is queued. */
  drop(run: T): void {
    run.isSkipped = true
    this.#size -= 1
  }

  /** The first run that fits; undefined if there is none. Searches the whole queue. */
  find(fits: (run: T) => boolean): T | undefined {
    for (const { runs } of this.#ranks) {
      for (const run of runs) if (!run.isSkipped && fits(run)) return run
    }
    return undefined
  }

  #rankOf(priority: number): Rank<T> {
    let index = 0
    for (; index < this.#ranks.length; index += 1) {
      const rank = this.#ranks[index] as Rank<T>
      if (rank.priority === priority) return rank
      if (rank.priority < priority) break
    }
    const rank = { priority, runs: new Fifo<T>() }
    this.#ranks.splice(index, 0, rank)
    return rank
  }
}

// The small result of a task, for the task that was sent behind it (core/worker/task/links.ts).

/** Where a run puts its result. */
export interface ResultPlace {
  readonly id: TaskId
  /** Undefined: it has no result, or a large one. */
  bytes: Uint8Array | undefined
}

// What `currentTask()` returns to user code: the part of a run that it may see and control.

/** The progress that a task reports, in a unit of its own; a total of 0 = unknown. */
interface Progress {
  readonly done: number
  readonly total: number
}

/** The context of one run. Its methods have no effect after the run has finished. */
class OwnContext implements TaskContext {
  readonly #run: TaskRun
  #log: Logger | undefined

  constructor(run: TaskRun) {
    this.#run = run
  }

  get id(): string {
    return idToHex(this.#run.id)
  }

  get name(): string {
    return this.#run.name
  }

  get attempt(): number {
    return this.#run.task.attempt + 1
  }

  get capabilities(): Units {
    return this.#run.task.units
  }

  get signal(): AbortSignal {
    return this.#run.signal
  }

  get log(): Logger {
    const run = this.#run
    this.#log ??= {
      debug: (text, fields) => run.log('debug', { text, fields }),
      info: (text, fields) => run.log('info', { text, fields }),
      warn: (text, fields) => run.log('warn', { text, fields }),
      error: (text, fields) => run.log('error', { text, fields }),
    }
    return this.#log
  }

  setProgress(done: number, total: number = 0): void {
    this.#run.setProgress({ done: amount('done', done), total: amount('total', total) })
  }
}

function amount(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new RangeError(`setProgress: ${name} must be a finite number >= 0, got ${String(value)}`)
}

/**
 * How long importing and reading a task may take before its time limit starts, in milliseconds: the
 * limit is for its function. In a new process, imports may take much longer.
 */
const MAX_READ_MS = 10_000

/** How long reading a task may take; 0: it has no time limit. */
export function readMsOf({ timeoutMs }: RunnableTask): number {
  return timeoutMs > 0 ? MAX_READ_MS : 0
}

/** The runner, as its runs see it. */
export interface RunHandler {
  readonly host: TaskHost
  /** It has submitted something, or one of its children has finished. */
  onChildren(run: TaskRun): void
  /** It has been deserialized, and its function is called next. */
  onRead(run: TaskRun): void
  /** It has asked for its abort signal. */
  onListen(run: TaskRun): void
  onProgress(run: TaskRun): void
  onLog(run: TaskRun, level: LogLevel, words: LogWords): void
}

/** One run of a task. */
export class TaskRun implements TaskScope, Measured, QueuedRun {
  readonly task: RunnableTask
  readonly id: TaskId
  readonly priority: number
  readonly isProfiled: boolean
  /** Its position among all tasks that this processor received. */
  readonly dispatchNumber: number
  /** Undefined: no task needs its result here. */
  readonly kept: ResultPlace | undefined
  readonly #handler: RunHandler
  #before: ResultPlace | undefined
  #call: TaskCall | undefined
  #context: OwnContext | undefined
  #identities: TaskIdentities | undefined
  #abort: AbortController | undefined
  /** From the call of its function to its end. */
  #span: TaskSpan | undefined
  #stopped: Error | undefined
  isSkipped = false
  /** Its synchronous part has returned, but it has not finished. */
  isPending = false
  /** It only waits for its children. */
  isWaiting = false
  /** It was abandoned: its outcome does not matter any more. */
  isGivenUp = false
  isOver = false
  /** The runner will check whether it waits. */
  isNoted = false
  /** Number of unfinished children. */
  childCount = 0
  slot: BoardSlot = -1
  startedAt = 0
  isMetered = false
  hasPaused = false
  cpuMs = 0
  rssBytes = 0
  maxRssBytes = 0
  /** Progress that was not sent yet. */
  progress: Progress | undefined
  /** When progress was last sent, by the clock of the process. */
  progressToldAt: number = -Infinity

  constructor(task: RunnableTask, dispatchNumber: number, handler: RunHandler) {
    this.task = task
    this.id = task.id
    this.priority = task.priority
    this.isProfiled = task.isProfiled
    this.dispatchNumber = dispatchNumber
    this.kept = task.keepsResult ? { id: task.id, bytes: undefined } : undefined
    this.#handler = handler
  }

  /**
   * `before`: that of the task that arrived just before, whose result may be an input. Returns its
   * own.
   */
  follow(before: ResultPlace | undefined): ResultPlace | undefined {
    if (before !== undefined && before.id === this.task.after?.id) this.#before = before
    return this.kept
  }

  /**
   * Takes the result of another task that is one of its inputs. False: it is not here, or another
   * input is not.
   */
  takeInput(): boolean {
    const { after, isOutdated } = this.task
    if (isOutdated === true) return false
    if (after === undefined) return true
    const value = this.#before?.bytes
    this.#before = undefined
    if (value !== undefined) after.fill(value)
    return value !== undefined
  }

  get taskId(): TaskId {
    return this.id
  }

  get host(): TaskHost {
    return this.#handler.host
  }

  get serializer(): ScopeSerializer {
    return this.task.serializer.clientSerializer()
  }

  get context(): TaskContext {
    this.#context ??= new OwnContext(this)
    return this.#context
  }

  get output(): OutputPlace {
    return this.task.output
  }

  get outputClient(): Identity {
    return this.task.outputClient
  }

  /** Passed on also where there are no spans. */
  get traceContext(): string {
    return this.#span?.traceContext ?? this.task.traceContext
  }

  /** The deserialized call; undefined before it was read. */
  get call(): TaskCall | undefined {
    return this.#call
  }

  /** Its name, for people. */
  get name(): string {
    if (this.task.name !== '' || this.#call === undefined) return this.task.name
    // Read in a way that runs no user code.
    const name: unknown = Object.getOwnPropertyDescriptor(this.#call.fn, 'name')?.value
    return typeof name === 'string' ? name : ''
  }

  /** The classes that it has received, with the state that it has given them. */
  get identities(): TaskIdentities {
    return (this.#identities ??= newTaskIdentities())
  }

  /** Deserializes the task. Throws what `readCall` throws. */
  read(): void {
    this.began(readCall(this.task))
    if (this.task.timeoutMs > 0) this.#handler.onRead(this)
  }

  /** It was deserialized, and its function is called next. */
  began(call: TaskCall): void {
    this.#call = call
    this.#identities?.begin()
  }

  /** Calls the function; the task must have been read. */
  perform(): unknown {
    const { fn, values } = this.#call as TaskCall
    const span = findTracing()?.start({
      operation: 'run',
      name: this.name,
      traceContext: this.task.traceContext,
      attributes: {
        'messaging.message.id': idToHex(this.id),
        'scaler.worker': this.host.worker,
        'scaler.attempt': this.task.attempt + 1,
      },
    })
    this.#span = span
    return span === undefined ? fn(...values) : span.run(() => fn(...values))
  }

  /** Ends its span, unless it has ended. */
  endSpan(outcome: SpanEnd['outcome'], error?: unknown): void {
    const isCancelled = this.#stopped instanceof TaskCancelledError
    this.#span?.end({ outcome: isCancelled ? 'cancelled' : outcome, error })
  }

  /** Deserializes the task and calls the function. */
  readAndPerform(): unknown {
    this.read()
    return this.perform()
  }

  childStarted(): void {
    this.childCount += 1
    this.#handler.onChildren(this)
  }

  childEnded(): void {
    this.childCount -= 1
    this.#handler.onChildren(this)
  }

  /** Whether it can notice a request to stop. */
  get isListening(): boolean {
    return this.#abort !== undefined
  }

  /** Its abort signal; from now on it listens. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (!this.isOver) this.#handler.onListen(this)
      if (this.#stopped !== undefined) this.#abort.abort(this.#stopped)
    }
    return this.#abort.signal
  }

  /** Aborts its signal, which calls the listeners of user code. */
  stop(reason: 'cancelled' | 'timedOut'): void {
    if (this.#stopped !== undefined) return
    this.#stopped = stopError(this, reason)
    this.#abort?.abort(this.#stopped)
  }

  /** Newer progress replaces progress that was not sent yet. */
  setProgress(progress: Progress): void {
    if (this.isOver || this.isGivenUp) return
    this.progress = progress
    this.#handler.onProgress(this)
  }

  log(level: LogLevel, words: LogWords): void {
    this.#handler.onLog(this, level, words)
  }
}

function stopError({ id, name, task }: TaskRun, reason: 'cancelled' | 'timedOut'): Error {
  return reason === 'cancelled'
    ? new TaskCancelledError(`${taskPhrase(id, name)} was cancelled`)
    : timeoutErrorOf(id, name, task)
}

/** Runs that may have started or stopped waiting: they are looked at once, when the turn ends. */
export class NotedRuns {
  readonly #outside: AsyncResource
  readonly #look: (runs: readonly TaskRun[]) => void
  #noted: TaskRun[] = []

  /** `outside`: the async context outside all tasks, in which `look` is called. */
  constructor(outside: AsyncResource, look: (runs: readonly TaskRun[]) => void) {
    this.#outside = outside
    this.#look = look
  }

  /** Has a run looked at. */
  note(run: TaskRun): void {
    if (run.isNoted) return
    run.isNoted = true
    if (this.#noted.push(run) > 1) return
    this.#outside.runInAsyncScope(() => setImmediate(() => this.#lookAtAll()))
  }

  #lookAtAll(): void {
    const noted = this.#noted
    this.#noted = []
    for (const run of noted) run.isNoted = false
    this.#look(noted)
  }
}
