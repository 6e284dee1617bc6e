// The tasks that have waited longest, for operators: found by a look at all unfinished tasks, a
// limited number in each turn, and only on request. docs/protocol.md#operators

import type { InstantMs } from '../../../base/machine.js'
import type { TaskStory } from '../../../wire/message.js'
import type { TaskEntry } from '../entries.js'
import { STEP_COST, type Worklist } from '../graph/work.js'
import type { SchedulerState } from '../state.js'
import type { WaitingWhy } from './waiting.js'
import { taskStory } from './story.js'

/** Looks for the tasks that have waited longest. */
export class OldestWaiting implements Worklist {
  readonly #state: SchedulerState
  readonly #most: number
  readonly #onDone: (stories: readonly TaskStory[]) => void
  readonly #rest: Iterator<TaskEntry>
  /** The oldest ones so far, and some that were not older than these. */
  #found: TaskEntry[] = []
  /** Those that were queued at this time or later are not among the oldest. */
  #before: InstantMs = Infinity

  /** `onDone` gets at most `most` stories, the oldest first; `needs` is all that they require. */
  constructor(
    state: SchedulerState,
    most: number,
    onDone: (stories: readonly TaskStory[]) => void,
  ) {
    this.#state = state
    this.#most = most
    this.#onDone = onDone
    this.#rest = state.tasks.values()
  }

  advance(): boolean {
    const { graphWork } = this.#state
    for (;;) {
      if (graphWork.left <= 0) return false
      graphWork.left -= STEP_COST
      const next = this.#rest.next()
      if (next.done === true) break
      const { state, changedAt } = next.value
      if (state !== 'inactive' || changedAt >= this.#before) continue
      this.#found.push(next.value)
      if (this.#found.length > 2 * this.#most) this.#trim()
    }
    this.#onDone(this.#stories())
    return true
  }

  #trim(): void {
    this.#found = this.#found.toSorted((a, b) => a.changedAt - b.changedAt).slice(0, this.#most)
    if (this.#found.length === this.#most) this.#before = this.#found.at(-1)?.changedAt ?? Infinity
  }

  #stories(): readonly TaskStory[] {
    const { tasks, waiting } = this.#state
    // Some may have been assigned since.
    const isWaiting = (task: TaskEntry): boolean => {
      return tasks.get(task.id) === task && task.state === 'inactive'
    }
    this.#found = this.#found.filter(isWaiting)
    this.#trim()
    const reasons = new Map<string, WaitingWhy>()
    return this.#found.map((task) => {
      const needs = task.requirement?.key ?? ''
      const key = `${task.runtime} ${needs}`
      const why = reasons.get(key) ?? waiting.reasonOf(task)
      reasons.set(key, why)
      return taskStory(this.#state, task, { ...why, needs: why.needs || needs })
    })
  }
}
