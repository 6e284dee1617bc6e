// The options of a client: names, defaults and bounds, checked in one place; and what the
// environment says instead: the address of the scheduler, and where the output of tasks goes.

import { basename } from 'node:path'
import { ConfigError } from '../base/errors.js'
import { type Logger, silentLogger } from '../base/logger.js'
import {
  checkNames,
  checkOptions,
  checkValue,
  type NumberBounds,
  numberOption,
  optionsIn,
  type OptionTable,
  type Settled,
  show,
} from '../base/option.js'
import { loggerOption } from '../runtime/log/option.js'
import { localCluster } from '../runtime/peer-info.js'
import { defaultSerializer, type Serializer } from '../serializer/serializer.js'
import { isSerializer } from '../serializer/task-codec.js'
import { parseConnectAddress } from '../transport/address.js'
import { TLS_OPTION, type TlsOption, tlsOption } from '../transport/tls/options.js'
import type { OutputPlace } from '../wire/message.js'

/** The options of a client. Times are in milliseconds, sizes in bytes. */
export interface ClientOptions extends TlsOption {
  /**
   * 60,000: unfinished tasks fail with `DisconnectedError` if the scheduler has been silent for
   * this long. `Client.connect` waits for the same time. 1 to 2,147,483,647.
   */
  readonly timeoutMs?: number | undefined
  /**
   * 2,000, or a quarter of `timeoutMs` if that is less: how often the client sends a heartbeat. 1
   * to 3,600,000, and less than `timeoutMs`. A broken link is noticed after four times that, but
   * after 5 seconds at the earliest and 8 at the latest.
   */
  readonly heartbeatIntervalMs?: number | undefined
  /**
   * `defaultSerializer`: functions, classes and all standard values by value. Another serializer,
   * an object or a class with the functions `serialize` and `deserialize`, is called for the
   * function, each argument and each result, here and on the workers; it is sent to them in its
   * state at the time when the client is created. Errors always use the default serializer.
   */
  readonly serializer?: Serializer | undefined
  /** False: whether workers report the CPU time and peak memory of every task. */
  readonly profiling?: boolean | undefined
  /**
   * 8,192: serialized arguments up to this size travel inside the task message; larger ones are
   * stored in the scheduler while a task needs them. 0 to 16,777,216.
   */
  readonly inlineLimitBytes?: number | undefined
  /**
   * True: after a lost connection or a restart of the scheduler, all futures continue. False: the
   * first lost connection rejects every unfinished future with `DisconnectedError`, as it does all
   * later calls until `close()`.
   */
  readonly reconnect?: boolean | undefined
  /**
   * 1,000,000: a `map` takes no further input while this many tasks are unfinished. 1 to
   * 4,294,967,295.
   */
  readonly maxUnfinishedTasks?: number | undefined
  /**
   * Where the output of tasks goes, which they write to stdout and stderr with `console.log` or
   * otherwise. `'forward'`: to stdout and stderr of this program. `'log'`: to the log of their
   * worker. `'off'`: nowhere; only `scaler logs` shows its last lines. Default: `SCALER_OUTPUT` if
   * that is set (`scaler run` sets it); else `'forward'` if the cluster was started in this process
   * (`Client.local`, `SchedulerClusterCombo`), and `'log'` otherwise. Tasks submitted by a task
   * inherit its setting.
   */
  readonly output?: 'forward' | 'log' | 'off' | undefined
  /**
   * The name of this client where clients are listed. Default: the file name of the program
   * (`node` if it has none). 1 to 128 characters, without control characters.
   */
  readonly name?: string | undefined
  /** Silent by default. */
  readonly logger?: Logger | undefined
}

/** The options of a client, for code and commands. */
export const CLIENT_OPTIONS: OptionTable<ClientOptions> = {
  timeoutMs: {
    type: { kind: 'duration', min: 1, max: 2_147_483_647 },
    description: 'give up when the scheduler has been silent for this long',
    default: 60_000,
    flag: 'timeout-seconds',
    short: ['-t'],
  },
  heartbeatIntervalMs: {
    type: { kind: 'duration', min: 1, max: 3_600_000 },
    description: 'how often the client sends a heartbeat; less than the timeout',
    default: 2_000,
    defaultText: '2 seconds, or a quarter of the timeout if that is less',
    flag: 'heartbeat-interval',
    short: ['-hi'],
  },
  serializer: {
    type: { kind: 'object' },
    description: 'converts functions, arguments and results to bytes',
    defaultText: 'functions, classes and all standard values by value',
  },
  profiling: {
    type: { kind: 'boolean' },
    description: 'whether workers report the CPU time and peak memory of every task',
    default: false,
    flag: 'profiling',
  },
  inlineLimitBytes: {
    type: { kind: 'integer', min: 0, max: 16_777_216 },
    description: 'arguments up to this size travel inside the task message',
    default: 8_192,
    flag: 'inline-limit-bytes',
  },
  reconnect: {
    type: { kind: 'boolean' },
    description: 'continue after a lost connection or a restart of the scheduler',
    default: true,
    flag: 'reconnect',
  },
  maxUnfinishedTasks: {
    type: { kind: 'integer', min: 1, max: 4_294_967_295 },
    description: 'a map takes no further input while this many tasks are unfinished',
    default: 1_000_000,
    flag: 'max-unfinished-tasks',
  },
  output: {
    type: { kind: 'choice', choices: ['forward', 'log', 'off'] },
    description:
      'where the output of tasks goes: to the output of the program, to the log, nowhere',
    defaultText: 'forward for a cluster started in this process, else log',
  },
  name: {
    type: { kind: 'text' },
    description: 'the name of this client where clients are listed',
    defaultText: 'the file name of the program',
  },
  ...TLS_OPTION,
  logger: { type: { kind: 'object' }, description: 'where log lines go' },
}

/** The options of a client with all defaults filled in. */
export type ClientSettings = Settled<ClientOptions, 'tls'> & TlsOption

const DEFAULT_INTERVAL_MS = 2_000

/**
 * Fills in defaults; `output` is the default of the option `output`. Throws `ConfigError`, which
 * names the option, its value and the bound.
 */
export function checkClientOptions(
  given: ClientOptions,
  output: ClientSettings['output'] = 'log',
): ClientSettings {
  const checked = checkOptions('client', CLIENT_OPTIONS, given)
  const { timeoutMs = 0, serializer, logger, ...rest } = checked
  return {
    ...(rest as ClientSettings),
    timeoutMs,
    output: checked.output ?? output,
    name: checkName(checked.name),
    heartbeatIntervalMs: checkInterval(given.heartbeatIntervalMs, timeoutMs),
    serializer: checkSerializer(serializer),
    logger: loggerOption('logger', logger) ?? silentLogger,
    tls: tlsOption(checked.tls),
  }
}

/**
 * Splits options into those of a client and those of its cluster, which are in `clusterTable`; an
 * option that both have goes to both. Throws `ConfigError` for an unknown option, with the nearest
 * name.
 */
export function splitClientOptions<ClusterOptions extends object>(
  options: ClusterOptions & ClientOptions,
  clusterTable: OptionTable<ClusterOptions>,
): { readonly client: ClientOptions; readonly cluster: ClusterOptions } {
  const both = { ...clusterTable, ...CLIENT_OPTIONS }
  checkNames('client or cluster', both, options)
  return {
    client: optionsIn(CLIENT_OPTIONS, options),
    cluster: optionsIn(clusterTable, options),
  }
}

/** A heartbeat is useless unless its interval is shorter than the timeout. */
function checkInterval(intervalMs: number | undefined, timeoutMs: number): number {
  const quarterMs = Math.max(1, Math.floor(timeoutMs / 4))
  const type = CLIENT_OPTIONS.heartbeatIntervalMs.type as NumberBounds
  const max = Math.min(type.max, Math.max(1, timeoutMs - 1))
  const fallbackMs = Math.min(DEFAULT_INTERVAL_MS, quarterMs)
  return numberOption('heartbeatIntervalMs', intervalMs, fallbackMs, { min: type.min, max })
}

function checkName(name = programName()): string {
  if (/^[^\p{Cc}]{1,128}$/u.test(name)) return name
  const rule = '1 to 128 characters without control characters'
  throw new ConfigError(`option name: expected ${rule}, got ${show(name)}`)
}

/** The name of the file that Node was started with. */
function programName(): string {
  const [, path = ''] = process.argv
  const name = basename(path)
    .replace(/\p{Cc}/gu, '')
    .slice(0, 128)
  return name === '' ? 'node' : name
}

function checkSerializer(serializer: Serializer | undefined): Serializer {
  if (serializer === undefined) return defaultSerializer
  if (isSerializer(serializer)) return serializer
  const expected = 'an object with the functions serialize and deserialize'
  throw new ConfigError(`option serializer: expected ${expected}`)
}

// The address for programs that do not pass one: `scaler run` sets it for its script, and users for
// everything that they start.

/** The environment variable with the default address. */
export const ADDRESS_VARIABLE = 'SCALER_ADDRESS'

/**
 * `given`, or the address in `SCALER_ADDRESS`. Throws `ConfigError` if there is neither, with how
 * to set it, and if the variable is not an address.
 */
export function addressOrDefault(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  if (given === null) throw new ConfigError('address: expected a text, got null')
  if (typeof given === 'object') {
    const isPromise = typeof (given as { then?: unknown }).then === 'function'
    const what = isPromise
      ? 'a promise; await it first'
      : 'an object; options are the second argument, and the address of a cluster is its `address`'
    throw new ConfigError(`address: expected a text, got ${what}`)
  }
  if (given !== undefined) return given
  const address = env[ADDRESS_VARIABLE]?.trim() ?? ''
  if (address === '') {
    throw new ConfigError(
      `no address: give one, as in new Client('tcp://127.0.0.1:2345'), set ${ADDRESS_VARIABLE}, ` +
        'or start the program with `scaler run`',
    )
  }
  try {
    parseConnectAddress(address)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(`${ADDRESS_VARIABLE}: ${error.message}`, { cause: error })
  }
  return address
}

/** Throws `ConfigError` if `address` is not an address to connect to. */
export function checkConnectAddress(address: string): void {
  parseConnectAddress(address)
}

// Where the output of tasks goes by default: to the program if it started the cluster itself, or as
// the environment says.

/** The environment variable with the default of the option `output`. */
export const OUTPUT_VARIABLE = 'SCALER_OUTPUT'

/** The default for a client of the scheduler at `address`. Throws `ConfigError`. */
export function defaultOutput(address: string): OutputPlace {
  const text = process.env[OUTPUT_VARIABLE]?.trim() ?? ''
  if (text !== '') {
    return checkValue(OUTPUT_VARIABLE, CLIENT_OPTIONS.output.type, text, 'log') as OutputPlace
  }
  return localCluster(address) === undefined ? 'log' : 'forward'
}
