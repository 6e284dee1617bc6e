// The agent's end of the lifeline to a processor: sends questions to its guardian, which answers
// whatever user code does. If the guardian is silent for long, the whole process is stopped.

import type { Duplex } from 'node:stream'
import { ProtocolError } from '../../base/errors.js'
import type { RunStatus } from '../../core/worker/events.js'
import { FrameParser, KIND_PULSE, KIND_RETRACT, KIND_STATUS } from './frames.js'

// The lifeline protocol between an agent and a guardian, in the frames of frames.ts. Each question
// has one answer of the same kind, in order. Numbers are little-endian.
//
//   KIND_STATUS    task                 ──► task, flags (1 byte), milliseconds
//   KIND_RETRACT   tasks                ──► those that were taken back
//   KIND_PULSE     nothing              ──► nothing
//
// Tasks are named by their dispatch number. It takes 6 bytes, and so do milliseconds.

const NUMBER_BYTES = 6
const STATUS_BYTES = 2 * NUMBER_BYTES + 1
const HEADER_BYTES = 5

const IS_STARTED = 1
const IS_LISTENING = 2
const IS_ALONE = 4
const HAS_GIVEN_UP = 8

/** A complete frame for the lifeline. */
export function lifelineFrame(kind: number, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.byteLength)
  frame.writeUInt32LE(body.byteLength, 0)
  frame[4] = kind
  frame.set(body, HEADER_BYTES)
  return frame
}

/** Encodes dispatch numbers. */
export function encodeNumbers(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * NUMBER_BYTES)
  for (const [index, number] of numbers.entries()) {
    bytes.writeUIntLE(number, index * NUMBER_BYTES, NUMBER_BYTES)
  }
  return bytes
}

/** Decodes dispatch numbers. Throws `ProtocolError`. */
export function decodeNumbers(bytes: Buffer): number[] {
  if (bytes.length % NUMBER_BYTES !== 0) {
    throw new ProtocolError(`${bytes.length} bytes are not a list of dispatch numbers`)
  }
  const numbers: number[] = []
  for (let at = 0; at < bytes.length; at += NUMBER_BYTES) {
    numbers.push(bytes.readUIntLE(at, NUMBER_BYTES))
  }
  return numbers
}

/** Encodes the status of a task. */
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

/** Decodes the status of a task. Throws `ProtocolError`. */
export function decodeStatus(bytes: Buffer): RunStatus {
  if (bytes.length !== STATUS_BYTES) {
    throw new ProtocolError(`${bytes.length} bytes are not the status of a task`)
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

/**
 * A processor counts as frozen after this many beats in a row without an answer. Beats are counted,
 * not time: there are none while the agent itself is stopped or the machine sleeps.
 */
const MAX_MISSED_BEATS = 6

/** Handles the events of a lifeline. */
interface LifelineHandler {
  /** Answers `askStatus`. */
  onStatus(status: RunStatus): void
  /** Answers `retract`: these of `asked` were taken back. */
  onRetracted(asked: readonly number[], retracted: readonly number[]): void
  /** The guardian has not answered for this long. Called once. */
  onFrozen(silentMs: number): void
  /** The guardian sent invalid data. Nothing more is read. */
  onGarbage(error: unknown): void
}

/** Sends questions to one guardian. */
export class Lifeline {
  readonly #stream: Duplex
  readonly #handler: LifelineHandler
  /** Requests to take tasks back that are not answered yet. */
  readonly #asked: (readonly number[])[] = []
  #pulse: NodeJS.Timeout | undefined
  /** Whether anything has arrived since the last beat. */
  #isAnswered = true
  #missedBeats = 0

  constructor(stream: Duplex, handler: LifelineHandler) {
    this.#stream = stream
    this.#handler = handler
    // A pipe breaks when the process exits, which is reported separately.
    stream.on('error', () => {})
    const parser = new FrameParser((kind, bytes) => this.#onFrame(kind, bytes))
    const onChunk = (chunk: Buffer): void => {
      try {
        parser.feed(chunk)
      } catch (error) {
        stream.off('data', onChunk)
        stream.resume()
        handler.onGarbage(error)
      }
    }
    stream.on('data', onChunk)
  }

  /** Asks for the status of a task. */
  askStatus(dispatchNumber: number): void {
    this.#write(KIND_STATUS, encodeNumbers([dispatchNumber]))
  }

  /** Takes back those of these tasks that have not started. */
  retract(dispatchNumbers: readonly number[]): void {
    this.#asked.push(dispatchNumbers)
    this.#write(KIND_RETRACT, encodeNumbers(dispatchNumbers))
  }

  /** The guardian is up: checks at this interval that it responds. */
  watch(intervalMs: number): void {
    this.#pulse ??= setInterval(() => this.#beat(intervalMs), intervalMs)
    this.#pulse.unref()
  }

  /** Stops the checks: the processor has exited, or does not matter any more. */
  unwatch(): void {
    clearInterval(this.#pulse)
  }

  #onFrame(kind: number, bytes: Buffer): void {
    this.#isAnswered = true
    if (kind === KIND_STATUS) this.#handler.onStatus(decodeStatus(bytes))
    else if (kind === KIND_RETRACT) this.#onRetracted(decodeNumbers(bytes))
    else if (kind !== KIND_PULSE) throw new ProtocolError(`a frame of kind ${kind} on the lifeline`)
  }

  #onRetracted(retracted: readonly number[]): void {
    const asked = this.#asked.shift()
    if (asked === undefined || retracted.some((number) => !asked.includes(number))) {
      throw new ProtocolError('tasks were taken back without a request')
    }
    this.#handler.onRetracted(asked, retracted)
  }

  #beat(intervalMs: number): void {
    if (this.#isAnswered) {
      this.#isAnswered = false
      this.#missedBeats = 0
      this.#write(KIND_PULSE, encodeNumbers([]))
      return
    }
    this.#missedBeats += 1
    if (this.#missedBeats !== MAX_MISSED_BEATS) return
    this.unwatch()
    this.#handler.onFrozen(this.#missedBeats * intervalMs)
  }

  #write(kind: number, body: Uint8Array): void {
    if (!this.#stream.destroyed) this.#stream.write(lifelineFrame(kind, body))
  }
}

// How a processor kills itself and everything that it has started, after its agent has died.

/**
 * Never returns. The processor leads a process group of its own; on systems without groups, only
 * the processor itself is killed.
 */
export function killOwnGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.kill(process.pid, 'SIGKILL')
  }
}
