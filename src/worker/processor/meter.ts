// Measures the time and memory of tasks. The clock is always read; reading CPU time and memory
// costs more than running a tiny task, so they are measured only on request or where they can
// matter.
//
// Of a slice of profiled tasks, only those over a millisecond are measured that way: in less, a
// task cannot use much memory, and its CPU time is its duration.
//
// CPU time can only be read for the whole process. Tasks that run one after the other each get
// their own. A task that waits for its children gets none meanwhile, and none at all unless a
// profile was requested. While several run concurrently, the one that started or resumed last gets
// all of it.

import { runInNewContext } from 'node:vm'
import type { LogFields } from '../../base/logger.js'
import { ProcessUsage } from '../../runtime/process-usage.js'
import { encodeProfileResult } from '../../wire/metadata.js'

// Collects the garbage of this process on request. Node has a function for that, but exposes it
// only to programs started with a flag.

/** Collects all garbage, which takes about 50 ms, or a second for gigabytes. */
type CollectAll = () => void

/** V8's own function, exposed only to a context of ours. Undefined if not available. */
export function findCollector(): CollectAll | undefined {
  // Loaded when it is needed: it takes a while.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  try {
    setFlagsFromString('--expose-gc')
    const collect: unknown = runInNewContext('gc')
    // Contexts that user code creates do not expose it.
    setFlagsFromString('--no-expose-gc')
    return typeof collect === 'function' ? (collect as CollectAll) : undefined
  } catch {
    return undefined
  }
}

/** Collects garbage on request. */
export class GarbageCollector {
  readonly #usage = new ProcessUsage()
  #collect: CollectAll | undefined
  #isSought = false

  /**
   * Collects garbage if this process holds more memory than `aboveBytes`. Returns the outcome, for
   * the log, or undefined if nothing was done.
   */
  collect(aboveBytes: number): LogFields | undefined {
    if (this.#usage.rssBytes <= aboveBytes) return undefined
    if (!this.#isSought) this.#collect = findCollector()
    this.#isSought = true
    if (this.#collect === undefined) return undefined
    const before = this.#usage.usedBytes
    const begun = performance.now()
    this.#collect()
    const tookMs = Math.round(performance.now() - begun)
    return {
      processorId: process.pid,
      freedBytes: Math.max(0, before - this.#usage.usedBytes),
      tookMs,
    }
  }
}

/**
 * Shorter tasks get no CPU time of their own unless a profile was requested; smaller errors do not
 * matter.
 */
const MIN_CPU_MS = 1

/** The measurements of a task. */
export interface Measured {
  readonly isProfiled: boolean
  /** By the meter's clock, in milliseconds. */
  startedAt: number
  /** Whether CPU time is charged to it: it runs and does not wait. */
  isMetered: boolean
  /** Whether it has waited. */
  hasPaused: boolean
  /** CPU time charged to it so far, in milliseconds. */
  cpuMs: number
  /** Memory of the process when the task started, current and peak; only if it is profiled. */
  rssBytes: number
  maxRssBytes: number
}

/** Measures tasks that run one after the other, or while others wait. */
export class TaskMeter {
  readonly #now: () => number
  readonly #usage = new ProcessUsage()
  #endedAt = 0
  #lastMs = 0
  /** CPU time is charged to the last one. Some may not be metered any more. */
  readonly #tasks: Measured[] = []
  /**
   * CPU time of the process when it was last read, and the time of tasks since then without a
   * reading.
   */
  #cpuMs = 0
  #readAt = -Infinity
  #unreadMs = 0
  /** CPU time of the last task that was not metered, if it was long. */
  #lapCpuMs = 0
  /** The memory of the process before such a task. */
  #before: Pick<Measured, 'rssBytes' | 'maxRssBytes'> = { rssBytes: 0, maxRssBytes: 0 }

  /** `now` returns the milliseconds since some point in time. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** The current time, in milliseconds since that point. */
  get now(): number {
    return this.#now()
  }

  /** When the last task finished, or the last turn began. */
  get endedAt(): number {
    return this.#endedAt
  }

  /** How long the last finished task took, in milliseconds. */
  get lastMs(): number {
    return this.#lastMs
  }

  /** The process resumes after it was idle or ran other callbacks. */
  beginTurn(): void {
    this.#endedAt = this.#now()
    this.#lastMs = 0
    if (this.#endedAt - this.#readAt >= MIN_CPU_MS) this.#read(this.#endedAt)
  }

  /** A task starts when the last one finished. No other task is metered. */
  start(task: Measured): void {
    task.isMetered = true
    task.startedAt = this.#endedAt
    this.#tasks.push(task)
    if (!task.isProfiled) return
    task.rssBytes = this.#usage.rssBytes
    task.maxRssBytes = this.#usage.peakRssBytes
    task.startedAt = this.#now()
    this.#read(task.startedAt)
  }

  /** Profiled tasks follow that are not metered. */
  beginSlice(): void {
    const { rssBytes, peakRssBytes: maxRssBytes } = this.#usage
    this.#before = { rssBytes, maxRssBytes }
  }

  /** A task that has started, and was not metered, is metered from here on. */
  adopt(task: Measured): void {
    task.isMetered = true
    this.#tasks.push(task)
    if (!task.isProfiled) return
    Object.assign(task, this.#before)
    this.#charge(this.#now())
  }

  /** A task starts to wait. */
  pause(task: Measured): void {
    if (task.isProfiled) this.#charge(this.#now())
    task.hasPaused = true
    this.#leave(task)
  }

  /** A task that waited resumes. */
  resume(task: Measured): void {
    if (task.isProfiled || this.#tasks.at(-1)?.isProfiled === true) this.#charge(this.#now())
    task.isMetered = true
    this.#tasks.push(task)
  }

  /** A task has finished. */
  stop(task: Measured): void {
    this.#endedAt = this.#now()
    this.#lastMs = this.#endedAt - task.startedAt
    if (!task.isMetered) return
    if (task.isProfiled) this.#charge(this.#endedAt)
    else if (this.#lastMs < MIN_CPU_MS) this.#unreadMs += this.#lastMs
    else if (!task.hasPaused) this.#charge(this.#endedAt)
    this.#leave(task)
  }

  /**
   * A task that started at `startedAt`, and was not metered, has finished. Returns how long it
   * took, in milliseconds.
   */
  lap(startedAt: number): number {
    const now = this.#now()
    const tookMs = now - startedAt
    this.#endedAt = now
    this.#lastMs = tookMs
    if (tookMs < MIN_CPU_MS) this.#unreadMs += tookMs
    else {
      const before = this.#cpuMs + this.#unreadMs
      this.#read(now)
      this.#lapCpuMs = Math.max(this.#cpuMs - before, 0)
    }
    return tookMs
  }

  /** The profile of the task of the last lap, 16 bytes; `seenBytes` as for `profile`. */
  lapProfile(seenBytes: number): Uint8Array {
    const durationSeconds = this.#lastMs / 1000
    if (this.#lastMs < MIN_CPU_MS) {
      const peakMemoryBytes = MIN_PEAK_BYTES
      return encodeProfileResult({ durationSeconds, cpuSeconds: durationSeconds, peakMemoryBytes })
    }
    const peakMemoryBytes = peakBytes(this.#before, seenBytes, this.#usage)
    this.beginSlice()
    const cpuSeconds = this.#lapCpuMs / 1000
    return encodeProfileResult({ durationSeconds, cpuSeconds, peakMemoryBytes })
  }

  /**
   * The profile of the task that finished last, 16 bytes. `seenBytes` is the peak memory that was
   * sampled while it ran.
   */
  profile(task: Measured, seenBytes: number): Uint8Array {
    return encodeProfileResult({
      durationSeconds: this.#lastMs / 1000,
      cpuSeconds: task.cpuMs / 1000,
      peakMemoryBytes: task.isProfiled ? peakBytes(task, seenBytes, this.#usage) : 0,
    })
  }

  #charge(now: number): void {
    const before = this.#cpuMs + this.#unreadMs
    this.#read(now)
    const task = this.#tasks.at(-1)
    if (task !== undefined) task.cpuMs += Math.max(this.#cpuMs - before, 0)
  }

  #read(now: number): void {
    this.#readAt = now
    this.#cpuMs = this.#usage.cpuMs
    this.#unreadMs = 0
  }

  #leave(task: Measured): void {
    task.isMetered = false
    while (this.#tasks.at(-1)?.isMetered === false) this.#tasks.pop()
  }
}

/** 0 in a profile means that nothing was measured. */
const MIN_PEAK_BYTES = 1

/** The kernel keeps the highest value ever: it only matters if it has risen. */
function peakBytes(
  { rssBytes, maxRssBytes }: Pick<Measured, 'rssBytes' | 'maxRssBytes'>,
  seenBytes: number,
  usage: ProcessUsage,
): number {
  const maxBytes = usage.peakRssBytes
  const endBytes = maxBytes > maxRssBytes ? maxBytes : usage.rssBytes
  return Math.max(endBytes - rssBytes, seenBytes - rssBytes, MIN_PEAK_BYTES)
}
