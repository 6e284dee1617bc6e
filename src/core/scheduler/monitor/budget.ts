// How much is told: what nobody could read is not sent.

import type { InstantMs } from '../../../base/machine.js'
import type { TaskStatus } from '../../../wire/message.js'
import type { TaskEntry } from '../entries.js'
import { extraOf } from '../task/extra.js'

/** Messages per millisecond. */
const RATE = 2

/** So many may come at once after a pause. */
const BURST = 6_000

/** A task that ends as most do is told of so often. */
const STORY = 3

const UNFINISHED: ReadonlySet<TaskStatus> = new Set(['inactive', 'running', 'canceling'])

/** So much may be told in a time, and some at once after a pause. */
export class Budget {
  readonly #perMs: number
  readonly #burst: number
  #left: number
  #at: InstantMs = 0

  constructor(perMs: number, burst: number) {
    this.#perMs = perMs
    this.#burst = burst
    this.#left = burst
  }

  /** Whether so much may be told now. */
  has(count: number, now: InstantMs): boolean {
    this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs)
    this.#at = now
    return this.#left >= count
  }

  /** So much has been told. */
  spend(count: number): void {
    this.#left -= count
  }
}

/**
 * What the subscribers of the monitor address may still be told of tasks. They take everything that
 * comes, and of millions of tasks a second there would be nobody to read it: above a rate some
 * tasks are told of, each from its beginning to its end, and the others are not.
 * docs/protocol.md#monitor
 */
export class EventBudget {
  readonly #messages = new Budget(RATE, BURST)

  /** Whether so much may be told now; it counts as told. */
  take(count: number, now: InstantMs): boolean {
    const mayTell = this.#messages.has(count, now)
    if (mayTell) this.#messages.spend(count)
    return mayTell
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
