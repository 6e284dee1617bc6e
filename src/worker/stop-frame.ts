// The frame by which an agent has a task stopped: why (1 byte), then the task's id.

import { latin1Slice, latin1ToBytes } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { taskId, type TaskId } from '../base/ids.js'
import type { StopReason } from '../core/worker/events.js'

const REASONS: readonly StopReason[] = ['cancelled', 'timedOut', 'givenUp']

/** An order to stop a task. */
export interface StopOrder {
  readonly id: TaskId
  readonly reason: StopReason
}

/** The order as bytes. */
export function encodeStop({ id, reason }: StopOrder): Uint8Array {
  return Buffer.concat([Uint8Array.of(REASONS.indexOf(reason)), latin1ToBytes(id)])
}

/** The order again. Throws `ProtocolError`. */
export function decodeStop(bytes: Buffer): StopOrder {
  const reason = REASONS[bytes[0] ?? REASONS.length]
  if (reason === undefined) throw new ProtocolError('a task is to be stopped for no known reason')
  return { id: taskId(latin1Slice(bytes, 1, bytes.length)), reason }
}
