// The options of a scheduler: names, defaults and bounds, checked in one place for code and
// commands.

import type { Logger } from '../base/logger.js'
import { checkOptions, loggerOption, optionsIn, type OptionTable } from '../base/option.js'
import { LOGGING_OPTIONS, type LoggingOptions } from '../runtime/log/log.js'
import { UNNECESSARY_OPTIONS, type UnnecessaryOptions } from '../runtime/unnecessary-options.js'
import { parseAddress } from '../transport/address.js'

/** What a scheduler can be told of itself. Times are in milliseconds, sizes in bytes. */
export interface SchedulerOwnOptions {
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
   * 0: so long the store keeps what clients that have left still had there; 0 = it is freed at
   * once. What a client deletes itself goes at once in any case. Up to 86,400,000.
   */
  readonly objectRetentionMs?: number | undefined
  /**
   * 100: a worker from which nothing has come for so long, although it has several tasks, gives
   * tasks that it has not begun to workers that have nothing. 0 = never. Up to 86,400,000.
   */
  readonly loadBalanceMs?: number | undefined
  /**
   * 2: a worker that was asked to give tasks is asked for the same ones again after so many times
   * `loadBalanceMs`. 1 to 1,000.
   */
  readonly loadBalanceTriggerTimes?: number | undefined
  /** 1,000: maximum number of tasks held by one worker. 1 to 1,000,000. */
  readonly perWorkerQueueSize?: number | undefined
  /**
   * -1: with this many tasks beyond what the workers may hold (`perWorkerQueueSize` each), clients
   * hold further ones back until there is room; -1 = never. Those of 1.9.9 are refused. Up to
   * 2,147,483,648.
   */
  readonly maxNumberOfTasksWaiting?: number | undefined
  /**
   * Whether clients may not shut the cluster down. Default: true in `SchedulerClusterCombo.start`
   * and `Client.local`, else false.
   */
  readonly protected?: boolean | undefined
  /**
   * 10,000: a connection is closed that has not completed its handshake by then. 100 to 86,400,000.
   */
  readonly handshakeTimeoutMs?: number | undefined
  /** 4,294,967,295: longest message that is accepted. 1,024 up to that. */
  readonly maxMessageBytes?: number | undefined
  /** 8 GiB: a peer for which more than this waits loses its connection. 1 MiB to 1 TiB. */
  readonly maxQueuedBytes?: number | undefined
  /** Silent by default; `loggingPaths` and its kin make one instead. */
  readonly logger?: Logger | undefined
}

/** What a scheduler can be told: the options of the command, and a logger. */
export interface SchedulerOptions extends SchedulerOwnOptions, LoggingOptions, UnnecessaryOptions {}

/** The same with where it listens. */
export interface SchedulerStartOptions extends SchedulerOptions {
  /** Where clients and workers connect: `tcp://host:port`, `ipc:///path`. Port 0 = a free one. */
  readonly address: string
}

/** The same with nothing left open. */
export interface CheckedSchedulerOptions {
  readonly clientTimeoutMs: number
  readonly workerTimeoutMs: number
  readonly workerSilenceMs: number
  readonly objectRetentionMs: number
  readonly loadBalanceMs: number
  readonly loadBalanceTriggerTimes: number
  readonly perWorkerQueueSize: number
  readonly maxNumberOfTasksWaiting: number
  readonly isProtected: boolean
  readonly handshakeTimeoutMs: number
  readonly maxMessageBytes: number
  readonly maxQueuedBytes: number
}

const TIMEOUT = { kind: 'duration', min: 100, max: 86_400_000 } as const

/** The options of a scheduler itself, for code and commands. */
export const SCHEDULER_OPTIONS: OptionTable<SchedulerOwnOptions> = {
  monitorAddress: {
    type: { kind: 'text' },
    description: 'where monitors connect',
    defaultText: 'port + 2',
    flag: 'monitor-address',
    short: ['-ma'],
  },
  protected: {
    type: { kind: 'boolean' },
    description: 'clients may not shut the cluster down',
    default: false,
    flag: 'protected',
    short: ['-p'],
  },
  maxNumberOfTasksWaiting: {
    type: { kind: 'integer', min: -1, max: 2_147_483_648 },
    description:
      'with so many tasks beyond what the workers hold, take no more for now; -1 = never',
    default: -1,
    flag: 'max-number-of-tasks-waiting',
    short: ['-mt'],
  },
  clientTimeoutMs: {
    type: TIMEOUT,
    description: 'a client that is silent for longer is gone',
    default: 60_000,
    flag: 'client-timeout-seconds',
    short: ['-ct'],
  },
  workerTimeoutMs: {
    type: TIMEOUT,
    description: 'a worker that is silent for longer is gone',
    default: 60_000,
    flag: 'worker-timeout-seconds',
    short: ['-wt'],
  },
  workerSilenceMs: {
    type: TIMEOUT,
    description: 'so soon a silent worker of this version is gone, unless it was often silent',
    default: 5_000,
    flag: 'worker-silence-seconds',
  },
  objectRetentionMs: {
    type: { kind: 'duration', min: 0, max: 86_400_000 },
    description: 'keep the objects of clients that have left for so long; 0 = free them at once',
    default: 0,
    flag: 'object-retention-seconds',
    short: ['-ot'],
  },
  loadBalanceMs: {
    type: { kind: 'duration', min: 0, max: 86_400_000 },
    description: 'a worker that is stuck for so long gives tasks to idle ones; 0 = never',
    default: 100,
    flag: 'load-balance-seconds',
    short: ['-ls'],
  },
  loadBalanceTriggerTimes: {
    type: { kind: 'integer', min: 1, max: 1_000 },
    description: 'balancing rounds to wait before asking a worker for the same tasks again',
    default: 2,
    flag: 'load-balance-trigger-times',
    short: ['-lbt'],
  },
  perWorkerQueueSize: {
    type: { kind: 'integer', min: 1, max: 1_000_000 },
    description: 'maximum number of tasks held by one worker',
    default: 1_000,
    flag: 'per-worker-queue-size',
    short: ['-qs'],
  },
  handshakeTimeoutMs: {
    type: TIMEOUT,
    description: 'close a connection that has not completed its handshake by then',
    default: 10_000,
    flag: 'handshake-timeout-seconds',
  },
  maxMessageBytes: {
    type: { kind: 'integer', min: 1_024, max: 4_294_967_295 },
    description: 'longest message that is accepted',
    default: 4_294_967_295,
    flag: 'max-message-bytes',
  },
  maxQueuedBytes: {
    type: { kind: 'integer', min: 1_048_576, max: 1_099_511_627_776 },
    description: 'a peer for which more than this waits loses its connection',
    default: 8_589_934_592,
    flag: 'max-queued-bytes',
  },
  logger: { type: { kind: 'object' }, description: 'where log lines go' },
}

/** All that a scheduler can be told by code. */
export const SCHEDULER_START_OPTIONS: OptionTable<SchedulerStartOptions> = {
  address: { type: { kind: 'text' }, description: 'where clients and workers connect' },
  ...SCHEDULER_OPTIONS,
  ...LOGGING_OPTIONS,
  ...UNNECESSARY_OPTIONS,
}

/** Fills in defaults. Throws `ConfigError`, which names the option, on a bad value or address. */
export function checkSchedulerOptions(options: SchedulerStartOptions): CheckedSchedulerOptions {
  const checked = checkOptions('scheduler', SCHEDULER_START_OPTIONS, options)
  const own = optionsIn(SCHEDULER_OPTIONS, checked)
  const { monitorAddress, logger, protected: isProtected = false, ...rest } = own
  parseAddress(checked.address)
  if (monitorAddress !== undefined) parseAddress(monitorAddress)
  loggerOption('logger', logger)
  return { ...(rest as Omit<CheckedSchedulerOptions, 'isProtected'>), isProtected }
}

/** Throws `ConfigError` for what is no address to listen on. */
export function checkListenAddress(address: string): void {
  parseAddress(address)
}
