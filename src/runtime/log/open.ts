// Opens the log that logging options describe: what a command says, or a cluster that was started
// from code. Nothing here is shared by the process: each log has its own outputs.

import { ConfigError } from '../../base/errors.js'
import type { LogFields, Logger, LogLevel } from '../../base/logger.js'
import { checkOptions } from '../../base/option.js'
import { isLogged, LOGGING_OPTIONS, type LoggingOptions, logLevel } from './log.js'
import { jsonLine, plainFields, textFormat, type LineFormat, type LogRecord } from './line.js'
import { openOutput, type LogOutput, type LogStreams } from './output.js'
import type { LogDescription, OutputDescription } from '../logging-file.js'

/** A log that is open. */
export interface OpenedLog {
  /** Writes to the log. After `close` it says nothing. Never throws. */
  readonly logger: Logger
  /** What the log begins with, one line each: `logging to ('/dev/stdout',)`. */
  readonly description: readonly string[]
  /**
   * Opens the files again by their paths: those that were open may have been renamed. A file that
   * cannot be opened again stays as it is, and stderr says why.
   */
  reopen(): void
  /** Resolves once everything has been written, and the files are closed. Safe to call twice. */
  close(): Promise<void>
}

/**
 * Opens the log that `options` describe; undefined ones are the defaults of `LOGGING_OPTIONS`.
 * Each output has its own form: a terminal gets lines of text, all else JSON lines.
 *
 * Rejects with `ConfigError` for a level that is none or a logging file that is wrong, and with an
 * error that has the system's as its `cause` for an output that cannot be opened; then nothing
 * stays open. What fails later is told on stderr, once, and the process goes on.
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

/** Where lines go, in which form. */
interface Sink {
  readonly output: LogOutput
  readonly format: LineFormat
  readonly level: LogLevel
}

async function describeLog(options: LoggingOptions): Promise<LogDescription> {
  const { loggingConfigFile, ...checked } = checkOptions('logging', LOGGING_OPTIONS, options)
  if (loggingConfigFile !== undefined) {
    // Loaded when it is wanted: few want it, and every command would wait for it.
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
