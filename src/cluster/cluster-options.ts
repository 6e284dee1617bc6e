// The options of a cluster (the workers of one machine): names, defaults and bounds.

import type { Logger } from '../base/logger.js'

/** What a cluster can be told. Times are in milliseconds, sizes in bytes. */
export interface ClusterOptions {
  /** One per worker, without `|`. Default: the host's name for each. */
  readonly workerNames?: readonly string[] | undefined
  /** 2,000: how often each worker tells the scheduler that it lives. 10 to 3,600,000. */
  readonly heartbeatIntervalMs?: number | undefined
  /** 300,000: a worker that hears nothing from the scheduler for longer ends. */
  readonly deathTimeoutMs?: number | undefined
  /** 8,192: results up to this size travel inside the result message. */
  readonly inlineLimitBytes?: number | undefined
  /**
   * 1,000: a task that is cancelled, or has run for too long, and that listens to its abort signal,
   * has this time to end by itself. 0 to 3,600,000.
   */
  readonly cancelGraceMs?: number | undefined
  /**
   * 1: processes that are started in advance, for all workers together, so that one that is killed
   * with its task is replaced at once. Each takes some 50 MB of memory. 0 to 16.
   */
  readonly spareProcessors?: number | undefined
  /** 1,073,741,824: so much of objects a worker keeps that none of its tasks needs. 0 to 2^40. */
  readonly objectCacheBytes?: number | undefined
  /** Silent by default. What tasks write to stdout and stderr goes here, too. */
  readonly logger?: Logger | undefined
}
