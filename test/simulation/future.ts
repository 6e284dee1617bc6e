// A future of the simulated world: what somebody waits for, and how it has ended.

import type { TaskId } from '#src/base/ids.js'
import type { TaskEndReason } from '#src/core/client/events.js'

/** How a future ended. */
export type FutureOutcome =
  | {
      readonly type: 'value' | 'error'
      readonly text: string
      readonly failedTaskId: TaskId | undefined
    }
  | {
      readonly type: 'end'
      readonly reason: TaskEndReason
      readonly detail: string
      readonly failedTaskId: TaskId | undefined
    }

/** What its user does with a large result: asks for it at once, later, or never. */
export interface ResultWish {
  readonly type: 'now' | 'later' | 'drop'
  readonly afterMs: number
}

/** One future. */
export class Future {
  readonly taskId: TaskId
  readonly name: string
  readonly wish: ResultWish
  readonly #onEnd: (future: Future, outcome: FutureOutcome) => void
  #isOver = false
  #wasOffered = false

  /** `onEnd` is called each time that the future ends: more than once is a mistake. */
  constructor(
    taskId: TaskId,
    name: string,
    wish: ResultWish,
    onEnd: (future: Future, outcome: FutureOutcome) => void,
  ) {
    this.taskId = taskId
    this.name = name
    this.wish = wish
    this.#onEnd = onEnd
  }

  /** Whether it has ended, or nobody waits for it. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether its result stays in the cluster: the task has ended well. */
  get wasOffered(): boolean {
    return this.#wasOffered
  }

  end(outcome: FutureOutcome): void {
    this.#isOver = true
    this.#onEnd(this, outcome)
  }

  offered(): void {
    this.#wasOffered = true
  }

  /** Nobody waits for it any more. */
  drop(): void {
    this.#isOver = true
  }
}
