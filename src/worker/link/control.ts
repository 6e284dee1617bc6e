// The control frames between an agent and its processor. First, a log line of a task for the logger
// of its worker: JSON, because there are few.

import { latin1Slice, latin1ToBytes } from '../../base/bytes.js'
import { ProtocolError } from '../../base/errors.js'
import { identity, type Identity, idToHex, taskId, type TaskId } from '../../base/ids.js'
import type { LogFields, LogLevel } from '../../base/logger.js'
import type { LastRun, StopReason } from '../../core/worker/events.js'
import type { Units } from '../../core/worker/queue/units.js'

// The frame with the units of the next task: JSON.

/** How many different units are cached: most tasks have the same as others. */
const MAX_KNOWN = 1000

const encoded = new WeakMap<Units, Uint8Array>()
const decoded = new Map<string, Units>()

/** Encodes units. */
export function encodeUnits(units: Units): Uint8Array {
  const known = encoded.get(units)
  if (known !== undefined) return known
  const bytes = Buffer.from(JSON.stringify(Object.entries(units)))
  encoded.set(units, bytes)
  return bytes
}

/** Decodes units. Throws `ProtocolError`. */
export function decodeUnits(bytes: Buffer): Units {
  const text = bytes.toString()
  const known = decoded.get(text)
  if (known !== undefined) return known
  const units = parseUnits(text)
  if (decoded.size >= MAX_KNOWN) decoded.clear()
  decoded.set(text, units)
  return units
}

function parseUnits(text: string): Units {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch (error) {
    throw new ProtocolError('units that are not JSON', { cause: error })
  }
  if (!Array.isArray(entries) || !entries.every(isEntry)) throw new ProtocolError('wrong units')
  const units: Record<string, readonly number[]> = {}
  for (const [name, numbers] of entries) {
    // A name may be `__proto__`.
    const value = Object.freeze(numbers)
    Object.defineProperty(units, name, { value, enumerable: true })
  }
  return Object.freeze(units)
}

function isEntry(entry: unknown): entry is [string, number[]] {
  if (!Array.isArray(entry) || entry.length !== 2) return false
  const [name, numbers] = entry as [unknown, unknown]
  return typeof name === 'string' && Array.isArray(numbers) && numbers.every(Number.isInteger)
}

// The frame that has an idle processor collect garbage, if it holds more memory than this many
// bytes (6 bytes, little-endian).

const NUMBER_BYTES = 6

/** Encodes the order. */
export function encodeCollect(aboveBytes: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES)
  bytes.writeUIntLE(aboveBytes, 0, NUMBER_BYTES)
  return bytes
}

/** Decodes the order. Throws `ProtocolError`. */
export function decodeCollect(bytes: Buffer): number {
  if (bytes.length === NUMBER_BYTES) return bytes.readUIntLE(0, NUMBER_BYTES)
  throw new ProtocolError(`an order to collect garbage of ${bytes.length} bytes`)
}

// The exit note of a processor that exits on its own: which task it ran. Without it, the agent
// could not attribute the death to a task.

/** What a processor can report about itself. */
export type ExitNote = Exclude<LastRun, 'unknown'>

const NOTHING = 0
const TASKS = 1
const RETIRED = 2

/** At most this many tasks are named. */
const MAX_TASKS = 1_000

/** The note of a processor that exits because of one of these tasks. */
export function exitNoteOf(ids: readonly TaskId[]): ExitNote {
  const [first, ...others] = ids
  return first === undefined ? 'nothing' : { taskIds: [first, ...others.slice(0, MAX_TASKS - 1)] }
}

/** Encodes a note: its kind, then each id after its length. */
export function encodeExitNote(note: ExitNote): Uint8Array {
  if (note === 'nothing') return Uint8Array.of(NOTHING)
  if (note === 'retired') return Uint8Array.of(RETIRED)
  const pieces = note.taskIds.flatMap((id) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(id.length, 0)
    return [length, latin1ToBytes(id)]
  })
  return Buffer.concat([Uint8Array.of(TASKS), ...pieces])
}

/** Decodes a note. An invalid one is `unknown`. */
export function decodeExitNote(bytes: Buffer): LastRun {
  if (bytes.length === 1 && bytes[0] === NOTHING) return 'nothing'
  if (bytes.length === 1 && bytes[0] === RETIRED) return 'retired'
  if (bytes[0] !== TASKS) return 'unknown'
  const ids: TaskId[] = []
  let at = 1
  while (at + 4 <= bytes.length) {
    const end = at + 4 + bytes.readUInt32LE(at)
    if (end > bytes.length) return 'unknown'
    ids.push(taskId(latin1Slice(bytes, at + 4, end)))
    at = end
  }
  const [first, ...others] = ids
  return first === undefined || at !== bytes.length ? 'unknown' : { taskIds: [first, ...others] }
}

// The first frame that a processor receives: its worker. One that was started in advance does not
// know it before.

/** What a processor needs to know about its worker. */
export interface HostFacts {
  /** The address of the worker's scheduler. */
  readonly address: string
  readonly worker: Identity
  /** Longer results become objects, in bytes. */
  readonly inlineLimitBytes: number
  /** The worker's time limit for each task, in milliseconds; 0 = none. */
  readonly taskTimeoutMs: number
}

/** Encodes the facts. */
export function encodeHost(facts: HostFacts): Uint8Array {
  return Buffer.from(JSON.stringify(facts))
}

/** Decodes the facts. Throws `ProtocolError`. */
export function decodeHost(bytes: Buffer): HostFacts {
  try {
    const facts = JSON.parse(bytes.toString()) as Readonly<Record<keyof HostFacts, unknown>>
    const { address, worker, inlineLimitBytes, taskTimeoutMs } = facts
    if (typeof address === 'string' && typeof worker === 'string') {
      if (typeof inlineLimitBytes === 'number' && typeof taskTimeoutMs === 'number') {
        return { address, worker: identity(worker), inlineLimitBytes, taskTimeoutMs }
      }
    }
  } catch {
    // Invalid JSON is treated like JSON with wrong content.
  }
  throw new ProtocolError('invalid facts about the worker')
}

/** The arguments of a logger call in user code: anything. */
export interface LogWords {
  readonly text: unknown
  readonly fields: unknown
}

/** One line. In lines of a task, the field `task` is its id. */
export interface LogLine {
  readonly level: LogLevel
  readonly text: string
  readonly fields: LogFields
}

const LEVELS: ReadonlySet<unknown> = new Set<LogLevel>(['debug', 'info', 'warn', 'error'])

/** Longer texts are cut. */
const MAX_TEXT_LENGTH = 64 * 1024

/**
 * Encodes a line of a task. Values in it that are not text, a number or a boolean become text or
 * are left out.
 */
export function encodeLog(id: TaskId, level: LogLevel, { text, fields }: LogWords): Uint8Array {
  const all = { ...fieldsOf(fields), task: idToHex(id) }
  return encodeOwnLog({ level, text: textOf(text), fields: all })
}

/** Encodes a line of the processor itself. */
export function encodeOwnLog(line: LogLine): Uint8Array {
  return Buffer.from(JSON.stringify(line))
}

/** Decodes a line. Throws `ProtocolError`. */
export function decodeLog(bytes: Buffer): LogLine {
  try {
    const line = JSON.parse(bytes.toString()) as Readonly<Record<keyof LogLine, unknown>>
    const { level, text, fields } = line
    if (LEVELS.has(level) && typeof text === 'string') {
      return { level: level as LogLevel, text, fields: fieldsOf(fields) }
    }
  } catch {
    // Invalid JSON is treated like JSON with wrong content.
  }
  throw new ProtocolError('an invalid log line from a processor')
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

/** Reads a field. A logger must not throw, even if a getter does. */
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

// The frame that orders a processor to stop a task: the reason (1 byte), then the task's id.

const REASONS: readonly StopReason[] = ['cancelled', 'timedOut', 'givenUp']

/** An order to stop a task. */
export interface StopOrder {
  readonly id: TaskId
  readonly reason: StopReason
}

/** Encodes the order. */
export function encodeStop({ id, reason }: StopOrder): Uint8Array {
  return Buffer.concat([Uint8Array.of(REASONS.indexOf(reason)), latin1ToBytes(id)])
}

/** Decodes the order. Throws `ProtocolError`. */
export function decodeStop(bytes: Buffer): StopOrder {
  const reason = REASONS[bytes[0] ?? REASONS.length]
  if (reason === undefined) throw new ProtocolError('an order to stop a task, of unknown reason')
  return { id: taskId(latin1Slice(bytes, 1, bytes.length)), reason }
}
