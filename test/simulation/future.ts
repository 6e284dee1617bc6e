// A future of the simulated world, and how it settled.

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

/** How its user treats a large result: requests it immediately, later, or never. */
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

  /** `onEnd` is called each time that the future settles: more than once is an error. */
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

  /** Whether it has settled, or is not awaited. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether its result stays in the cluster: the task has succeeded. */
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

  /** It is not awaited any more. */
  drop(): void {
    this.#isOver = true
  }
}

/** The futures of a run, which are one owner. */
export class RunFutures {
  readonly #futures: ReadonlyMap<TaskId, Future>

  constructor(futures: readonly Future[]) {
    this.#futures = new Map(futures.map((future) => [future.taskId, future]))
  }

  /** The future of a task. */
  of(id: TaskId): Future {
    const future = this.#futures.get(id)
    if (future === undefined) throw new Error('a task of another run')
    return future
  }
}
