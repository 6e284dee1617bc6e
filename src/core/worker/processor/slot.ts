// The one processor of a worker: starting, killing and replacing it. Its tasks are handled
// separately, in core/worker/task/flow.ts.

import type { Alarm, InstantMs } from '../../../base/machine.js'
import { Recurrence } from '../../../base/recurrence.js'
import type { ProcessorNumber, WorkerTurn } from '../events.js'

/** The first pause before a restart after a processor exited without having been given a task. */
const MIN_PAUSE_MS = 100

/** The pause doubles each time, up to this. */
const MAX_PAUSE_MS = 10_000

/** A processor that has not reported ready within this time is replaced, in milliseconds. */
const START_TIMEOUT_MS = 60_000

/** What it is called in the log if it runs tasks. */
const PROCESSOR = 'processor'

/** How often a failure to start processors is logged, in milliseconds. */
const LOG_INTERVAL_MS = 60_000

/** More processors than this exiting within this time, in milliseconds, is logged as an error. */
const MAX_DEATHS = 5
const DEATHS_WITHIN_MS = 10_000

/** Why it is replaced, for the log. */
const USELESS = 'ended without having finished a task'
const NO_THREAD = 'the processor cannot start a thread: too many processes, or too little memory'

/** `none`: the next one has to be started. `dying`: it was killed and has not exited yet. */
type SlotState = 'none' | 'starting' | 'ready' | 'dying'

/** How a processor has exited: see `onExited`. */
interface SlotExit {
  readonly reason?: string | undefined
  readonly isUnusable?: boolean
  readonly lastLine?: string
}

/** The current processor, and when the next one starts. */
export class ProcessorSlot {
  readonly #turn: WorkerTurn
  readonly #name: string
  #state: SlotState = 'none'
  #number: ProcessorNumber = 0
  #pid = 0
  #wasUseful = false
  #failures = 0
  /** `none`: the earliest start of the next one. `starting`: the latest time to become ready. */
  readonly #alarm: Alarm
  /** When processors exited that were not killed by this worker, within the last seconds. */
  #deathsAt: InstantMs[] = []
  readonly #useless = new Recurrence(LOG_INTERVAL_MS)

  /** `name`: what it is called in the log. */
  constructor(turn: WorkerTurn, name: string = PROCESSOR) {
    this.#turn = turn
    this.#name = name
    this.#alarm = turn.alarm(() => this.#giveUpStart())
  }

  get state(): SlotState {
    return this.#state
  }

  /** Process id of the processor once it is ready; 0 = none. */
  get pid(): number {
    return this.#pid
  }

  /** Whether the next one must be started now. */
  get isStartDue(): boolean {
    return this.#state === 'none' && !this.#alarm.isSet
  }

  /** Whether it accepts messages: it exists and is not being killed. */
  get isListening(): boolean {
    return this.#state === 'starting' || this.#state === 'ready'
  }

  /** Whether an event is about the current processor. */
  isCurrent(processor: ProcessorNumber): boolean {
    return this.#state !== 'none' && processor === this.#number
  }

  /** Starts the next processor. */
  start(): void {
    this.#state = 'starting'
    this.#alarm.set(this.#turn.now + START_TIMEOUT_MS)
    this.#number += 1
    this.#wasUseful = false
    this.#turn.act({ type: 'startProcessor', processor: this.#number })
  }

  /** It has reported ready. A processor that is being killed stays `dying`. */
  onReady(pid: number): void {
    this.#pid = pid
    this.#alarm.clear()
    if (this.#state === 'starting') this.#state = 'ready'
  }

  /**
   * It was given a task: if it exits, the task is the cause, and the next processor starts
   * immediately. (One that passes tasks on must have answered one.)
   */
  onUsed(): void {
    this.#wasUseful = true
  }

  /** Kills it. */
  kill(): void {
    if (!this.isListening) return
    this.#state = 'dying'
    this.#alarm.clear()
    this.#wasUseful = true
    this.#turn.act({ type: 'killProcessor' })
  }

  /**
   * It has exited or could not be started. The next one starts immediately, or after a pause if
   * this one was never given a task, or was `unusable`, which is no task's fault. `reason`: why it
   * could not be started, if known. `lastLine`: the last one that it has written.
   */
  onExited({ reason, isUnusable = false, lastLine = '' }: SlotExit): void {
    const { now } = this.#turn
    const isDeath = this.#state !== 'dying' && reason === undefined && !isUnusable
    if (isDeath) this.#countDeath(now)
    this.#state = 'none'
    this.#pid = 0
    this.#alarm.clear()
    if (this.#wasUseful && !isUnusable) {
      this.#failures = 0
      return
    }
    const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    this.#failures += 1
    this.#alarm.set(now + pauseMs)
    const count = this.#useless.note(now)
    const useless = `the ${this.#name} ${USELESS}${lastLine === '' ? '' : `: ${lastLine}`}`
    const problem = reason ?? (isUnusable ? NO_THREAD : useless)
    const fields = { pauseMs, ...(count > 1 ? { count } : {}) }
    if (count > 0) this.#turn.log('warn', `${problem}; trying again`, fields)
  }

  /** Kills a processor that hangs while starting. */
  #giveUpStart(): void {
    if (this.#state !== 'starting') return
    this.#turn.log('warn', `the ${this.#name} did not become ready in time; replacing it`, {
      afterMs: START_TIMEOUT_MS,
    })
    this.kill()
  }

  /** Makes it easy to see in the log that tasks repeatedly end their processors. */
  #countDeath(now: InstantMs): void {
    const since = now - DEATHS_WITHIN_MS
    this.#deathsAt = [...this.#deathsAt.filter((at) => at > since), now]
    const deaths = this.#deathsAt.length
    if (deaths <= MAX_DEATHS) return
    this.#deathsAt = []
    const isProcessor = this.#name === PROCESSOR
    const what = isProcessor
      ? 'tasks repeatedly end their processors'
      : `the ${this.#name} ends repeatedly`
    this.#turn.log('error', `${what}; each is replaced`, { deaths, withinMs: DEATHS_WITHIN_MS })
  }
}

// When a processor collects garbage on request. Node collects only while a program allocates; a
// processor that has become idle keeps the garbage of its last tasks. It is requested to collect
// once each time it has worked.

/**
 * A processor is idle when it has had no work for this time, in milliseconds. A collection takes
 * about 50 ms and must not delay a task that follows directly.
 */
const REST_MS = 500

/**
 * A processor that keeps using much memory is not trimmed more often than this, in milliseconds.
 */
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
  /** Whether tasks have run since the last time. */
  isWanted: boolean
}

/** Handles the processors of one worker, one after another. */
export class IdleCollection {
  readonly #turn: WorkerTurn
  readonly #thresholdBytes: number
  readonly #collection: IdleJob
  readonly #trim: IdleJob
  readonly #alarm: Alarm
  /** Since when the processor has had nothing to do; undefined while it works. */
  #restsSince: InstantMs | undefined

  constructor(turn: WorkerTurn, options: IdleCollectionOptions) {
    const { garbageCollectIntervalMs, trimMemoryThresholdBytes } = options
    const newJob = (intervalMs: number): IdleJob => {
      return { intervalMs, lastAt: -Infinity, isWanted: false }
    }
    this.#turn = turn
    this.#thresholdBytes = trimMemoryThresholdBytes
    this.#collection = newJob(garbageCollectIntervalMs)
    this.#trim = newJob(trimMemoryThresholdBytes > 0 ? TRIM_INTERVAL_MS : 0)
    this.#alarm = turn.alarm(() => this.#collect())
  }

  /** A new processor has started: it has nothing to collect, and its interval begins. */
  onProcessorStarted(): void {
    this.#collection.lastAt = this.#turn.now
    for (const job of [this.#collection, this.#trim]) job.isWanted = false
  }

  /**
   * Must be called after each event. `isResting`: the processor is ready, and no task runs, waits
   * in it or waits for it.
   */
  update(isResting: boolean): void {
    if (!isResting) {
      this.#restsSince = undefined
      this.#collection.isWanted = true
      this.#trim.isWanted = true
      return
    }
    if (this.#restsSince !== undefined) return
    this.#restsSince = this.#turn.now
    this.#alarm.setBy(this.#dueAt)
  }

  /** When the processor must collect; Infinity while it works, or if it has not worked since. */
  get #dueAt(): InstantMs {
    if (this.#restsSince === undefined) return Infinity
    const jobsAt = Math.min(dueAtOf(this.#collection), dueAtOf(this.#trim))
    return Math.max(jobsAt, this.#restsSince + REST_MS)
  }

  /** The alarm stays set while the processor works, so it may ring too early. */
  #collect(): void {
    const { now } = this.#turn
    if (now >= this.#dueAt) this.#request(now)
    this.#alarm.set(this.#dueAt)
  }

  #request(now: InstantMs): void {
    const isCollection = now >= dueAtOf(this.#collection)
    const aboveBytes = isCollection ? 0 : this.#thresholdBytes
    // A collection includes everything that a trim does.
    if (isCollection) finish(this.#collection, now)
    finish(this.#trim, now)
    this.#turn.act({ type: 'collectGarbage', aboveBytes })
  }
}

function dueAtOf({ intervalMs, lastAt, isWanted }: IdleJob): InstantMs {
  return intervalMs > 0 && isWanted ? lastAt + intervalMs : Infinity
}

function finish(job: IdleJob, now: InstantMs): void {
  job.lastAt = now
  job.isWanted = false
}
