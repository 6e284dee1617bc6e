// The agent's end of the lifeline to a processor: sends questions to its guardian, which answers
// whatever user code does. If the guardian is silent for long, the whole process is stopped.

import type { Duplex } from 'node:stream'
import { ProtocolError } from '../../base/errors.js'
import type { RunStatus, StackReport } from '../../core/worker/events.js'
import {
  type AgentFrame,
  decodeProcessorFrame,
  type ProcessorFrame,
  type TakenResults,
} from './frames.js'
import { controlBytes, FrameParser } from './pipe.js'

/** What a lifeline reports. */
export type LifelineEvent =
  /** Answers `askStatus`. */
  | { readonly type: 'status'; readonly status: RunStatus }
  /** Answers `retract`: these of `asked` were taken back. */
  | {
      readonly type: 'retracted'
      readonly asked: readonly number[]
      readonly retracted: readonly number[]
    }
  /** Answers `askStack`. */
  | { readonly type: 'stack'; readonly report: StackReport }
  /** Results of tasks before one that runs for long; before the answer to an `askStatus`. */
  | { readonly type: 'results'; readonly results: TakenResults }
  /** The guardian has not answered for this long. Reported once. */
  | { readonly type: 'frozen'; readonly silentMs: number }
  /** The guardian sent invalid data. Nothing more is read. */
  | { readonly type: 'garbage'; readonly error: unknown }

/** Sends questions to one guardian. */
export class Lifeline {
  readonly #stream: Duplex
  readonly #tell: (event: LifelineEvent) => void
  /** Requests to take tasks back that are not answered yet. */
  readonly #asked: (readonly number[])[] = []
  readonly #pulse = new Pulse(
    () => this.#ask({ type: 'pulse' }),
    (silentMs) => this.#tell({ type: 'frozen', silentMs }),
  )

  constructor(stream: Duplex, tell: (event: LifelineEvent) => void) {
    this.#stream = stream
    this.#tell = tell
    // A pipe breaks when the process exits, which is reported separately.
    stream.on('error', () => {})
    const parser = new FrameParser({
      onMessage: () => {
        throw new ProtocolError('a message on the lifeline')
      },
      onControl: (bytes) => this.#onAnswer(decodeProcessorFrame(bytes)),
    })
    const onChunk = (chunk: Buffer): void => {
      try {
        parser.feed(chunk)
      } catch (error) {
        stream.off('data', onChunk)
        stream.resume()
        tell({ type: 'garbage', error })
      }
    }
    stream.on('data', onChunk)
  }

  /** Asks for the status of `count` tasks, of which one may be running. */
  askStatus(dispatchNumber: number, count: number): void {
    this.#ask({ type: 'askStatus', task: dispatchNumber, count })
  }

  /** Takes back those of these tasks that have not started. */
  retract(dispatchNumbers: readonly number[]): void {
    this.#asked.push(dispatchNumbers)
    this.#ask({ type: 'retract', tasks: dispatchNumbers })
  }

  /** Asks what the main thread is doing: the answer comes some time later. */
  askStack(): void {
    this.#ask({ type: 'askStack' })
  }

  /** The guardian has been started: checks at this interval that it responds. */
  watch(intervalMs: number): void {
    this.#pulse.start(intervalMs)
  }

  /** Stops the checks: the processor has exited, or does not matter any more. */
  unwatch(): void {
    this.#pulse.stop()
  }

  #onAnswer(answer: ProcessorFrame): void {
    this.#pulse.heard()
    const { type } = answer
    if (type === 'status' || type === 'stack' || type === 'results') this.#tell(answer)
    else if (answer.type === 'retracted') this.#onRetracted(answer.tasks)
    else if (answer.type !== 'pulse') throw new ProtocolError(`a ${answer.type} on the lifeline`)
  }

  #onRetracted(retracted: readonly number[]): void {
    const asked = this.#asked.shift()
    const known = new Set(asked)
    if (asked === undefined || retracted.some((number) => !known.has(number))) {
      throw new ProtocolError('tasks were taken back without a request')
    }
    this.#tell({ type: 'retracted', asked, retracted })
  }

  #ask(question: AgentFrame): void {
    if (!this.#stream.destroyed) this.#stream.write(controlBytes(question))
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

// Whether another process responds: it is asked at intervals, and counts as frozen if it is silent
// for several in a row.

/**
 * A process counts as frozen after this many beats in a row without an answer. Beats are counted,
 * not time: there are none while this process itself is stopped or the machine sleeps.
 */
const MAX_MISSED_BEATS = 6

/** Checks one process. */
export class Pulse {
  readonly #ask: () => void
  readonly #onFrozen: (silentMs: number) => void
  #timer: NodeJS.Timeout | undefined
  /** Whether anything has arrived since the last beat. */
  #isAnswered = true
  #missedBeats = 0

  /** `ask` asks it to answer; `onFrozen` is called once, when it is frozen. */
  constructor(ask: () => void, onFrozen: (silentMs: number) => void) {
    this.#ask = ask
    this.#onFrozen = onFrozen
  }

  /** Checks it at this interval from now on. */
  start(intervalMs: number): void {
    this.#timer ??= setInterval(() => this.#beat(intervalMs), intervalMs)
    this.#timer.unref()
  }

  /** Something has arrived from it. */
  heard(): void {
    this.#isAnswered = true
  }

  /** Stops the checks: the process has exited, or does not matter any more. */
  stop(): void {
    clearInterval(this.#timer)
  }

  #beat(intervalMs: number): void {
    if (this.#isAnswered) {
      this.#isAnswered = false
      this.#missedBeats = 0
      this.#ask()
      return
    }
    this.#missedBeats += 1
    if (this.#missedBeats !== MAX_MISSED_BEATS) return
    this.stop()
    this.#onFrozen(this.#missedBeats * intervalMs)
  }
}
