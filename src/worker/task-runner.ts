// Runs the tasks of a processor one after the other. A burst of tiny ones is run in one turn of the
// event loop and its results leave together; but no result waits for a task that may take long, and
// after some milliseconds the event loop gets its turn, so that cancels are read.

import { AsyncResource } from 'node:async_hooks'
import { Fifo } from '../base/fifo.js'
import { identity, taskId, type TaskId } from '../base/ids.js'
import type { PendingImport } from '../serializer/module/reference.js'
import { pendingImportOf, readWhenImported } from '../serializer/pending-read.js'
import { encodeFrame, type TaskResult } from '../wire/message.js'
import { splitChunks } from '../wire/object-content.js'
import { KIND_MESSAGE } from './link.js'
import type { Outbox } from './outbox.js'
import { serializeFailure } from './own-frames.js'
import { readCall, serializeResult, type RunnableTask, type TaskCall } from './task-call.js'
import type { TaskMeter } from './task-meter.js'

/** A turn of the event loop is not kept longer, in milliseconds. */
const MAX_BURST_MS = 5

/** After a task that lasted longer, the event loop gets its turn, in milliseconds. */
const LONG_TASK_MS = 1

/** A result waits no longer for the next one, in milliseconds. */
const MAX_HOLD_MS = 0.2

const NO_WORKER = identity('')
const NO_TASK = taskId('')

/** Nothing is told when the resource goes, so nobody has to watch for that. */
const UNWATCHED = { requireManualDestroy: true }

/** What a runner works with. */
export interface TaskRunnerOptions {
  readonly outbox: Outbox
  readonly meter: TaskMeter
  /** One cell that others can read while user code runs; see `#mark`. */
  readonly progress: Int32Array
}

/** Runs tasks in order. */
export class TaskRunner {
  readonly #outbox: Outbox
  readonly #meter: TaskMeter
  readonly #progress: Int32Array
  readonly #queue = new Fifo<RunnableTask>()
  #running: RunnableTask | undefined
  #isYielding = false
  #isFlushPlanned = false
  #burstEnd = 0
  /** When the oldest result was put into the outbox that has not left it. */
  #heldSince = 0

  constructor(options: TaskRunnerOptions) {
    this.#outbox = options.outbox
    this.#meter = options.meter
    this.#progress = options.progress
  }

  /** The task that runs: also while it waits for something. */
  get running(): TaskId | undefined {
    return this.#running?.id
  }

  /** Adds a task behind all others. Nothing runs before `run`. */
  add(task: RunnableTask): void {
    this.#queue.push(task)
  }

  /** A task that has not begun is skipped when its turn comes. */
  skip(id: TaskId): void {
    for (const task of this.#queue) if (task.id === id) task.isSkipped = true
  }

  /** Runs what is there, unless a task is running. */
  run(): void {
    if (this.#running !== undefined || this.#isYielding || this.#queue.size === 0) return
    this.#beginTurn()
    this.#runBurst()
  }

  #beginTurn(): void {
    this.#meter.beginTurn()
    this.#burstEnd = this.#meter.endedAt + MAX_BURST_MS
  }

  #runBurst(): void {
    for (;;) {
      const task = this.#queue.shift()
      if (task === undefined) return this.#outbox.flush()
      if (!this.#runTask(task)) return this.#planFlush()
      if (this.#isTurnOver()) return this.#yield()
    }
  }

  /** Returns false if the task has to wait for something. */
  #runTask(task: RunnableTask): boolean {
    if (task.isSkipped) {
      this.#mark()
      this.#mark()
      this.#answer(task, 'canceled', [], new Uint8Array(0))
      return true
    }
    if (this.#mayHoldUp(task)) this.#outbox.flush()
    this.#running = task
    this.#mark()
    this.#meter.start(task.isProfiled)
    return this.#call(task)
  }

  /** In an asynchronous context of its own: `enterWith` in one task must not reach the next. */
  #call(task: RunnableTask): boolean {
    if (task.refusal !== undefined) {
      this.#finish(task, 'failed', task.refusal)
      return true
    }
    const scope = new AsyncResource('ScalerTask', UNWATCHED)
    let call: TaskCall
    try {
      call = scope.runInAsyncScope(readCall, undefined, task)
    } catch (error) {
      const pending = pendingImportOf(error)
      if (pending === undefined) return this.#fail(task, error)
      void this.#callLater(task, pending, scope)
      return false
    }
    return this.#perform(task, call, scope)
  }

  /** Something has to be imported before the task can be read. */
  async #callLater(
    task: RunnableTask,
    pending: PendingImport,
    scope: AsyncResource,
  ): Promise<void> {
    const read = (): TaskCall => scope.runInAsyncScope(readCall, undefined, task)
    let hasEnded: boolean
    try {
      hasEnded = this.#perform(task, await readWhenImported(pending, read), scope)
    } catch (error) {
      hasEnded = this.#fail(task, error)
    }
    if (hasEnded) this.#goOn()
  }

  #perform(task: RunnableTask, call: TaskCall, scope: AsyncResource): boolean {
    try {
      const value: unknown = scope.runInAsyncScope(call.fn, undefined, ...call.values)
      if (isThenable(value)) {
        void this.#settle(task, call, value)
        return false
      }
      this.#finish(task, 'success', serializeResult(call, value))
    } catch (error) {
      return this.#fail(task, error)
    }
    return true
  }

  async #settle(task: RunnableTask, call: TaskCall, value: PromiseLike<unknown>): Promise<void> {
    try {
      this.#finish(task, 'success', serializeResult(call, await value))
    } catch (error) {
      this.#fail(task, error)
    }
    this.#goOn()
  }

  #goOn(): void {
    if (this.#isTurnOver()) this.#yield()
    else this.#runBurst()
  }

  /** Returns that the task has ended. */
  #fail(task: RunnableTask, error: unknown): true {
    this.#finish(task, 'failed', serializeFailure(error))
    return true
  }

  #finish(task: RunnableTask, status: 'success' | 'failed', payload: Uint8Array): void {
    this.#meter.stop()
    task.fn.lastCallMs = this.#meter.lastMs
    const chunks = payload.byteLength === 0 ? [payload] : splitChunks(payload)
    this.#running = undefined
    this.#mark()
    this.#answer(task, status, chunks, this.#meter.profile())
  }

  #answer(
    { id }: RunnableTask,
    status: TaskResult['status'],
    inlineResults: readonly Uint8Array[],
    metadata: Uint8Array,
  ): void {
    if (this.#outbox.bytes === 0) this.#heldSince = this.#meter.endedAt
    const result: TaskResult = {
      kind: 'taskResult',
      taskId: id,
      status,
      metadata,
      results: [],
      inlineResults,
      worker: NO_WORKER,
      failedTaskId: NO_TASK,
    }
    this.#outbox.add(KIND_MESSAGE, encodeFrame(result))
  }

  /** Whether results that wait could wait for this task too long. */
  #mayHoldUp({ fn }: RunnableTask): boolean {
    if (this.#outbox.bytes === 0) return false
    if (!(fn.lastCallMs < MAX_HOLD_MS)) return true
    return this.#meter.endedAt - this.#heldSince > MAX_HOLD_MS
  }

  /** Counts starts and ends together: odd while a task runs. Wraps around at 2^32. */
  #mark(): void {
    Atomics.add(this.#progress, 0, 1)
  }

  #isTurnOver(): boolean {
    const { endedAt } = this.#meter
    return endedAt > this.#burstEnd || this.#meter.lastMs > LONG_TASK_MS
  }

  /** Lets the event loop have its turn. What is done is told before. */
  #yield(): void {
    this.#outbox.flush()
    if (this.#queue.size === 0) return
    this.#isYielding = true
    setImmediate(() => {
      this.#isYielding = false
      this.run()
    })
  }

  /** While a task waits, earlier results leave with the end of this turn. */
  #planFlush(): void {
    if (this.#isFlushPlanned || this.#outbox.bytes === 0) return
    this.#isFlushPlanned = true
    setImmediate(() => {
      this.#isFlushPlanned = false
      this.#outbox.flush()
    })
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  return typeof (value as { then?: unknown }).then === 'function'
}
