// What a client has asked about its tasks, and what it was told of their attempts.

import type { TaskId } from '../base/ids.js'
import type {
  TaskAttempt as SentAttempt,
  TaskExplanation as SentExplanation,
} from '../wire/message.js'
import { attemptsFrom, type TaskAttempt } from './task-explanation.js'
import type { TaskOwner } from './task-owner.js'

/** Somebody waits for what the scheduler says of a task. */
interface Question {
  readonly promise: Promise<SentExplanation | undefined>
  readonly resolve: (explanation: SentExplanation | undefined) => void
}

/** Explanations of the tasks of one client. */
export class Explanations {
  readonly #ask: (id: TaskId) => void
  readonly #questions = new Map<TaskId, Question>()
  /** Of tasks that have ended. */
  readonly #attempts = new WeakMap<TaskOwner, readonly TaskAttempt[]>()

  /** `ask` has `answer` called for the task, whatever happens. */
  constructor(ask: (id: TaskId) => void) {
    this.#ask = ask
  }

  /** What the scheduler says of a task that has not ended; undefined if it says nothing. */
  of(id: TaskId): Promise<SentExplanation | undefined> {
    const known = this.#questions.get(id)
    if (known !== undefined) return known.promise
    let resolve: Question['resolve'] = () => {}
    const promise = new Promise<SentExplanation | undefined>((settle) => (resolve = settle))
    this.#questions.set(id, { promise, resolve })
    this.#ask(id)
    return promise
  }

  /** The answer, or that there will be none. */
  answer(id: TaskId, explanation: SentExplanation | undefined): void {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    question?.resolve(explanation)
  }

  /** There will be no answers any more. */
  endAll(): void {
    for (const id of this.#questions.keys()) this.answer(id, undefined)
  }

  /** The attempts of a task that ends now, but for the last. */
  remember(owner: TaskOwner, attempts: readonly SentAttempt[]): void {
    this.#attempts.set(owner, attemptsFrom(attempts, Date.now()))
  }

  /** Those of a task that has ended. */
  attemptsOf(owner: TaskOwner): readonly TaskAttempt[] {
    return this.#attempts.get(owner) ?? []
  }
}
