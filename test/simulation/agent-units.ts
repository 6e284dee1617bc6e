// The units of one agent of the simulated world, with an independent check that no two tasks in
// processors have the same ones.

import { HostUnits, type Units } from '#src/core/worker/queue/units.js'
import { Violation } from './violation.js'

/** Few enough that tasks wait for them, and enough for each of them. */
const LEAST_UNITS = 2

/** The capabilities that an agent offers. */
export class AgentUnits {
  readonly units: HostUnits
  /** The units in use, by worker. */
  readonly #held = new Map<object, Map<string, readonly number[]>>()

  constructor(workers: number) {
    this.units = new HostUnits([
      { name: 'gpu', value: Math.max(LEAST_UNITS, workers) },
      { name: 'linux', value: -1 },
    ])
  }

  /** A processor of `worker` gets a task. */
  onDispatched(worker: object, task: string, units: Units | undefined): void {
    const numbers = units?.['gpu'] ?? []
    if (numbers.length === 0) return
    for (const tasks of this.#held.values()) {
      for (const [other, held] of tasks) {
        const both = held.filter((number) => numbers.includes(number))
        if (both.length === 0) continue
        throw new Violation(
          'run',
          `${task} and ${other} have unit ${both.join()} of the same agent`,
        )
      }
    }
    const tasks = this.#held.get(worker) ?? new Map<string, readonly number[]>()
    this.#held.set(worker, tasks.set(task, numbers))
  }

  /** A processor of `worker` has finished a task, or gives it back. */
  onDone(worker: object, task: string): void {
    this.#held.get(worker)?.delete(task)
  }

  /** The processor of `worker` has ended. */
  onProcessorGone(worker: object): void {
    this.#held.delete(worker)
  }
}
