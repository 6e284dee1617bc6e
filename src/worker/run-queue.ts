// The tasks that a processor has not begun: the most urgent first, among these in order of arrival.

import { Fifo } from '../base/fifo.js'
import type { TaskId } from '../base/ids.js'

/** What stands in the queue. */
export interface QueuedRun {
  readonly id: TaskId
  readonly priority: number
  /** It was taken out. */
  isSkipped: boolean
}

/** Runs of one priority. */
interface Rank<T> {
  readonly priority: number
  readonly runs: Fifo<T>
}

/** A queue by priority. Made for few priorities at a time: mostly there is one. */
export class RunQueue<T extends QueuedRun> {
  /** Most urgent first. What was skipped leaves when its turn comes. */
  readonly #ranks: Rank<T>[] = []
  #size = 0

  /** How many wait. */
  get size(): number {
    return this.#size
  }

  /** Adds behind all of the same priority. */
  push(run: T): void {
    this.#rankOf(run.priority).runs.push(run)
    this.#size += 1
  }

  /** Takes what comes first. */
  shift(): T | undefined {
    for (let rank = this.#ranks[0]; rank !== undefined; rank = this.#ranks[0]) {
      const run = rank.runs.shift()
      // The last rank stays: most often the next run is of the same priority.
      if (rank.runs.size === 0 && this.#ranks.length > 1) this.#ranks.shift()
      else if (run === undefined) return undefined
      if (run === undefined || run.isSkipped) continue
      this.#size -= 1
      return run
    }
    return undefined
  }

  /** Takes out the run of this id; undefined if it is not here. Looks at all. */
  skip(id: TaskId): T | undefined {
    for (const { runs } of this.#ranks) {
      for (const run of runs) {
        if (run.id !== id || run.isSkipped) continue
        run.isSkipped = true
        this.#size -= 1
        return run
      }
    }
    return undefined
  }

  #rankOf(priority: number): Rank<T> {
    let index = 0
    for (; index < this.#ranks.length; index += 1) {
      const rank = this.#ranks[index] as Rank<T>
      if (rank.priority === priority) return rank
      if (rank.priority < priority) break
    }
    const rank = { priority, runs: new Fifo<T>() }
    this.#ranks.splice(index, 0, rank)
    return rank
  }
}
