// The log of what is started from code: a logger that the program gives, one that logging options
// describe, or none. Commands open theirs themselves (cli/start-log.ts).

import { ConfigError } from '../base/errors.js'
import { silentLogger, type Logger } from '../base/logger.js'
import type { AnyOptionTable } from '../base/option-table.js'
import { loggerOption, show } from '../base/option.js'
import { LOGGING_OPTIONS, type LoggingOptions } from './logging-options.js'
import { packageVersion } from './package-version.js'
import { UNNECESSARY_WORKER_OPTIONS, type UnnecessaryWorkerOptions } from './unnecessary-options.js'

/** What is said of a log, and what only deserves a line in it. */
export interface CodeLogOptions extends LoggingOptions, UnnecessaryWorkerOptions {
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
  const { openLogger } = await import('./open-logger.js')
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
