// The errors for tasks that ended without returning or throwing.

import { unreachable } from '../base/assert.js'
import {
  ClientClosedError,
  DisconnectedError,
  MissingObjectError,
  NoWorkerError,
  ProtocolError,
  TaskCancelledError,
  TaskNotFoundError,
  WorkerDiedError,
} from '../base/errors.js'
import { idToHex, type TaskId } from '../base/ids.js'
import type { TaskEndReason } from '../core/client/events.js'

/** The error for one task. `cause` is what the user gave as the reason of a cancel. */
export function outcomeError(
  id: TaskId,
  reason: TaskEndReason,
  detail: string,
  cause?: unknown,
): Error {
  const task = `task ${idToHex(id)}`
  switch (reason) {
    case 'cancelled':
      return new TaskCancelledError(`${task} was cancelled`, { cause })
    case 'closed':
      return new TaskCancelledError(`${task} was cancelled: its client was closed`, {
        cause: new ClientClosedError(),
      })
    case 'dropped':
      return new DisconnectedError(`${task} was dropped by the scheduler, without being asked to`)
    case 'disconnected':
      return new DisconnectedError(`${task} was given up: ${detail}`)
    case 'notFound':
      return new TaskNotFoundError(`the scheduler does not know ${task}`)
    case 'workerDied':
      return new WorkerDiedError(`${task} was given up: it took down too many workers`)
    case 'noWorker':
      return new NoWorkerError(`${task} was refused: no worker can take it`)
    case 'missingObject':
      return new MissingObjectError(`the result of ${task} is gone: no object ${detail}`)
    case 'malformed':
      return new ProtocolError(`the result of ${task} cannot be used: ${detail}`)
    default:
      return unreachable(reason)
  }
}
