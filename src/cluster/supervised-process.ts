// A part of an embedded cluster that is started again when it ends unexpectedly: the program that
// embeds it has no other way to get its results.

import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'
import type { EmbeddedEnd, EmbeddedOrder, EmbeddedStart } from './embedded-process.js'

// When a part of an embedded cluster that has ended unexpectedly is started again. Apart, because
// it is about time alone.

/** Of deaths within this time the last ones count. */
const WINDOW_MS = 60_000
/** With so many of them, starting again does not help. */
const MAX_DEATHS = 10
const MIN_DELAY_MS = 100
const MAX_DELAY_MS = 5_000

/** The deaths of one part. */
export class RestartPolicy {
  #deaths: number[] = []
  #refusals = 0

  /**
   * It has died at `nowMs`. Returns how long to wait before it is started again, in milliseconds;
   * undefined: not any more.
   */
  delayAfterDeath(nowMs: number): number | undefined {
    this.#deaths = this.#deaths.filter((diedAt) => nowMs - diedAt < WINDOW_MS)
    this.#deaths.push(nowMs)
    if (this.#deaths.length >= MAX_DEATHS) return undefined
    return Math.min(MIN_DELAY_MS * 2 ** (this.#deaths.length - 1), MAX_DELAY_MS)
  }

  /**
   * The system refused to start it, which is no fault of its own and may pass at any time. Returns
   * how long to wait, in milliseconds.
   */
  delayAfterRefusal(): number {
    this.#refusals += 1
    return Math.min(MIN_DELAY_MS * 2 ** (this.#refusals - 1), MAX_DELAY_MS)
  }

  /** It runs. */
  onStarted(): void {
    this.#refusals = 0
  }
}

/** One life of a part; `EmbeddedProcess` has the details. */
export interface PartProcess {
  readonly ended: Promise<EmbeddedEnd>
  start(order: EmbeddedOrder): Promise<EmbeddedStart>
  end(): Promise<void>
  unref(): void
}

/** What happens to a part that is not started again. */
interface SupervisedHandler {
  /** It has ended in good order, without having been told to by `end`. */
  onOver(): void
  /** It has died too often. */
  onGivenUp(): void
}

/** That a process cannot be started is told once in so long. */
const TELL_INTERVAL_MS = 60_000

/** One part, over all its lives. */
export class SupervisedProcess {
  readonly #logger: Logger
  readonly #handler: SupervisedHandler
  readonly #policy = new RestartPolicy()
  readonly #refusals = new Recurrence(TELL_INTERVAL_MS)
  readonly #open: () => PartProcess
  #process: PartProcess | undefined
  /** Why the first process could not be started. */
  readonly #openError: unknown
  /** What it is told when it is started again. */
  #order: EmbeddedOrder | undefined
  #timer: NodeJS.Timeout | undefined
  #isSupervised = true

  /** `open` starts a process, now and whenever there has to be another. It waits for `start`. */
  constructor(open: () => PartProcess, logger: Logger, handler: SupervisedHandler) {
    this.#open = open
    this.#logger = logger
    this.#handler = handler
    try {
      this.#process = open()
    } catch (error) {
      this.#openError = error
    }
  }

  /**
   * Tells the process what it is. Resolves with its first report; rejects if it cannot start. Only
   * once it has, it is started again when it ends: with what `again` makes of the report.
   */
  async start(
    order: EmbeddedOrder,
    again: (start: EmbeddedStart) => EmbeddedOrder,
  ): Promise<EmbeddedStart> {
    const part = this.#process
    if (part === undefined) throw this.#openError
    const start = await part.start(order)
    this.#order = again(start)
    this.#watch(part)
    return start
  }

  /** It is not started again from here on. */
  release(): void {
    this.#isSupervised = false
    clearTimeout(this.#timer)
  }

  /** Ends it for good, in good order if it is running. */
  async end(): Promise<void> {
    this.release()
    await this.#process?.end()
  }

  #watch(part: PartProcess): void {
    part.unref()
    void part.ended.then((end) => this.#onEnded(end))
  }

  #onEnded({ isGood, isUnstarted = false, text }: EmbeddedEnd): void {
    if (!this.#isSupervised) return
    if (isUnstarted) return this.#onRefused(text)
    if (isGood) {
      this.release()
      return this.#handler.onOver()
    }
    const delayMs = this.#policy.delayAfterDeath(performance.now())
    if (delayMs === undefined) return this.#giveUp(text)
    this.#warn(`ended and is started again: ${text}`)
    this.#startLater(delayMs)
  }

  /** No process, or no file descriptor, is left: later there may be. */
  #onRefused(text: string): void {
    const count = this.#refusals.note(performance.now())
    if (count > 0) this.#warn(`cannot be started, which is tried again: ${text}`)
    this.#startLater(this.#policy.delayAfterRefusal())
  }

  /** While nobody waits for anything, the program may end. */
  #startLater(delayMs: number): void {
    this.#timer = setTimeout(() => this.#startAgain(), delayMs).unref()
  }

  #startAgain(): void {
    const order = this.#order
    if (order === undefined) return
    let part: PartProcess
    try {
      part = this.#open()
    } catch (error) {
      return this.#onRefused(error instanceof Error ? error.message : String(error))
    }
    this.#process = part
    // Whether it starts is seen by whether it ends.
    part
      .start(order)
      .then(() => this.#policy.onStarted())
      .catch((error: unknown) => {
        this.#logger.error(
          `cannot start the ${order.role} of the embedded cluster: ${String(error)}`,
        )
      })
    this.#watch(part)
  }

  #giveUp(text: string): void {
    this.release()
    this.#warn(`has ended too often within a minute and is not started again: ${text}`)
    this.#handler.onGivenUp()
  }

  #warn(text: string): void {
    const what = `the ${this.#order?.role} of the embedded cluster ${text}`
    this.#logger.error(what)
    process.emitWarning(what, { code: 'SCALER_EMBEDDED_ENDED' })
  }
}
