// The one processor of a worker: starting it, ending it by force, starting the next one. Apart from
// its tasks, which are the matter of core/worker/task/flow.ts.

import type { Alarm, InstantMs } from '../../../base/machine.js'
import { Recurrence } from '../../../base/recurrence.js'
import type { ProcessorNumber, WorkerTurn } from '../events.js'

/** The first pause before a processor is started again that ended before it had done anything. */
const MIN_PAUSE_MS = 100

/** The pause doubles each time, up to this. */
const MAX_PAUSE_MS = 10_000

/** A processor that has not reported in by then is replaced, in milliseconds. */
const START_TIMEOUT_MS = 60_000

/** How often it is logged that no processor can be started, in milliseconds. */
const TELL_INTERVAL_MS = 60_000

/** More deaths of processors than this within this time, in milliseconds, are an error. */
const MAX_DEATHS = 5
const DEATHS_WITHIN_MS = 10_000

/** `none`: the next one is to be started. `dying`: it was killed, but its exit was not seen yet. */
type SlotState = 'none' | 'starting' | 'ready' | 'dying'

/** Which processor lives, and when the next one starts. */
export class ProcessorSlot {
  readonly #turn: WorkerTurn
  #state: SlotState = 'none'
  #number: ProcessorNumber = 0
  #pid = 0
  #wasUseful = false
  #failures = 0
  /** `none`: the next one must not start before this. `starting`: when it must be ready. */
  readonly #alarm: Alarm
  /** When processors ended that were not killed by us, those of the last seconds. */
  #deathsAt: InstantMs[] = []
  readonly #useless = new Recurrence(TELL_INTERVAL_MS)

  constructor(turn: WorkerTurn) {
    this.#turn = turn
    this.#alarm = turn.alarm(() => this.#giveUpStart())
  }

  get state(): SlotState {
    return this.#state
  }

  /** Process id of the processor from when it is ready; 0 = there is none. */
  get pid(): number {
    return this.#pid
  }

  /** Whether the next one must be started now. */
  get isStartDue(): boolean {
    return this.#state === 'none' && !this.#alarm.isSet
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
  start(): void {
    this.#state = 'starting'
    this.#alarm.set(this.#turn.now + START_TIMEOUT_MS)
    this.#number += 1
    this.#wasUseful = false
    this.#turn.act({ type: 'startProcessor', processor: this.#number })
  }

  /** It has reported in. One that is being killed stays that. */
  onReady(pid: number): void {
    this.#pid = pid
    this.#alarm.clear()
    if (this.#state === 'starting') this.#state = 'ready'
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
    this.#alarm.clear()
    this.#wasUseful = true
    this.#turn.act({ type: 'killProcessor' })
  }

  /**
   * It is gone, or could not be started: the next one starts at once, or after a pause if this one
   * was good for nothing. `reason` says why, if that is known.
   */
  onExited(reason?: string): void {
    const { now } = this.#turn
    if (this.#state !== 'dying' && reason === undefined) this.#countDeath(now)
    this.#state = 'none'
    this.#pid = 0
    this.#alarm.clear()
    if (this.#wasUseful) return
    const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    this.#failures += 1
    this.#alarm.set(now + pauseMs)
    const count = this.#useless.note(now)
    const what = reason ?? 'the processor ended before it had done anything'
    const fields = { pauseMs, ...(count > 1 ? { count } : {}) }
    if (count > 0) this.#turn.log('warn', `${what}; trying again`, fields)
  }

  /** Ends one that hangs while it starts. */
  #giveUpStart(): void {
    if (this.#state !== 'starting') return
    this.#turn.log('warn', 'the processor has not reported in', { afterMs: START_TIMEOUT_MS })
    this.kill()
  }

  /** Whose tasks end one processor after the other should see that at a glance. */
  #countDeath(now: InstantMs): void {
    const since = now - DEATHS_WITHIN_MS
    this.#deathsAt = [...this.#deathsAt.filter((at) => at > since), now]
    const deaths = this.#deathsAt.length
    if (deaths <= MAX_DEATHS) return
    this.#deathsAt = []
    const text = 'tasks end one processor after the other; each is replaced'
    this.#turn.log('error', text, { deaths, withinMs: DEATHS_WITHIN_MS })
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
  readonly #turn: WorkerTurn
  readonly #thresholdBytes: number
  readonly #collection: IdleJob
  readonly #trim: IdleJob
  readonly #alarm: Alarm
  /** Since when the processor has nothing to do; undefined while it has. */
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

  /** Another processor was started: it has nothing to collect, and its interval begins. */
  onProcessorStarted(): void {
    this.#collection.lastAt = this.#turn.now
    for (const job of [this.#collection, this.#trim]) job.isWanted = false
  }

  /**
   * To be called after each event. `isResting`: the processor is there, and nothing runs in it,
   * waits in it or waits for it.
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

  /** When the processor must collect; Infinity while it works, or has not worked since. */
  get #dueAt(): InstantMs {
    if (this.#restsSince === undefined) return Infinity
    const jobsAt = Math.min(dueAtOf(this.#collection), dueAtOf(this.#trim))
    return Math.max(jobsAt, this.#restsSince + REST_MS)
  }

  /** The alarm stays set while the processor works: it may ring too early. */
  #collect(): void {
    const { now } = this.#turn
    if (now >= this.#dueAt) this.#request(now)
    this.#alarm.set(this.#dueAt)
  }

  #request(now: InstantMs): void {
    const isCollection = now >= dueAtOf(this.#collection)
    const aboveBytes = isCollection ? 0 : this.#thresholdBytes
    // A collection does all that a trim does.
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
