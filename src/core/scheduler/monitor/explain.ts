// The state of one task, for a client that asks: where it is, why it waits, which workers had it.
// docs/protocol.md#explanation

import type { Identity, TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type {
  AttemptOutcome,
  TaskAttempt,
  TaskExplanation,
  TaskInquiry,
} from '../../../wire/message.js'
import type { ClientEntry, PastAttempt, TaskEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { extraOf } from '../task/extra.js'
import type { WaitingWhy } from './waiting.js'

/** Maximum number of recorded attempts of a task; the oldest are dropped. */
const MAX_ATTEMPTS = 19

/** 32 bits. */
const MAX_MS = 2 ** 32 - 1

const NOTHING_KNOWN: Omit<TaskExplanation, 'kind' | 'taskId'> = {
  state: 'unknown',
  reason: 'allBusy',
  needs: '',
  forMS: 0,
  dependsOn: [],
  attempts: [],
}

/** A client asks about a task. Always answered. */
export function onTaskInquiry(
  state: SchedulerState,
  client: ClientEntry,
  { taskId }: TaskInquiry,
): void {
  const task = state.tasks.get(taskId)
  const found = task === undefined ? explainNode(client, taskId) : explainTask(state, task)
  state.output.send(client.identity, { kind: 'taskExplanation', taskId, ...found })
}

/** Records an attempt of a task that leaves its worker unfinished. */
export function rememberAttempt(
  task: TaskEntry,
  worker: Identity,
  outcome: AttemptOutcome,
  now: InstantMs,
): void {
  const attempts = (extraOf(task).attempts ??= [])
  if (attempts.length === MAX_ATTEMPTS) attempts.shift()
  attempts.push({ worker, outcome, from: task.changedAt, to: now })
}

/** The earlier attempts of a task, for its client. */
export function pastAttempts({ extra }: TaskEntry, now: InstantMs): readonly TaskAttempt[] {
  return extra?.attempts?.map((attempt) => attemptOf(attempt, now)) ?? []
}

/** The state of a task that the scheduler has. `why`: why it waits, if that is known. */
export function explainTask(
  state: SchedulerState,
  task: TaskEntry,
  why?: WaitingWhy,
): Omit<TaskExplanation, 'kind' | 'taskId'> {
  const { worker, changedAt, extra } = task
  const { now } = state.turn
  const past = pastAttempts(task, now)
  const from = worker === undefined ? changedAt : Math.min(changedAt, begunAt(worker, task))
  const forMS = Math.min(Math.floor(now - from), MAX_MS)
  if (worker === undefined) {
    const { reason, needs } = why ?? state.waiting.reasonOf(task)
    return { ...NOTHING_KNOWN, state: 'waiting', reason, needs, forMS, attempts: past }
  }
  const outcome = extra?.isBegun === true ? 'running' : 'unfinished'
  const last = attemptOf({ worker: worker.identity, outcome, from, to: now }, now)
  return {
    ...NOTHING_KNOWN,
    state: task.state === 'canceling' ? 'canceling' : 'assigned',
    forMS,
    attempts: [...past, last],
  }
}

/** Since when its worker says that it runs: a scheduler that was restarted has seen it later. */
function begunAt({ heartbeat, lastHeartbeat }: WorkerEntry, task: TaskEntry): InstantMs {
  const seen = heartbeat.running.find(({ taskId }) => taskId === task.id)
  return seen === undefined ? Infinity : lastHeartbeat - seen.forMS
}

/** Explains a node of one of the client's graphs that is not a task yet. */
function explainNode(
  { graphs }: ClientEntry,
  id: TaskId,
): Omit<TaskExplanation, 'kind' | 'taskId'> {
  for (const graph of graphs.values()) {
    const dependsOn = graph.needsOf(id)
    if (dependsOn === undefined) continue
    const reason = dependsOn.length === 0 ? 'allBusy' : 'dependency'
    return { ...NOTHING_KNOWN, state: 'waiting', reason, dependsOn }
  }
  return NOTHING_KNOWN
}

/** An attempt as it is sent. */
export function attemptOf({ worker, outcome, from, to }: PastAttempt, now: InstantMs): TaskAttempt {
  const agoMS = Math.min(Math.floor(now - from), MAX_MS)
  return { worker, outcome, agoMS, forMS: Math.min(Math.floor(to - from), MAX_MS) }
}
