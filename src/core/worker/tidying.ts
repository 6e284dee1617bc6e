// When a processor collects garbage on request. Node collects while a program makes garbage; one
// that has stopped working keeps what its last tasks have left. So a processor that rests is asked
// to, each time only after it has worked again.

import { earliest } from '../../base/earliest.js'
import type { InstantMs } from '../../base/machine.js'
import type { Output } from './output.js'

/**
 * A processor rests once nothing was asked of it for so long, in milliseconds. A collection takes
 * some 50 ms: it must not be in the way of the next task where one follows the other.
 */
const REST_MS = 500

/** What holds much memory for good is not looked at more often than this, in milliseconds. */
const TRIM_INTERVAL_MS = 5_000

/** What a tidying is told to do; 0 = never. */
export interface TidyingOptions {
  readonly garbageCollectIntervalMs: number
  readonly trimMemoryThresholdBytes: number
}

/** One thing that is done now and then. */
interface Chore {
  readonly intervalMs: number
  lastAt: InstantMs
  /** Whether tasks have run since. */
  isWanted: boolean
}

/** Follows one worker's processor, one after the other. */
export class Tidying {
  readonly #output: Output
  readonly #thresholdBytes: number
  readonly #collection: Chore
  readonly #trim: Chore
  /** Since when the processor has nothing to do; undefined while it has. */
  #restsSince: InstantMs | undefined

  constructor(output: Output, options: TidyingOptions) {
    const { garbageCollectIntervalMs, trimMemoryThresholdBytes } = options
    const newChore = (intervalMs: number): Chore => {
      return { intervalMs, lastAt: -Infinity, isWanted: false }
    }
    this.#output = output
    this.#thresholdBytes = trimMemoryThresholdBytes
    this.#collection = newChore(garbageCollectIntervalMs)
    this.#trim = newChore(trimMemoryThresholdBytes > 0 ? TRIM_INTERVAL_MS : 0)
  }

  /** When `tidy` must be called next. */
  get deadline(): InstantMs | undefined {
    if (this.#restsSince === undefined) return undefined
    const dueAt = earliest(dueAtOf(this.#collection), dueAtOf(this.#trim))
    return dueAt === undefined ? undefined : Math.max(dueAt, this.#restsSince + REST_MS)
  }

  /** Another processor was started: that has nothing to tidy up, and its interval begins. */
  onProcessorStarted(now: InstantMs): void {
    this.#collection.lastAt = now
    for (const chore of [this.#collection, this.#trim]) chore.isWanted = false
  }

  /**
   * To be called after each event. `isResting`: the processor is there, and nothing runs in it,
   * waits in it or waits for it.
   */
  tidy(isResting: boolean, now: InstantMs): void {
    if (!isResting) {
      this.#restsSince = undefined
      this.#collection.isWanted = true
      this.#trim.isWanted = true
      return
    }
    this.#restsSince ??= now
    if (now < (this.deadline ?? Infinity)) return
    const isCollection = now >= (dueAtOf(this.#collection) ?? Infinity)
    const aboveBytes = isCollection ? 0 : this.#thresholdBytes
    // A collection does all that a trim does.
    if (isCollection) finish(this.#collection, now)
    finish(this.#trim, now)
    this.#output.act({ type: 'collectGarbage', aboveBytes })
  }
}

function dueAtOf({ intervalMs, lastAt, isWanted }: Chore): InstantMs | undefined {
  return intervalMs > 0 && isWanted ? lastAt + intervalMs : undefined
}

function finish(chore: Chore, now: InstantMs): void {
  chore.lastAt = now
  chore.isWanted = false
}
