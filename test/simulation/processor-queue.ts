// The unstarted tasks of a simulated processor, and the claims to start them: the main thread and
// the guardian claim the number of a task, and only one of them gets it
// (src/worker/processor/shared-memory.ts).

import type { ProcessorRun } from './processor-run.js'

/** The queue of one processor. */
export class ProcessorQueue {
  readonly #runs: ProcessorRun[] = []
  readonly #claimed = new Set<number>()

  /** Whether there may be a task to start. */
  get isEmpty(): boolean {
    return this.#runs.length === 0
  }

  /** Adds after all of the same priority. */
  push(run: ProcessorRun): void {
    this.#runs.push(run)
  }

  /** Takes the first task, and claims it. */
  take(): ProcessorRun | undefined {
    for (;;) {
      let best = 0
      for (const [index, run] of this.#runs.entries()) {
        if (run.priority > (this.#runs[best]?.priority ?? 0)) best = index
      }
      const [run] = this.#runs.splice(best, 1)
      if (run === undefined || this.claim(run.number)) return run
    }
  }

  /** Takes out the run of a task; undefined if it is not here. It is not claimed. */
  remove(id: string): ProcessorRun | undefined {
    const at = this.#runs.findIndex(({ task }) => task.taskId === id)
    return at < 0 ? undefined : this.#runs.splice(at, 1)[0]
  }

  /** False: it is claimed already. */
  claim(number: number): boolean {
    if (this.#claimed.has(number)) return false
    this.#claimed.add(number)
    return true
  }
}
