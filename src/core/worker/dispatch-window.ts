// How many tasks a processor may have at once. One while nothing is known or tasks are long, so
// that none is stuck behind another; some milliseconds of work while they are tiny, so that the
// processor never waits for its agent.

import { assert } from '../../base/assert.js'
import type { ObjectEntry, WorkerTask } from './worker-task.js'

/** Most work that is handed over ahead of time, in milliseconds. */
const MAX_WORK_MS = 5

/** Most tasks that a processor has at once. */
const MAX_TASKS = 512

/** What a new measurement weighs against the earlier ones when a function turns out quicker. */
const WEIGHT = 0.25

/** The tasks that the processor has not answered and that do not wait, counted and weighed. */
export class DispatchWindow {
  #limit = 1
  #count = 0
  /** Of those that were measured. */
  #workMs = 0
  #unmeasuredCount = 0
  /** No task in the window has a higher one. */
  #topPriority = -Infinity

  /** How many tasks there are. */
  get count(): number {
    return this.#count
  }

  /** Whether this task may be handed over now. A function that was never measured runs alone. */
  hasRoomFor(task: WorkerTask): boolean {
    if (this.#count === 0) return true
    if (this.#count >= this.#limit || this.#unmeasuredCount > 0) return false
    return this.#workMs + (task.functionEntry?.expectedMs ?? Infinity) <= MAX_WORK_MS
  }

  /** Whether the task would run before all that is here and has not begun. */
  isOutrankedBy(task: WorkerTask): boolean {
    return task.priority > this.#topPriority && this.#count < MAX_TASKS
  }

  /** The task is handed over, or does not wait any more. */
  add(task: WorkerTask): void {
    task.expectedMs = task.functionEntry?.expectedMs ?? Infinity
    this.#count += 1
    if (task.priority > this.#topPriority) this.#topPriority = task.priority
    if (task.expectedMs === Infinity) this.#unmeasuredCount += 1
    else this.#workMs += task.expectedMs
  }

  /** The processor is done with the task, or it waits. */
  remove(task: WorkerTask): void {
    this.#count -= 1
    if (task.expectedMs === Infinity) this.#unmeasuredCount -= 1
    else this.#workMs -= task.expectedMs
    if (this.#count > 0) return
    // With none left the sum starts afresh: rounding errors do not stay.
    this.#workMs = 0
    this.#topPriority = -Infinity
  }

  /** A call took so long. Long ones shut the window at once, tiny ones open it step by step. */
  learn(entry: ObjectEntry | undefined, durationMs: number): void {
    this.#limit = durationMs > MAX_WORK_MS ? 1 : Math.min(this.#limit * 2, MAX_TASKS)
    if (entry === undefined) return
    const { expectedMs } = entry
    const isQuicker = durationMs < expectedMs && expectedMs !== Infinity
    entry.expectedMs = isQuicker ? expectedMs + WEIGHT * (durationMs - expectedMs) : durationMs
  }

  /** The next processor starts with an empty window. */
  clear(): void {
    this.#limit = 1
    this.#count = 0
    this.#workMs = 0
    this.#unmeasuredCount = 0
    this.#topPriority = -Infinity
  }

  /** Throws unless this is what `tasks`, all that the processor has, amounts to. */
  checkInvariants(tasks: readonly WorkerTask[]): void {
    assert(tasks.length === this.#count, 'the window counts other tasks than the processor has')
    const measured = tasks.filter(({ expectedMs }) => expectedMs !== Infinity)
    const workMs = measured.reduce((sum, task) => sum + task.expectedMs, 0)
    assert(Math.abs(workMs - this.#workMs) < 1e-6, 'the window weighs its tasks wrongly')
    const isCounted = this.#unmeasuredCount === tasks.length - measured.length
    assert(isCounted, 'the window miscounts what was never measured')
    assert(!tasks.some(({ priority }) => priority > this.#topPriority), 'a priority is not known')
    // What goes on after it has waited comes on top, and so does what is more urgent.
    const [first] = tasks
    if (tasks.some((task) => task.hasWaited || task.priority !== first?.priority)) return
    assert(tasks.length <= MAX_TASKS, 'the window is wider than it may be')
    if (tasks.length < 2) return
    assert(workMs <= MAX_WORK_MS + 1e-6, 'more work is handed over than may be')
    assert(measured.length === tasks.length, 'what was never measured has company')
  }
}
