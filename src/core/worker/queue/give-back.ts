// Tasks that the scheduler wants back, or gets back because the worker leaves: only such as have
// not begun. What the processor has is taken back from it first.
//
//   TaskCancel without force ──► waits here: given back
//                            └─► the processor has it ──► not begun there: given back
//                                                     └─► begun, or unknown: notFound
//
// Each TaskCancel has one answer, whatever happens meanwhile.

import { assert } from '../../../base/assert.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { WorkerTurn } from '../events.js'
import type { ProcessorSlot } from '../processor/slot.js'
import type { Answers } from '../task/ends.js'
import type { TaskTable, WorkerTask } from '../task/task.js'
import type { Dispatcher } from './dispatcher.js'

// What is asked of the processor: to give tasks back that it has not begun. One question at a time,
// about all that has come together meanwhile.

/** What the processor says of one task. */
interface Retraction {
  readonly task: WorkerTask
  /** It will never run there. False: it has begun, or is done. */
  readonly isRetracted: boolean
}

/** The questions to the processor of this moment. */
class Retractions {
  readonly #turn: WorkerTurn
  /** What was asked, by dispatch number. Empty: nothing. */
  #asked = new Map<number, WorkerTask>()
  /** What will be asked next. */
  readonly #next = new Set<WorkerTask>()

  constructor(turn: WorkerTurn) {
    this.#turn = turn
  }

  /** Takes tasks back that have not begun. */
  ask(tasks: Iterable<WorkerTask>): void {
    for (const task of tasks) {
      if (this.#asked.get(task.dispatchNumber) !== task) this.#next.add(task)
    }
    this.#askNext()
  }

  /** The processor is done with a task. */
  onAnswered(task: WorkerTask): void {
    if (this.#next.size > 0) this.#next.delete(task)
  }

  /** The processor has answered: what it says of each task that it was asked about. */
  onRetracted(retracted: readonly number[]): readonly Retraction[] {
    const numbers = new Set(retracted)
    const answer = [...this.#asked].map(([number, task]) => {
      return { task, isRetracted: numbers.has(number) }
    })
    this.#asked = new Map()
    this.#askNext()
    return answer
  }

  /** The processor is gone. */
  clear(): void {
    this.#asked = new Map()
    this.#next.clear()
  }

  /** Throws if something is to be asked about that the processor does not have. */
  checkInvariants(unanswered: ReadonlySet<WorkerTask>): void {
    for (const task of this.#next) {
      assert(unanswered.has(task), 'a task is to be taken back that is not there')
    }
    assert(this.#next.size === 0 || this.#asked.size > 0, 'nobody asks for what is wanted back')
  }

  #askNext(): void {
    if (this.#asked.size > 0 || this.#next.size === 0) return
    for (const task of this.#next) this.#asked.set(task.dispatchNumber, task)
    this.#next.clear()
    this.#turn.act({ type: 'retractTasks', dispatchNumbers: [...this.#asked.keys()] })
  }
}

/** A task counts as begun if the processor does not answer within this time, in milliseconds. */
const ANSWER_TIMEOUT_MS = 2_000

/** The parts of the worker that this needs. */
interface GiveBackParts {
  readonly turn: WorkerTurn
  readonly answers: Answers
  readonly slot: ProcessorSlot
  readonly tasks: TaskTable
  readonly dispatcher: Dispatcher
}

/** TaskCancels of one task that were not answered. */
interface Recall {
  readonly since: InstantMs
  count: number
}

/** Gives tasks back that have not begun. */
export class GiveBack {
  readonly #answers: Answers
  readonly #slot: ProcessorSlot
  readonly #tasks: TaskTable
  readonly #dispatcher: Dispatcher
  readonly #retractions: Retractions
  /** Those that the processor is asked for, in the order in which they were wanted. */
  readonly #recalls = new Map<WorkerTask, Recall>()
  readonly #turn: WorkerTurn
  /** When the oldest recall is answered, whatever the processor does. */
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

  /** Whether the worker leaves: nothing that it has not begun stays here. */
  get isLeaving(): boolean {
    return this.#isLeaving
  }

  /** The scheduler recalls a task. One that may have ended a processor stays here. */
  recall(task: WorkerTask): void {
    const isHere = task.state === 'queued' || task.state === 'fetching'
    if (isHere && task.deaths === 0 && !task.isCandidate) this.#giveBack(task)
    else if (task.state === 'dispatched' && this.#mayBeRetracted(task)) {
      const recall = this.#recalls.get(task)
      if (recall === undefined) this.#addRecall(task)
      else recall.count += 1
      this.#retractions.ask([task])
    } else this.#answers.cancel(task.id, 'notFound')
  }

  /** The worker leaves: all goes back that has not begun, and all that comes to be so. */
  leave(): void {
    this.#isLeaving = true
    this.giveBackWaiting()
    this.retract()
  }

  /** If the worker leaves: what waits for the processor goes back. */
  giveBackWaiting(): void {
    if (!this.#isLeaving) return
    for (const task of this.#tasks.values()) {
      if (task.state === 'queued' || task.state === 'fetching') this.#giveBack(task)
    }
  }

  /** Takes all back that the processor has not begun. */
  retract(): void {
    const unanswered = [...this.#dispatcher.unanswered()]
    this.#retractions.ask(unanswered.filter((task) => this.#mayBeRetracted(task)))
  }

  /** Takes a task back if the processor has not begun it. */
  retractOne(task: WorkerTask): void {
    if (this.#mayBeRetracted(task)) this.#retractions.ask([task])
  }

  /** The processor is done with a task, or the task is to be stopped: it is not to be had back. */
  onSettled(task: WorkerTask): void {
    this.#retractions.onAnswered(task)
    this.#answerRecalls(task, 'notFound')
  }

  /**
   * The processor has answered. Returns what it will not run: that has left it, and is `fetching`
   * if anybody waits for it.
   */
  onRetracted(retracted: readonly number[]): readonly WorkerTask[] {
    const taken: WorkerTask[] = []
    for (const { task, isRetracted } of this.#retractions.onRetracted(retracted)) {
      if (this.#dispatcher.get(task.id) !== task) continue
      if (isRetracted) taken.push(task)
      else {
        task.hasBegun = true
        this.#answerRecalls(task, 'notFound')
      }
    }
    return taken
  }

  /** A task has left the processor and is `fetching`. True: it goes back to the scheduler. */
  onTakenBack(task: WorkerTask): boolean {
    const isRecalled = this.#recalls.has(task)
    if (!isRecalled && !this.#isLeaving) return false
    this.#tasks.change(task, 'cancelled')
    if (isRecalled) this.#answerRecalls(task, 'canceled')
    else this.#answers.cancel(task.id, 'canceled')
    return true
  }

  /** The processor is gone; what it had may have begun. */
  onProcessorExited(): void {
    this.#retractions.clear()
    for (const task of this.#recalls.keys()) this.#answerRecalls(task, 'notFound')
  }

  /** No answers are awaited any more. */
  onDisconnected(): void {
    this.#recalls.clear()
  }

  /** Throws if an answer is awaited that was not requested. */
  checkInvariants(unanswered: ReadonlySet<WorkerTask>): void {
    this.#retractions.checkInvariants(unanswered)
    for (const task of this.#recalls.keys()) {
      assert(unanswered.has(task) && task.state === 'dispatched', 'a recall has no answer')
    }
  }

  /** One that runs alone has begun, or is about to: the processor is not even asked. */
  #mayBeRetracted(task: WorkerTask): boolean {
    return !task.hasBegun && this.#dispatcher.activeCount > 1 && this.#slot.isListening
  }

  #addRecall(task: WorkerTask): void {
    const since = this.#turn.now
    this.#recalls.set(task, { since, count: 1 })
    this.#alarm.setBy(since + ANSWER_TIMEOUT_MS)
  }

  /** The processor may have been asked for too long. */
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
    this.#answers.cancel(task.id, 'canceled')
  }

  /** One task is given back only once. */
  #answerRecalls(task: WorkerTask, status: 'canceled' | 'notFound'): void {
    const recall = this.#recalls.size > 0 ? this.#recalls.get(task) : undefined
    if (recall === undefined) return
    this.#recalls.delete(task)
    this.#answers.cancel(task.id, status)
    for (let count = 1; count < recall.count; count += 1) this.#answers.cancel(task.id, 'notFound')
  }
}
