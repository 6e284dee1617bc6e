// One line of a log, as text for people or as JSON for programs. Pure except for the time zone.

import type { LogFields, LogLevel } from '../../base/logger.js'

/** The content of one line. */
export interface LogRecord {
  readonly level: LogLevel
  readonly text: string
  readonly fields: LogFields
  /** Milliseconds since 1970. */
  readonly time: number
}

/** Formats a record as a line, including the line end. */
export type LineFormat = (record: LogRecord) => string

/** The level names that users of the system know, and their colours on a terminal. */
const LABELS: Readonly<Record<LogLevel, { name: string; color: string }>> = {
  debug: { name: '[DEBG]', color: '\u001b[2m' },
  info: { name: '[INFO]', color: '' },
  warn: { name: '[WARN]', color: '\u001b[33m' },
  error: { name: '[EROR]', color: '\u001b[31m' },
}
const COLOR_END = '\u001b[0m'

/** Characters that move the cursor, change the text direction, or look like a line end. */
const UNSAFE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const UNSAFE_NAMES: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/**
 * `[INFO]2023-03-19 12:16:10-0400: text key=value`, in the local time zone, without fields whose
 * value the text already contains.
 */
export function textFormat(hasColors: boolean): LineFormat {
  return ({ level, text, fields, time }) => {
    const { name, color } = LABELS[level]
    const label = hasColors && color !== '' ? `${color}${name}${COLOR_END}` : name
    // Peers choose their own names: these must not move the cursor of a terminal that shows the
    // log.
    const safe = visibleText(text + shownFields(text, fields))
    return `${label}${localTime(new Date(time))}: ${safe}\n`
  }
}

/** The same without time and line end, for who shows it with other lines. */
export function briefText({ level, text, fields }: Omit<LogRecord, 'time'>): string {
  return `${LABELS[level].name} ${text}${shownFields(text, fields)}`
}

/**
 * One JSON object: `time` (UTC), `level`, `message`, and the fields, which cannot override those.
 */
export function jsonLine({ level, text, fields, time }: LogRecord): string {
  const fixed = { time: new Date(time).toISOString(), level, message: text }
  return `${JSON.stringify({ ...fixed, ...fields, ...fixed })}\n`
}

/**
 * The fields as values that JSON and text can represent: a program may ignore the types. Never
 * throws: no log line is worth that.
 */
export function plainFields(fields: LogFields): LogFields {
  const entries = Object.entries(fields).map(([key, value]) => [key, plainValue(value)] as const)
  return Object.fromEntries(entries)
}

function plainValue(value: unknown): LogFields[string] {
  if (typeof value === 'string' || typeof value === 'boolean' || value === undefined) return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'number' || typeof value === 'bigint' || value === null) return String(value)
  return typeof value
}

/** With escapes in place of characters that would control a terminal. */
export function visibleText(text: string): string {
  return text.replaceAll(UNSAFE, escapeCharacter)
}

function escapeCharacter(character: string): string {
  const code = character.charCodeAt(0).toString(16)
  return UNSAFE_NAMES.get(character) ?? `\\u${code.padStart(4, '0')}`
}

function shownFields(text: string, fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && !tells(text, String(value)))
    .map(([key, value]) => ` ${key}=${quoted(value)}`)
    .join('')
}

/** Whether `value` occurs as a word of its own: `10 tasks` does not contain the 1 of `tries=1`. */
function tells(text: string, value: string): boolean {
  const isWord = (at: number): boolean => /\w/.test(text.charAt(at))
  for (let at = text.indexOf(value); at >= 0 && value !== ''; at = text.indexOf(value, at + 1)) {
    if (!isWord(at - 1) && !isWord(at + value.length)) return true
  }
  return false
}

function quoted(value: LogFields[string]): string {
  const text = String(value)
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)
}

/** For example `2023-03-19 12:16:10-0400`. */
function localTime(date: Date): string {
  const offset = -date.getTimezoneOffset()
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}${two(Math.abs(offset) % 60)}`
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}${zone}`
}

function two(value: number): string {
  return String(Math.trunc(value)).padStart(2, '0')
}
