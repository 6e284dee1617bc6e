// The tasks of a worker, between the scheduler and the processor: they fetch their objects, wait
// for their turn, are dispatched and answered; or they are cancelled, exceed their time limit, or
// their processor ends.

import { assert } from '../../../base/assert.js'
import type { Alarm } from '../../../base/machine.js'
import type { ProcessorDeath } from '../../../base/errors.js'
import { idToHex } from '../../../base/ids.js'
import type { LogFields } from '../../../base/logger.js'
import type { RunningTask, TaskResult, TaskUpdate, WorkerHeartbeat } from '../../../wire/message.js'
import { countOf } from '../../../wire/run.js'
import { Abandonment } from './abandoned.js'
import { type Answers, Beginnings, WorkerTaskEnds } from './ends.js'
import { Dispatcher } from '../queue/dispatcher.js'
import type { LastRun, RunStatus, StopReason, WorkerCoreOptions, WorkerTurn } from '../events.js'
import { Fetcher } from '../objects.js'
import { runsOf } from '../operators.js'
import { GiveBack } from '../queue/give-back.js'
import {
  attributeDeath,
  KILL_CAUSES,
  kindOf,
  NO_CAUSE,
  RequeuedTasks,
  separateCauses,
} from '../processor/death.js'
import type { ProcessorSlot } from '../processor/slot.js'
import { bytesOf, fieldsOf, isOut, isTied, pastsOf, taskCountOf, type WorkerTask } from './task.js'
import { TaskLinks } from './links.js'
import { TaskOrders } from './orders.js'
import { isAnswerTo, partOfResult } from './result.js'
import { WorkerTaskTable } from './table.js'
import { TaskWatch } from './watch.js'

/** The parts of the worker that tasks need. */
interface TaskFlowParts {
  readonly options: WorkerCoreOptions
  readonly turn: WorkerTurn
  readonly answers: Answers
  readonly slot: ProcessorSlot
}

/** All tasks of one worker. */
export class WorkerTaskFlow {
  readonly #turn: WorkerTurn
  readonly #answers: Answers
  readonly #slot: ProcessorSlot
  /** Tasks run elsewhere, through the processor. */
  readonly #isGateway: boolean
  /** What the scheduler asks for. */
  readonly orders: TaskOrders
  readonly #tasks: WorkerTaskTable
  readonly #dispatcher: Dispatcher
  readonly fetcher: Fetcher
  readonly #watch: TaskWatch
  readonly #ends: WorkerTaskEnds
  readonly #requeued: RequeuedTasks
  readonly #giveBack: GiveBack
  readonly #beginnings: Beginnings
  readonly #links: TaskLinks
  /** When a task that may have ended a processor gets its turn. */
  readonly #turnAlarm: Alarm
  /** Tasks are not dispatched while results cannot be sent. */
  #isCongested = false
  /** Why this worker killed its processor. */
  #killed: { readonly task: WorkerTask; readonly reason: StopReason } | undefined
  readonly #abandonment = new Abandonment()

  constructor({ options, turn, answers, slot }: TaskFlowParts) {
    this.#turn = turn
    this.#answers = answers
    this.#slot = slot
    this.#isGateway = options.gateway !== undefined
    const onCut = (task: WorkerTask, rest: WorkerTask): void => {
      for (const part of [this.#dispatcher, this.fetcher, this.#watch, this.#giveBack]) {
        part.onCut(task, rest)
      }
    }
    const onLeft = (task: WorkerTask): void => this.#links.onLeft(task)
    this.#tasks = new WorkerTaskTable(turn, options.logsTasks === true, onCut, onLeft)
    this.#dispatcher = new Dispatcher(options.units, options.gateway?.concurrency)
    answers.outputs.listenTo(this.#tasks, this.#dispatcher)
    const [tasks, dispatcher] = [this.#tasks, this.#dispatcher]
    this.#watch = new TaskWatch({
      turn,
      tasks,
      graceMs: options.cancelGraceMs,
      onTimeout: (task, runningMs) => this.#onTimeout(task, runningMs),
      onKill: (task, reason) => this.#killOnPurpose({ task, reason }),
    })
    // Its tick is an event like any other, after which tasks are dispatched.
    this.#turnAlarm = turn.alarm(() => {})
    const fetcher = new Fetcher({
      turn,
      slot,
      tasks,
      dispatcher,
      limitBytes: options.objectCacheBytes,
      onMissing: (task, ids) => this.#ends.onMissing(task, ids),
    })
    this.fetcher = fetcher
    this.#ends = new WorkerTaskEnds({ tasks, dispatcher, fetcher, answers })
    this.#requeued = new RequeuedTasks(this.#tasks, answers)
    this.#giveBack = new GiveBack({ turn, answers, slot, tasks, dispatcher })
    const { inlineLimitBytes } = options
    const drop = (task: WorkerTask): void => this.#drop(task)
    this.#links = new TaskLinks({ tasks, dispatcher, answers, inlineLimitBytes, drop })
    const [giveBack, links] = [this.#giveBack, this.#links]
    this.orders = new TaskOrders({ options, tasks, answers, fetcher, giveBack, links, drop })
    this.#beginnings = new Beginnings({ turn, slot, answers, tasks, dispatcher })
  }

  /** Tasks of this worker that neither run nor wait for others. */
  get queuedCount(): number {
    const { activeCount, waitingCount } = this.#dispatcher
    const { size, cancelingCount } = this.#tasks
    return size + cancelingCount - waitingCount - (activeCount > 0 ? 1 : 0)
  }

  /** Whether the processor has a task that is not waiting for others. */
  get isBusy(): boolean {
    return this.#dispatcher.activeCount > 0
  }

  /** Whether no task runs or waits, and no result is kept, that may still be needed. */
  get isIdle(): boolean {
    return this.#tasks.size === 0 && !this.#answers.hasKept
  }

  /** Whether neither the worker nor its processor has a task. */
  get hasNoTasks(): boolean {
    return this.#tasks.size === 0 && this.#dispatcher.isEmpty
  }

  /** The entries of tasks in the processor that may still be needed. */
  get running(): readonly WorkerTask[] {
    return [...this.#tasks.values()].filter(
      ({ state }) => state === 'dispatched' || state === 'abandoned',
    )
  }

  /** The tasks that have been running for a while, in dispatch order, for heartbeats. */
  get runs(): readonly RunningTask[] {
    return runsOf(this.#dispatcher.unanswered(), this.#turn.now)
  }

  /**
   * The tasks that a scheduler can recover from this worker: running ones, and those with kept
   * results.
   */
  get recoverable(): Pick<WorkerHeartbeat, 'tasks' | 'pasts'> {
    const all = [...this.#answers.kept]
    for (const task of this.#tasks.values())
      if (task.state === 'abandoned') all.push(...pastsOf(task))
    const tasks = all.map(({ taskId }) => taskId)
    return { tasks, pasts: all.filter(({ attempt }) => attempt > 0) }
  }

  /**
   * The worker is leaving: tasks that have not started, or arrive from now on, are returned to the
   * scheduler.
   */
  leave(): void {
    this.#giveBack.leave()
  }

  /**
   * The scheduler has received the list of recoverable tasks. If it `canRecover`, it decides about
   * each.
   */
  onRecoverableReported(canRecover: boolean): void {
    this.#abandonment.onReported(canRecover, this.#turn.now)
  }

  /** Whether sending is congested, so that results cannot leave. */
  setCongested(isCongested: boolean): void {
    this.#isCongested = isCongested
  }

  /**
   * The scheduler that sent the tasks is gone. Tasks in the processor continue, but are not
   * awaited.
   */
  onDisconnected(): void {
    this.#isCongested = false
    this.#abandonment.onDisconnected()
    this.#giveBack.onDisconnected()
    for (const task of this.#tasks.values()) {
      if (task.state === 'queued') this.#dispatcher.remove(task)
      this.#tasks.change(task, 'disconnected')
      task.isCutOff = true
      task.isReported = false
    }
    this.#giveBack.retract()
    if (this.#slot.isListening) this.fetcher.onDisconnected()
  }

  /** A processor was started: every waiting task needs its objects there. */
  onProcessorStarted(): void {
    this.#killed = undefined
    for (const task of this.#tasks.values()) this.fetcher.prepare(task)
  }

  /** The processor has finished some tasks. A processor with an invalid answer is killed. */
  onTasksAnswered(result: TaskResult): void {
    const { taskId, status } = result
    const count = countOf(result)
    const tasks = this.#tasks.rangeOut(taskId, count)
    if (taskCountOf(tasks) !== count || !isAnswerTo(tasks, result, this.#hasAll)) {
      const [task] = tasks
      const about = task === undefined ? { task: idToHex(taskId) } : fieldsOf(task)
      const text = 'the processor sent an invalid answer; replacing it'
      this.#turn.log('error', text, { ...about, status })
      this.#slot.kill()
      return
    }
    if (this.#isGateway) this.#slot.onUsed()
    let done = 0
    for (const task of tasks) {
      const part = partOfResult(result, done, done + task.count)
      done += task.count
      this.#dispatcher.take(task)
      this.#watch.onAnswered(task)
      if (status === 'canceled' && task.state !== 'canceling') {
        this.#takeBack(task)
        continue
      }
      this.#links.onAnswered(task, part)
      this.#ends.onAnswered(task, part)
      this.#giveBack.onSettled(task)
    }
  }

  /** A task waits for its children, continues, or reports progress. */
  onTaskUpdated(update: TaskUpdate): void {
    const { now } = this.#turn
    const task = this.#tasks.getOut(update.taskId)
    if (task === undefined) return
    task.hasBegun = true
    task.begunAt ??= now
    const isNews =
      update.update === 'progress' ||
      this.#dispatcher.setWaiting(task, update.update === 'waiting', now)
    if (!isNews || task.state !== 'dispatched') return
    if (update.update === 'waiting' && task.lossCount > 0) this.#answers.waits(task)
    else this.#answers.update(update)
  }

  /** The guardian has reported the status of a task. */
  onStatusTold(status: RunStatus): void {
    this.#watch.onStatus(status)
    this.#beginnings.onStatus(status)
  }

  /** The processor has given back some of the recalled tasks. */
  onTasksRetracted(retracted: readonly number[]): void {
    for (const task of this.#giveBack.onRetracted(retracted)) {
      this.#dispatcher.take(task)
      this.#watch.onAnswered(task)
      this.#takeBack(task)
    }
  }

  /** The processor will not run a task, which has left it. */
  #takeBack(task: WorkerTask): void {
    this.#tasks.change(task, 'requeued')
    // An abandoned task that was sent again: it waits from the start.
    if (!this.#giveBack.onTakenBack(task)) this.fetcher.prepare(task)
  }

  /** The processor is gone, and its objects. Returns fields for the log: which task, what cause. */
  onProcessorExited(death: ProcessorDeath, lastRun: LastRun): LogFields {
    this.#watch.clear()
    this.#beginnings.onProcessorExited()
    this.#giveBack.onProcessorExited()
    this.fetcher.onProcessorExited()
    separateCauses(this.#tasks, this.#dispatcher.unanswered(), lastRun)
    const last = this.#dispatcher.unanswered().findLast((task) => this.#dispatcher.isLast(task))
    const unread = lastRun === 'unread' ? last : undefined
    const unanswered = this.#dispatcher.takeAll()
    this.#loseObjects()
    const killed = this.#killed
    const isUnusable = lastRun === 'unusable'
    const isOnPurpose = killed !== undefined || lastRun === 'retired' || isUnusable
    const attribution = isOnPurpose
      ? NO_CAUSE
      : attributeDeath({ unanswered, lastRun, unread }, (task) => {
          return this.#beginnings.mayHaveBegun(task)
        })
    const [causingTask = killed?.task] = [attribution.cause, ...attribution.candidates]
    const why = isOnPurpose ? KILL_CAUSES[killed?.reason ?? 'givenUp'] : kindOf(death)
    const cause = isUnusable ? 'not started' : why
    const fields = { ...(causingTask === undefined ? {} : fieldsOf(causingTask)), cause }
    this.#requeued.sort(unanswered, { ...attribution, isOnPurpose, death })
    this.#giveBack.giveBackWaiting()
    return fields
  }

  /**
   * Dispatches the tasks that may start now. Must be called after everything that may change that.
   */
  dispatch(): void {
    const mayDispatch = this.#slot.state === 'ready' && !this.#isCongested
    if (mayDispatch) this.#dispatchAll()
    else this.#dispatcher.withdrawClaim()
    this.#turnAlarm.set(mayDispatch ? this.#dispatcher.turnAt(this.#turn.now) : undefined)
  }

  /** The worker has ended, with its processor. */
  giveUnitsBack(): void {
    this.#dispatcher.giveAllUnitsBack()
  }

  /** Throws if the tables disagree. */
  checkInvariants(): void {
    this.#tasks.checkInvariants()
    this.#dispatcher.checkInvariants()
    const all = [...this.#tasks.values()]
    const countIn = (state: WorkerTask['state']): number =>
      taskCountOf(all.filter((task) => task.state === state))
    const { queuedCount } = this.#dispatcher
    assert(countIn('queued') === queuedCount, 'the queue does not contain the queued tasks')
    const unanswered = this.#dispatcher.unanswered()
    const outCount = countIn('dispatched') + countIn('abandoned') + this.#tasks.cancelingCount
    assert(outCount === taskCountOf(unanswered), 'the tasks in the processor have other states')
    const out = new Set(unanswered)
    this.#watch.checkInvariants(out, this.#slot.isListening)
    this.#giveBack.checkInvariants(out)
    this.#answers.checkInvariants()
    this.#links.checkInvariants()
    const fetching = new Set(all.filter((task) => task.state === 'fetching'))
    if (this.#slot.isListening) this.fetcher.checkInvariants(fetching)
  }

  readonly #hasAll = (task: WorkerTask): boolean => this.fetcher.isUpToDate(task)

  #dispatchAll(): void {
    const { now } = this.#turn
    for (;;) {
      const task = this.#dispatcher.nextAt(now)
      if (task === undefined) return this.#dispatcher.withdrawClaim()
      if (!this.fetcher.isUpToDate(task) && !this.fetcher.fetch(task)) {
        this.#sendBack(task)
        continue
      }
      if (this.#links.returnLate(task)) continue
      const room = this.#roomFor(task)
      if (room === 0) {
        if (this.#abandonment.isOver(now)) this.#cancelAbandoned()
        return
      }
      this.#tasks.cut(task, room)
      if (!this.#dispatcher.takeUnits(task)) return this.#dispatcher.withdrawClaim()
      this.#handOver(task)
    }
  }

  /**
   * How many tasks of the entry may be dispatched. A task that was cancelled and has arrived again
   * waits until its first run has ended, because answers contain only the task's id.
   */
  #roomFor(task: WorkerTask): number {
    const { hasCandidates } = this.#tasks
    if (this.#tasks.isStillOut(task.id, task.count)) {
      this.#dispatcher.withdrawClaim()
      return 0
    }
    return this.#dispatcher.roomFor(task, hasCandidates)
  }

  /** Its objects were deleted while it waited. */
  #sendBack(task: WorkerTask): void {
    this.#dispatcher.remove(task)
    this.#tasks.change(task, 'objectsLost')
  }

  #handOver(task: WorkerTask): void {
    this.#tasks.change(task, 'handedOver')
    this.#dispatcher.handOver(task, this.#turn)
    task.wasTied = isTied(task)
    if (!this.#isGateway) this.#slot.onUsed()
    this.#turn.act({ type: 'dispatch', bytes: bytesOf(task), units: task.grant?.units })
    this.#watch.onHandedOver(task)
    this.#beginnings.onHandedOver()
  }

  /** Drops a task, whether it has started or not. */
  #drop(task: WorkerTask): void {
    const wasOut = isOut(task)
    if (task.state === 'queued') this.#dispatcher.remove(task)
    this.#tasks.change(task, 'cancelled')
    if (wasOut) this.#stop(task, 'cancelled')
  }

  /** Stops a task. If it is queued behind a busy one, it is taken back meanwhile. */
  #stop(task: WorkerTask, reason: StopReason): void {
    this.#giveBack.onSettled(task)
    if (!this.#slot.isListening) return
    this.#watch.stop(task, reason)
    this.#giveBack.retractOne(task)
  }

  /** Ends abandoned tasks when they block awaited ones. */
  #cancelAbandoned(): void {
    this.#abandonment.onEnded()
    for (const task of this.#dispatcher.unanswered()) {
      if (task.state !== 'abandoned') continue
      this.#tasks.change(task, 'cancelled')
      this.#stop(task, 'cancelled')
    }
  }

  #onTimeout(task: WorkerTask, runningMs: number): void {
    this.#ends.onTimeout(task, runningMs)
    this.#stop(task, 'timedOut')
  }

  #loseObjects(): void {
    for (const task of this.#tasks.values()) {
      if (task.state === 'queued') this.#dispatcher.remove(task)
      if (task.state === 'queued' || task.state === 'fetching') {
        this.#tasks.change(task, 'objectsLost')
        task.missingCount = 0
      }
    }
  }

  #killOnPurpose(killed: { readonly task: WorkerTask; readonly reason: StopReason }): void {
    this.#watch.clear()
    this.#killed = killed
    this.#slot.kill()
  }
}
