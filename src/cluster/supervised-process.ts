// A part of an embedded cluster that is restarted when it exits unexpectedly: the program that
// embeds it has no other way to get its results.

import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'
import { messageOf } from '../base/text.js'
import { isStartFailure } from '../runtime/child-environment.js'
import type { EmbeddedOrder, EmbeddedStart } from './embedded-lines.js'
import type { EmbeddedEnd } from './embedded-process.js'
import type { AgentOrder } from './options.js'

/** Only deaths within this time count. */
const WINDOW_MS = 60_000
/** After this many deaths, the part is not restarted any more. */
const MAX_DEATHS = 10
const MIN_DELAY_MS = 100
const MAX_DELAY_MS = 5_000

/** Counts the deaths of one part. */
export class RestartPolicy {
  #deaths: number[] = []
  #refusals = 0

  /**
   * The part died at `nowMs`. Returns how long to wait before the restart, in milliseconds, or
   * undefined if it is not restarted any more.
   */
  delayAfterDeath(nowMs: number): number | undefined {
    this.#deaths = this.#deaths.filter((diedAt) => nowMs - diedAt < WINDOW_MS)
    this.#deaths.push(nowMs)
    if (this.#deaths.length >= MAX_DEATHS) return undefined
    return Math.min(MIN_DELAY_MS * 2 ** (this.#deaths.length - 1), MAX_DELAY_MS)
  }

  /**
   * The system could not start the part: not the part's fault, and possibly temporary. Returns how
   * long to wait before the next attempt, in milliseconds.
   */
  delayAfterRefusal(): number {
    this.#refusals += 1
    return Math.min(MIN_DELAY_MS * 2 ** (this.#refusals - 1), MAX_DELAY_MS)
  }

  /** The part runs. */
  onStarted(): void {
    this.#refusals = 0
  }
}

/** One process of a part; see `EmbeddedProcess`. */
export interface PartProcess {
  readonly ended: Promise<EmbeddedEnd>
  prepare(options: AgentOrder): void
  start(order: EmbeddedOrder): Promise<EmbeddedStart>
  end(): Promise<void>
  unref(): void
}

/** A process that cannot be started is reported at most once per interval. */
const TELL_INTERVAL_MS = 60_000

/** One part, across restarts. */
export class SupervisedProcess {
  readonly #logger: Logger
  readonly #onEnd: (hasDied: boolean) => void
  readonly #policy = new RestartPolicy()
  readonly #refusals = new Recurrence(TELL_INTERVAL_MS)
  readonly #open: () => PartProcess
  #process: PartProcess | undefined
  /** Why the first process could not be started. */
  readonly #openError: unknown
  /** The order for a restart. */
  #order: EmbeddedOrder | undefined
  #timer: NodeJS.Timeout | undefined
  #isSupervised = true

  /**
   * `open` starts a process, now and for each restart; the process waits for `start`. `onEnd` is
   * called when the part is not restarted: it has died too often, or has shut down normally,
   * without a call of `end`.
   */
  constructor(open: () => PartProcess, logger: Logger, onEnd: (hasDied: boolean) => void) {
    this.#open = open
    this.#logger = logger
    this.#onEnd = onEnd
    try {
      this.#process = open()
    } catch (error) {
      this.#openError = error
    }
  }

  /** Has an agent start processors for its workers, before it gets its order. */
  prepare(options: AgentOrder): void {
    this.#process?.prepare(options)
  }

  /**
   * Sends the order. Resolves with the first report; rejects if the part cannot start. Once it has
   * started, it is restarted whenever it exits, with the order that `again` makes of the report.
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

  /** From here on, the part is not restarted. */
  release(): void {
    this.#isSupervised = false
    clearTimeout(this.#timer)
  }

  /** Stops the part for good, gracefully if it is running. */
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
      return this.#onEnd(false)
    }
    const delayMs = this.#policy.delayAfterDeath(performance.now())
    if (delayMs === undefined) return this.#giveUp(text)
    this.#warn(`exited and is being restarted: ${text}`)
    this.#startLater(delayMs)
  }

  /** The system is out of processes or file descriptors; later some may be free. */
  #onRefused(text: string): void {
    const count = this.#refusals.note(performance.now())
    if (count > 0) this.#warn(`cannot be started, retrying: ${text}`)
    this.#startLater(this.#policy.delayAfterRefusal())
  }

  /** The timer does not keep the program alive. */
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
      return this.#onRefused(messageOf(error))
    }
    this.#process = part
    // A failed start shows as an exit, which is watched below.
    part
      .start(order)
      .then(() => this.#policy.onStarted())
      .catch((error: unknown) => {
        // The warnings say it, and not for each attempt.
        if (isStartFailure(messageOf(error))) return
        this.#logger.error(
          `cannot start the ${order.role} of the embedded cluster: ${String(error)}`,
        )
      })
    this.#watch(part)
  }

  #giveUp(text: string): void {
    this.release()
    this.#warn(`exited too often within a minute and is not restarted: ${text}`)
    this.#onEnd(true)
  }

  #warn(text: string): void {
    const what = `the ${this.#order?.role} of the embedded cluster ${text}`
    this.#logger.error(what)
    process.emitWarning(what, { code: 'SCALER_EMBEDDED_ENDED' })
  }
}
