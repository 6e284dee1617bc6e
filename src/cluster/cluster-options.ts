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
  /** Silent by default. What tasks write to stdout and stderr goes here, too. */
  readonly logger?: Logger | undefined
}
