// What a task that runs says of itself: that it only waits for its own tasks, that it goes on, how
// far it is. docs/protocol.md#task-updates

import { unreachable } from '../../../base/assert.js'
import {
  FEATURE_OUTPUT,
  FEATURE_TASK_UPDATES,
  FEATURE_WAITING,
  hasFeature,
} from '../../../base/features.js'
import { type Identity, idToHex } from '../../../base/ids.js'
import type { TaskOutput, TaskUpdate } from '../../../wire/message.js'
import type { TaskEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { extraOf, taskFields } from './extra.js'

/** A worker tells what a task is doing. Only the worker that has the task is listened to. */
export function onTaskUpdate(state: SchedulerState, from: Identity, message: TaskUpdate): void {
  const task = state.tasks.get(message.taskId)
  if (task?.worker === undefined || task.worker.identity !== from) {
    const about = task === undefined ? { task: idToHex(message.taskId) } : taskFields(task)
    const fields = { ...about, worker: from, update: message.update }
    state.output.log('debug', 'ignored news of a task that this worker does not have', fields)
    return
  }
  const pool = state.pools[task.runtime]
  switch (message.update) {
    case 'waiting':
      pool.suspend(task, state.now)
      if (message.done > 0) extraOf(task).isFragile = true
      break
    case 'resumed':
      pool.resume(task, state.now)
      break
    case 'progress':
      extraOf(task).isBegun = true
      passOn(state, task, message, FEATURE_TASK_UPDATES)
      break
    case 'running':
      extraOf(task).isBegun = true
      passOn(state, task, message, FEATURE_WAITING)
      break
    case 'queued':
      tellQueued(state, task)
      break
    default:
      unreachable(message.update)
  }
}

/** A client that has sent a task again has to hear once more that it has begun, if it has. */
export function tellAgain(state: SchedulerState, task: TaskEntry): void {
  if (task.extra?.isBegun === true) tell(state, task, 'running')
}

/** A task that had begun waits for a worker again, or for a processor. */
export function tellQueued(state: SchedulerState, task: TaskEntry): void {
  if (task.extra?.isBegun !== true) return
  task.extra.isBegun = false
  tell(state, task, 'queued')
}

function tell(
  { output }: SchedulerState,
  { id, client }: TaskEntry,
  update: 'running' | 'queued',
): void {
  if (client === undefined || client.hasLeft) return
  if (!hasFeature(client.features, FEATURE_WAITING)) return
  output.send(client.identity, { kind: 'taskUpdate', taskId: id, update, done: 0, total: 0 })
}

/** To the task's client, unless it has cancelled the task or does not know such messages. */
function passOn(
  state: SchedulerState,
  task: TaskEntry,
  message: TaskUpdate,
  feature: number,
): void {
  const { client } = task
  if (client === undefined || task.state !== 'running') return
  if (!hasFeature(client.features, feature)) return
  if (message.bytes === undefined) state.output.send(client.identity, message)
  else state.output.forward(client.identity, 'taskUpdate', message.bytes)
}

// What tasks print goes to the clients that have asked for it. docs/protocol.md#output

/**
 * A worker passes on what a task has printed. The task need not be known: the last of it may come
 * when it has ended.
 */
export function onTaskOutput(state: SchedulerState, from: Identity, message: TaskOutput): void {
  if (!state.workers.has(from)) return
  const client = state.clients.get(message.client)
  if (client !== undefined && hasFeature(client.features, FEATURE_OUTPUT)) {
    state.output.passOn(message)
  }
}
