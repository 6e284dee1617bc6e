// How many tasks wait may be limited. A client that can do so holds back what there is no room for,
// and is told how many it may send once there is; any other one is refused.
// docs/protocol.md#room

import { assert } from '../../../base/assert.js'
import { FEATURE_WAITING, hasFeature } from '../../../base/features.js'
import type { ClientEntry, TaskEntry, WorkerEntry } from '../entries.js'
import { leastRoom } from '../monitor/waiting.js'
import type { SchedulerState } from '../state.js'

/** A client has sent a task or a graph, whatever comes of it. */
export function spendRoom(state: SchedulerState, client: ClientEntry): void {
  if (client.allowance === undefined || client.allowance === 0) return
  client.allowance -= 1
  if (client.allowance === 0) state.waiting.holdingBack.add(client)
}

/**
 * Whether there is room for something new of a client. If not, and it is one that holds tasks back,
 * it will be told when there is.
 */
export function takesMore(state: SchedulerState, client: ClientEntry): boolean {
  const { waiting } = state
  const limit = state.options.maxNumberOfTasksWaiting
  if (limit < 0 || state.pools[client.runtime].overflow < limit) return true
  waiting.noteFull(state, client.runtime)
  if (holdsBack(client)) {
    client.allowance = 0
    waiting.holdingBack.add(client)
  }
  return false
}

/** Whether a client holds back what it is refused. */
export function holdsBack({ features }: ClientEntry): boolean {
  return hasFeature(features, FEATURE_WAITING)
}

/** Tells clients that hold tasks back how many they may send. Called after each event. */
export function giveRoom(state: SchedulerState): void {
  const { holdingBack } = state.waiting
  if (holdingBack.size === 0) return
  for (const runtime of ['javascript', 'python'] as const) {
    const pool = state.pools[runtime]
    const clients = [...holdingBack].filter((client) => client.runtime === runtime)
    const free = state.options.maxNumberOfTasksWaiting - pool.overflow
    if (clients.length === 0 || free < leastRoom(state, pool)) continue
    const share = Math.max(1, Math.floor(free / clients.length))
    for (const client of clients.slice(0, free)) {
      holdingBack.delete(client)
      client.allowance = share
      state.output.send(client.identity, { kind: 'taskRoom', tasks: share })
    }
  }
}

/** A client that comes back knows nothing of what it was told. */
export function forgetRoom(state: SchedulerState, client: ClientEntry): void {
  state.waiting.holdingBack.delete(client)
  client.allowance = undefined
}

// What a worker has of tasks, as numbers.

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
