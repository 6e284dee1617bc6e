// The log of what is started from code: a logger that the program gives, one that logging options
// describe, or none. Commands open theirs themselves (cli/run-command.ts).

import { ConfigError } from '../../base/errors.js'
import { type Logger, type LogLevel, silentLogger } from '../../base/logger.js'
import { hintAt } from '../../base/nearest-name.js'
import { type AnyOptionTable, loggerOption, type OptionTable, show } from '../../base/option.js'
import { packageVersion } from '../process-statistics.js'
import {
  UNNECESSARY_WORKER_OPTIONS,
  type UnnecessaryWorkerOptions,
} from '../unnecessary-options.js'

// What can be said about logs: where they go, how much is said. For commands and for clusters that
// are started from code.

/** Where a log goes and how much it says. */
export interface LoggingOptions {
  /**
   * `['/dev/stdout']`: files, which are appended to, and opened again on SIGHUP in commands; none =
   * no log. A terminal gets lines of text, all else JSON lines.
   */
  readonly loggingPaths?: readonly string[] | undefined
  /** `'INFO'`: DEBUG, INFO, WARNING, ERROR or CRITICAL (the same as ERROR), in any case. */
  readonly loggingLevel?: string | undefined
  /** A file that says both of these, and more (docs/configuration.md#logging); it wins. */
  readonly loggingConfigFile?: string | undefined
}

/** The options of logs. */
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

/** What is said of a log, and what only deserves a line in it. */
interface CodeLogOptions extends LoggingOptions, UnnecessaryWorkerOptions {
  readonly logger?: Logger | undefined
}

/** A log that is open. */
export interface CodeLog {
  readonly logger: Logger
  /** Nobody reads it. */
  readonly isSilent: boolean
  /** Closes what was opened here; a logger that was given is its owner's. */
  close(): Promise<void>
}

/**
 * The log of these options; silent if they say nothing. Its first lines are where it goes, and
 * which of the options are unnecessary. Rejects with `ConfigError` where both a logger and options
 * for one are given, and as `openLogger` does.
 */
export async function openCodeLog(options: CodeLogOptions): Promise<CodeLog> {
  const described = givenNames(LOGGING_OPTIONS, options)
  const given = loggerOption('logger', options.logger)
  if (given !== undefined && described[0] !== undefined) {
    throw new ConfigError(`option ${described[0]}: a logger is given, too; give one of them`)
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

/** `option eventLoop "uvloop" is unnecessary: …`, for each that is given. */
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

// How much a log says, by the names that users know from elsewhere.

/** The levels as options and files name them, in capitals or not. */
export const LOG_LEVEL_NAMES: readonly string[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL']

/** What is critical ends the process, and is an error: nothing is hidden by asking for less. */
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
 * The level with this name. Throws `ConfigError`, which begins with `owner` (`'option
 * loggingLevel'`), for a name that is none.
 */
export function logLevel(owner: string, name: unknown): LogLevel {
  const level = typeof name === 'string' ? LEVELS.get(name.toUpperCase()) : undefined
  if (level !== undefined) return level
  throw new ConfigError(
    `${owner}: expected DEBUG, INFO, WARNING, ERROR or CRITICAL, got ${show(name)}` +
      (typeof name === 'string' ? hintAt(name, LOG_LEVEL_NAMES) : ''),
  )
}

/** Whether a log that says `lowest` says `level`. */
export function isLogged(level: LogLevel, lowest: LogLevel): boolean {
  return RANKS[level] >= RANKS[lowest]
}
