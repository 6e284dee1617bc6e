// The one processor of a worker: starting it, ending it by force, starting the next one. Apart from
// its tasks, which are the matter of core/worker/task/flow.ts.

import { earliest, type InstantMs } from '../../../base/machine.js'
import { Recurrence } from '../../../base/recurrence.js'
import type { ProcessorNumber } from '../events.js'
import type { Output } from '../output.js'

/** The first pause before a processor is started again that ended before it had done anything. */
const MIN_PAUSE_MS = 100

/** The pause doubles each time, up to this. */
const MAX_PAUSE_MS = 10_000

/** One that has not reported in for so long never will: the next one is tried, in milliseconds. */
const START_TIMEOUT_MS = 60_000

/** That processors cannot be had is said once in so long, in milliseconds. */
const TELL_INTERVAL_MS = 60_000

/** More deaths of processors than this within this time, in milliseconds, are said to be many. */
const MAX_DEATHS = 5
const DEATHS_WITHIN_MS = 10_000

/** `none`: the next one is to be started. `dying`: it was killed, but its exit was not seen yet. */
type SlotState = 'none' | 'starting' | 'ready' | 'dying'

/** Which processor lives, and when the next one starts. */
export class ProcessorSlot {
  readonly #output: Output
  #state: SlotState = 'none'
  #number: ProcessorNumber = 0
  #pid = 0
  #wasUseful = false
  #failures = 0
  #startAt: InstantMs | undefined
  /** When processors ended that were not killed by us, those of the last seconds. */
  #deathsAt: InstantMs[] = []
  readonly #useless = new Recurrence(TELL_INTERVAL_MS)
  /** Invariant: undefined unless `starting`. */
  #readyBy: InstantMs | undefined

  constructor(output: Output) {
    this.#output = output
  }

  get state(): SlotState {
    return this.#state
  }

  /** Process id of the processor from when it is ready; 0 = there is none. */
  get pid(): number {
    return this.#pid
  }

  /** When the next one is to be started. Invariant: undefined unless `none`. */
  get startAt(): InstantMs | undefined {
    return this.#startAt
  }

  /** When `giveUpStart` or `start` is due. */
  get deadline(): InstantMs | undefined {
    return this.#startAt ?? this.#readyBy
  }

  /** Whether it takes messages: it exists and will go on to. */
  get isListening(): boolean {
    return this.#state === 'starting' || this.#state === 'ready'
  }

  /** Whether an event is about the processor that lives. */
  isCurrent(processor: ProcessorNumber): boolean {
    return this.#state !== 'none' && processor === this.#number
  }

  /** Starts the next processor. */
  start(now: InstantMs): void {
    this.#state = 'starting'
    this.#readyBy = now + START_TIMEOUT_MS
    this.#number += 1
    this.#startAt = undefined
    this.#wasUseful = false
    this.#output.act({ type: 'startProcessor', processor: this.#number })
  }

  /** It has reported in. One that is being killed stays that. */
  onReady(pid: number): void {
    this.#pid = pid
    this.#readyBy = undefined
    if (this.#state === 'starting') this.#state = 'ready'
  }

  /** Ends one that hangs while it starts, once it is time. */
  giveUpStart(now: InstantMs): void {
    if (this.#readyBy === undefined || now < this.#readyBy) return
    this.#output.log('warn', 'the processor has not reported in', { afterMs: START_TIMEOUT_MS })
    this.kill()
  }

  /** It was given a task: if it ends, that is the task's doing and the next starts at once. */
  onUsed(): void {
    this.#wasUseful = true
    this.#failures = 0
  }

  /** Ends it by force. */
  kill(): void {
    if (!this.isListening) return
    this.#state = 'dying'
    this.#readyBy = undefined
    this.#wasUseful = true
    this.#output.act({ type: 'killProcessor' })
  }

  /**
   * It is gone, or could not be started: the next one starts at once, or after a pause if this one
   * was good for nothing. `reason` says why, if that is known.
   */
  onExited(now: InstantMs, reason?: string): void {
    if (this.#state !== 'dying' && reason === undefined) this.#countDeath(now)
    this.#state = 'none'
    this.#pid = 0
    this.#readyBy = undefined
    this.#startAt = now
    if (this.#wasUseful) return
    const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    this.#failures += 1
    this.#startAt = now + pauseMs
    const count = this.#useless.note(now)
    const what = reason ?? 'the processor ended before it had done anything'
    const fields = { pauseMs, ...(count > 1 ? { count } : {}) }
    if (count > 0) this.#output.log('warn', `${what}; trying again`, fields)
  }

  /** Whose tasks end one processor after the other should see that at a glance. */
  #countDeath(now: InstantMs): void {
    const since = now - DEATHS_WITHIN_MS
    this.#deathsAt = [...this.#deathsAt.filter((at) => at > since), now]
    const deaths = this.#deathsAt.length
    if (deaths <= MAX_DEATHS) return
    this.#deathsAt = []
    const text = 'tasks end one processor after the other; each is replaced'
    this.#output.log('error', text, { deaths, withinMs: DEATHS_WITHIN_MS })
  }
}

// When a processor collects garbage on request. Node collects while a program makes garbage; one
// that has stopped working keeps what its last tasks have left. So a processor that rests is asked
// to, each time only after it has worked again.

/**
 * A processor rests once nothing was asked of it for so long, in milliseconds. A collection takes
 * some 50 ms: it must not be in the way of the next task where one follows the other.
 */
const REST_MS = 500

/** What holds much memory for good is not looked at more often than this, in milliseconds. */
const TRIM_INTERVAL_MS = 5_000

/** When an idle processor collects garbage; 0 = never. */
export interface IdleCollectionOptions {
  readonly garbageCollectIntervalMs: number
  readonly trimMemoryThresholdBytes: number
}

/** One periodic job. */
interface IdleJob {
  readonly intervalMs: number
  lastAt: InstantMs
  /** Whether tasks have run since. */
  isWanted: boolean
}

/** Follows one worker's processor, one after the other. */
export class IdleCollection {
  readonly #output: Output
  readonly #thresholdBytes: number
  readonly #collection: IdleJob
  readonly #trim: IdleJob
  /** Since when the processor has nothing to do; undefined while it has. */
  #restsSince: InstantMs | undefined

  constructor(output: Output, options: IdleCollectionOptions) {
    const { garbageCollectIntervalMs, trimMemoryThresholdBytes } = options
    const newJob = (intervalMs: number): IdleJob => {
      return { intervalMs, lastAt: -Infinity, isWanted: false }
    }
    this.#output = output
    this.#thresholdBytes = trimMemoryThresholdBytes
    this.#collection = newJob(garbageCollectIntervalMs)
    this.#trim = newJob(trimMemoryThresholdBytes > 0 ? TRIM_INTERVAL_MS : 0)
  }

  /** When `run` must be called next. */
  get deadline(): InstantMs | undefined {
    if (this.#restsSince === undefined) return undefined
    const dueAt = earliest(dueAtOf(this.#collection), dueAtOf(this.#trim))
    return dueAt === undefined ? undefined : Math.max(dueAt, this.#restsSince + REST_MS)
  }

  /** Another processor was started: it has nothing to collect, and its interval begins. */
  onProcessorStarted(now: InstantMs): void {
    this.#collection.lastAt = now
    for (const job of [this.#collection, this.#trim]) job.isWanted = false
  }

  /**
   * To be called after each event. `isResting`: the processor is there, and nothing runs in it,
   * waits in it or waits for it.
   */
  run(isResting: boolean, now: InstantMs): void {
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

function dueAtOf({ intervalMs, lastAt, isWanted }: IdleJob): InstantMs | undefined {
  return intervalMs > 0 && isWanted ? lastAt + intervalMs : undefined
}

function finish(job: IdleJob, now: InstantMs): void {
  job.lastAt = now
  job.isWanted = false
}
