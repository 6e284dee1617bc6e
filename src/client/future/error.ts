// The errors for tasks that ended without returning or throwing.

import { unreachable } from '../../base/assert.js'
import { withoutFrames } from '../../base/error-stack.js'
import {
  ClientClosedError,
  ClientShutdownError,
  DisconnectedError,
  MissingObjectError,
  NoWorkerError,
  ProtocolError,
  TaskCancelledError,
  TaskNotFoundError,
  WorkerDiedError,
} from '../../base/errors.js'
import { taskPhrase, type TaskId } from '../../base/ids.js'
import type { TaskEndReason } from '../../core/client/events.js'

/** How a task ended. */
export interface OutcomeDetails {
  readonly reason: TaskEndReason
  /** The name of the task; '' if it has none. */
  readonly name?: string
  /** For people, possibly ''. */
  readonly detail: string
  /** The task that ended this way, if this task needed the result of another one. */
  readonly failedTaskId?: TaskId | undefined
  /** The reason that the user gave for a cancellation. */
  readonly cause?: unknown
}

/**
 * The error for one task. Its stack has no frames: those of the library lead nowhere, and capturing
 * them would be most of the work when a client with many tasks is closed.
 */
export function outcomeError(id: TaskId, details: OutcomeDetails): Error {
  return withoutFrames(() => newError(id, details))
}

/** The last error of `clientEndError`, until the caller has returned. */
let shared: { readonly reason: TaskEndReason; readonly error: Error } | undefined

/**
 * The error of all tasks that end at once because their client does; undefined for another reason.
 * One error for each of hundreds of thousands of tasks would take most of the time.
 */
export function clientEndError(reason: TaskEndReason): Error | undefined {
  if (reason !== 'cleared' && reason !== 'closed' && reason !== 'shutDown') return undefined
  if (shared?.reason === reason) return shared.error
  if (shared === undefined) queueMicrotask(() => (shared = undefined))
  const error = withoutFrames(() => endedError('the task', reason))
  shared = { reason, error }
  return error
}

function newError(id: TaskId, details: OutcomeDetails): Error {
  const { reason, name = '', detail, failedTaskId, cause } = details
  const task = taskPhrase(id, name)
  // For a task that needs another one: the outcome of that one, and why it matters here.
  const subject = failedTaskId === undefined ? task : taskPhrase(failedTaskId, '')
  const why = failedTaskId === undefined ? '' : `; ${task} needs its result`
  switch (reason) {
    case 'cancelled':
      return new TaskCancelledError(
        `${subject} was cancelled${detail === '' ? '' : ` ${detail}`}${why}`,
        { cause },
      )
    case 'cleared':
    case 'closed':
    case 'shutDown':
      return endedError(task, reason)
    case 'dropped':
      return new DisconnectedError(
        `${subject} was dropped by the scheduler without a request${why}`,
      )
    case 'disconnected':
      return new DisconnectedError(`${subject} was given up: ${detail}${why}`, {
        reason: 'no-scheduler',
      })
    case 'notFound':
      return new TaskNotFoundError(`the scheduler does not have ${subject}${why}`)
    case 'workerDied':
      if (detail !== '') return new WorkerDiedError(`${subject} was abandoned: ${detail}${why}`)
      return new WorkerDiedError(
        `${subject} was abandoned: too many workers died while running it${why}`,
      )
    case 'noWorker':
      return new NoWorkerError(
        `${subject} was refused: the queue of the scheduler is full, and no worker has room${why}`,
      )
    case 'missingObject':
      return new MissingObjectError(`${subject}: ${missing(detail)}${why}`)
    case 'malformed':
      return new ProtocolError(`the result of ${subject} cannot be used: ${detail}${why}`)
    default:
      return unreachable(reason)
  }
}

/** The error when the value of a completed task is requested but no longer exists. */
export function storedResultError(id: TaskId, details: OutcomeDetails): Error {
  const { reason } = details
  const task = taskPhrase(id, '')
  if (reason === 'closed') {
    return new ClientClosedError(`the client was closed before the result of ${task} was fetched`)
  }
  if (reason === 'shutDown') {
    return new ClientShutdownError(`the cluster was shut down, and with it the result of ${task}`)
  }
  if (reason === 'cleared') {
    return new MissingObjectError(`the client was cleared, and with it the result of ${task}`)
  }
  return outcomeError(id, details)
}

function endedError(task: string, reason: 'cleared' | 'closed' | 'shutDown'): TaskCancelledError {
  if (reason === 'cleared') {
    return new TaskCancelledError(`${task} was cancelled: its client was cleared`)
  }
  if (reason === 'closed') {
    const cause = new ClientClosedError()
    return new TaskCancelledError(`${task} was cancelled: its client was closed`, { cause })
  }
  const cause = new ClientShutdownError('the cluster was shut down')
  return new TaskCancelledError(`${task} was cancelled: the cluster was shut down`, { cause })
}

function missing(detail: string): string {
  if (detail === '') return 'its result, or one that it needs, is gone'
  return `its result, or an object that it needs, is gone: ${detail}`
}
