// What runs on the lifeline between an agent and a guardian: a question is the dispatch number of a
// task (4 bytes), an answer tells how far it is (12 bytes). Numbers are little-endian.

import type { RunStatus } from '../core/worker/events.js'

/** Length of a question. */
export const QUESTION_BYTES = 4

/** Length of an answer. */
export const STATUS_BYTES = 12

const IS_STARTED = 1
const IS_LISTENING = 2
const IS_ALONE = 4
const HAS_GIVEN_UP = 8

/** A question as bytes. */
export function encodeQuestion(dispatchNumber: number): Buffer {
  const bytes = Buffer.allocUnsafe(QUESTION_BYTES)
  bytes.writeInt32LE(dispatchNumber, 0)
  return bytes
}

/** An answer as bytes. */
export function encodeStatus(status: RunStatus): Buffer {
  const bytes = Buffer.allocUnsafe(STATUS_BYTES)
  const flags =
    (status.isStarted ? IS_STARTED : 0) |
    (status.isListening ? IS_LISTENING : 0) |
    (status.isAlone ? IS_ALONE : 0) |
    (status.hasGivenUp ? HAS_GIVEN_UP : 0)
  bytes.writeInt32LE(status.dispatchNumber, 0)
  bytes.writeInt32LE(flags, 4)
  bytes.writeInt32LE(status.runningMs, 8)
  return bytes
}

/** The answer that begins at `offset`. */
export function decodeStatus(bytes: Buffer, offset: number): RunStatus {
  const flags = bytes.readInt32LE(offset + 4)
  return {
    dispatchNumber: bytes.readInt32LE(offset),
    isStarted: (flags & IS_STARTED) !== 0,
    isListening: (flags & IS_LISTENING) !== 0,
    isAlone: (flags & IS_ALONE) !== 0,
    hasGivenUp: (flags & HAS_GIVEN_UP) !== 0,
    runningMs: bytes.readInt32LE(offset + 8),
  }
}
