// How much the subscribers of the monitor address are told of tasks. They take everything that
// comes, and of millions of tasks a second there would be nobody to read it: above a rate some
// tasks are told of, each from its beginning to its end, and the others are not.
// docs/protocol.md#monitor

import type { InstantMs } from '../../base/machine.js'
import type { TaskStatus } from '../../wire/message.js'
import type { TaskEntry } from './entries.js'
import { extraOf } from './task-extra.js'

/** Messages per millisecond. */
const RATE = 2

/** So many may come at once after a pause. */
const BURST = 6_000

/** A task that ends as most do is told of so often. */
const STORY = 3

const UNFINISHED: ReadonlySet<TaskStatus> = new Set(['inactive', 'running', 'canceling'])

/** What may still be told. */
export class EventBudget {
  #left = BURST
  #at: InstantMs = 0

  /** Whether so much may be told now; it counts as told. */
  take(count: number, now: InstantMs): boolean {
    this.#left = Math.min(BURST, this.#left + (now - this.#at) * RATE)
    this.#at = now
    if (this.#left < count) return false
    this.#left -= count
    return true
  }

  /** Whether a step of a task is told: of those that were told of, each. */
  takeStep(task: TaskEntry, status: TaskStatus, now: InstantMs): boolean {
    if (task.extra?.isPublished === true) return true
    const isUnfinished = UNFINISHED.has(status)
    if (!this.take(isUnfinished ? STORY : 1, now)) return false
    if (isUnfinished) extraOf(task).isPublished = true
    return true
  }
}
