// The options of a client: names, defaults and bounds.

import { ConfigError } from '../base/errors.js'
import { silentLogger, type Logger } from '../base/logger.js'
import { booleanOption, numberOption } from '../base/option.js'
import { defaultSerializer } from '../serializer/process-serializer.js'
import type { Serializer } from '../serializer/serializer.js'
import { isSerializer } from '../serializer/task-codec.js'

/** What a client can be told. Times are in milliseconds, sizes in bytes. */
export interface ClientOptions {
  /**
   * 60,000: unfinished tasks fail with `DisconnectedError` when nothing was heard from the
   * scheduler for so long. `Client.connect` waits for so long, too. 1 to 2,147,483,647.
   */
  readonly timeoutMs?: number | undefined
  /**
   * 2,000, or a quarter of `timeoutMs` if that is less: how often the client tells the scheduler
   * that it lives. 1 to 3,600,000, and less than `timeoutMs`.
   */
  readonly heartbeatIntervalMs?: number | undefined
  /**
   * `defaultSerializer`: functions, classes and all standard values by value. Another one is
   * called for the function, each argument and each result, here and on the workers, to which it
   * travels as it is when the client is made: an object, or a class, with the functions
   * `serialize` and `deserialize`. Errors always travel by the default one.
   */
  readonly serializer?: Serializer | undefined
  /** False: whether to ask workers for CPU time and peak memory of every task. */
  readonly profiling?: boolean | undefined
  /**
   * 8,192: serialized arguments up to this size travel inside the task message; larger ones are
   * stored in the scheduler while a task needs them. 0 to 16,777,216.
   */
  readonly inlineLimitBytes?: number | undefined
  /**
   * True: after a lost link or a restarted scheduler, go on without losing a future. False: the
   * first lost link fails every unfinished future with `DisconnectedError`, and ends the client.
   */
  readonly reconnect?: boolean | undefined
  /**
   * 1,000,000: a `map` pulls no further input while so many tasks are unfinished. 1 to
   * 4,294,967,295.
   */
  readonly maxUnfinishedTasks?: number | undefined
  /** Silent by default. */
  readonly logger?: Logger | undefined
}

/** All options with a value. */
export type ClientSettings = {
  readonly [Name in keyof ClientOptions]-?: Exclude<ClientOptions[Name], undefined>
}

const MAX_TIMER_MS = 2 ** 31 - 1
const MAX_INTERVAL_MS = 3_600_000
const DEFAULT_INTERVAL_MS = 2_000
const MAX_INLINE_BYTES = 16 * 1024 ** 2
const MAX_TASKS = 2 ** 32 - 1

/**
 * Every option's name, and whether the scheduler and the workers of `Client.local` have an option
 * of that name, too. The compiler wants the record complete.
 */
const NAMES: Readonly<Record<keyof ClientOptions, 'own' | 'shared'>> = {
  timeoutMs: 'own',
  heartbeatIntervalMs: 'shared',
  serializer: 'own',
  profiling: 'own',
  inlineLimitBytes: 'shared',
  reconnect: 'own',
  maxUnfinishedTasks: 'own',
  logger: 'shared',
}

/** Fills in the defaults. Throws `ConfigError` that names the option, its value and the bound. */
export function checkClientOptions(given: ClientOptions): ClientSettings {
  if (typeof given !== 'object' || given === null) {
    throw new ConfigError(`client options: expected an object, got ${String(given)}`)
  }
  for (const name of Object.keys(given)) {
    if (!isOptionName(name)) throw new ConfigError(`unknown client option ${name}${hint(name)}`)
  }
  const timeoutMs = bounded('timeoutMs', given, 60_000, [1, MAX_TIMER_MS])
  const defaultIntervalMs = Math.max(1, Math.min(DEFAULT_INTERVAL_MS, Math.floor(timeoutMs / 4)))
  const interval = given.heartbeatIntervalMs
  const bounds = [1, Math.min(MAX_INTERVAL_MS, Math.max(1, timeoutMs - 1))] as const
  return {
    timeoutMs,
    heartbeatIntervalMs:
      interval === undefined
        ? defaultIntervalMs
        : bounded('heartbeatIntervalMs', given, defaultIntervalMs, bounds),
    serializer: checkSerializer(given.serializer),
    profiling: booleanOption('profiling', given.profiling, false),
    inlineLimitBytes: bounded('inlineLimitBytes', given, 8_192, [0, MAX_INLINE_BYTES]),
    reconnect: booleanOption('reconnect', given.reconnect, true),
    maxUnfinishedTasks: bounded('maxUnfinishedTasks', given, 1_000_000, [1, MAX_TASKS]),
    logger: checkLogger(given.logger),
  }
}

/** The options of a client and those of its cluster; those that both have are in both. */
export function splitClientOptions<ClusterOptions extends object>(
  options: ClusterOptions & ClientOptions,
): { readonly client: ClientOptions; readonly cluster: ClusterOptions } {
  const client: Record<string, unknown> = {}
  const cluster: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(options)) {
    if (isOptionName(name)) client[name] = value
    if (!isOptionName(name) || NAMES[name] === 'shared') cluster[name] = value
  }
  return { client, cluster: cluster as ClusterOptions }
}

type NumberName = 'timeoutMs' | 'heartbeatIntervalMs' | 'inlineLimitBytes' | 'maxUnfinishedTasks'

function bounded(
  name: NumberName,
  given: ClientOptions,
  fallback: number,
  [min, max]: readonly [number, number],
): number {
  return numberOption(name, given[name], fallback, { min, max })
}

function isOptionName(name: string): name is keyof ClientOptions {
  return Object.hasOwn(NAMES, name)
}

/** The nearest name, if one is near: most unknown names are slips. */
function hint(name: string): string {
  const plain = name.toLowerCase()
  const near = Object.keys(NAMES).find((known) => {
    const other = known.toLowerCase()
    return other.startsWith(plain) || plain.startsWith(other) || `${plain}ms` === other
  })
  return near === undefined ? `; there are ${Object.keys(NAMES).join(', ')}` : `; is it ${near}?`
}

function checkSerializer(serializer: Serializer | undefined): Serializer {
  if (serializer === undefined) return defaultSerializer
  if (isSerializer(serializer)) return serializer
  const expected = 'an object with the functions serialize and deserialize'
  throw new ConfigError(`option serializer: expected ${expected}`)
}

function checkLogger(logger: Logger | undefined): Logger {
  if (logger === undefined) return silentLogger
  const isLogger = ['debug', 'info', 'warn', 'error'].every(
    (level) => typeof (logger as unknown as Record<string, unknown> | null)?.[level] === 'function',
  )
  if (isLogger) return logger
  throw new ConfigError('option logger: expected an object with debug, info, warn and error')
}
