// Opens the log described by logging options, for a command or for a cluster started from code.
// Nothing here is shared within the process: each log has its own outputs.

import { ConfigError } from '../../base/errors.js'
import type { LogFields, Logger, LogLevel } from '../../base/logger.js'
import { checkOptions } from '../../base/option.js'
import { isLogged, LOGGING_OPTIONS, type LoggingOptions, logLevel } from './log.js'
import { jsonLine, plainFields, textFormat, type LineFormat, type LogRecord } from './line.js'
import { openOutput, type LogOutput, type LogStreams } from './output.js'
import type { LogDescription, OutputDescription } from '../logging-file.js'

/** An open log. */
export interface OpenedLog {
  /** Writes to the log. Does nothing after `close`. Never throws. */
  readonly logger: Logger
  /** The first lines of the log: `logging to ('/dev/stdout',)`. */
  readonly description: readonly string[]
  /**
   * Reopens the files by their paths, because they may have been renamed. A file that cannot be
   * reopened stays open, and stderr says why.
   */
  reopen(): void
  /** Resolves once everything has been written, and the files are closed. Safe to call twice. */
  close(): Promise<void>
}

/**
 * Opens the log that `options` describe; undefined ones have the defaults of `LOGGING_OPTIONS`.
 * Each output has its own format: a terminal gets lines of text, other outputs JSON lines.
 *
 * Rejects with `ConfigError` for an invalid level or logging file, and with an error that has the
 * system's as its `cause` for an output that cannot be opened; then nothing stays open. Later
 * failures are reported on stderr, once, and the process continues.
 */
export async function openLogger(
  options: LoggingOptions,
  streams: LogStreams = {},
): Promise<OpenedLog> {
  const { outputs, fields } = await describeLog(options)
  const sinks: Sink[] = []
  try {
    for (const output of outputs) sinks.push(openSink(output, streams))
  } catch (error) {
    await closeAll(sinks)
    throw error
  }
  const paths = outputs.map(({ path }) => `'${path}'`)
  return {
    logger: loggerOn(sinks, fields),
    description: [`logging to (${paths.join(', ')}${paths.length === 1 ? ',' : ''})`],
    reopen: () => {
      for (const { output } of sinks) output.reopen()
    },
    close: () => closeAll(sinks.splice(0)),
  }
}

/** Where lines go, and in which format. */
interface Sink {
  readonly output: LogOutput
  readonly format: LineFormat
  readonly level: LogLevel
}

async function describeLog(options: LoggingOptions): Promise<LogDescription> {
  const { loggingConfigFile, ...checked } = checkOptions('logging', LOGGING_OPTIONS, options)
  if (loggingConfigFile !== undefined) {
    // Loaded on demand: it is rarely needed, and would slow down every command.
    const { readLoggingFile } = await import('../logging-file.js')
    return readLoggingFile(loggingConfigFile, 'option loggingConfigFile')
  }
  const level = logLevel('option loggingLevel', checked.loggingLevel)
  const paths = checked.loggingPaths ?? []
  if (paths.includes('')) {
    throw new ConfigError('option loggingPaths: expected the path of a file, got ""')
  }
  const outputs = [...new Set(paths)].map((path) => ({ path, level, format: 'auto' as const }))
  return { outputs, fields: {} }
}

function openSink({ path, level, format }: OutputDescription, streams: LogStreams): Sink {
  const output = openOutput(path, streams)
  const isText = format === 'auto' ? output.isTerminal : format === 'text'
  return { output, level, format: isText ? textFormat(output.hasColors) : jsonLine }
}

async function closeAll(sinks: readonly Sink[]): Promise<void> {
  await Promise.all(sinks.map(({ output }) => output.close()))
}

function loggerOn(sinks: readonly Sink[], common: LogFields): Logger {
  const isLevelEnabled = (level: LogLevel): boolean => {
    return sinks.some((sink) => isLogged(level, sink.level))
  }
  const log = (level: LogLevel, text: string, fields: LogFields = {}): void => {
    if (!isLevelEnabled(level)) return
    const all = { ...plainFields(fields), ...common }
    const record: LogRecord = { level, text, fields: all, time: Date.now() }
    for (const sink of sinks) {
      if (isLogged(level, sink.level)) sink.output.write(sink.format(record))
    }
  }
  return {
    debug: (text, fields) => log('debug', text, fields),
    info: (text, fields) => log('info', text, fields),
    warn: (text, fields) => log('warn', text, fields),
    error: (text, fields) => log('error', text, fields),
    isLevelEnabled,
  }
}
