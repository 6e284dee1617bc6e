// Tasks that a 1.9.9 scheduler had before a connection was lost: it cannot report on them, nor may
// they be sent to it again, so they are given up some time later.

import { assert } from '../../../base/assert.js'
import type { InstantMs } from '../../../base/machine.js'
import type { ClientTaskTable, TaskRecord } from './task.js'

/** Those tasks, and when they are given up. Invariant: their state is sent. */
export class UnacknowledgedTasks<Owner> {
  readonly #givenUpAt = new Map<TaskRecord<Owner>, InstantMs>()

  /** When the first one is given up; undefined if there is none. */
  get nextAt(): InstantMs | undefined {
    const [first] = this.#givenUpAt.values()
    return first
  }

  /** A task that was added before keeps its time. */
  add(task: TaskRecord<Owner>, givenUpAt: InstantMs): void {
    if (!this.#givenUpAt.has(task)) this.#givenUpAt.set(task, givenUpAt)
  }

  delete(task: TaskRecord<Owner>): void {
    if (this.#givenUpAt.size > 0) this.#givenUpAt.delete(task)
  }

  /** The tasks that are given up by now. They are not removed. */
  due(now: InstantMs): TaskRecord<Owner>[] {
    const due: TaskRecord<Owner>[] = []
    for (const [task, givenUpAt] of this.#givenUpAt) {
      if (givenUpAt > now) break
      due.push(task)
    }
    return due
  }

  /** Throws if it contains a task that does not belong here. */
  checkInvariants(tasks: ClientTaskTable<Owner>): void {
    for (const task of this.#givenUpAt.keys()) {
      assert(tasks.has(task), 'an ended task is unacknowledged')
      assert(task.state === 'sent', 'an unacknowledged task was not sent')
    }
  }
}
