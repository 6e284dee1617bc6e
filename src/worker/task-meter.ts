// Measures what a task takes. The clock is always read; CPU time and memory cost more to read than
// a tiny task takes to run, so they are measured only where they are asked for or can matter.

import { encodeProfileResult } from '../wire/profile.js'

/** Shorter tasks get no CPU time of their own unless a profile was asked for. */
const MIN_CPU_MS = 1

const KIB = 1024

/** Measures one task after another. */
export class TaskMeter {
  readonly #now: () => number
  #startedAt = 0
  #endedAt = 0
  #isProfiled = false
  /**
   * CPU time of the process when it was last read, and what tasks took since without reading it.
   */
  #cpuMs = 0
  #unreadMs = 0
  #rssBytes = 0
  #maxRssBytes = 0

  /** `now` tells the milliseconds since some point. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** When the last task ended, or the last turn began. */
  get endedAt(): number {
    return this.#endedAt
  }

  /** How long the last task took, in milliseconds. */
  get lastMs(): number {
    return this.#endedAt - this.#startedAt
  }

  /** The process comes back from having nothing to do, or from others' callbacks. */
  beginTurn(): void {
    this.#endedAt = this.#now()
    this.#startedAt = this.#endedAt
    this.#cpuMs = cpuTimeMs()
    this.#unreadMs = 0
  }

  /** A task starts where the last one ended. */
  start(isProfiled: boolean): void {
    this.#isProfiled = isProfiled
    this.#startedAt = this.#endedAt
    if (!isProfiled) return
    this.#rssBytes = process.memoryUsage.rss()
    this.#maxRssBytes = process.resourceUsage().maxRSS * KIB
    this.#cpuMs = cpuTimeMs()
    this.#unreadMs = 0
    this.#startedAt = this.#now()
  }

  /** The task has ended. */
  stop(): void {
    this.#endedAt = this.#now()
  }

  /** The 16 bytes of its profile, after `stop`. */
  profile(): Uint8Array {
    const durationMs = this.lastMs
    return encodeProfileResult({
      durationSeconds: durationMs / 1000,
      cpuSeconds: this.#readCpuMs(durationMs) / 1000,
      peakMemoryBytes: this.#isProfiled ? this.#readPeakBytes() : 0,
    })
  }

  #readCpuMs(durationMs: number): number {
    if (!this.#isProfiled && durationMs < MIN_CPU_MS) {
      this.#unreadMs += durationMs
      return 0
    }
    const nowMs = cpuTimeMs()
    const usedMs = nowMs - this.#cpuMs - this.#unreadMs
    this.#cpuMs = nowMs
    this.#unreadMs = 0
    return Math.max(usedMs, 0)
  }

  /** The kernel keeps the highest value ever: it says something only if it has risen. */
  #readPeakBytes(): number {
    const maxRssBytes = process.resourceUsage().maxRSS * KIB
    const hasRisen = maxRssBytes > this.#maxRssBytes
    const peakBytes = hasRisen ? maxRssBytes : process.memoryUsage.rss()
    return Math.max(peakBytes - this.#rssBytes, 0)
  }
}

function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
