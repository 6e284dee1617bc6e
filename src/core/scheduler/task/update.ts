// Updates from running tasks: that they wait for their child tasks, that they resume, and their
// progress. docs/protocol.md#task-updates

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

/** A worker reports what a task is doing. Reports from other workers are ignored. */
export function onTaskUpdate(state: SchedulerState, from: Identity, message: TaskUpdate): void {
  const task = state.tasks.get(message.taskId)
  if (task?.worker === undefined || task.worker.identity !== from) {
    const about = task === undefined ? { task: idToHex(message.taskId) } : taskFields(task)
    const fields = { ...about, worker: from, update: message.update }
    state.turn.log('debug', 'ignored an update for a task that this worker does not have', fields)
    return
  }
  const pool = state.pools[task.runtime]
  switch (message.update) {
    case 'waiting':
      pool.suspend(task)
      if (message.done > 0) extraOf(task).isFragile = true
      break
    case 'resumed':
      pool.resume(task)
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

/** Notifies a client that resubmitted a task again that the task has begun, if it has. */
export function tellAgain(state: SchedulerState, task: TaskEntry): void {
  if (task.extra?.isBegun === true) tell(state, task, 'running')
}

/** Notifies the client of a begun task that it waits for a worker or processor again. */
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

/** Forwards to the task's client, unless it cancelled the task or lacks the feature. */
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

// The output of tasks goes to the clients that requested it. docs/protocol.md#output

/**
 * A worker sends the output of a task. The task may be unknown: the last output may arrive after
 * its end.
 */
export function onTaskOutput(state: SchedulerState, from: Identity, message: TaskOutput): void {
  if (!state.workers.has(from)) return
  const client = state.clients.get(message.client)
  if (client !== undefined && hasFeature(client.features, FEATURE_OUTPUT)) {
    state.output.passOn(message)
  }
}
