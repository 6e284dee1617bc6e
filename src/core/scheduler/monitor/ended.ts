// Tasks that have ended, as they are reported to monitors.

import { identity, type Identity, type TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import { clippedError } from '../../../base/text.js'
import type {
  TaskError,
  TaskEvent,
  TaskFailure,
  TaskResult,
  TaskStatus,
} from '../../../wire/message.js'
import type { PastAttempt, TaskEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { attemptOf } from './explain.js'

/** Longer task names are truncated. */
const MAX_NAME = 256

const NO_PEER: Identity = identity('')
const NO_ATTEMPTS: readonly PastAttempt[] = []

/** A task that has ended. */
export interface Ended {
  readonly taskId: TaskId
  readonly name: string
  readonly function: string
  readonly client: Identity
  readonly worker: Identity
  readonly status: TaskStatus
  readonly queuedAt: InstantMs | undefined
  readonly startAt: InstantMs | undefined
  readonly endAt: InstantMs
  readonly durationMs: number
  readonly attempts: number
  /** The attempts before the last one. */
  readonly past: readonly PastAttempt[]
  readonly error: TaskError | undefined
}

/** How a task ended. */
export interface TaskEnding {
  readonly result: Pick<TaskResult, 'status' | 'error'>
  /** The worker that had it, if any. */
  readonly worker: WorkerEntry | undefined
  readonly durationMs: number | undefined
}

// No spreads from here on, because there may be a hundred thousand events a second.

/** What is kept of a task that has just ended. */
export function endedOf(
  state: SchedulerState,
  task: TaskEntry,
  { result, worker, durationMs }: TaskEnding,
): Ended {
  const { now } = state.turn
  const { id, client, changedAt, extra } = task
  const [error] = result.error
  const isLost = result.status === 'workerDied'
  const startAt = durationMs === undefined ? changedAt : Math.max(changedAt, now - durationMs)
  return {
    taskId: id,
    name: (extra?.name ?? '').slice(0, MAX_NAME),
    function: state.functions.of(task.function).name,
    client: client?.identity ?? NO_PEER,
    worker: worker?.identity ?? NO_PEER,
    status: result.status,
    queuedAt: worker === undefined ? changedAt : extra?.queuedAt,
    startAt: worker === undefined ? undefined : startAt,
    endAt: now,
    durationMs: worker === undefined ? 0 : (durationMs ?? 0),
    // The attempt that lost the last worker is among those that are remembered.
    attempts: (extra?.attempts?.length ?? 0) + (worker === undefined || isLost ? 0 : 1),
    past: extra?.attempts ?? NO_ATTEMPTS,
    error: error && clippedError(error),
  }
}

/** As an event. */
export function eventOf(ended: Ended, now: InstantMs): TaskEvent {
  return {
    taskId: ended.taskId,
    name: ended.name,
    function: ended.function,
    client: ended.client,
    worker: ended.worker,
    queuedAgoMS: ago(ended.queuedAt, now),
    startAgoMS: ago(ended.startAt, now),
    endAgoMS: now - ended.endAt,
    durationMS: ended.durationMs,
    status: ended.status,
    attempts: ended.attempts,
    errorName: ended.error?.name ?? '',
    past: ended.past.length === 0 ? [] : ended.past.map((each) => attemptOf(each, now)),
  }
}

/** As a failure with this number. */
export function failureOf(ended: Ended, number: number, now: InstantMs): TaskFailure {
  return {
    number,
    taskId: ended.taskId,
    name: ended.name,
    function: ended.function,
    client: ended.client,
    worker: ended.worker,
    status: ended.status,
    agoMS: now - ended.endAt,
    attempts: ended.attempts,
    error: ended.error === undefined ? [] : [ended.error],
  }
}

/** Milliseconds since `then`; 0 if unknown. */
function ago(then: InstantMs | undefined, now: InstantMs): number {
  return then === undefined ? 0 : Math.max(now - then, Number.EPSILON)
}
