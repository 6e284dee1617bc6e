// Measures what a task takes. The clock is always read; CPU time and memory cost more to read than
// a tiny task takes to run, so they are measured only where they are asked for or can matter.
//
// CPU time can only be read for the whole process. Of tasks that run one after the other each gets
// its own. One that waits for tasks of its own gets none meanwhile, and none at all unless a
// profile was asked for. While several go on at once, the one that has started or gone on last gets
// all.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LogFields } from '../../base/logger.js'
import { ProcessUsage } from '../../runtime/process-usage.js'
import { encodeProfileResult } from '../../wire/metadata.js'

// Collects the garbage of this process when it is told to. Node has a function for that, but shows
// it only to programs that were started with a flag.

/** Collects all garbage, which takes some 50 ms or, of gigabytes, a second. */
type CollectAll = () => void

/** V8's own function, shown to a context of ours alone. Undefined: it cannot be had. */
export function findCollector(): CollectAll | undefined {
  try {
    setFlagsFromString('--expose-gc')
    const collect: unknown = runInNewContext('gc')
    // Contexts that user code makes look as ever.
    setFlagsFromString('--no-expose-gc')
    return typeof collect === 'function' ? (collect as CollectAll) : undefined
  } catch {
    return undefined
  }
}

/** Collects garbage, now and then. */
export class GarbageCollector {
  readonly #usage = new ProcessUsage()
  #collect: CollectAll | undefined
  #isSought = false

  /**
   * Collects if this process holds more memory than `aboveBytes`. Returns what came of it, for the
   * log; undefined: nothing was done.
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
 * Shorter tasks get no CPU time of their own unless a profile was asked for, and what is off by
 * less is good enough.
 */
const MIN_CPU_MS = 1

/** What a meter notes about a task. */
export interface Measured {
  readonly isProfiled: boolean
  /** By the meter's clock, in milliseconds. */
  startedAt: number
  /** Whether it gets CPU time: it runs and does not wait. */
  isMetered: boolean
  /** Whether it has waited. */
  hasPaused: boolean
  /** CPU time that it has got so far, in milliseconds. */
  cpuMs: number
  /** Memory of the process, now and at most ever, when it began; only if it is profiled. */
  rssBytes: number
  maxRssBytes: number
}

/** Measures tasks that run one after the other, or while others wait. */
export class TaskMeter {
  readonly #now: () => number
  readonly #usage = new ProcessUsage()
  #endedAt = 0
  #lastMs = 0
  /** The last one gets the CPU time. Some may not be metered any more. */
  readonly #tasks: Measured[] = []
  /**
   * CPU time of the process when it was last read, and what tasks took since without reading it.
   */
  #cpuMs = 0
  #readAt = -Infinity
  #unreadMs = 0

  /** `now` tells the milliseconds since some point. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** The time now, in milliseconds since the point that it counts from. */
  get now(): number {
    return this.#now()
  }

  /** When the last task ended, or the last turn began. */
  get endedAt(): number {
    return this.#endedAt
  }

  /** How long the last task took that has ended, in milliseconds. */
  get lastMs(): number {
    return this.#lastMs
  }

  /** The process comes back from having nothing to do, or from others' callbacks. */
  beginTurn(): void {
    this.#endedAt = this.#now()
    this.#lastMs = 0
    if (this.#endedAt - this.#readAt >= MIN_CPU_MS) this.#read(this.#endedAt)
  }

  /** A task starts where the last one ended. No other one is metered. */
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

  /** A task only waits from now on. */
  pause(task: Measured): void {
    if (task.isProfiled) this.#charge(this.#now())
    task.hasPaused = true
    this.#leave(task)
  }

  /** A task that has waited goes on. */
  resume(task: Measured): void {
    if (task.isProfiled || this.#tasks.at(-1)?.isProfiled === true) this.#charge(this.#now())
    task.isMetered = true
    this.#tasks.push(task)
  }

  /** A task has ended. */
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
   * The 16 bytes of the profile of the task that has ended last. `seenBytes` is the most memory
   * that was seen while it ran.
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

/**
 * The kernel keeps the highest value ever: it says something only if it has risen. At least 1: in a
 * profile 0 says that nobody has looked.
 */
function peakBytes(
  { rssBytes, maxRssBytes }: Measured,
  seenBytes: number,
  usage: ProcessUsage,
): number {
  const maxBytes = usage.peakRssBytes
  const endBytes = maxBytes > maxRssBytes ? maxBytes : usage.rssBytes
  return Math.max(endBytes - rssBytes, seenBytes - rssBytes, 1)
}
