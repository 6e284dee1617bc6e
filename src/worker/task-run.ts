// One run of a task in a processor: what is known of it, and what user code, and clients inside of
// it, are told. It decides nothing: what it is told it passes to its runner.

import { TaskCancelledError } from '../base/errors.js'
import { taskPhrase, type Identity, type TaskId } from '../base/ids.js'
import type { LogLevel } from '../base/logger.js'
import { timeoutErrorOf } from '../core/worker/task/task.js'
import type { ScopeSerializer, TaskContext, TaskHost, TaskScope } from '../runtime/task-scope.js'
import type { TaskIdentities } from '../serializer/class/identities.js'
import { newTaskIdentities } from '../serializer/process-serializer.js'
import type { OutputPlace } from '../wire/message.js'
import type { LogWords } from './log-frame.js'
import type { QueuedRun } from './run-queue.js'
import type { BoardSlot } from './task-board.js'
import { readCall, type RunnableTask, type TaskCall } from './task-call.js'
import { OwnContext, type ContextRun, type Progress } from './task-context.js'
import type { Measured } from './task-meter.js'

/** What a run tells its runner. */
export interface RunHandler {
  readonly host: TaskHost
  /** It has submitted something, or something of that has ended. */
  onChildren(run: TaskRun): void
  /** It has been read, and its function is called next. */
  onRead(run: TaskRun): void
  /** It has asked for its abort signal. */
  onListen(run: TaskRun): void
  onProgress(run: TaskRun): void
  onLog(run: TaskRun, level: LogLevel, words: LogWords): void
}

/** One run of a task. */
export class TaskRun implements TaskScope, ContextRun, Measured, QueuedRun {
  readonly task: RunnableTask
  readonly id: TaskId
  readonly priority: number
  readonly isProfiled: boolean
  /** Place among all tasks that this processor got. */
  readonly dispatchNumber: number
  readonly #handler: RunHandler
  #call: TaskCall | undefined
  #context: OwnContext | undefined
  #identities: TaskIdentities | undefined
  #abort: AbortController | undefined
  #stopped: Error | undefined
  isSkipped = false
  /** Its synchronous part is over, but it is not. */
  isPending = false
  /** It only waits for what it has submitted itself. */
  isWaiting = false
  /** What becomes of it is of no interest any more. */
  isGivenUp = false
  isOver = false
  /** The runner will look whether it waits. */
  isNoted = false
  /** How much of what it has submitted has not ended. */
  childCount = 0
  slot: BoardSlot = -1
  startedAt = 0
  isMetered = false
  hasPaused = false
  cpuMs = 0
  rssBytes = 0
  maxRssBytes = 0
  /** What was not told yet. */
  progress: Progress | undefined
  /** When progress was told last, by the clock of the process. */
  progressToldAt: number = -Infinity

  constructor(task: RunnableTask, dispatchNumber: number, handler: RunHandler) {
    this.task = task
    this.id = task.id
    this.priority = task.priority
    this.isProfiled = task.isProfiled
    this.dispatchNumber = dispatchNumber
    this.#handler = handler
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

  /** What was read to call it; undefined before. */
  get call(): TaskCall | undefined {
    return this.#call
  }

  /** What it is called, for people. */
  get name(): string {
    if (this.task.name !== '' || this.#call === undefined) return this.task.name
    // Asked for like this, no code of the user's answers.
    const name: unknown = Object.getOwnPropertyDescriptor(this.#call.fn, 'name')?.value
    return typeof name === 'string' ? name : ''
  }

  /** The classes that it has got, in the state that it has brought them to. */
  get identities(): TaskIdentities {
    return (this.#identities ??= newTaskIdentities())
  }

  /** Reads the task. Throws what `readCall` throws. */
  read(): void {
    this.#call = readCall(this.task)
    this.#identities?.begin()
    if (this.task.timeoutMs > 0) this.#handler.onRead(this)
  }

  /** Calls the function; must have been read. */
  perform(): unknown {
    const { fn, values } = this.#call as TaskCall
    return fn(...values)
  }

  /** Reads the task and calls the function. */
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

  /** Whether it can see that it shall stop. */
  get isListening(): boolean {
    return this.#abort !== undefined
  }

  /** From now on it listens. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (!this.isOver) this.#handler.onListen(this)
      if (this.#stopped !== undefined) this.#abort.abort(this.#stopped)
    }
    return this.#abort.signal
  }

  /** Has it see that it shall stop. Listeners of the user's are called. */
  stop(reason: 'cancelled' | 'timedOut'): void {
    if (this.#stopped !== undefined) return
    this.#stopped = stopError(this, reason)
    this.#abort?.abort(this.#stopped)
  }

  /** What is told in time replaces what was not. */
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
