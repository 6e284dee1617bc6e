// What a worker has of tasks, as numbers.

import { assert } from '../../base/assert.js'
import type { TaskEntry, WorkerEntry } from './entries.js'

/** How many tasks a worker has to run; not those that only wait for others. */
export function activeCount(worker: WorkerEntry): number {
  return worker.assigned.size - worker.waitingCount
}

/** Throws if a worker's sums are not those of its tasks. */
export function checkLoad(worker: WorkerEntry): void {
  let waitingCount = 0
  let recalledCount = 0
  let load = 0
  for (const task of worker.assigned) {
    if (task.extra?.recall === 'asked') recalledCount += 1
    if (task.extra?.isWaiting === true) waitingCount += 1
    else load += task.expectedSeconds
  }
  assert(waitingCount === worker.waitingCount, 'a worker miscounts its waiting tasks')
  assert(recalledCount === worker.recalledCount, 'a worker miscounts what it was asked for')
  assert(Math.abs(load - worker.load) < 1e-6, 'a worker has another load than its tasks')
}

/** A worker has a task no longer. */
export function leave(worker: WorkerEntry, task: TaskEntry): void {
  const wasThere = task.place !== undefined && worker.assigned.remove(task.place)
  assert(wasThere, 'a worker forgot a task')
  task.worker = undefined
  task.place = undefined
}

/** Where a task runs next, it has not waited yet, and nobody wants it back. */
export function forgetStay(worker: WorkerEntry, { extra }: TaskEntry): void {
  if (extra === undefined) return
  if (extra.recall === 'asked') worker.recalledCount -= 1
  extra.recall = 'no'
  extra.unanswered = 0
  extra.isWaiting = false
  extra.hasWaited = false
}
