// Tasks that a 1.9.9 scheduler had before a connection was lost: it cannot be asked about them, nor
// be sent them again, so they are given up some time after.

import { assert } from '../../base/assert.js'
import type { InstantMs } from '../../base/machine.js'
import type { TaskRecord } from './task-record.js'
import type { TaskTable } from './task-table.js'

/** Those tasks, and when they are given up. Invariant: their state is sent. */
export class DoubtfulTasks<Owner> {
  readonly #givenUpAt = new Map<TaskRecord<Owner>, InstantMs>()

  /** When the first one is given up. */
  get deadline(): InstantMs | undefined {
    if (this.#givenUpAt.size === 0) return undefined
    const [first] = this.#givenUpAt.values()
    return first
  }

  /** A task that is there already keeps its time. */
  add(task: TaskRecord<Owner>, givenUpAt: InstantMs): void {
    if (!this.#givenUpAt.has(task)) this.#givenUpAt.set(task, givenUpAt)
  }

  delete(task: TaskRecord<Owner>): void {
    if (this.#givenUpAt.size > 0) this.#givenUpAt.delete(task)
  }

  /** Those that are given up by now. They are still in here. */
  due(now: InstantMs): TaskRecord<Owner>[] {
    const due: TaskRecord<Owner>[] = []
    for (const [task, givenUpAt] of this.#givenUpAt) {
      if (givenUpAt > now) break
      due.push(task)
    }
    return due
  }

  /** Throws if there is one that does not belong here. */
  checkInvariants(tasks: TaskTable<Owner>): void {
    for (const task of this.#givenUpAt.keys()) {
      assert(tasks.has(task), 'a doubtful task that has ended')
      assert(task.state === 'sent', 'a doubtful task that was not sent')
    }
  }
}
