// Collects the garbage of this process when it is told to. Node has a function for that, but shows
// it only to programs that were started with a flag.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LogFields } from '../base/logger.js'
import { ProcessUsage } from '../runtime/process-usage.js'

/** Collects all garbage, which takes some 50 ms or, of gigabytes, a second. */
export type CollectAll = () => void

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
