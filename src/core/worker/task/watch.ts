// Ends tasks that the processor has and that are not wanted any more: such as were cancelled by
// force, and such as have run for too long.
//
//   told to stop ──► not begun: the processor skips it
//                └─► begun ──► listens to its signal: has some time to end by itself
//                          └─► does not listen, or that time is over: by force
//
// By force means that the processor is killed if nothing else has begun in it; else the task is
// given up, so that its neighbours need not run twice. A processor that does not do that at once is
// kept from it by user code that never returns, and is killed after all. How far a task is, is
// asked of the processor's guardian, which answers whatever user code does.

import { assert } from '../../../base/assert.js'
import { IndexedHeap, type HeapItem } from '../../../base/indexed-heap.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { RunStatus, StopReason, WorkerTurn } from '../events.js'
import type { WorkerTask } from './task.js'

/** Between two questions about a task that has not begun. */
const ASK_INTERVAL_MS = 50

/** A processor that gives up a task does so within this time, or user code keeps it from it. */
const REACTION_MS = 100

/** A processor that does not answer a question about a task for this long is killed. */
const ANSWER_TIMEOUT_MS = 2_000

/** One task that is watched. */
interface Watch extends HeapItem {
  readonly task: WorkerTask
  /** When it is asked about next. */
  at: InstantMs
  /** Undefined while it may go on until its time is over. */
  stop: Stop | undefined
}

interface Stop {
  readonly reason: StopReason
  /** If it listens: until then it may end by itself. */
  readonly graceEnd: InstantMs
  isGivenUp: boolean
  /** When the processor was last told. */
  toldAt: InstantMs
  /** Since when it seems not to have begun beside something that was given up before. */
  stuckSince: InstantMs | undefined
}

const NEW_STOP = { isGivenUp: false, stuckSince: undefined }

/** What a watch tells. */
export interface TaskWatchHandler {
  /** The task has exceeded its time limit after `runningMs`. `stop` must follow. */
  onTimeout(task: WorkerTask, runningMs: number): void
  /** Only the end of the processor ends a task that must end. */
  onKill(task: WorkerTask, reason: StopReason): void
}

/** Watches some of the tasks that the processor of this moment has. */
export class TaskWatch {
  readonly #turn: WorkerTurn
  readonly #graceMs: number
  readonly #handler: TaskWatchHandler
  readonly #watches = new Map<WorkerTask, Watch>()
  /** Invariant: all watches but the one that was asked about. */
  readonly #due = new IndexedHeap<Watch>(isBefore)
  #asked: Watch | undefined
  #askedAt: InstantMs = 0
  readonly #alarm: Alarm

  constructor(turn: WorkerTurn, graceMs: number, handler: TaskWatchHandler) {
    this.#turn = turn
    this.#graceMs = graceMs
    this.#handler = handler
    this.#alarm = turn.alarm(() => this.#onDue())
  }

  /** The processor has got a task. */
  onHandedOver(task: WorkerTask): void {
    if (task.timeoutMs === 0) return
    this.#add(task, this.#turn.now + task.timeoutMs)
    this.#setAlarm()
  }

  /** Has a task stopped that the processor has. */
  stop(task: WorkerTask, reason: StopReason): void {
    const { now } = this.#turn
    this.#turn.act({ type: 'stopTask', taskId: task.id, reason })
    const watch = this.#watches.get(task) ?? this.#add(task, now)
    watch.stop = { reason, graceEnd: now + this.#graceMs, ...NEW_STOP, toldAt: now }
    watch.at = now
    if (watch !== this.#asked) this.#due.update(watch)
    this.#askNext()
  }

  /** The processor is done with a task. */
  onAnswered(task: WorkerTask): void {
    if (this.#watches.size === 0) return
    const watch = this.#watches.get(task)
    if (watch === undefined) return
    this.#watches.delete(task)
    if (watch === this.#asked) return
    this.#due.remove(watch)
    this.#setAlarm()
  }

  /** The processor's guardian has told how far a task is. */
  onStatus(status: RunStatus): void {
    const watch = this.#asked
    if (watch === undefined || watch.task.dispatchNumber !== status.dispatchNumber) return
    this.#asked = undefined
    if (this.#watches.get(watch.task) === watch) {
      this.#due.add(watch)
      if (watch.stop === undefined) this.#checkTime(watch, status)
      else this.#checkStop(watch, watch.stop, status)
    }
    this.#askNext()
  }

  /** The processor is gone or being killed. */
  clear(): void {
    for (const watch of this.#watches.values()) if (watch !== this.#asked) this.#due.remove(watch)
    this.#watches.clear()
    this.#asked = undefined
    this.#alarm.clear()
  }

  /** Throws if something else is watched than what the processor has and must not have for long. */
  checkInvariants(unanswered: ReadonlySet<WorkerTask>, isListening: boolean): void {
    this.#due.checkInvariants()
    for (const [task, { stop }] of this.#watches) {
      assert(unanswered.has(task), 'a task is watched that the processor does not have')
      assert((stop !== undefined) === (task.state === 'canceling'), 'a task is watched wrongly')
    }
    if (!isListening) return
    for (const task of unanswered) {
      const mustEnd = task.state === 'canceling' || task.timeoutMs > 0
      assert(!mustEnd || this.#watches.has(task), 'nobody sees to it that a task ends')
    }
  }

  #add(task: WorkerTask, at: InstantMs): Watch {
    const watch: Watch = { task, at, stop: undefined, heapIndex: -1 }
    this.#watches.set(task, watch)
    this.#due.add(watch)
    return watch
  }

  /** Asks what is due. A processor whose guardian does not answer is killed. */
  #onDue(): void {
    const watch = this.#asked
    if (watch === undefined) {
      this.#askNext()
      return
    }
    this.#asked = undefined
    if (this.#watches.get(watch.task) === watch) {
      this.#due.add(watch)
      const { task, stop } = watch
      if (stop === undefined) {
        this.#handler.onTimeout(task, this.#turn.now - task.dispatchedAt)
      }
      this.#handler.onKill(task, stop?.reason ?? 'timedOut')
    } else this.#askNext()
  }

  /** One question at a time: meanwhile the answers of others may come. */
  #askNext(): void {
    const { now } = this.#turn
    const watch = this.#due.first
    if (this.#asked === undefined && watch !== undefined && watch.at <= now) {
      this.#due.remove(watch)
      this.#asked = watch
      this.#askedAt = now
      this.#turn.act({ type: 'askStatus', dispatchNumber: watch.task.dispatchNumber })
    }
    this.#setAlarm()
  }

  #setAlarm(): void {
    const { at } = this.#due.first ?? {}
    this.#alarm.set(this.#asked === undefined ? at : this.#askedAt + ANSWER_TIMEOUT_MS)
  }

  #checkTime(watch: Watch, { isStarted, runningMs }: RunStatus): void {
    const { task } = watch
    const leftMs = task.timeoutMs - (isStarted ? runningMs : 0)
    if (leftMs > 0) this.#postpone(watch, this.#turn.now + leftMs)
    else this.#handler.onTimeout(task, runningMs)
  }

  #checkStop(watch: Watch, stop: Stop, status: RunStatus): void {
    const { now } = this.#turn
    if (!status.isStarted) {
      if (isStuck(stop, status, now)) this.#handler.onKill(watch.task, stop.reason)
      else this.#postpone(watch, now + ASK_INTERVAL_MS)
      return
    }
    if (status.isListening && now < stop.graceEnd) return this.#postpone(watch, stop.graceEnd)
    if (status.isAlone) return this.#handler.onKill(watch.task, stop.reason)
    if (!stop.isGivenUp) this.#giveUp(watch.task, stop)
    const killAt = stop.toldAt + REACTION_MS
    if (now < killAt) this.#postpone(watch, killAt)
    else this.#handler.onKill(watch.task, stop.reason)
  }

  #giveUp(task: WorkerTask, stop: Stop): void {
    stop.isGivenUp = true
    stop.toldAt = this.#turn.now
    this.#turn.act({ type: 'stopTask', taskId: task.id, reason: 'givenUp' })
  }

  #postpone(watch: Watch, at: InstantMs): void {
    watch.at = at
    this.#due.update(watch)
  }
}

/** What was given up before may be what keeps the processor from skipping a task. */
function isStuck(stop: Stop, { hasGivenUp }: RunStatus, now: InstantMs): boolean {
  stop.stuckSince = hasGivenUp ? (stop.stuckSince ?? now) : undefined
  return stop.stuckSince !== undefined && now >= stop.stuckSince + ANSWER_TIMEOUT_MS
}

/** Of what is due at the same time, what was handed over first. */
function isBefore(a: Watch, b: Watch): boolean {
  return a.at === b.at ? a.task.dispatchNumber < b.task.dispatchNumber : a.at < b.at
}
