// What is asked of the processor: to give tasks back that it has not begun. One question at a time,
// about all that has come together meanwhile.

import { assert } from '../../base/assert.js'
import type { Output } from './output.js'
import type { WorkerTask } from './worker-task.js'

/** What the processor says of one task. */
export interface Retraction {
  readonly task: WorkerTask
  /** It will never run there. False: it has begun, or is done. */
  readonly isRetracted: boolean
}

/** The questions to the processor of this moment. */
export class Retractions {
  readonly #output: Output
  /** What was asked, by dispatch number. Empty: nothing. */
  #asked = new Map<number, WorkerTask>()
  /** What will be asked next. */
  readonly #next = new Set<WorkerTask>()

  constructor(output: Output) {
    this.#output = output
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
    this.#output.act({ type: 'retractTasks', dispatchNumbers: [...this.#asked.keys()] })
  }
}
