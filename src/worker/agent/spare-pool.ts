// Processors that run already and belong to no worker yet: whoever loses its own gets one of them,
// so that a cancelled task costs a moment and not the start of a process.
//
// A start takes some 200 ms of a core, and cancels come in bursts. So the pool learns: each time
// that somebody finds none that is ready it keeps one more from then on, and one less after each
// minute in which nobody does. It starts all processors of its agent, so that those that somebody
// waits for are not held up by those that nobody needs yet.

import { availableParallelism } from 'node:os'
import type { Logger } from '../../base/logger.js'
import { Recurrence } from '../../base/recurrence.js'
import { hostProcessor, type ProcessorHost } from './processor-host.js'
import type { ProcessorOptions } from './spawn.js'

/** The pause before a spare is replaced that ended by itself; it doubles each time, up to this. */
const MIN_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000

/** A spare that has not reported in for so long never will, in milliseconds. */
const START_TIMEOUT_MS = 60_000

/** That spares end is said once in so long, in milliseconds. */
const TELL_INTERVAL_MS = 60_000

/** So many more than asked for are kept while cancels come in bursts. */
const MAX_EXTRA = 4

/** One of them less is kept after so long without need, in milliseconds. */
const EXTRA_MS = 60_000

/**
 * The first spares start so long after the first task, in milliseconds: programs that are done by
 * then never need one, and their first tasks have the cores for themselves.
 */
const FILL_DELAY_MS = 200

/** What a pool is made of. */
export interface SparePoolOptions {
  readonly processor: ProcessorOptions
  /** How many are kept at least; with 0 there are none. */
  readonly count: number
  readonly logger: Logger
  /** How a processor is started; another one in tests. */
  readonly host?: (options: ProcessorOptions, logger: Logger) => ProcessorHost
}

/** Spare processors for all workers of an agent. Starts none in advance before `expectTasks`. */
export class SparePool {
  readonly #options: SparePoolOptions
  /** The oldest first. */
  readonly #spares = new Set<ProcessorHost>()
  /** No more than that start at once, unless somebody waits for them. */
  readonly #maxStarts = Math.max(availableParallelism(), 2)
  /** How many have been started, for whomever, and have not reported in. */
  #startCount = 0
  #extra = 0
  #extraTimer: NodeJS.Timeout | undefined
  #isFilled = false
  #fillTimer: NodeJS.Timeout | undefined
  /** Once all were there: before, it shows nothing that one is missing. */
  #wasFull = false
  #isClosed = false
  #failures = 0
  readonly #losses = new Recurrence(TELL_INTERVAL_MS)
  #timer: NodeJS.Timeout | undefined

  constructor(options: SparePoolOptions) {
    this.#options = options
  }

  /** A worker has a task: soon a processor may be needed. */
  expectTasks(): void {
    if (this.#isFilled || this.#isClosed) return
    this.#fillTimer ??= setTimeout(() => this.fill(), FILL_DELAY_MS)
  }

  /** Starts what is missing, now and from now on. */
  fill(): void {
    this.#isFilled = true
    while (this.#isShort && this.#startCount < this.#maxStarts) this.#startSpare()
  }

  /**
   * A processor that is somebody's from now on: a ready one if there is one, else the one that has
   * been starting for longest, else a new one. Undefined once the pool is closed.
   */
  take(): ProcessorHost | undefined {
    if (this.#isClosed) return undefined
    const spares = [...this.#spares]
    const spare = spares.find(({ isReady }) => isReady) ?? spares.find(({ isGone }) => !isGone)
    if (spare?.isReady === true) this.#failures = 0
    else if (this.#wasFull) this.#keepMore()
    if (spare !== undefined) this.#spares.delete(spare)
    // Whoever needs it shall have it before anything else is started.
    setImmediate(() => {
      if (this.#isFilled) this.fill()
    })
    return spare ?? this.#start()
  }

  /** Ends all that are left; resolves when they are gone. None is started any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of [this.#timer, this.#extraTimer, this.#fillTimer]) clearTimeout(timer)
    await Promise.all([...this.#spares].map((spare) => spare.end()))
  }

  get #wanted(): number {
    return this.#options.count + this.#extra
  }

  /** Never if there are to be none. */
  get #isFull(): boolean {
    const spares = [...this.#spares]
    return spares.length > 0 && !this.#isShort && spares.every(({ isReady }) => isReady)
  }

  get #isShort(): boolean {
    return !this.#isClosed && this.#timer === undefined && this.#spares.size < this.#wanted
  }

  #start(): ProcessorHost {
    const { processor, logger, host = hostProcessor } = this.#options
    const started = host(processor, logger)
    this.#startCount += 1
    void started.started.then(() => {
      this.#startCount -= 1
      this.#wasFull ||= this.#isFull
      if (this.#isFilled) this.fill()
    })
    return started
  }

  #startSpare(): void {
    const spare = this.#start()
    this.#spares.add(spare)
    const timer = setTimeout(() => {
      if (this.#spares.has(spare) && !spare.isReady) spare.kill()
    }, START_TIMEOUT_MS)
    void spare.started.then(() => clearTimeout(timer))
    void spare.exited.then(() => {
      if (this.#spares.delete(spare)) this.#onLost()
    })
  }

  /** It ended by itself, or could not even be started. */
  #onLost(): void {
    if (this.#isClosed || this.#timer !== undefined) return
    const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    this.#failures += 1
    const count = this.#losses.note(performance.now())
    const fields = { pauseMs, ...(count > 1 ? { count } : {}) }
    if (count > 0) this.#options.logger.warn('a spare processor has ended; trying again', fields)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.fill()
    }, pauseMs)
  }

  #keepMore(): void {
    this.#extra = Math.min(this.#extra + 1, MAX_EXTRA)
    this.#planLess()
  }

  #planLess(): void {
    clearTimeout(this.#extraTimer)
    this.#extraTimer = setTimeout(() => this.#keepLess(), EXTRA_MS)
    this.#extraTimer.unref()
  }

  #keepLess(): void {
    this.#extra -= 1
    if (this.#extra > 0) this.#planLess()
    const [oldest] = this.#spares
    if (oldest === undefined || this.#spares.size <= this.#wanted) return
    this.#spares.delete(oldest)
    void oldest.end()
  }
}
