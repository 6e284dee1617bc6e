// Ends tasks in the processor that are no longer needed: those cancelled by force, and those that
// have exceeded their time limit.
//
// stop requested ──► not started: the processor skips it
//                  └─► started ──► listens to its signal: has a grace time to end by itself
//                              └─► does not listen, or the grace time is over: by force
//
// By force means that the processor is killed if no other task has started in it; otherwise the
// task is given up, so that the other tasks need not run again. A processor that does not give up
// the task quickly is blocked by user code that never returns, and is killed after all. The status
// of a task comes from the processor's guardian, which answers whatever user code does.

import { assert } from '../../../base/assert.js'
import { IndexedHeap, type HeapItem } from '../../../base/collection/indexed-heap.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { RunStatus, StopReason, WorkerTurn } from '../events.js'
import type { WorkerTaskTable } from './table.js'
import type { WorkerTask } from './task.js'

/** The time between two queries about a task that has not started. */
const QUERY_INTERVAL_MS = 50

/** A processor gives up a task within this time unless user code blocks it. */
const REACTION_MS = 100

/** A processor that does not answer a query within this time is killed. */
const ANSWER_TIMEOUT_MS = 2_000

/** One watched entry. While it includes several tasks, the one that runs is what matters. */
interface Watch extends HeapItem {
  readonly task: WorkerTask
  /** When its status is next queried. */
  at: InstantMs
  /** Undefined while it may run until its time limit. */
  stop: Stop | undefined
}

interface Stop {
  readonly reason: StopReason
  /** If it listens: until then it may end by itself. */
  readonly graceEnd: InstantMs
  isGivenUp: boolean
  /** When the processor was last instructed to stop it. */
  requestedAt: InstantMs
  /** Since when it may be blocked from starting by a task that was given up before. */
  stuckSince: InstantMs | undefined
}

const NEW_STOP = { isGivenUp: false, stuckSince: undefined }

/** The parts of the worker that are needed here, and what is decided. */
interface WatchParts {
  readonly turn: WorkerTurn
  readonly tasks: WorkerTaskTable
  /** How long a task that listens to its signal may take to end, in milliseconds. */
  readonly graceMs: number
  /** The task has exceeded its time limit after `runningMs`. `stop` must be called next. */
  readonly onTimeout: (task: WorkerTask, runningMs: number) => void
  /** The task can be ended only by ending the processor. */
  readonly onKill: (task: WorkerTask, reason: StopReason) => void
}

/** Watches some of the tasks in the current processor. */
export class TaskWatch {
  readonly #parts: WatchParts
  readonly #turn: WorkerTurn
  readonly #watches = new Map<WorkerTask, Watch>()
  /** Invariant: all watches except the one that is being queried. */
  readonly #due = new IndexedHeap<Watch>(isBefore)
  #queried: Watch | undefined
  #queriedAt: InstantMs = 0
  readonly #alarm: Alarm

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.#turn = parts.turn
    this.#alarm = this.#turn.alarm(() => this.#onDue())
  }

  /** A task was dispatched. */
  onHandedOver(task: WorkerTask): void {
    if (task.timeoutMs === 0) return
    this.#add(task, this.#turn.now + task.timeoutMs)
    this.#setAlarm()
  }

  /** Stops a task in the processor. */
  stop(task: WorkerTask, reason: StopReason): void {
    const { now } = this.#turn
    this.#turn.act({ type: 'stopTask', taskId: task.id, count: task.count, reason })
    const watch = this.#watches.get(task) ?? this.#add(task, now)
    watch.stop = { reason, graceEnd: now + this.#parts.graceMs, ...NEW_STOP, requestedAt: now }
    watch.at = now
    if (watch !== this.#queried) this.#due.update(watch)
    this.#queryNext()
  }

  /** A task was cut; `rest` has the tasks after it. */
  onCut(task: WorkerTask, rest: WorkerTask): void {
    const watch = this.#watches.size > 0 ? this.#watches.get(task) : undefined
    if (watch === undefined) return
    const { at, stop } = watch
    const copy = { task: rest, at, stop: stop && { ...stop }, heapIndex: -1 }
    this.#watches.set(rest, copy)
    this.#due.add(copy)
  }

  /** The processor has finished a task. */
  onAnswered(task: WorkerTask): void {
    if (this.#watches.size === 0) return
    const watch = this.#watches.get(task)
    if (watch === undefined) return
    this.#watches.delete(task)
    if (watch === this.#queried) return
    this.#due.remove(watch)
    this.#setAlarm()
  }

  /** The guardian has reported the status of a task. */
  onStatus(status: RunStatus): void {
    const watch = this.#queried
    if (watch === undefined || watch.task.dispatchNumber !== status.dispatchNumber) return
    this.#queried = undefined
    if (this.#watches.get(watch.task) === watch) {
      this.#due.add(watch)
      // The entry may have been cut since it was asked about.
      const isIncluded = status.taskNumber < watch.task.dispatchNumber + watch.task.count
      const own = isIncluded ? status : { ...status, isStarted: false }
      if (watch.stop === undefined) this.#checkTime(watch, own)
      else this.#checkStop(watch, own)
    }
    this.#queryNext()
  }

  /** The processor is gone or being killed. */
  clear(): void {
    for (const watch of this.#watches.values()) if (watch !== this.#queried) this.#due.remove(watch)
    this.#watches.clear()
    this.#queried = undefined
    this.#alarm.clear()
  }

  /** Throws unless the watched tasks are those in the processor that must end at some time. */
  checkInvariants(unanswered: ReadonlySet<WorkerTask>, isListening: boolean): void {
    this.#due.checkInvariants()
    for (const [task, { stop }] of this.#watches) {
      assert(unanswered.has(task), 'a watched task is not in the processor')
      assert(
        (stop !== undefined) === (task.state === 'canceling'),
        'a watch and the state of its task disagree',
      )
    }
    if (!isListening) return
    for (const task of unanswered) {
      const mustEnd = task.state === 'canceling' || task.timeoutMs > 0
      assert(!mustEnd || this.#watches.has(task), 'a task that must end is not watched')
    }
  }

  #add(task: WorkerTask, at: InstantMs): Watch {
    const watch: Watch = { task, at, stop: undefined, heapIndex: -1 }
    this.#watches.set(task, watch)
    this.#due.add(watch)
    return watch
  }

  /** Queries the next task that is due. Without an answer, the processor is killed. */
  #onDue(): void {
    const watch = this.#queried
    if (watch === undefined) {
      this.#queryNext()
      return
    }
    this.#queried = undefined
    if (this.#watches.get(watch.task) === watch) {
      this.#due.add(watch)
      const { stop } = watch
      // Which task of several it is cannot be known: the first one that was not answered.
      const task = this.#separate(watch, watch.task.dispatchNumber)
      if (stop === undefined) this.#parts.onTimeout(task, this.#turn.now - task.dispatchedAt)
      this.#parts.onKill(task, stop?.reason ?? 'timedOut')
    } else this.#queryNext()
  }

  /** One query at a time: meanwhile, other tasks may be answered. */
  #queryNext(): void {
    const { now } = this.#turn
    const watch = this.#due.first
    if (this.#queried === undefined && watch !== undefined && watch.at <= now) {
      this.#due.remove(watch)
      this.#queried = watch
      this.#queriedAt = now
      const { dispatchNumber, count } = watch.task
      this.#turn.act({ type: 'askStatus', dispatchNumber, count })
    }
    this.#setAlarm()
  }

  #setAlarm(): void {
    const { at } = this.#due.first ?? {}
    this.#alarm.set(this.#queried === undefined ? at : this.#queriedAt + ANSWER_TIMEOUT_MS)
  }

  #checkTime(watch: Watch, { taskNumber, isStarted, runningMs }: RunStatus): void {
    const { task } = watch
    const leftMs = task.timeoutMs - (isStarted ? runningMs : 0)
    if (leftMs > 0) this.#postpone(watch, this.#turn.now + leftMs)
    else this.#parts.onTimeout(this.#separate(watch, taskNumber), runningMs)
  }

  /** The task with this number, which was asked about as part of the watched entry. */
  #separate({ task }: Watch, dispatchNumber: number): WorkerTask {
    if (task.count === 1) return task
    return this.#parts.tasks.separate(task, dispatchNumber - task.dispatchNumber)
  }

  #checkStop(asked: Watch, status: RunStatus): void {
    const task = status.isStarted ? this.#separate(asked, status.taskNumber) : asked.task
    const watch = this.#watches.get(task) as Watch
    const stop = watch.stop as Stop
    const { now } = this.#turn
    if (!status.isStarted) {
      if (isStuck(stop, status, now)) this.#parts.onKill(watch.task, stop.reason)
      else this.#postpone(watch, now + QUERY_INTERVAL_MS)
      return
    }
    if (status.isListening && now < stop.graceEnd) return this.#postpone(watch, stop.graceEnd)
    if (status.isAlone) return this.#parts.onKill(watch.task, stop.reason)
    if (!stop.isGivenUp) this.#giveUp(watch.task, stop)
    const killAt = stop.requestedAt + REACTION_MS
    if (now < killAt) this.#postpone(watch, killAt)
    else this.#parts.onKill(watch.task, stop.reason)
  }

  #giveUp(task: WorkerTask, stop: Stop): void {
    stop.isGivenUp = true
    stop.requestedAt = this.#turn.now
    this.#turn.act({ type: 'stopTask', taskId: task.id, count: task.count, reason: 'givenUp' })
  }

  #postpone(watch: Watch, at: InstantMs): void {
    watch.at = at
    this.#due.update(watch)
  }
}

/** A task that was given up before may keep the processor from skipping this one. */
function isStuck(stop: Stop, { hasGivenUp }: RunStatus, now: InstantMs): boolean {
  stop.stuckSince = hasGivenUp ? (stop.stuckSince ?? now) : undefined
  return stop.stuckSince !== undefined && now >= stop.stuckSince + ANSWER_TIMEOUT_MS
}

/** Of tasks due at the same time, the one that was dispatched first. */
function isBefore(a: Watch, b: Watch): boolean {
  return a.at === b.at ? a.task.dispatchNumber < b.task.dispatchNumber : a.at < b.at
}
