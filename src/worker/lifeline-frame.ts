// What runs on the lifeline between an agent and a guardian, in the frames of link.ts. To each
// question there is one answer of the same kind, in order. Numbers are little-endian.
//
//   KIND_STATUS    task                 ──► task, flags (1 byte), milliseconds
//   KIND_RETRACT   tasks                ──► those of them that were taken back
//   KIND_PULSE     nothing              ──► nothing
//
// Tasks are named by their dispatch number: 6 bytes, as milliseconds are.

import { ProtocolError } from '../base/errors.js'
import type { RunStatus } from '../core/worker/events.js'

const NUMBER_BYTES = 6
const STATUS_BYTES = 2 * NUMBER_BYTES + 1
const HEADER_BYTES = 5

const IS_STARTED = 1
const IS_LISTENING = 2
const IS_ALONE = 4
const HAS_GIVEN_UP = 8

/** A whole frame for the lifeline. */
export function lifelineFrame(kind: number, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.byteLength)
  frame.writeUInt32LE(body.byteLength, 0)
  frame[4] = kind
  frame.set(body, HEADER_BYTES)
  return frame
}

/** Dispatch numbers as bytes. */
export function encodeNumbers(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * NUMBER_BYTES)
  for (const [index, number] of numbers.entries()) {
    bytes.writeUIntLE(number, index * NUMBER_BYTES, NUMBER_BYTES)
  }
  return bytes
}

/** The numbers again. Throws `ProtocolError`. */
export function decodeNumbers(bytes: Buffer): number[] {
  if (bytes.length % NUMBER_BYTES !== 0) {
    throw new ProtocolError(`${bytes.length} bytes are no list of dispatch numbers`)
  }
  const numbers: number[] = []
  for (let at = 0; at < bytes.length; at += NUMBER_BYTES) {
    numbers.push(bytes.readUIntLE(at, NUMBER_BYTES))
  }
  return numbers
}

/** How far a task is, as bytes. */
export function encodeStatus(status: RunStatus): Buffer {
  const bytes = Buffer.allocUnsafe(STATUS_BYTES)
  bytes.writeUIntLE(status.dispatchNumber, 0, NUMBER_BYTES)
  bytes[NUMBER_BYTES] =
    (status.isStarted ? IS_STARTED : 0) |
    (status.isListening ? IS_LISTENING : 0) |
    (status.isAlone ? IS_ALONE : 0) |
    (status.hasGivenUp ? HAS_GIVEN_UP : 0)
  bytes.writeUIntLE(status.runningMs, NUMBER_BYTES + 1, NUMBER_BYTES)
  return bytes
}

/** How far a task is, again. Throws `ProtocolError`. */
export function decodeStatus(bytes: Buffer): RunStatus {
  if (bytes.length !== STATUS_BYTES) {
    throw new ProtocolError(`${bytes.length} bytes do not tell how far a task is`)
  }
  const flags = bytes[NUMBER_BYTES] ?? 0
  return {
    dispatchNumber: bytes.readUIntLE(0, NUMBER_BYTES),
    isStarted: (flags & IS_STARTED) !== 0,
    isListening: (flags & IS_LISTENING) !== 0,
    isAlone: (flags & IS_ALONE) !== 0,
    hasGivenUp: (flags & HAS_GIVEN_UP) !== 0,
    runningMs: bytes.readUIntLE(NUMBER_BYTES + 1, NUMBER_BYTES),
  }
}
