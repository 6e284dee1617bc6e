// Workers that come back after a lost connection with tasks that they have begun, or whose results
// they could not deliver: what can go on there does. docs/protocol.md#return

import type { TaskId } from '../../base/ids.js'
import type { TaskEntry, WorkerEntry } from './entries.js'
import type { SchedulerState } from './state.js'
import { giveTo, stopAt } from './task.js'

/** So many tasks a worker may bring along: it is only believed, not checked. */
const MAX_TASKS = 100_000

/** Most claims that end in one turn. */
const MAX_AT_ONCE = 2000

/** A worker says what it still has. */
export function onReturn(
  state: SchedulerState,
  worker: WorkerEntry,
  tasks: readonly TaskId[],
): void {
  state.output.log('info', 'worker came back with tasks', {
    worker: worker.identity,
    tasks: tasks.length,
  })
  if (tasks.length > MAX_TASKS) {
    const fields = { worker: worker.identity, ignored: tasks.length - MAX_TASKS }
    state.output.log('warn', 'ignored some of the tasks that a worker came back with', fields)
  }
  for (const id of tasks.slice(0, MAX_TASKS)) settle(state, worker, id)
}

/** What nobody has come for ends, a part of it at a time. */
export function expireClaims(state: SchedulerState): void {
  state.claims.expire(state.now, MAX_AT_ONCE, (worker, id) => stopAt(state, worker, id))
}

function settle(state: SchedulerState, worker: WorkerEntry, id: TaskId): void {
  const task = state.tasks.get(id)
  if (task === undefined) {
    if (!state.claims.add(worker, id, state.now)) stopAt(state, worker, id)
  } else if (isFor(task, worker)) {
    forgive(task, worker)
    giveTo(state, task, worker)
  } else if (task.worker !== worker) stopAt(state, worker, id)
}

function isFor(task: TaskEntry, worker: WorkerEntry): boolean {
  const isWaiting = task.state === 'inactive' && task.client?.hasLeft === false
  return isWaiting && task.runtime === worker.runtime
}

/** The worker that was lost with the task was not lost because of it. */
function forgive(task: TaskEntry, worker: WorkerEntry): void {
  const { extra } = task
  if (extra?.lostWith !== worker.identity) return
  extra.lostWith = undefined
  extra.deaths -= 1
}
