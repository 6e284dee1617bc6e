// The frame by which a log line of a task reaches the logger of its worker: JSON, as there are few.

import { ProtocolError } from '../base/errors.js'
import { idToHex, type TaskId } from '../base/ids.js'
import type { LogFields, LogLevel } from '../base/logger.js'

/** What user code calls a logger with: anything. */
export interface LogWords {
  readonly text: unknown
  readonly fields: unknown
}

/** One line. In what a task writes, its id is the field `task`. */
export interface LogLine {
  readonly level: LogLevel
  readonly text: string
  readonly fields: LogFields
}

const LEVELS: ReadonlySet<unknown> = new Set<LogLevel>(['debug', 'info', 'warn', 'error'])

/** Longer ones are cut. */
const MAX_TEXT_LENGTH = 64 * 1024

/**
 * A line of a task as bytes. Tasks come with whatever they have: what is no text, number or boolean
 * becomes text or is left out.
 */
export function encodeLog(id: TaskId, level: LogLevel, { text, fields }: LogWords): Uint8Array {
  const all = { ...fieldsOf(fields), task: idToHex(id) }
  return encodeOwnLog({ level, text: textOf(text), fields: all })
}

/** A line of the processor itself as bytes. */
export function encodeOwnLog(line: LogLine): Uint8Array {
  return Buffer.from(JSON.stringify(line))
}

/** The line again. Throws `ProtocolError`. */
export function decodeLog(bytes: Buffer): LogLine {
  try {
    const line = JSON.parse(bytes.toString()) as Readonly<Record<keyof LogLine, unknown>>
    const { level, text, fields } = line
    if (LEVELS.has(level) && typeof text === 'string') {
      return { level: level as LogLevel, text, fields: fieldsOf(fields) }
    }
  } catch {
    // What is no JSON is no better than JSON of something else.
  }
  throw new ProtocolError('a processor has sent a log line that is none')
}

function fieldsOf(fields: unknown): LogFields {
  if (typeof fields !== 'object' || fields === null) return {}
  const known: Record<string, string | number | boolean> = {}
  for (const name of Object.keys(fields)) {
    const value = valueOf(fields, name)
    if (typeof value === 'number' || typeof value === 'boolean') known[name] = value
    else if (value !== undefined) known[name] = textOf(value)
  }
  return known
}

/** A logger throws nothing, whatever a getter does. */
function valueOf(fields: object, name: string): unknown {
  try {
    return (fields as Readonly<Record<string, unknown>>)[name]
  } catch {
    return '?'
  }
}

function textOf(value: unknown): string {
  try {
    return String(value).slice(0, MAX_TEXT_LENGTH)
  } catch {
    return '?'
  }
}
