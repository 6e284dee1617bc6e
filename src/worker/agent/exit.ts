// When the exit of a processor is reported to the machine. Whoever ends a job sends SIGTERM to all
// of its processes: a task whose processor is ended together with its agent is not to blame, and
// runs elsewhere.

import type { WorkerEvent } from '../../core/worker/events.js'

/** A signal for all processes of a job reaches the agent within this time after the first. */
const NOTICE_MS = 500

type ProcessorExited = WorkerEvent & { readonly type: 'processorExited' }

/** The exits of one worker's processors. */
export class ExitReport {
  readonly #handle: (event: WorkerEvent) => void
  #held: ProcessorExited | undefined
  #isStopping = false
  /** Whether the worker has asked the processor, or a task in it, to end. */
  #isExpected = false

  /** `handle`: passes an event to the machine of the worker. */
  constructor(handle: (event: WorkerEvent) => void) {
    this.#handle = handle
  }

  /** A new processor was started. */
  onStarted(): void {
    this.#isExpected = false
  }

  /** The worker ends its processor, or a task in it. */
  expect(): void {
    this.#isExpected = true
  }

  /** The processor has exited. If it was ended by a signal, that is reported after a moment. */
  onExited(exit: ProcessorExited): void {
    const isForeign = exit.death.signal === 'SIGTERM' && !this.#isExpected
    if (!isForeign) return this.#handle(exit)
    this.#held = exit
    if (this.#isStopping) this.#release()
    else setTimeout(() => this.#release(), NOTICE_MS)
  }

  /** The worker was asked to stop. */
  onStopRequested(): void {
    this.#isStopping = true
    this.#release()
  }

  #release(): void {
    const exit = this.#held
    this.#held = undefined
    if (exit === undefined) return
    if (this.#isStopping) this.#handle({ type: 'stopRequested', isUrgent: true })
    this.#handle(exit)
  }
}
