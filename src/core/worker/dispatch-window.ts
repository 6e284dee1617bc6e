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

/** The tasks that the processor has not answered, counted and weighed. */
export class DispatchWindow {
  #limit = 1
  #count = 0
  #workMs = 0

  /** How many tasks the processor has. */
  get count(): number {
    return this.#count
  }

  /** Whether this task may be handed over now. A function that was never measured runs alone. */
  hasRoomFor(task: WorkerTask): boolean {
    if (this.#count === 0) return true
    if (this.#count >= this.#limit) return false
    return this.#workMs + (task.functionEntry?.expectedMs ?? Infinity) <= MAX_WORK_MS
  }

  /** The task is handed over. */
  add(task: WorkerTask): void {
    task.expectedMs = task.functionEntry?.expectedMs ?? Infinity
    this.#count += 1
    this.#workMs += task.expectedMs
  }

  /** The processor is done with the task. */
  remove(task: WorkerTask): void {
    this.#count -= 1
    // With none left the sum starts afresh: Infinity and rounding errors do not stay.
    this.#workMs = this.#count === 0 ? 0 : this.#workMs - task.expectedMs
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
  }

  /** Throws unless this is what `tasks`, all that the processor has, amounts to. */
  checkInvariants(tasks: readonly WorkerTask[]): void {
    assert(tasks.length === this.#count, 'the window counts other tasks than the processor has')
    assert(this.#count <= MAX_TASKS, 'the window is wider than it may be')
    if (tasks.length < 2) return
    const workMs = tasks.reduce((sum, task) => sum + task.expectedMs, 0)
    assert(Math.abs(workMs - this.#workMs) < 1e-6, 'the window weighs its tasks wrongly')
    assert(workMs <= MAX_WORK_MS + 1e-6, 'more work is handed over than may be')
  }
}
