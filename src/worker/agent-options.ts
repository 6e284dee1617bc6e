// The options of an agent: names, defaults and bounds, checked in one place for code and commands.

import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import { ConfigError } from '../base/errors.js'
import { silentLogger, type Logger } from '../base/logger.js'
import { numberOption } from '../base/option.js'
import { parseConnectAddress } from '../transport/address.js'
import type { ProcessorOptions } from './spawn-processor.js'

/** What an agent can be told. Times are in milliseconds, sizes in bytes. */
export interface AgentOptions {
  /** The address of the scheduler: `tcp://host:port`, `ipc:///path`. */
  readonly address: string
  /** How many workers. 1 to 4,096. */
  readonly workers: number
  /** One per worker, without `|`. Default: the host's name up to the first dot, for each. */
  readonly names?: readonly string[] | undefined
  /** 2,000: how often each worker tells the scheduler that it lives. 10 to 3,600,000. */
  readonly heartbeatIntervalMs?: number | undefined
  /** 300,000: a worker that hears nothing from the scheduler for longer ends. 100 to 10^9. */
  readonly deathTimeoutMs?: number | undefined
  /**
   * 0: a worker that is told to stop gives back what it has not begun, and what runs has so much
   * time to end; it runs elsewhere again if that is over. (The command waits for 20 seconds.)
   * 0 to 3,600,000.
   */
  readonly drainMs?: number | undefined
  /** 8,192: results up to this size travel inside the result message. 0 to 16,777,216. */
  readonly inlineLimitBytes?: number | undefined
  /** 3,000: a processor that is to end is killed this long after SIGTERM. 0 to 3,600,000. */
  readonly killDelayMs?: number | undefined
  /**
   * 1,000: a task that is cancelled, or has run for too long, and that listens to its abort signal,
   * has this time to end by itself. 0 to 3,600,000.
   */
  readonly cancelGraceMs?: number | undefined
  /**
   * 1: processors that are started in advance, for all workers together, so that one that is killed
   * with its task is replaced at once. Each takes some 50 MB of memory. 0 to 16.
   */
  readonly spareProcessors?: number | undefined
  /**
   * 1,073,741,824 (1 GiB): objects of more than so many bytes together are forgotten, per worker,
   * the longest unused first, but never what a task of the worker needs. 0 to 2^40.
   */
  readonly objectCacheBytes?: number | undefined
  /** Command line options of Node for the processors, such as `--max-old-space-size=…`. None. */
  readonly execArgv?: readonly string[] | undefined
  /** The processors' environment. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv | undefined
  /** The processors' working directory. Default: that of this process. */
  readonly cwd?: string | undefined
  /** Silent by default. What tasks write to stdout and stderr goes here, too. */
  readonly logger?: Logger | undefined
}

/** The same with nothing left open. */
export interface CheckedAgentOptions {
  readonly address: string
  readonly names: readonly string[]
  readonly heartbeatIntervalMs: number
  readonly deathTimeoutMs: number
  readonly drainMs: number
  readonly inlineLimitBytes: number
  readonly cancelGraceMs: number
  readonly spareProcessors: number
  readonly objectCacheBytes: number
  readonly processor: ProcessorOptions
  readonly logger: Logger
}

const HOUR_MS = 3_600_000
const MAX_NAME_LENGTH = 128
const MAX_SPARES = 16

/** Every option's name. The compiler wants the record complete. */
const NAMES: Readonly<Record<keyof AgentOptions, true>> = {
  address: true,
  workers: true,
  names: true,
  heartbeatIntervalMs: true,
  deathTimeoutMs: true,
  drainMs: true,
  inlineLimitBytes: true,
  killDelayMs: true,
  cancelGraceMs: true,
  spareProcessors: true,
  objectCacheBytes: true,
  execArgv: true,
  env: true,
  cwd: true,
  logger: true,
}

/** Fills in defaults. Throws `ConfigError`, which names the option, on a bad value. */
export function checkAgentOptions(options: AgentOptions): CheckedAgentOptions {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(NAMES, name)) throw new ConfigError(`unknown agent option ${name}`)
  }
  if (typeof options.address !== 'string') {
    throw new ConfigError(`option address: expected text, got ${typeof options.address}`)
  }
  parseConnectAddress(options.address)
  const count = workerCount(options.workers)
  const { heartbeatIntervalMs, deathTimeoutMs, inlineLimitBytes, killDelayMs } = options
  const { drainMs, cancelGraceMs, spareProcessors, objectCacheBytes } = options
  const upToAnHour = { min: 0, max: HOUR_MS }
  return {
    address: options.address,
    names: checkNames(options.names, count),
    heartbeatIntervalMs: numberOption('heartbeatIntervalMs', heartbeatIntervalMs, 2_000, {
      min: 10,
      max: HOUR_MS,
    }),
    deathTimeoutMs: numberOption('deathTimeoutMs', deathTimeoutMs, 300_000, {
      min: 100,
      max: 1e9,
    }),
    drainMs: numberOption('drainMs', drainMs, 0, upToAnHour),
    inlineLimitBytes: numberOption('inlineLimitBytes', inlineLimitBytes, 8_192, {
      min: 0,
      max: 16 * 1024 ** 2,
    }),
    cancelGraceMs: numberOption('cancelGraceMs', cancelGraceMs, 1_000, upToAnHour),
    spareProcessors: numberOption('spareProcessors', spareProcessors, 1, {
      min: 0,
      max: MAX_SPARES,
    }),
    objectCacheBytes: numberOption('objectCacheBytes', objectCacheBytes, 1024 ** 3, {
      min: 0,
      max: 2 ** 40,
    }),
    processor: {
      execArgv: checkExecArgv(options.execArgv),
      env: options.env ?? process.env,
      cwd: checkCwd(options.cwd),
      killDelayMs: numberOption('killDelayMs', killDelayMs, 3_000, upToAnHour),
    },
    logger: options.logger ?? silentLogger,
  }
}

function workerCount(workers: number): number {
  const bounds = { min: 1, max: 4_096 }
  // `workers` has no default; a fallback out of bounds shows what was given: nothing.
  if (workers === undefined) throw new ConfigError('option workers: expected a number, got nothing')
  return numberOption('workers', workers, 1, bounds)
}

function checkNames(names: readonly string[] | undefined, count: number): readonly string[] {
  if (names === undefined) return new Array<string>(count).fill(hostname().split('.', 1)[0] ?? '')
  if (!Array.isArray(names) || names.length !== count) {
    const got = Array.isArray(names) ? `${names.length} names for ${count} workers` : 'no list'
    throw new ConfigError(`option names: expected one name per worker, got ${got}`)
  }
  for (const name of names as readonly unknown[]) {
    const isName = typeof name === 'string' && /^[^|\p{Cc}]+$/u.test(name)
    if (isName && name.length <= MAX_NAME_LENGTH) continue
    const rule = `1 to ${MAX_NAME_LENGTH} characters without |`
    throw new ConfigError(`option names: expected ${rule}, got ${JSON.stringify(name)}`)
  }
  return [...(names as readonly string[])]
}

function checkExecArgv(execArgv: readonly string[] | undefined): readonly string[] {
  if (execArgv === undefined) return []
  if (Array.isArray(execArgv) && execArgv.every((item) => typeof item === 'string'))
    return [...execArgv]
  throw new ConfigError('option execArgv: expected a list of texts')
}

function checkCwd(cwd: string | undefined): string | undefined {
  if (cwd === undefined) return undefined
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true) return cwd
  throw new ConfigError(`option cwd: ${JSON.stringify(cwd)} is not a directory`)
}
