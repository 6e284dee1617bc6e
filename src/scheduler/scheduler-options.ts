// The options of a scheduler: names, defaults and bounds, checked in one place for code and
// commands.

import type { Logger } from '../base/logger.js'
import { ConfigError } from '../base/errors.js'
import { booleanOption, numberOption } from '../base/option.js'

/** What a scheduler can be told. Times are in milliseconds, sizes in bytes. */
export interface SchedulerOptions {
  /** Where monitors subscribe. Default: the same host, two ports up. */
  readonly monitorAddress?: string | undefined
  /** 60,000: a client that is silent for longer is taken for gone. 100 to 86,400,000. */
  readonly clientTimeoutMs?: number | undefined
  /** 60,000: a worker that is silent for longer is taken for gone. 100 to 86,400,000. */
  readonly workerTimeoutMs?: number | undefined
  /**
   * 5,000: so soon a worker of this version is taken for gone when it is silent, or after three
   * times the longest silence that it has had lately, if that is longer; never later than after
   * `workerTimeoutMs`, which is what counts for 1.9.9 workers. 100 to 86,400,000.
   */
  readonly workerSilenceMs?: number | undefined
  /**
   * 100: a worker from which nothing has come for so long, although it has several tasks, gives
   * tasks that it has not begun to workers that have nothing. 0 = never. Up to 86,400,000.
   */
  readonly loadBalanceMs?: number | undefined
  /** 1,000: most tasks that one worker holds. 1 to 1,000,000. */
  readonly perWorkerQueueSize?: number | undefined
  /**
   * -1: with this many tasks beyond what the workers may hold (`perWorkerQueueSize` each), new ones
   * are refused with `NoWorkerError`; -1 = never. Up to 2,147,483,648.
   */
  readonly maxTasksWaiting?: number | undefined
  /** false: whether clients may not shut the cluster down. */
  readonly protected?: boolean | undefined
  /** 4,294,967,295: longest message that is accepted. 1,024 up to that. */
  readonly maxMessageBytes?: number | undefined
  /** 8 GiB: a peer for which more than this waits loses its connection. 1 MiB to 1 TiB. */
  readonly maxQueuedBytes?: number | undefined
  /** Silent by default. */
  readonly logger?: Logger | undefined
}

/** The same with nothing left open. */
export interface CheckedSchedulerOptions {
  readonly clientTimeoutMs: number
  readonly workerTimeoutMs: number
  readonly workerSilenceMs: number
  readonly loadBalanceMs: number
  readonly perWorkerQueueSize: number
  readonly maxTasksWaiting: number
  readonly isProtected: boolean
  readonly maxMessageBytes: number
  readonly maxQueuedBytes: number
}

const DAY_MS = 24 * 60 * 60 * 1000
const TIMEOUT_BOUNDS = { min: 100, max: DAY_MS }

/** Every option's name. The compiler wants the record complete. */
const NAMES: Readonly<Record<keyof SchedulerOptions | 'address', true>> = {
  address: true,
  monitorAddress: true,
  clientTimeoutMs: true,
  workerTimeoutMs: true,
  workerSilenceMs: true,
  loadBalanceMs: true,
  perWorkerQueueSize: true,
  maxTasksWaiting: true,
  protected: true,
  maxMessageBytes: true,
  maxQueuedBytes: true,
  logger: true,
}

/** Fills in defaults. Throws `ConfigError`, which names the option, on a bad value. */
export function checkSchedulerOptions(options: SchedulerOptions): CheckedSchedulerOptions {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(NAMES, name)) throw new ConfigError(`unknown option ${name}`)
  }
  const { clientTimeoutMs, workerTimeoutMs, workerSilenceMs, loadBalanceMs } = options
  const { perWorkerQueueSize, maxTasksWaiting, maxMessageBytes, maxQueuedBytes } = options
  const maxFrame = 2 ** 32 - 1
  return {
    clientTimeoutMs: numberOption('clientTimeoutMs', clientTimeoutMs, 60_000, TIMEOUT_BOUNDS),
    workerTimeoutMs: numberOption('workerTimeoutMs', workerTimeoutMs, 60_000, TIMEOUT_BOUNDS),
    workerSilenceMs: numberOption('workerSilenceMs', workerSilenceMs, 5000, TIMEOUT_BOUNDS),
    loadBalanceMs: numberOption('loadBalanceMs', loadBalanceMs, 100, { min: 0, max: DAY_MS }),
    perWorkerQueueSize: numberOption('perWorkerQueueSize', perWorkerQueueSize, 1000, {
      min: 1,
      max: 1_000_000,
    }),
    maxTasksWaiting: numberOption('maxTasksWaiting', maxTasksWaiting, -1, {
      min: -1,
      max: 2 ** 31,
    }),
    isProtected: booleanOption('protected', options.protected, false),
    maxMessageBytes: numberOption('maxMessageBytes', maxMessageBytes, maxFrame, {
      min: 1024,
      max: maxFrame,
    }),
    maxQueuedBytes: numberOption('maxQueuedBytes', maxQueuedBytes, 8 * 2 ** 30, {
      min: 2 ** 20,
      max: 2 ** 40,
    }),
  }
}
