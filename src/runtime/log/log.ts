// The log of components started from code: a given logger, one described by logging options, or
// none. Commands open their own (cli/run-command.ts).

import { ConfigError } from '../../base/errors.js'
import { type Logger, type LogLevel, silentLogger } from '../../base/logger.js'
import { hintAt } from '../../base/nearest-name.js'
import { type AnyOptionTable, type OptionTable, show } from '../../base/option.js'
import { loggerOption } from './option.js'
import { packageVersion } from '../process-statistics.js'
import {
  UNNECESSARY_WORKER_OPTIONS,
  type UnnecessaryWorkerOptions,
} from '../unnecessary-options.js'

// Options for logs: where they go, and at which level. For commands and for clusters started from
// code.

/** Where a log goes and what it contains. */
export interface LoggingOptions {
  /**
   * `['/dev/stdout']`: files, which are appended to, and reopened on SIGHUP in commands; none = no
   * log. A terminal gets lines of text, other outputs JSON lines.
   */
  readonly loggingPaths?: readonly string[] | undefined
  /** `'INFO'`: DEBUG, INFO, WARNING, ERROR or CRITICAL (the same as ERROR), in any case. */
  readonly loggingLevel?: string | undefined
  /**
   * A file that sets both of these, and more (docs/configuration.md#logging); it takes precedence.
   */
  readonly loggingConfigFile?: string | undefined
}

/** The logging options. */
export const LOGGING_OPTIONS: OptionTable<LoggingOptions> = {
  loggingPaths: {
    type: { kind: 'list', separator: 'words' },
    description: 'where the log goes: zero or more files',
    default: ['/dev/stdout'],
    flag: 'logging-paths',
    short: ['-lp'],
  },
  loggingLevel: {
    type: { kind: 'text' },
    description: 'DEBUG, INFO, WARNING, ERROR or CRITICAL',
    default: 'INFO',
    flag: 'logging-level',
    short: ['-ll'],
  },
  loggingConfigFile: {
    type: { kind: 'text' },
    description: 'a file that describes the log; overrides the two above',
    flag: 'logging-config-file',
    short: ['-lc'],
  },
}

/** The logging options, and the options that only produce a log line. */
interface CodeLogOptions extends LoggingOptions, UnnecessaryWorkerOptions {
  readonly logger?: Logger | undefined
}

/** An open log. */
export interface CodeLog {
  readonly logger: Logger
  /** Whether its output is discarded. */
  readonly isSilent: boolean
  /** Closes what was opened here; a given logger belongs to its owner. */
  close(): Promise<void>
}

/**
 * Opens the log of these options; silent if they have none. Its first lines say where it goes, and
 * which of the options are unnecessary. Rejects with `ConfigError` if both a logger and logging
 * options are given, and like `openLogger`.
 */
export async function openCodeLog(options: CodeLogOptions): Promise<CodeLog> {
  const described = givenNames(LOGGING_OPTIONS, options)
  const given = loggerOption('logger', options.logger)
  if (given !== undefined && described[0] !== undefined) {
    throw new ConfigError(`option ${described[0]}: cannot be used with a logger; give one of them`)
  }
  const log = described.length > 0 ? await openDescribed(options) : heldBy(given)
  for (const line of unnecessaryLines(options)) log.logger.info(line)
  return log
}

function heldBy(logger: Logger | undefined): CodeLog {
  const isSilent = logger === undefined || logger === silentLogger
  return { logger: logger ?? silentLogger, isSilent, close: () => Promise.resolve() }
}

async function openDescribed(options: LoggingOptions): Promise<CodeLog> {
  const { openLogger } = await import('./open.js')
  const { loggingPaths, loggingLevel, loggingConfigFile } = options
  const opened = await openLogger({ loggingPaths, loggingLevel, loggingConfigFile })
  const version = packageVersion()
  for (const line of opened.description) opened.logger.info(line, { version })
  return { logger: opened.logger, isSilent: false, close: () => opened.close() }
}

/** `option eventLoop "uvloop" is unnecessary: …`, for each given option. */
function unnecessaryLines(options: UnnecessaryWorkerOptions): readonly string[] {
  const table: AnyOptionTable = UNNECESSARY_WORKER_OPTIONS
  const values = options as Readonly<Record<string, unknown>>
  return givenNames(table, options).map((name) => {
    return `option ${name} ${show(values[name])} is unnecessary: ${table[name]?.unnecessary}`
  })
}

function givenNames(table: AnyOptionTable, options: object): readonly string[] {
  const values = options as Readonly<Record<string, unknown>>
  return Object.keys(table).filter((name) => values[name] !== undefined)
}

// Log levels, by the names that users know from elsewhere.

/** The levels as named in options and files, in upper or lower case. */
export const LOG_LEVEL_NAMES: readonly string[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL']

/** A critical event ends the process and is logged as an error: no level hides it. */
const LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ['DEBUG', 'debug'],
  ['INFO', 'info'],
  ['WARNING', 'warn'],
  ['WARN', 'warn'],
  ['ERROR', 'error'],
  ['CRITICAL', 'error'],
  ['FATAL', 'error'],
])

const RANKS: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 }

/**
 * The level with this name. Throws a `ConfigError` that begins with `owner` (`'option
 * loggingLevel'`) for an unknown name.
 */
export function logLevel(owner: string, name: unknown): LogLevel {
  const level = typeof name === 'string' ? LEVELS.get(name.toUpperCase()) : undefined
  if (level !== undefined) return level
  throw new ConfigError(
    `${owner}: expected DEBUG, INFO, WARNING, ERROR or CRITICAL, got ${show(name)}` +
      (typeof name === 'string' ? hintAt(name, LOG_LEVEL_NAMES) : ''),
  )
}

/** Whether a log whose lowest level is `lowest` includes `level`. */
export function isLogged(level: LogLevel, lowest: LogLevel): boolean {
  return RANKS[level] >= RANKS[lowest]
}
