// The logger of the commands: lines for people on a terminal, JSON lines for programs elsewhere.
// Only a command may make one, for it configures the logging of the whole process; the library
// itself stays silent and knows nothing but the interface (base/logger.ts).

import {
  configureSync,
  getLogger,
  sanitizeControlSequences,
  type LogLevel as TapeLevel,
  type LogRecord,
} from '@logtape/logtape'
import type { LogFields, Logger } from '../base/logger.js'

/** How much is said: each level includes those after it. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Where the lines go: the part of `process.stdout` that is needed. */
export interface LogStream {
  readonly isTTY?: boolean
  /** Whether colours are wanted: Node's streams obey NO_COLOR, FORCE_COLOR and TERM. */
  hasColors?(): boolean
  write(text: string): unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** What a command logger can be told. */
export interface CommandLoggerOptions {
  /** `'info'` by default. */
  readonly level?: LogLevel
  /** `process.stdout` by default. */
  readonly stream?: LogStream
}

/** The names that the users of the system know, and their colours on a terminal. */
const LEVELS: Readonly<Record<TapeLevel, { name: string; json: string; color: string }>> = {
  trace: { name: 'DEBG', json: 'debug', color: '\u001b[2m' },
  debug: { name: 'DEBG', json: 'debug', color: '\u001b[2m' },
  info: { name: 'INFO', json: 'info', color: '' },
  warning: { name: 'WARN', json: 'warn', color: '\u001b[33m' },
  error: { name: 'EROR', json: 'error', color: '\u001b[31m' },
  fatal: { name: 'EROR', json: 'error', color: '\u001b[31m' },
}
const COLOR_END = '\u001b[0m'

/**
 * A logger that writes lines to `stream`. On a terminal
 * `[INFO]2023-03-19 12:16:10-0400: text key=value`, without the fields that the text itself
 * shows; elsewhere one JSON object per line: `time`, `level`, `message` and the fields. A stream
 * that fails is ignored: a scheduler goes on when nobody reads its log any more.
 *
 * Replaces what the process logged to before.
 */
export function commandLogger(options: CommandLoggerOptions = {}): Logger {
  const stream: LogStream = options.stream ?? process.stdout
  stream.on?.('error', () => {})
  const format = stream.isTTY === true ? textFormat(stream.hasColors?.() === true) : jsonLine
  const sink = (record: LogRecord): void => void stream.write(format(record))
  configureSync({
    reset: true,
    sinks: { stream: sink },
    loggers: [
      { category: 'scaler', sinks: ['stream'], lowestLevel: tapeLevel(options.level ?? 'info') },
      { category: ['logtape', 'meta'], sinks: ['stream'], lowestLevel: 'warning' },
    ],
  })
  const logger = getLogger('scaler')
  return {
    debug: (text, fields) => logger.debug(text, { ...fields }),
    info: (text, fields) => logger.info(text, { ...fields }),
    warn: (text, fields) => logger.warn(text, { ...fields }),
    error: (text, fields) => logger.error(text, { ...fields }),
  }
}

function tapeLevel(level: LogLevel): TapeLevel {
  return level === 'warn' ? 'warning' : level
}

function textFormat(hasColors: boolean): (record: LogRecord) => string {
  return (record) => {
    const { name, color } = LEVELS[record.level]
    const label = hasColors && color !== '' ? `${color}[${name}]${COLOR_END}` : `[${name}]`
    const line = textOf(record) + shownFields(record)
    // Names of peers are theirs to choose: they must not move the cursor of whoever reads the log.
    const safe = sanitizeControlSequences(line, { sgr: 'escape', newlines: 'escape' })
    return `${label}${localTime(new Date(record.timestamp))}: ${safe}\n`
  }
}

function jsonLine(record: LogRecord): string {
  const time = new Date(record.timestamp).toISOString()
  const fixed = { time, level: LEVELS[record.level].json, message: textOf(record) }
  return `${JSON.stringify({ ...fixed, ...record.properties, ...fixed })}\n`
}

/** The text as it was given: braces in it mean nothing to us. */
function textOf(record: LogRecord): string {
  return typeof record.rawMessage === 'string' ? record.rawMessage : record.message.join('')
}

function shownFields(record: LogRecord): string {
  const text = textOf(record)
  const fields = Object.entries(record.properties as LogFields).filter(
    ([, value]) => value !== undefined && !text.includes(String(value)),
  )
  return fields.map(([key, value]) => ` ${key}=${quoted(value)}`).join('')
}

function quoted(value: LogFields[string]): string {
  const text = String(value)
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)
}

/** For example `2023-03-19 12:16:10-0400`, in the time zone of the machine. */
function localTime(date: Date): string {
  const two = (value: number): string => String(Math.trunc(value)).padStart(2, '0')
  const offset = -date.getTimezoneOffset()
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}${two(Math.abs(offset) % 60)}`
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}${zone}`
}
