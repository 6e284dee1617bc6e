// Consecutive tasks that arrived together, and the loop that runs them. A task that only computes a
// small value costs a claim, a look at the clock and its values: it has no id, no message, and no
// object but a `SliceTask`. As soon as anything needs more, it becomes a `TaskRun`, which the
// runner handles like any other: when user code asks for its task, prints or submits; when the
// function throws or returns a promise that somebody looks into; when the result is large.

import type { TaskId } from '../../base/ids.js'
import { LazyScope, type TaskScopes } from '../../runtime/task-scope.js'
import { defaultCodec, type TaskCodec } from '../../serializer/task-codec.js'
import { nthTaskId, positionIn } from '../../wire/run.js'
import {
  functionOf,
  type PackedArguments,
  type PackedEntry,
  type ResultBytes,
  type RunnableTask,
  type TaskCall,
} from './call.js'
import type { TaskFunction } from './objects.js'
import type { TaskMeter } from './meter.js'
import type { RunReports } from './reports.js'
import { readMsOf, type QueuedRun, type RunHandler, type RunQueue, TaskRun } from './run.js'
import type { BoardSlot, ClaimTable, TaskBoard } from './shared-memory.js'

/** Tasks that arrived together and differ only in their arguments. */
export class Slice implements QueuedRun {
  /** What they have in common; its `inputs` are the attachments of the function. */
  readonly task: RunnableTask
  readonly run: PackedArguments
  readonly count: number
  readonly priority: number
  /** That of the first task. */
  readonly dispatchNumber: number
  /** The tasks before this index have started, or never will. */
  next = 0
  isSkipped = false
  /** Tasks that must not start. */
  #skipped: Set<number> | undefined
  /** The function, if it is the same for all tasks. */
  #shared: { readonly codec: TaskCodec; readonly fn: TaskFunction } | undefined

  constructor(task: RunnableTask, run: PackedArguments, dispatchNumber: number) {
    this.task = task
    this.run = run
    this.count = run.count
    this.priority = task.priority
    this.dispatchNumber = dispatchNumber
  }

  /** The function, for one task. Throws what reading it throws. */
  functionFor(codec: TaskCodec): TaskFunction {
    if (this.#shared?.codec === codec) return this.#shared.fn
    const fn = functionOf(this.task, codec)
    if (this.task.fn.sharedFunction === fn) this.#shared = { codec, fn }
    return fn
  }

  /** Claims the next task. Returns its index; -1 if there is none. */
  take(claims: ClaimTable): number {
    while (this.next < this.count) {
      const index = this.next
      this.next += 1
      if (this.#skipped?.has(index) === true) continue
      // Otherwise the agent has taken it back.
      if (claims.claim(this.dispatchNumber + index)) return index
    }
    return -1
  }

  /** The task with this index, alone. */
  taskAt(index: number): RunnableTask {
    const { task, run } = this
    return { ...task, id: nthTaskId(run.id, index), packed: { run, index } }
  }

  /** The index of the task with this id if it has not started; -1 otherwise. */
  waitingIndexOf(id: TaskId): number {
    const index = positionIn(this.run.id, this.count, id)
    return index < this.next || this.#skipped?.has(index) === true ? -1 : index
  }

  /** The task must not start. */
  skip(index: number): void {
    this.#skipped ??= new Set()
    this.#skipped.add(index)
  }
}

/** A task that will not start. */
type SkippedTask = Pick<TaskRun, 'task' | 'dispatchNumber'>

/** Takes a task that has not started out of a queue; undefined if it is not there. */
export function skipIn(queue: RunQueue<TaskRun | Slice>, id: TaskId): SkippedTask | undefined {
  let index = -1
  const found = queue.find((queued) => {
    if (queued instanceof TaskRun) return queued.id === id
    index = queued.waitingIndexOf(id)
    return index >= 0
  })
  if (found instanceof TaskRun) queue.drop(found)
  if (!(found instanceof Slice)) return found
  found.skip(index)
  return { task: found.taskAt(index), dispatchNumber: found.dispatchNumber + index }
}

const NO_VALUES: readonly unknown[] = []

/** One task of a slice that has started, and its call. */
export class SliceTask extends LazyScope implements PackedEntry, TaskCall {
  readonly slice: Slice
  readonly index: number
  readonly #maker: SliceRunner
  #made: TaskRun | undefined
  /** By the meter's clock, in milliseconds. */
  startedAt = 0
  slot: BoardSlot = -1
  isRead = false
  isOver = false
  codec: TaskCodec = defaultCodec
  fn: TaskFunction = doNothing
  values: readonly unknown[] = NO_VALUES

  constructor(maker: SliceRunner, slice: Slice, index: number) {
    super()
    this.#maker = maker
    this.slice = slice
    this.index = index
  }

  get id(): TaskId {
    return nthTaskId(this.run.id, this.index)
  }

  get run(): PackedArguments {
    return this.slice.run
  }

  get made(): TaskRun | undefined {
    return this.#made
  }

  get scope(): TaskRun {
    if (this.#made === undefined) {
      this.#made = this.#maker.newRun(this)
      if (!this.isOver) this.#maker.onMade(this, this.#made)
    }
    return this.#made
  }
}

/**
 * What the loop leaves to others. The handlers of a task that leaves it return whether it has
 * finished; its place on the board is theirs.
 */
export interface SliceHandler extends RunHandler {
  /** The task that the loop runs; undefined: none. */
  onCurrent(task: SliceTask | undefined): void
  /** The function has thrown, or could not be read. */
  onThrown(run: TaskRun, error: unknown): boolean
  /** The function has returned a promise. */
  onPromise(task: SliceTask, promise: PromiseLike<unknown>): boolean
  /** The result has too many serialized bytes for a run. */
  onLarge(run: TaskRun, bytes: Uint8Array): boolean
  /** A task has become a run. */
  onMade(task: SliceTask, run: TaskRun): void
  /** The time of the event loop's turn is over. */
  readonly isTurnOver: boolean
}

/** What the loop needs. */
interface SliceParts {
  readonly meter: TaskMeter
  readonly board: TaskBoard
  readonly claims: ClaimTable
  readonly scopes: TaskScopes
  readonly reports: RunReports
}

/** Runs slices. */
export class SliceRunner {
  readonly #parts: SliceParts
  readonly #handler: SliceHandler
  /** The task whose function is read or called, or whose result is written. */
  #task: SliceTask | undefined
  /** What it has returned, if that is a promise, or too large for a run. */
  #promise: PromiseLike<unknown> | undefined
  #large: ResultBytes | undefined
  #thrown: { readonly error: unknown } | undefined
  readonly #perform = (): void => this.#performTask(this.#task as SliceTask)

  constructor(parts: SliceParts, handler: SliceHandler) {
    this.#parts = parts
    this.#handler = handler
  }

  /**
   * Runs the tasks of a slice from the next one on, while the turn lasts. Returns false if one of
   * them has not finished.
   */
  run(slice: Slice): boolean {
    const { board, claims, meter } = this.#parts
    const { isProfiled } = slice.task
    const readMs = readMsOf(slice.task)
    if (isProfiled) meter.beginSlice()
    let slot = -1
    let isFinished = true
    for (let index = slice.take(claims); index >= 0; index = slice.take(claims)) {
      const startedAt = meter.endedAt
      const number = slice.dispatchNumber + index
      if (slot < 0) slot = board.enter(number, startedAt + readMs, isProfiled)
      else board.next(slot, number, startedAt + readMs)
      const task = new SliceTask(this, slice, index)
      task.startedAt = startedAt
      task.slot = slot
      if (!this.#runTask(task)) {
        slot = -1
        isFinished = this.#handOver(task)
        if (!isFinished) break
      }
      if (this.#handler.isTurnOver) break
    }
    if (slot >= 0) {
      this.#leave()
      board.leave(slot, false)
    }
    return isFinished
  }

  /** The run of a task, of which something is needed. */
  newRun(task: SliceTask): TaskRun {
    const { slice, index, startedAt, slot, isOver, isRead } = task
    const run = new TaskRun(slice.taskAt(index), slice.dispatchNumber + index, this.#handler)
    run.slot = slot
    run.startedAt = startedAt
    run.isOver = isOver
    if (isRead) run.began(task)
    return run
  }

  /** A task that is not over has become a run. */
  onMade(task: SliceTask, run: TaskRun): void {
    this.#handler.onMade(task, run)
  }

  /** The result of a task was written: it has finished. */
  finish(task: SliceTask): void {
    const { board, meter, reports, scopes } = this.#parts
    const { made, slice } = task
    const tookMs = meter.lap(task.startedAt)
    task.isOver = true
    task.values = NO_VALUES
    if (made !== undefined) made.isOver = true
    scopes.end(task)
    slice.task.fn.lastCallMs = tookMs
    const { isProfiled } = slice.task
    const profile = isProfiled ? meter.lapProfile(board.peakOf(task.slot)) : undefined
    reports.written(made, tookMs, meter.endedAt, profile)
    if (reports.mayHoldUpSlice(tookMs, meter.endedAt)) reports.flush()
  }

  /** Returns false if the task must leave the loop. */
  #runTask(task: SliceTask): boolean {
    this.#task = task
    this.#handler.onCurrent(task)
    try {
      this.#parts.scopes.run(task, this.#perform)
    } catch (error) {
      this.#thrown = { error }
      return false
    }
    if (this.#promise !== undefined || this.#large !== undefined) return false
    this.finish(task)
    return true
  }

  /** The loop runs no task any more. */
  #leave(): void {
    this.#task = undefined
    this.#handler.onCurrent(undefined)
  }

  /** The task leaves the loop. Returns whether it has finished. */
  #handOver(task: SliceTask): boolean {
    const [thrown, promise, large] = [this.#thrown, this.#promise, this.#large]
    this.#thrown = undefined
    this.#promise = undefined
    this.#large = undefined
    this.#leave()
    if (thrown !== undefined) return this.#handler.onThrown(task.scope, thrown.error)
    if (promise !== undefined) return this.#handler.onPromise(task, promise)
    return this.#handler.onLarge(task.scope, large as Uint8Array)
  }

  #performTask(task: SliceTask): void {
    const { slice } = task
    const { board, meter, reports } = this.#parts
    const codec = slice.task.serializer.codec()
    const fn = slice.functionFor(codec)
    const values = slice.run.read(slice.task, codec, task.index)
    task.codec = codec
    task.fn = fn
    task.values = values
    task.isRead = true
    task.made?.began(task)
    if (slice.task.timeoutMs > 0) board.begin(task.slot, meter.now)
    const value = values.length === 1 ? fn(values[0]) : fn(...values)
    if (isThenable(value)) this.#promise = value
    else this.#large = reports.write(task, task, value, slice.task.isProfiled)
  }
}

/** Whether `await` would wait for the value. Throws what a getter in it throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  return typeof (value as { then?: unknown }).then === 'function'
}

function doNothing(): void {}
