// Processors that run already and belong to no worker yet: whoever loses its own gets one of them,
// so that a cancelled task costs a moment and not the start of a process.

import type { Logger } from '../base/logger.js'
import { hostProcessor, type ProcessorHost } from './processor-host.js'
import type { ProcessorOptions } from './spawn-processor.js'

/** The pause before a spare is replaced that ended by itself; it doubles each time, up to this. */
const MIN_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000

/** What a pool is made of. */
export interface SparePoolOptions {
  readonly processor: ProcessorOptions
  /** How many are kept. */
  readonly count: number
  readonly logger: Logger
}

/** Spare processors for all workers of an agent. Starts none before `fill`. */
export class SparePool {
  readonly #options: SparePoolOptions
  /** The oldest first. */
  readonly #spares = new Set<ProcessorHost>()
  #isFilled = false
  #isClosed = false
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: SparePoolOptions) {
    this.#options = options
  }

  /** Starts what is missing, now and from now on. */
  fill(): void {
    this.#isFilled = true
    while (!this.#isClosed && this.#timer === undefined && this.#isShort) this.#start()
  }

  /** A processor that is somebody's from now on: a ready one if there is one. */
  take(): ProcessorHost | undefined {
    if (this.#isClosed) return undefined
    const spares = [...this.#spares]
    const spare = spares.find(({ isReady }) => isReady) ?? spares.find(({ isGone }) => !isGone)
    if (spare === undefined) return undefined
    this.#spares.delete(spare)
    if (spare.isReady) this.#failures = 0
    // Whoever needs it shall have it before anything else is started.
    setImmediate(() => {
      if (this.#isFilled) this.fill()
    })
    return spare
  }

  /** Ends all that are left; resolves when they are gone. None is started any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await Promise.all([...this.#spares].map((spare) => spare.end()))
  }

  get #isShort(): boolean {
    return this.#spares.size < this.#options.count
  }

  #start(): void {
    const { processor, logger } = this.#options
    const spare = hostProcessor(processor, logger)
    this.#spares.add(spare)
    void spare.exited.then(() => {
      if (this.#spares.delete(spare)) this.#onLost()
    })
  }

  /** It ended by itself, or could not even be started. */
  #onLost(): void {
    if (this.#isClosed || this.#timer !== undefined) return
    const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    this.#failures += 1
    this.#options.logger.warn('a spare processor has ended', { pauseMs })
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.fill()
    }, pauseMs)
  }
}
