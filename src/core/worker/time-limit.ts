// How long a task may run on a worker: what it asks for itself, and what the worker allows to any.
// Apart, because agent and processor both say it.

import { TaskTimeoutError } from '../../base/errors.js'
import { taskPhrase, type TaskId } from '../../base/ids.js'

/** How long a task may run. */
export interface TimeLimit {
  /** 0 = for ever. */
  readonly timeoutMs: number
  /** It is the worker's, which is shorter than what the task asks for. */
  readonly isWorkersLimit: boolean
}

/** The shorter of both limits, of which 0 is none. */
export function timeLimitOf(ownMs: number, workersMs: number): TimeLimit {
  const isWorkersLimit = workersMs > 0 && (ownMs === 0 || workersMs < ownMs)
  return { timeoutMs: isWorkersLimit ? workersMs : ownMs, isWorkersLimit }
}

/** The error of a task that has run for longer. */
export function timeoutErrorOf(id: TaskId, name: string, limit: TimeLimit): TaskTimeoutError {
  const allowed = limit.isWorkersLimit
    ? `the ${limit.timeoutMs} ms that its worker allows to any task`
    : `its ${limit.timeoutMs} ms`
  return new TaskTimeoutError(`${taskPhrase(id, name)} ran for longer than ${allowed}`)
}
