// The options of a scheduler: names, defaults and bounds, checked in one place for code and
// commands.

import { ConfigError } from '../base/errors.js'
import type { Logger } from '../base/logger.js'
import { checkOptions, optionsIn, type OptionTable, type Settled } from '../base/option.js'
import { loggerOption } from '../runtime/log/option.js'
import { LOGGING_OPTIONS, type LoggingOptions } from '../runtime/log/log.js'
import { UNNECESSARY_OPTIONS, type UnnecessaryOptions } from '../runtime/unnecessary-options.js'
import {
  type Address,
  checkAddressOption,
  isSamePort,
  localAddress,
  parseAddress,
  parseConnectAddress,
} from '../transport/address.js'
import { TLS_OPTION, type TlsOption, tlsOption } from '../transport/tls/options.js'
import { checkDirectoryOption } from '../runtime/directory-option.js'

/** The options of the scheduler itself. Times are in milliseconds, sizes in bytes. */
export interface SchedulerOwnOptions extends TlsOption {
  /** Where monitors subscribe; '' = nowhere. Default: the same host, two ports up. */
  readonly monitorAddress?: string | undefined
  /**
   * Where `/metrics`, `/healthz` and `/readyz` are served by HTTP: `host:port`; port 0 = a free
   * one. Default: nowhere.
   */
  readonly metricsAddress?: string | undefined
  /**
   * Where large objects are shared in files with clients and workers on the same machine; '' =
   * nowhere, they travel in messages. An existing directory of this machine, as an absolute path;
   * it should be in memory. Default: `/dev/shm` on Linux.
   */
  readonly objectDirectory?: string | undefined
  /**
   * How many bytes of objects are kept in memory, including files in `/dev/shm`. Beyond that, the
   * least recently used ones are moved to disk. Default: 30 % of the memory of the machine or
   * container. 1 MiB to 1 PiB.
   */
  readonly objectMemoryLimitBytes?: number | undefined
  /**
   * How many bytes of objects are kept on disk. Beyond that, `StorageFullError`. 0 = none. Default:
   * half of the space that is free at the start. Up to 1 PiB.
   */
  readonly objectDiskLimitBytes?: number | undefined
  /**
   * Where objects are moved to when memory is full; '' = nowhere. An existing directory, as an
   * absolute path. Default: `/var/tmp`; nowhere on Windows.
   */
  readonly objectSpillDirectory?: string | undefined
  /** 0: how many bytes of objects one client may store; 0 = no limit. Up to 1 PiB. */
  readonly objectQuotaBytes?: number | undefined
  /**
   * Object storage servers, where large objects are stored: `tcp://host:port`, `tls://host:port`,
   * `ipc:///path`. The host `*` stands for that of the scheduler. Default: the scheduler starts one
   * at its port plus one when a large object comes from another machine, unless a limit for objects
   * is set; an empty list = none. Further servers may register themselves.
   */
  readonly objectStorageAddresses?: readonly string[] | undefined
  /** 60,000: a client that is silent for longer is considered lost. 100 to 86,400,000. */
  readonly clientTimeoutMs?: number | undefined
  /** 60,000: a worker that is silent for longer is considered lost. 100 to 86,400,000. */
  readonly workerTimeoutMs?: number | undefined
  /**
   * 5,000: a worker of this version that is silent for longer is considered lost, but never sooner
   * than after three times its longest recent silence, and never later than after
   * `workerTimeoutMs`. For 1.9.9 workers only `workerTimeoutMs` counts. 100 to 86,400,000.
   */
  readonly workerSilenceMs?: number | undefined
  /**
   * 0: how long the store keeps the objects of clients that have left; 0 = they are freed
   * immediately. Objects that a client deletes are freed immediately. Not for shared objects. Up to
   * 86,400,000.
   */
  readonly objectRetentionMs?: number | undefined
  /**
   * 3,600,000: how long the store keeps a shared object to which no client has a reference, since
   * it was last requested. Up to 604,800,000.
   */
  readonly sharedRetentionMs?: number | undefined
  /**
   * 100: if a worker with several tasks sends nothing for this long, tasks that it has not started
   * are moved to idle workers. 0 = never. Up to 86,400,000.
   */
  readonly loadBalanceMs?: number | undefined
  /**
   * 2: how many times `loadBalanceMs` to wait before asking a worker for the same tasks again.
   * 1 to 1,000.
   */
  readonly loadBalanceTriggerTimes?: number | undefined
  /**
   * 1,000: maximum number of tasks held by one worker. From 1,000 on, tasks of a map that are sent
   * together count as one. 1 to 1,000,000.
   */
  readonly perWorkerQueueSize?: number | undefined
  /**
   * -1: the most tasks accepted beyond those that the workers may hold (`perWorkerQueueSize` each);
   * clients hold further tasks back until there is room; -1 = no limit. Further tasks of 1.9.9
   * clients are refused. Up to 2,147,483,648.
   */
  readonly maxNumberOfTasksWaiting?: number | undefined
  /**
   * Whether clients may not shut the cluster down. Default: true in `SchedulerClusterCombo.start`
   * and `Client.local`, else false.
   */
  readonly protected?: boolean | undefined
  /**
   * 10,000: a connection that has not completed its handshake by then is closed. 100 to 86,400,000.
   */
  readonly handshakeTimeoutMs?: number | undefined
  /** 4,294,967,295: the longest message that is accepted. 1,024 to 4,294,967,295. */
  readonly maxMessageBytes?: number | undefined
  /** 8 GiB: a peer with more than this queued for it is disconnected. 1 MiB to 1 TiB. */
  readonly maxQueuedBytes?: number | undefined
  /** Silent by default; the `logging…` options create one instead. */
  readonly logger?: Logger | undefined
}

/** The options of a scheduler: those of the command, and a logger. */
export interface SchedulerOptions extends SchedulerOwnOptions, LoggingOptions, UnnecessaryOptions {}

/** `SchedulerOptions` with the address to listen on. */
export interface SchedulerStartOptions extends SchedulerOptions {
  /**
   * Where clients and workers connect: `tcp://host:port`, `tls://host:port`, `ipc:///path`. Port 0
   * = a free one.
   */
  readonly address: string
}

/** The options of a scheduler with all defaults filled in. */
export interface CheckedSchedulerOptions
  extends
    Settled<
      SchedulerOwnOptions,
      | 'monitorAddress'
      | 'metricsAddress'
      | 'objectDirectory'
      | 'objectMemoryLimitBytes'
      | 'objectDiskLimitBytes'
      | 'objectSpillDirectory'
      | 'objectStorageAddresses'
      | 'protected'
      | 'logger'
      | 'tls'
    >,
    TlsOption {
  readonly isProtected: boolean
}

const TIMEOUT = { kind: 'duration', min: 100, max: 86_400_000 } as const

const MAX_STORED_BYTES = 2 ** 50

/** The options of the scheduler itself, for code and commands. */
export const SCHEDULER_OPTIONS: OptionTable<SchedulerOwnOptions> = {
  monitorAddress: {
    type: { kind: 'text' },
    description: 'where monitors connect; empty = nowhere',
    defaultText: 'port + 2',
    flag: 'monitor-address',
    short: ['-ma'],
  },
  metricsAddress: {
    type: { kind: 'text' },
    description: 'host:port that serves metrics by HTTP',
    defaultText: 'none',
    flag: 'metrics-address',
  },
  objectDirectory: {
    type: { kind: 'text' },
    description: 'where processes on this machine share large objects in files; empty = nowhere',
    defaultText: '/dev/shm (Linux)',
    flag: 'object-directory',
  },
  objectMemoryLimitBytes: {
    type: { kind: 'integer', min: 1_048_576, max: MAX_STORED_BYTES },
    description: 'bytes of objects to keep in memory; further ones go to disk',
    defaultText: '30 % of the memory',
    flag: 'object-memory-limit-bytes',
  },
  objectDiskLimitBytes: {
    type: { kind: 'integer', min: 0, max: MAX_STORED_BYTES },
    description: 'bytes of objects to keep on disk; 0 = none',
    defaultText: 'half of what is free',
    flag: 'object-disk-limit-bytes',
  },
  objectSpillDirectory: {
    type: { kind: 'text' },
    description: 'directory for objects that do not fit into memory; empty = none',
    defaultText: '/var/tmp',
    flag: 'object-spill-directory',
  },
  objectQuotaBytes: {
    type: { kind: 'integer', min: 0, max: MAX_STORED_BYTES },
    description: 'bytes of objects that one client may store; 0 = no limit',
    default: 0,
    flag: 'object-quota-bytes',
  },
  objectStorageAddresses: {
    type: { kind: 'list', separator: 'commas', isRepeatable: true },
    description: 'object storage servers to use; servers may also register themselves',
    defaultText: 'one at port + 1, if needed; empty = none',
    flag: 'object-storage-address',
    short: ['-osa'],
  },
  protected: {
    type: { kind: 'boolean' },
    description: 'clients may not shut the cluster down; operators may not cancel or drain',
    default: false,
    flag: 'protected',
    short: ['-p'],
  },
  maxNumberOfTasksWaiting: {
    type: { kind: 'integer', min: -1, max: 2_147_483_648 },
    description: 'the most tasks to accept beyond those that the workers hold; -1 = no limit',
    default: -1,
    flag: 'max-number-of-tasks-waiting',
    short: ['-mt'],
  },
  clientTimeoutMs: {
    type: TIMEOUT,
    description: 'a client that is silent for longer is considered lost',
    default: 60_000,
    flag: 'client-timeout-seconds',
    short: ['-ct'],
  },
  workerTimeoutMs: {
    type: TIMEOUT,
    description: 'a worker that is silent for longer is considered lost',
    default: 60_000,
    flag: 'worker-timeout-seconds',
    short: ['-wt'],
  },
  workerSilenceMs: {
    type: TIMEOUT,
    description: 'the timeout for workers of this version; longer for one that was often silent',
    default: 5_000,
    flag: 'worker-silence-seconds',
  },
  objectRetentionMs: {
    type: { kind: 'duration', min: 0, max: 86_400_000 },
    description: 'how long to keep the objects of clients that have left; 0 = free immediately',
    default: 0,
    flag: 'object-retention-seconds',
    short: ['-ot'],
  },
  sharedRetentionMs: {
    type: { kind: 'duration', min: 0, max: 604_800_000 },
    description: 'how long to keep a shared object to which no client has a reference',
    default: 3_600_000,
    flag: 'shared-retention-seconds',
  },
  loadBalanceMs: {
    type: { kind: 'duration', min: 0, max: 86_400_000 },
    description: 'move tasks to idle workers if a worker is stuck for this long; 0 = never',
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
    description: 'the longest message that is accepted',
    default: 4_294_967_295,
    flag: 'max-message-bytes',
  },
  maxQueuedBytes: {
    type: { kind: 'integer', min: 1_048_576, max: 1_099_511_627_776 },
    description: 'disconnect a peer with more than this queued for it',
    default: 8_589_934_592,
    flag: 'max-queued-bytes',
  },
  ...TLS_OPTION,
  logger: { type: { kind: 'object' }, description: 'where log lines go' },
}

/** Every option that code can pass to a scheduler. */
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
  const { monitorAddress, metricsAddress, logger, protected: isProtected = false, ...rest } = own
  const main = parseAddress(checked.address)
  if (monitorAddress !== undefined && monitorAddress !== '')
    checkAddressOption('monitorAddress', monitorAddress)
  checkServerAddresses(own.objectStorageAddresses ?? [])
  if (metricsAddress !== undefined) checkMetricsAddress(metricsAddress, main)
  checkDirectoryOption('objectDirectory', own.objectDirectory)
  checkDirectoryOption('objectSpillDirectory', own.objectSpillDirectory)
  loggerOption('logger', logger)
  const settled = rest as Omit<CheckedSchedulerOptions, 'isProtected'>
  return { ...settled, isProtected, tls: tlsOption(own.tls) }
}

/** Throws `ConfigError`, which names the option. `*` is a host, but port 0 names no server. */
function checkServerAddresses(addresses: readonly string[]): void {
  const parse = (text: string): Address => parseConnectAddress(localAddress(text))
  for (const text of addresses) checkAddressOption('objectStorageAddresses', text, parse)
}

/** The metrics are served first: the error would name the other address. */
function checkMetricsAddress(text: string, main: Address): void {
  if (!isSamePort({ kind: 'tcp', ...parseMetricsAddress(text) }, main)) return
  throw new ConfigError(`option metricsAddress: ${text}: the scheduler itself listens there`)
}

/** Parses `host:port`. Throws `ConfigError`, which names the option. */
export function parseMetricsAddress(text: string): {
  readonly host: string
  readonly port: number
} {
  try {
    const address = parseAddress(`tcp://${text}`)
    if (address.kind === 'tcp') return address
  } catch (error) {
    const why = `expected host:port, got ${JSON.stringify(text)}`
    throw new ConfigError(`option metricsAddress: ${why}`, { cause: error })
  }
  throw new ConfigError('option metricsAddress: expected host:port')
}

/** Throws `ConfigError` if `address` is not an address to listen on. */
export function checkListenAddress(address: string): void {
  parseAddress(address)
}
