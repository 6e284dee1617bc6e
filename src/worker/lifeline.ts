// The agent's end of the lifeline to a processor: asks its guardian, which answers whatever user
// code does. A guardian that is silent for long shows that all of the process is stopped.

import type { Duplex } from 'node:stream'
import { ProtocolError } from '../base/errors.js'
import type { RunStatus } from '../core/worker/events.js'
import { decodeNumbers, decodeStatus, encodeNumbers, lifelineFrame } from './lifeline-frame.js'
import { FrameParser, KIND_PULSE, KIND_RETRACT, KIND_STATUS } from './link.js'

/**
 * So many beats in a row remain without an answer before a processor counts as frozen. Beats are
 * counted, not time: while the agent itself is stopped, or the machine sleeps, there are none.
 */
const MAX_MISSED_BEATS = 6

/** What a lifeline tells. */
export interface LifelineHandler {
  /** Answers `askStatus`. */
  onStatus(status: RunStatus): void
  /** Answers `retract`: these of `asked` were taken back. */
  onRetracted(asked: readonly number[], retracted: readonly number[]): void
  /** Nothing has answered for so long. Told once. */
  onFrozen(silentMs: number): void
  /** What came is not what a guardian sends. Nothing more is read. */
  onGarbage(error: unknown): void
}

/** Questions to one guardian. */
export class Lifeline {
  readonly #stream: Duplex
  readonly #handler: LifelineHandler
  /** What was asked to be taken back and is not answered yet. */
  readonly #asked: (readonly number[])[] = []
  #pulse: NodeJS.Timeout | undefined
  /** Whether anything has come since the last beat. */
  #isAnswered = true
  #missedBeats = 0

  constructor(stream: Duplex, handler: LifelineHandler) {
    this.#stream = stream
    this.#handler = handler
    // A pipe that breaks belongs to a process that ends, and that is told by its exit.
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

  /** Asks how far a task is. */
  askStatus(dispatchNumber: number): void {
    this.#write(KIND_STATUS, encodeNumbers([dispatchNumber]))
  }

  /** Takes back what has not begun of these. */
  retract(dispatchNumbers: readonly number[]): void {
    this.#asked.push(dispatchNumbers)
    this.#write(KIND_RETRACT, encodeNumbers(dispatchNumbers))
  }

  /** From now on somebody should be there, and is asked in this interval. */
  watch(intervalMs: number): void {
    this.#pulse ??= setInterval(() => this.#beat(intervalMs), intervalMs)
    this.#pulse.unref()
  }

  /** The processor is gone, or what it is does not matter any more. */
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
      throw new ProtocolError('tasks were taken back that nobody has asked for')
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
