// Links: a task that needs the result of the task that arrived just before it. Both go to the
// processor together, which fills in the result (worker/processor/run.ts), so that no round trip
// to the scheduler or even to this agent lies between them. docs/protocol.md#links
//
//   answered with a small result ──► the task behind it has its value: it is a task like any other
//   ended in any other way       ──► the task behind it is dropped, and returned to the scheduler
//
// A processor refuses a task whose value it does not have, for example because the task before it
// has left in an earlier turn. By then this agent has the value, and dispatches it again.

import { assert } from '../../../base/assert.js'
import { copyOf } from '../../../base/bytes.js'
import type { TaskResult } from '../../../wire/message.js'
import type { Dispatcher } from '../queue/dispatcher.js'
import type { Answers } from './ends.js'
import type { WorkerTaskTable } from './table.js'
import { isOut, isTied, type WorkerTask } from './task.js'

/** The parts of the worker that are needed here. */
interface LinkParts {
  readonly tasks: WorkerTaskTable
  readonly dispatcher: Dispatcher
  readonly answers: Answers
  /** Larger results become objects. */
  readonly inlineLimitBytes: number
  /** Drops a task, whether it has started or not. */
  readonly drop: (task: WorkerTask) => void
}

/** The tasks that need the result of another one here. */
export class TaskLinks {
  readonly #parts: LinkParts
  /** Tasks whose follower has lost them. */
  readonly #left: WorkerTask[] = []
  #isLeaving = false

  constructor(parts: LinkParts) {
    this.#parts = parts
  }

  /**
   * Ties a task that has arrived to the one whose result it needs, if any. False: that one is not
   * here, is of another client, or another task needs its result.
   */
  join(task: WorkerTask): boolean {
    if (!isTied(task)) return true
    const before = this.#parts.tasks.peek(task.after)
    if (before === undefined || before === task || before.count > 1) return false
    if (before.source !== task.source) return false
    const { follower } = before
    if (follower !== undefined && follower !== task && isWaiting(follower)) return false
    before.follower = task
    return true
  }

  /** The processor has answered a task: the one behind it gets its result. */
  onAnswered({ follower }: WorkerTask, { status, inlineResults, isInFile }: TaskResult): void {
    const [value] = inlineResults
    if (follower === undefined || value === undefined || !isTied(follower) || isInFile) return
    const isSmall = inlineResults.length === 1 && value.byteLength <= this.#parts.inlineLimitBytes
    if (status === 'success' && isSmall) follower.value = copyOf(value)
  }

  /** A task has ended or was cancelled: so does the one behind it, unless it has the result. */
  onLeft(task: WorkerTask): void {
    this.#left.push(task)
    // Without recursion: chains may be arbitrarily long.
    if (this.#isLeaving) return
    this.#isLeaving = true
    for (let next = this.#left.pop(); next !== undefined; next = this.#left.pop()) {
      const { follower } = next
      next.follower = undefined
      if (follower !== undefined && isTied(follower) && isWaiting(follower)) this.#return(follower)
    }
    this.#isLeaving = false
  }

  /** Returns a queued task that cannot be dispatched right behind the one that it needs. */
  returnLate(task: WorkerTask): boolean {
    if (!isTied(task)) return false
    const before = this.#parts.tasks.peek(task.after)
    const isBehind = before !== undefined && isOut(before) && this.#parts.dispatcher.isLast(before)
    if (!isBehind) this.#return(task)
    return !isBehind
  }

  /** Returns a task to the scheduler. */
  #return(task: WorkerTask): void {
    // An abandoned one needs no answer.
    if (task.state !== 'abandoned') this.#parts.answers.cancel(task.id, 'canceled')
    this.#parts.drop(task)
  }

  /** Throws if a task waits for another one that is not here. */
  checkInvariants(): void {
    for (const task of this.#parts.tasks.values()) {
      const isHere = task.state === 'queued' || task.state === 'fetching'
      if (!isHere || !isTied(task)) continue
      const before = this.#parts.tasks.peek(task.after)
      assert(before?.follower === task, 'a task waits for the result of a task that has left')
    }
  }
}

/** Whether it has neither ended nor was cancelled. */
function isWaiting({ state }: WorkerTask): boolean {
  return state !== 'ended' && state !== 'canceling'
}
