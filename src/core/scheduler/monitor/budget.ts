// Limits on event messages: more than a reader could follow is not sent.

import type { InstantMs, Turn } from '../../../base/machine.js'
import type { TaskStatus } from '../../../wire/message.js'
import type { TaskEntry } from '../entries.js'
import type { SchedulerAction } from '../events.js'
import { extraOf } from '../task/extra.js'

/** Messages per millisecond. */
const RATE = 2

/** Maximum burst after a pause, in messages. */
const BURST = 6_000

/** The number of events of a task with a typical life. */
const EVENTS_PER_TASK = 3

const UNFINISHED: ReadonlySet<TaskStatus> = new Set(['inactive', 'running', 'canceling'])

/** A rate limit that allows a burst after a pause (a token bucket). */
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

  /** Whether the budget allows `count` now. */
  has(count: number, now: InstantMs): boolean {
    this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs)
    this.#at = now
    return this.#left >= count
  }

  /** Takes `count` from the budget. */
  spend(count: number): void {
    this.#left -= count
  }
}

/**
 * Limits the task events for subscribers of the monitor address, who receive everything that is
 * published. Above the limit only some tasks are published, each from its beginning to its end.
 * docs/protocol.md#monitor
 */
export class EventBudget {
  readonly #turn: Turn<SchedulerAction>
  readonly #messages = new Budget(RATE, BURST)

  constructor(turn: Turn<SchedulerAction>) {
    this.#turn = turn
  }

  /** Takes `count` from the budget, if it allows that now. */
  take(count: number): boolean {
    const mayTell = this.#messages.has(count, this.#turn.now)
    if (mayTell) this.#messages.spend(count)
    return mayTell
  }

  /** Whether to publish a step of a task. All steps of a published task are published. */
  takeStep(task: TaskEntry, status: TaskStatus): boolean {
    if (task.extra?.isPublished === true) return true
    const isUnfinished = UNFINISHED.has(status)
    if (!this.take(isUnfinished ? EVENTS_PER_TASK : 1)) return false
    if (isUnfinished) extraOf(task).isPublished = true
    return true
  }
}
