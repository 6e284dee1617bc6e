// Runs the tasks of a processor, one at a time; but while all started tasks only wait for their
// children, the next one starts. A burst of tiny tasks runs in one turn of the event loop and its
// results are sent together; but no result waits for a task that may take long, and after a few
// milliseconds the event loop gets its turn, so that orders are read.
//
// Whether a task waits is checked once at the end of each turn: a task that awaits its children one
// by one waits only once.

import { AsyncResource } from 'node:async_hooks'
import { NO_BYTES } from '../../base/bytes.js'
import { identity, type TaskId } from '../../base/ids.js'
import type { LogLevel } from '../../base/logger.js'
import type { StopReason } from '../../core/worker/events.js'
import type { TaskHost, TaskScopes } from '../../runtime/task-scope.js'
import { findTracing } from '../../runtime/tracing.js'
import { nthTaskId } from '../../wire/run.js'
import type { PendingImport } from '../../serializer/module/policy.js'
import { pendingImportOf, readWhenImported } from '../../serializer/pending-read.js'
import type { ClaimTable, TaskBoard } from './shared-memory.js'
import { type ExitNote, exitNoteOf, type HostFacts, type LogWords } from '../link/frames.js'
import { OutputPlaces, type Speaker, type Stage } from './output-tap.js'
import type { PackedArguments, RunnableTask } from './call.js'
import { readMsOf, NotedRuns, type ResultPlace, RunQueue, TaskRun } from './run.js'
import { isThenable, skipIn, Slice, type SliceHandler, SliceRunner, SliceTask } from './slice.js'
import { RunReports, type RunReportsOptions } from './reports.js'
import { HeldTask, isPlainPromise, RunEnds } from './run-ends.js'
import type { TaskMeter } from './meter.js'

/** The longest burst within one turn of the event loop, in milliseconds. */
const MAX_BURST_MS = 5

/** After a task that took longer, the event loop gets its turn, in milliseconds. */
const LONG_TASK_MS = 1

/** What a runner needs. */
interface TaskRunnerOptions extends Omit<RunReportsOptions, 'outside'> {
  readonly meter: TaskMeter
  readonly board: TaskBoard
  readonly claims: ClaimTable
  readonly scopes: TaskScopes
  /** Only abandoned tasks are left: the process should exit. */
  readonly retire: () => void
}

/** Runs tasks. */
export class TaskRunner implements SliceHandler, Stage {
  readonly #meter: TaskMeter
  readonly #board: TaskBoard
  readonly #claims: ClaimTable
  readonly #scopes: TaskScopes
  readonly #retire: () => void
  readonly #reports: RunReports
  /** The async context outside all tasks: callbacks scheduled from here do not belong to a task. */
  readonly #outside = new AsyncResource('ScalerTaskRunner')
  readonly #queue = new RunQueue<TaskRun | Slice>()
  readonly #slices: SliceRunner
  /** The task whose synchronous part is running. */
  #current: TaskRun | SliceTask | undefined
  readonly #ends: RunEnds
  readonly #held: HeldTask
  /** Started tasks that finish later. Invariant: none has finished or been abandoned. */
  readonly #pending = new Map<TaskId, TaskRun>()
  /** How many of these do more than wait. */
  #activeCount = 0
  #givenUpCount = 0
  readonly #noted = new NotedRuns(this.#outside, (runs) => this.#lookAt(runs))
  #arrivals = 0
  #last: ResultPlace | undefined
  readonly #places = new OutputPlaces()
  #isYielding = false
  #isRetired = false
  #burstEnd = 0
  #host: TaskHost = { address: '', worker: identity(''), clients: new Map() }

  constructor(options: TaskRunnerOptions) {
    const { meter, board, claims, scopes, retire } = options
    this.#meter = meter
    this.#board = board
    this.#claims = claims
    this.#scopes = scopes
    this.#retire = retire
    const reports = new RunReports({ ...options, outside: this.#outside })
    this.#reports = reports
    const slices = new SliceRunner({ meter, board, claims, scopes, reports }, this)
    const ends = new RunEnds({ meter, board, scopes, reports, onOver: (run) => this.#onOver(run) })
    this.#slices = slices
    this.#ends = ends
    const parts = { board, scopes, reports, ends, slices }
    this.#held = new HeldTask({
      ...parts,
      onReleased: (run) => this.#onReleased(run),
      onSettled: () => this.#goOn(),
    })
  }

  /** The worker that this processor serves. */
  get host(): TaskHost {
    return this.#host
  }

  /** Sets the worker. No task runs before. */
  setHost({ address, worker, inlineLimitBytes }: HostFacts): void {
    this.#host = { address, worker, clients: this.#host.clients }
    this.#reports.setWorker(worker, inlineLimitBytes)
  }

  /** Whether no task runs, is queued, or waits for children. */
  get isIdle(): boolean {
    const isResting = this.#current === undefined && this.#held.task === undefined
    const hasNoOther = this.#pending.size === 0 && this.#givenUpCount === 0
    return isResting && hasNoOther && this.#queue.size === 0
  }

  /** The exit note if the process exits now. Read by the code that ends it, if possible. */
  get exitNote(): ExitNote {
    if (this.#isRetired) return 'retired'
    if (this.#current !== undefined) return exitNoteOf([this.#current.id])
    const { followed } = this.#scopes
    if (followed instanceof TaskRun) {
      return exitNoteOf(followed.isOver || followed.isGivenUp ? [] : [followed.id])
    }
    const active = [...this.#pending.values()].filter(({ isWaiting }) => !isWaiting)
    const ids = active.map(({ id }) => id)
    const { task } = this.#held
    return exitNoteOf(task === undefined ? ids : [task.id, ...ids])
  }

  /** Adds a task after all others of its priority. No task starts before `run` is called. */
  add(task: RunnableTask): void {
    const run = new TaskRun(task, this.#arrivals, this)
    this.#last = run.follow(this.#last)
    this.#queue.push(run)
    this.#arrivals += 1
  }

  /** The same for consecutive tasks; `task` is what they have in common. */
  addSlice(task: RunnableTask, values: PackedArguments): void {
    this.#last = undefined
    this.#queue.push(new Slice(task, values, this.#arrivals))
    this.#arrivals += values.count
  }

  /** Sends all results now: the process is about to exit. */
  flush(): void {
    this.#reports.flush()
  }

  /** Skips consecutive tasks that have not started; aborts or abandons those that have. */
  stop(first: TaskId, reason: StopReason, count: number = 1): void {
    for (let n = 0; n < count; n += 1) {
      const id = nthTaskId(first, n)
      const skipped = skipIn(this.#queue, id)
      if (skipped === undefined) this.#stopStarted(id, reason)
      else if (this.#claims.claim(skipped.dispatchNumber)) this.#reports.canceled(skipped.task)
    }
  }

  #stopStarted(id: TaskId, reason: StopReason): void {
    const { task } = this.#held
    const run = task?.id === id ? task.scope : this.#pending.get(id)
    if (run === undefined) return
    if (reason !== 'givenUp') this.#scopes.run(run, () => run.stop(reason))
    // Abandoning the only task ends the process, which the agent has to decide.
    const isForced = reason === 'givenUp' || (!run.isListening && this.#pending.size > 1)
    if (isForced) this.#giveUp(run)
  }

  /** Runs queued tasks, unless a task is running. */
  run(): void {
    if (!this.#mayStart()) return
    this.#meter.beginTurn()
    this.#burstEnd = this.#meter.endedAt + MAX_BURST_MS
    this.#runBurst()
  }

  get isMixed(): boolean {
    return this.#places.areMixed
  }

  /** Read whenever something is printed. */
  get speaker(): Speaker | undefined {
    const { current } = this.#scopes
    if (!(current instanceof TaskRun)) return this.#places.only
    // Callbacks that the task leaves behind may print while others run.
    const running = this.#current instanceof SliceTask ? this.#current.made : this.#current
    if (current !== running && current.output !== 'log') this.#scopes.follow()
    return current
  }

  onChildren(run: TaskRun): void {
    this.#scopes.follow()
    if (run.isPending) this.#noted.note(run)
  }

  onRead(run: TaskRun): void {
    this.#board.begin(run.slot, this.#meter.now)
  }

  onListen(run: TaskRun): void {
    this.#board.listen(run.slot)
  }

  onProgress(run: TaskRun): void {
    this.#reports.progress(run)
  }

  onLog(run: TaskRun, level: LogLevel, words: LogWords): void {
    this.#reports.log(run, level, words)
  }

  #mayStart(): boolean {
    if (this.#current !== undefined || this.#isYielding || this.#activeCount > 0) return false
    if (this.#givenUpCount > 0 && this.#pending.size === 0 && !this.#isRetired) {
      this.#isRetired = true
      this.#retire()
    }
    return this.#queue.size > 0 && !this.#isRetired
  }

  #runBurst(): void {
    for (;;) {
      const first = this.#queue.first
      if (first === undefined) return this.#reports.flush()
      const isFinished = first instanceof Slice ? this.#runSlice(first) : this.#runOne(first)
      if (!isFinished) return this.#reports.planFlush()
      if (this.isTurnOver) return this.#yield()
    }
  }

  /** Runs a task, unless the agent has taken it back. Returns false if it has not finished. */
  #runOne(run: TaskRun): boolean {
    this.#queue.drop(run)
    return this.#claims.claim(run.dispatchNumber) ? this.#startOrReturn(run) : true
  }

  /** Runs tasks of a slice. Returns false if one of them has not finished. */
  #runSlice(slice: Slice): boolean {
    const { task, count } = slice
    const isOne = (task.isProfiled && count === 1) || task.refusal !== undefined
    if (isOne || findTracing() !== undefined) return this.#runSliceTask(slice)
    const { endedAt } = this.#meter
    if (this.#reports.mayHoldUpSlice(task.fn.lastCallMs, endedAt)) this.#reports.flush()
    this.#places.note(task)
    const isFinished = this.#slices.run(slice)
    if (slice.next === slice.count) this.#queue.drop(slice)
    return isFinished
  }

  /** Runs one task of a slice whose tasks are measured, refused or traced one by one. */
  #runSliceTask(slice: Slice): boolean {
    const index = slice.take(this.#claims)
    if (slice.next === slice.count) this.#queue.drop(slice)
    if (index < 0) return true
    return this.#startOrReturn(new TaskRun(slice.taskAt(index), slice.dispatchNumber + index, this))
  }

  /** The agent must dispatch a task again whose inputs are not here. */
  #startOrReturn(run: TaskRun): boolean {
    if (run.takeInput()) return this.#start(run)
    this.#reports.canceled(run.task)
    return true
  }

  /** Returns false if the task has not finished yet. */
  #start(run: TaskRun): boolean {
    const { task } = run
    if (this.#reports.mayHoldUp(task, this.#meter.endedAt)) this.#reports.flush()
    this.#current = run
    this.#places.note(task)
    this.#meter.start(run)
    const leewayMs = readMsOf(task)
    run.slot = this.#board.enter(run.dispatchNumber, run.startedAt + leewayMs, run.isProfiled)
    if (task.refusal !== undefined) {
      const { payload, text } = task.refusal
      return this.#ends.finish(run, 'failed', payload, [text])
    }
    try {
      return this.#end(
        run,
        this.#scopes.run(run, () => run.readAndPerform()),
      )
    } catch (error) {
      return this.#failOrWait(run, error)
    }
  }

  /** The task has thrown, or could not be read. Returns false if it has to wait for an import. */
  #failOrWait(run: TaskRun, error: unknown): boolean {
    const pending = run.call === undefined ? pendingImportOf(error) : undefined
    if (pending === undefined) return this.#ends.fail(run, error)
    this.#hold(run)
    void this.#startLater(run, pending)
    return false
  }

  onCurrent(task: SliceTask | undefined): void {
    this.#current = task
  }

  onThrown(run: TaskRun, error: unknown): boolean {
    this.#meter.adopt(run)
    if (run.call === undefined && run.task.timeoutMs > 0) {
      this.#board.begin(run.slot, run.startedAt + readMsOf(run.task))
    }
    return this.#failOrWait(run, error)
  }

  onLarge(run: TaskRun, bytes: Uint8Array): boolean {
    this.#meter.adopt(run)
    return this.#ends.succeedLarge(run, bytes)
  }

  onPromise(task: SliceTask, promise: PromiseLike<unknown>): boolean {
    if (task.made !== undefined || !isPlainPromise(promise)) {
      const run = task.scope
      this.#meter.adopt(run)
      return this.#wait(run, promise)
    }
    this.#activeCount += 1
    this.#held.hold(task, promise)
    return false
  }

  onMade(task: SliceTask, run: TaskRun): void {
    this.#held.onMade(task, run)
  }

  /** The held task is over, or it is this run, which is pending. */
  #onReleased(run: TaskRun | undefined): void {
    if (run === undefined) {
      this.#activeCount -= 1
      return
    }
    run.isPending = true
    this.#pending.set(run.id, run)
    this.#meter.adopt(run)
  }

  #onOver(run: TaskRun): void {
    this.#current = undefined
    if (run.isGivenUp) this.#givenUpCount -= 1
    else if (run.isPending) this.#release(run)
  }

  /** Reads and runs the task after an import that it needs. */
  async #startLater(run: TaskRun, pending: PendingImport): Promise<void> {
    try {
      await readWhenImported(pending, () => this.#scopes.run(run, () => run.read()))
      if (run.isGivenUp) this.#ends.finish(run, 'failed', NO_BYTES)
      else
        this.#end(
          run,
          this.#scopes.run(run, () => run.perform()),
        )
    } catch (error) {
      this.#ends.fail(run, error)
    }
    if (run.isOver) this.#goOn()
  }

  /** Handles the return value. Returns false if the task has not finished yet. */
  #end(run: TaskRun, value: unknown): boolean {
    return isThenable(value) ? this.#wait(run, value) : this.#ends.succeed(run, value)
  }

  #wait(run: TaskRun, value: PromiseLike<unknown>): false {
    this.#hold(run)
    void this.#settle(run, value)
    return false
  }

  async #settle(run: TaskRun, value: PromiseLike<unknown>): Promise<void> {
    try {
      this.#ends.succeed(run, await value)
    } catch (error) {
      this.#ends.fail(run, error)
    }
    this.#goOn()
  }

  #hold(run: TaskRun): void {
    this.#current = undefined
    if (run.childCount > 0) this.#noted.note(run)
    if (run.isPending) return
    run.isPending = true
    this.#pending.set(run.id, run)
    this.#activeCount += 1
  }

  #goOn(): void {
    if (!this.#mayStart()) {
      if (this.#activeCount > 0) this.#reports.planFlush()
      else this.#reports.flush()
    } else if (this.isTurnOver) this.#yield()
    else this.#runBurst()
  }

  /** Removes the task from the pending ones. */
  #release(run: TaskRun): void {
    this.#pending.delete(run.id)
    if (!run.isWaiting) this.#activeCount -= 1
  }

  /** Abandons the task: other tasks run as if it had finished. */
  #giveUp(run: TaskRun): void {
    run.isGivenUp = true
    this.#givenUpCount += 1
    this.#release(run)
    this.#board.giveUp(run.slot)
    this.#meter.pause(run)
    this.#scopes.end(run)
    run.endSpan('cancelled')
    this.#reports.abandoned(run)
    this.#noted.note(run)
  }

  /** They may have started or stopped waiting. */
  #lookAt(runs: readonly TaskRun[]): void {
    for (const run of runs) {
      if (!run.isOver && !run.isGivenUp) this.#setWaiting(run, run.childCount > 0)
    }
    if (this.#mayStart()) this.run()
    else this.#reports.flush()
  }

  #setWaiting(run: TaskRun, isWaiting: boolean): void {
    if (run.isWaiting === isWaiting) return
    run.isWaiting = isWaiting
    this.#activeCount += isWaiting ? -1 : 1
    if (isWaiting) this.#meter.pause(run)
    else this.#meter.resume(run)
    this.#reports.waits(run, isWaiting)
  }

  get isTurnOver(): boolean {
    const { endedAt } = this.#meter
    return endedAt > this.#burstEnd || this.#meter.lastMs > LONG_TASK_MS
  }

  /** Gives the event loop its turn. Results wait only if more tasks do. */
  #yield(): void {
    if (this.#queue.size === 0) return this.#reports.flush()
    this.#isYielding = true
    setImmediate(() => {
      this.#isYielding = false
      if (this.#mayStart()) this.run()
      else this.#reports.flush()
    })
  }
}
