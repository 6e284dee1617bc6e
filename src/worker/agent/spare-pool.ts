// Processors that already run and are not assigned to a worker yet: a worker that loses its own
// gets one of them, so a cancelled task does not cost the start of a process.
//
// A start takes about 100 ms of a core, and cancels come in bursts. The pool adapts: each time that
// no spare is ready it keeps one more from then on, and one less after each minute without such a
// miss. It starts all processors of its agent, so that spares do not delay processors that a worker
// waits for.

import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import type { Logger } from '../../base/logger.js'
import { Recurrence } from '../../base/recurrence.js'
import { hostProcessor, type ProcessorHost } from './processor-host.js'
import type { ProcessorOptions } from './spawn.js'

/** The pause before a spare that exited is replaced; it doubles each time, up to the maximum. */
const MIN_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000

/** A spare that is not ready after this time never will be, in milliseconds. */
const START_TIMEOUT_MS = 60_000

/** Exits of spares are logged at most once per interval, in milliseconds. */
const TELL_INTERVAL_MS = 60_000

/** How many more than configured are kept during bursts of cancels. */
const MAX_EXTRA = 4

/** One of these is released after this long without need, in milliseconds. */
const EXTRA_MS = 60_000

/**
 * How long after the first task the first spares start, in milliseconds: programs that finish
 * earlier never need one, and their first tasks have the cores to themselves.
 */
const FILL_DELAY_MS = 200

/** The options of a pool. */
interface SparePoolOptions {
  readonly processor: ProcessorOptions
  /** The minimum number of spares; 0 = no spares at all. */
  readonly count: number
  readonly logger: Logger
  /** Starts a processor; replaced in tests. */
  readonly host?: typeof hostProcessor
}

/**
 * Spare processors for all workers of an agent. Starts none in advance before `expectTasks`, but
 * may adopt some that run already.
 */
export class SparePool {
  readonly #options: SparePoolOptions
  /** Oldest first. */
  readonly #spares = new Set<ProcessorHost>()
  /** Started for workers that do not exist yet. */
  readonly #prepared: ProcessorHost[] = []
  /** The most processors that start at the same time, except those that a worker waits for. */
  readonly #maxStarts = Math.max(availableParallelism(), 2)
  /** How many processors have been started and are not ready yet. */
  #startCount = 0
  #extra = 0
  #extraTimer: NodeJS.Timeout | undefined
  #isFilled = false
  #fillTimer: NodeJS.Timeout | undefined
  /** Whether the pool was ever full: before that, a missing spare means nothing. */
  #wasFull = false
  #isClosed = false
  #failures = 0
  readonly #losses = new Recurrence(TELL_INTERVAL_MS)
  #timer: NodeJS.Timeout | undefined

  constructor(options: SparePoolOptions) {
    this.#options = options
  }

  /** Takes in processors that have just been started for workers. */
  adopt(children: readonly (ChildProcess | Error)[]): void {
    for (const child of children) this.#prepared.push(this.#start(child))
  }

  /** A worker has a task: it may soon need a spare. */
  expectTasks(): void {
    if (this.#isFilled || this.#isClosed) return
    this.#fillTimer ??= setTimeout(() => this.fill(), FILL_DELAY_MS)
  }

  /** Starts missing spares, and keeps the pool full from now on. */
  fill(): void {
    this.#isFilled = true
    while (this.#isShort && this.#startCount < this.#maxStarts) this.#startSpare()
  }

  /**
   * Hands over a processor: a ready one if there is one, else the one that started first, else a
   * new one. Undefined once the pool is closed.
   */
  take(): ProcessorHost | undefined {
    if (this.#isClosed) return undefined
    const prepared = this.#prepared.shift()
    if (prepared !== undefined) return prepared
    const spares = [...this.#spares]
    const spare = spares.find(({ isReady }) => isReady) ?? spares.find(({ isGone }) => !isGone)
    if (spare?.isReady === true) this.#failures = 0
    else if (this.#wasFull) this.#keepMore()
    if (spare !== undefined) this.#spares.delete(spare)
    // The caller gets it before anything else is started.
    setImmediate(() => {
      if (this.#isFilled) this.fill()
    })
    return spare ?? this.#start()
  }

  /** No worker is left: stops all spares until tasks are expected again. */
  empty(): void {
    for (const timer of [this.#timer, this.#fillTimer]) clearTimeout(timer)
    this.#timer = undefined
    this.#fillTimer = undefined
    this.#isFilled = false
    this.#wasFull = false
    const spares = [...this.#spares]
    this.#spares.clear()
    for (const spare of spares) void spare.end()
  }

  /** Stops all spares, and starts no more; resolves when they have exited. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of [this.#timer, this.#extraTimer, this.#fillTimer]) clearTimeout(timer)
    await Promise.all([...this.#prepared, ...this.#spares].map((spare) => spare.end()))
  }

  get #wanted(): number {
    return this.#options.count + this.#extra
  }

  /** Always false if the pool is to keep no spares. */
  get #isFull(): boolean {
    const spares = [...this.#spares]
    return spares.length > 0 && !this.#isShort && spares.every(({ isReady }) => isReady)
  }

  get #isShort(): boolean {
    return !this.#isClosed && this.#timer === undefined && this.#spares.size < this.#wanted
  }

  #start(child?: ChildProcess | Error): ProcessorHost {
    const { processor, logger, host = hostProcessor } = this.#options
    const started = host(processor, logger, child)
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

  /** A spare has exited on its own, or could not be started. */
  #onLost(): void {
    if (this.#isClosed || this.#timer !== undefined) return
    const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    this.#failures += 1
    const count = this.#losses.note(performance.now())
    const fields = { pauseMs, ...(count > 1 ? { count } : {}) }
    if (count > 0) this.#options.logger.warn('a spare processor exited; starting another', fields)
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
