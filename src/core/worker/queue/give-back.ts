// Returns tasks to the scheduler when it recalls them or when the worker leaves: only tasks that
// have not started. A task in the processor is first taken back from it.
//
//    TaskCancel without force ──► waits here: returned
//                             └─► in the processor ──► not started there: returned
//                                                  └─► started, or unknown: notFound
//
// Each TaskCancel is answered exactly once, whatever happens meanwhile.

import { assert } from '../../../base/assert.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { WorkerTurn } from '../events.js'
import type { ProcessorSlot } from '../processor/slot.js'
import type { Answers } from '../task/ends.js'
import type { WorkerTaskTable } from '../task/table.js'
import type { WorkerTask } from '../task/task.js'
import type { Dispatcher } from './dispatcher.js'

// Requests to the processor to return tasks that it has not started. One request at a time; tasks
// that are added meanwhile go into the next one.

/** The processor's answer for tasks that were dispatched one after the other. */
interface Retraction {
  /** The number of the first one. */
  readonly dispatchNumber: number
  readonly count: number
  /** They will never run there. False: they have started or finished. */
  readonly isRetracted: boolean
}

/** The requests to the current processor. */
class Retractions {
  readonly #turn: WorkerTurn
  /** The dispatch numbers of the requested tasks. Empty: no request is open. */
  #requested = new Set<number>()
  /** The tasks of the next request. */
  readonly #next = new Set<WorkerTask>()

  constructor(turn: WorkerTurn) {
    this.#turn = turn
  }

  /** Takes back tasks that have not started. */
  request(tasks: Iterable<WorkerTask>): void {
    for (const task of tasks) {
      if (!this.#isRequested(task)) this.#next.add(task)
    }
    this.#requestNext()
  }

  /** A task was cut; `rest` has the tasks after it. */
  onCut(task: WorkerTask, rest: WorkerTask): void {
    if (this.#next.has(task)) this.#next.add(rest)
  }

  /** The processor has finished a task. */
  onAnswered(task: WorkerTask): void {
    if (this.#next.size > 0) this.#next.delete(task)
  }

  /** The processor has answered. Returns the outcome for each requested task. */
  onRetracted(retracted: readonly number[]): readonly Retraction[] {
    const numbers = new Set(retracted)
    const answer: Retraction[] = []
    for (const dispatchNumber of this.#requested) {
      const isRetracted = numbers.has(dispatchNumber)
      const last = answer.at(-1)
      const isNext = last !== undefined && last.dispatchNumber + last.count === dispatchNumber
      if (isNext && last.isRetracted === isRetracted) {
        answer[answer.length - 1] = { ...last, count: last.count + 1 }
      } else answer.push({ dispatchNumber, count: 1, isRetracted })
    }
    this.#requested = new Set()
    this.#requestNext()
    return answer
  }

  /** The processor is gone. */
  clear(): void {
    this.#requested = new Set()
    this.#next.clear()
  }

  /** Throws if the next request contains a task that is not in the processor. */
  checkInvariants(unanswered: ReadonlySet<WorkerTask>): void {
    for (const task of this.#next) {
      assert(unanswered.has(task), 'a task is recalled that is not in the processor')
    }
    assert(
      this.#next.size === 0 || this.#requested.size > 0,
      'tasks wait to be recalled without an open request',
    )
  }

  #isRequested({ dispatchNumber, count }: WorkerTask): boolean {
    if (this.#requested.size === 0) return false
    for (let n = 0; n < count; n += 1) {
      if (!this.#requested.has(dispatchNumber + n)) return false
    }
    return true
  }

  #requestNext(): void {
    if (this.#requested.size > 0 || this.#next.size === 0) return
    for (const { dispatchNumber, count } of this.#next) {
      for (let n = 0; n < count; n += 1) this.#requested.add(dispatchNumber + n)
    }
    this.#next.clear()
    this.#turn.act({ type: 'retractTasks', dispatchNumbers: [...this.#requested] })
  }
}

/** A task counts as started if the processor does not answer within this time, in milliseconds. */
const ANSWER_TIMEOUT_MS = 2_000

/** The parts of the worker that are needed here. */
interface GiveBackParts {
  readonly turn: WorkerTurn
  readonly answers: Answers
  readonly slot: ProcessorSlot
  readonly tasks: WorkerTaskTable
  readonly dispatcher: Dispatcher
}

/** The TaskCancels of one task that have not been answered. */
interface Recall {
  readonly since: InstantMs
  times: number
}

/** Returns tasks that have not started. */
export class GiveBack {
  readonly #answers: Answers
  readonly #slot: ProcessorSlot
  readonly #tasks: WorkerTaskTable
  readonly #dispatcher: Dispatcher
  readonly #retractions: Retractions
  /** Recalled tasks that are in the processor, in the order of their TaskCancels. */
  readonly #recalls = new Map<WorkerTask, Recall>()
  readonly #turn: WorkerTurn
  /** When the oldest recall must be answered, whatever the processor does. */
  readonly #alarm: Alarm
  #isLeaving = false

  constructor({ turn, answers, slot, tasks, dispatcher }: GiveBackParts) {
    this.#answers = answers
    this.#slot = slot
    this.#tasks = tasks
    this.#dispatcher = dispatcher
    this.#turn = turn
    this.#retractions = new Retractions(turn)
    this.#alarm = turn.alarm(() => this.#onTimeout())
  }

  /** Whether the worker is leaving: it keeps only tasks that have started. */
  get isLeaving(): boolean {
    return this.#isLeaving
  }

  /** The scheduler recalls a task. A task that may have ended a processor stays here. */
  recall(task: WorkerTask): void {
    const isHere = task.state === 'queued' || task.state === 'fetching'
    if (isHere && task.deaths === 0 && !task.isCandidate) this.#giveBack(task)
    else if (task.state === 'dispatched' && this.#mayBeRetracted(task)) {
      const recall = this.#recalls.get(task)
      if (recall === undefined) this.#addRecall(task)
      else recall.times += 1
      this.#retractions.request([task])
    } else this.#answers.cancel(task.id, 'notFound', task.count)
  }

  /** A task was cut; `rest` has the tasks after it. */
  onCut(task: WorkerTask, rest: WorkerTask): void {
    this.#retractions.onCut(task, rest)
    const recall = this.#recalls.size > 0 ? this.#recalls.get(task) : undefined
    if (recall !== undefined) this.#recalls.set(rest, { ...recall })
  }

  /** The worker is leaving: returns all tasks that have not started, now and later. */
  leave(): void {
    this.#isLeaving = true
    this.giveBackWaiting()
    this.retract()
  }

  /** If the worker is leaving: returns the tasks that wait for the processor. */
  giveBackWaiting(): void {
    if (!this.#isLeaving) return
    for (const task of this.#tasks.values()) {
      if (task.state === 'queued' || task.state === 'fetching') this.#giveBack(task)
    }
  }

  /** Takes back all tasks that the processor has not started. */
  retract(): void {
    const unanswered = [...this.#dispatcher.unanswered()]
    this.#retractions.request(unanswered.filter((task) => this.#mayBeRetracted(task)))
  }

  /** Takes a task back if the processor has not started it. */
  retractOne(task: WorkerTask): void {
    if (this.#mayBeRetracted(task)) this.#retractions.request([task])
  }

  /**
   * The processor has finished a task, or the task is to be stopped: it can no longer be returned.
   */
  onSettled(task: WorkerTask): void {
    this.#retractions.onAnswered(task)
    this.#answerRecalls(task, 'notFound')
  }

  /**
   * The processor has answered. Returns the tasks that it will not run. The caller removes them
   * from the processor.
   */
  onRetracted(retracted: readonly number[]): readonly WorkerTask[] {
    const taken: WorkerTask[] = []
    for (const { isRetracted, ...asked } of this.#retractions.onRetracted(retracted)) {
      for (const task of this.#entriesOf(asked)) {
        if (isRetracted) taken.push(task)
        else {
          task.hasBegun = true
          this.#answerRecalls(task, 'notFound')
        }
      }
    }
    return taken
  }

  /** The entries of exactly these tasks, without those that were answered. */
  #entriesOf({ dispatchNumber, count }: Omit<Retraction, 'isRetracted'>): readonly WorkerTask[] {
    const entries: WorkerTask[] = []
    const end = dispatchNumber + count
    for (let number = dispatchNumber; number < end; number += 1) {
      const found = this.#dispatcher.at(number)
      if (found === undefined) continue
      const task = this.#tasks.separateFrom(found, number - found.dispatchNumber)
      this.#tasks.cut(task, end - number)
      entries.push(task)
      number += task.count - 1
    }
    return entries
  }

  /** A task has left the processor. False: it stays here, and is `fetching`. */
  onTakenBack(task: WorkerTask): boolean {
    this.#retractions.onAnswered(task)
    if (task.state === 'ended') return true
    const isRecalled = this.#recalls.has(task)
    if (!isRecalled && !this.#isLeaving) return false
    this.#tasks.change(task, 'cancelled')
    if (isRecalled) this.#answerRecalls(task, 'canceled')
    else this.#answers.cancel(task.id, 'canceled', task.count)
    return true
  }

  /** The processor is gone; the tasks in it may have started. */
  onProcessorExited(): void {
    this.#retractions.clear()
    for (const task of this.#recalls.keys()) this.#answerRecalls(task, 'notFound')
  }

  /** Answers are no longer awaited. */
  onDisconnected(): void {
    this.#recalls.clear()
  }

  /** Throws if an answer is awaited that was not requested. */
  checkInvariants(unanswered: ReadonlySet<WorkerTask>): void {
    this.#retractions.checkInvariants(unanswered)
    for (const task of this.#recalls.keys()) {
      assert(unanswered.has(task) && task.state === 'dispatched', 'a recall will not be answered')
    }
  }

  /** A task that runs alone has started or is about to: there is no request for it. */
  #mayBeRetracted(task: WorkerTask): boolean {
    return !task.hasBegun && this.#dispatcher.activeCount > 1 && this.#slot.isListening
  }

  #addRecall(task: WorkerTask): void {
    const since = this.#turn.now
    this.#recalls.set(task, { since, times: 1 })
    this.#alarm.setBy(since + ANSWER_TIMEOUT_MS)
  }

  /** The processor may have taken too long to answer. */
  #onTimeout(): void {
    for (const [task, { since }] of this.#recalls) {
      if (this.#turn.now < since + ANSWER_TIMEOUT_MS) {
        this.#alarm.set(since + ANSWER_TIMEOUT_MS)
        return
      }
      this.#answerRecalls(task, 'notFound')
    }
  }

  #giveBack(task: WorkerTask): void {
    if (task.state === 'queued') this.#dispatcher.remove(task)
    this.#tasks.change(task, 'cancelled')
    this.#answers.cancel(task.id, 'canceled', task.count)
  }

  /** A task that was recalled several times is returned only once. */
  #answerRecalls(task: WorkerTask, status: 'canceled' | 'notFound'): void {
    const recall = this.#recalls.size > 0 ? this.#recalls.get(task) : undefined
    if (recall === undefined) return
    this.#recalls.delete(task)
    this.#answers.cancel(task.id, status, task.count)
    for (let times = 1; times < recall.times; times += 1) {
      this.#answers.cancel(task.id, 'notFound', task.count)
    }
  }
}
