// What an agent and a processor say to each other. A frame is an encoded message of the protocol (a
// task, an object, a result), which passes as it is, or one of the control frames below, which are
// JSON, because there are few. How frames lie in a pipe is in pipe.ts.
//
//   agent ──── fd 3 ────► main thread    messages: tasks, objects, deletes
//                                        host, guard, units, stop, collect, end
//   agent ◄─── fd 5 ───── main thread    messages: ProcessorInitialized, results, updates, output
//                                        log, exitNote
//   agent ──── fd 4 ────► guardian       askStatus, retract, pulse, askStack
//   agent ◄─── fd 4 ───── guardian       status, retracted, pulse: one answer each, in order;
//                                        stack: some time later
//
// The guardian (guardian.ts) answers while user code keeps the main thread busy. Its pipe, the
// lifeline, closes when the agent dies. It is started with the first task: see `guard`.

import { ProtocolError } from '../../base/errors.js'
import { identity, type Identity, idToHex, taskId, type TaskId } from '../../base/ids.js'
import type { LogFields, LogLevel } from '../../base/logger.js'
import type { LastRun, RunStatus, StackReport, StopReason } from '../../core/worker/events.js'
import type { Units } from '../../core/worker/queue/units.js'

/** The processor reads frames of the agent from here. */
export const INBOX_FD = 3

/** The lifeline of the guardian. */
export const LIFELINE_FD = 4

/** The processor writes here. Separate from the inbox, so that it can block (see outbox.ts). */
export const OUTBOX_FD = 5

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

/** One line for the log of the worker. In lines of a task, the field `task` is its id. */
export interface LogLine {
  readonly level: LogLevel
  readonly text: string
  readonly fields: LogFields
}

/** What a processor can report about itself. */
export type ExitNote = Exclude<LastRun, 'unknown' | 'unread'>

/** A control frame from the agent. Tasks of `askStatus` and `retract` are dispatch numbers. */
export type AgentFrame =
  /** The first frame: its worker. A processor that was started in advance waits for it. */
  | { readonly type: 'host'; readonly facts: HostFacts }
  /** Start the guardian: tasks follow. An idle processor needs none, and saves its memory. */
  | { readonly type: 'guard' }
  /** The units of tasks that arrive with this number; replaces earlier ones. */
  | { readonly type: 'units'; readonly number: number; readonly units: Units }
  /** Stop consecutive tasks, or skip them. */
  | {
      readonly type: 'stop'
      readonly id: TaskId
      readonly count: number
      readonly reason: StopReason
    }
  /** Collect garbage if idle and if the process holds more memory than this. */
  | { readonly type: 'collect'; readonly aboveBytes: number }
  /** Exit. A pipe that closes without it means that the agent has died. */
  | { readonly type: 'end' }
  | { readonly type: 'askStatus'; readonly task: number; readonly count: number }
  /** Take back those of these tasks that have not started. */
  | { readonly type: 'retract'; readonly tasks: readonly number[] }
  /** Answer, to show that the process is not frozen. */
  | { readonly type: 'pulse' }
  /** Look at what the main thread is doing. */
  | { readonly type: 'askStack' }

/** A control frame from the processor. */
export type ProcessorFrame =
  | { readonly type: 'log'; readonly line: LogLine }
  /** The last frame: what it ran when it exited, so that its death can be attributed to a task. */
  | { readonly type: 'exitNote'; readonly note: ExitNote }
  | { readonly type: 'status'; readonly status: RunStatus }
  /** These tasks were taken back. */
  | { readonly type: 'retracted'; readonly tasks: readonly number[] }
  | { readonly type: 'pulse' }
  | { readonly type: 'stack'; readonly report: StackReport }
  /** Results of tasks before one that keeps the main thread busy. */
  | { readonly type: 'results'; readonly results: TakenResults }

/** Results of consecutive tasks that the guardian has taken. Bytes are base64. */
export interface TakenResults {
  readonly id: TaskId
  /** The place of the first result after that of the task with this id. */
  readonly from: number
  readonly attempt: number
  readonly count: number
  readonly packed: string
  readonly metadata: string
}

/** A longer control frame is refused. */
export const MAX_CONTROL_BYTES: number = 16 * 1024 ** 2

/** Numbers of units are smaller than this. */
export const MAX_UNIT_NUMBERS = 4096

/** Encodes a control frame. */
export function encodeControl(frame: AgentFrame | ProcessorFrame): Buffer {
  if (frame.type !== 'units') return Buffer.from(JSON.stringify(frame))
  // As a list, because a name may be `__proto__`.
  return Buffer.from(JSON.stringify({ ...frame, units: Object.entries(frame.units) }))
}

/** Decodes a control frame of an agent. Throws `ProtocolError`. */
export function decodeAgentFrame(bytes: Buffer): AgentFrame {
  return decode(bytes.toString(), AGENT_FRAMES)
}

/** Decodes a control frame of a processor. Throws `ProtocolError`. */
export function decodeProcessorFrame(bytes: Buffer): ProcessorFrame {
  return decode(bytes.toString(), PROCESSOR_FRAMES)
}

type Fields = Readonly<Record<string, unknown>>

/** One reader per type, which returns undefined for wrong content. */
type Readers<Frame extends { readonly type: string }> = {
  readonly [Type in Frame['type']]: (
    fields: Fields,
  ) => Extract<Frame, { readonly type: Type }> | undefined
}

function decode<Frame extends { readonly type: string }>(
  text: string,
  readers: Readers<Frame>,
): Frame {
  const fields = fieldsIn(text)
  const type = fields['type']
  const isKnown = typeof type === 'string' && Object.hasOwn(readers, type)
  if (!isKnown) throw new ProtocolError('a control frame of an unknown type')
  const frame = readers[type as Frame['type']](fields)
  if (frame === undefined) throw new ProtocolError(`an invalid control frame of type ${type}`)
  return frame
}

function fieldsIn(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Fields
  } catch {
    // Handled like JSON of another kind.
  }
  throw new ProtocolError('a control frame that is not a JSON object')
}

const AGENT_FRAMES: Readers<AgentFrame> = {
  host: ({ facts }) => {
    const { address, worker, inlineLimitBytes, taskTimeoutMs } = (facts ?? {}) as Fields
    if (typeof address !== 'string' || !isId(worker)) return undefined
    if (typeof inlineLimitBytes !== 'number' || typeof taskTimeoutMs !== 'number') return undefined
    const host = { address, worker: identity(worker), inlineLimitBytes, taskTimeoutMs }
    return { type: 'host', facts: host }
  },
  guard: () => ({ type: 'guard' }),
  units: ({ number, units: entries }) => {
    if (!isCount(number) || number >= MAX_UNIT_NUMBERS) return undefined
    if (!Array.isArray(entries) || !entries.every(isUnitsEntry)) return undefined
    const units: Record<string, readonly number[]> = {}
    for (const [name, numbers] of entries) {
      const value = Object.freeze(numbers)
      Object.defineProperty(units, name, { value, enumerable: true })
    }
    return { type: 'units', number, units: Object.freeze(units) }
  },
  stop: ({ id, count, reason }) => {
    if (!isId(id) || !isCount(count) || !STOP_REASONS.has(reason)) return undefined
    return { type: 'stop', id: taskId(id), count, reason: reason as StopReason }
  },
  collect: ({ aboveBytes }) => (isCount(aboveBytes) ? { type: 'collect', aboveBytes } : undefined),
  end: () => ({ type: 'end' }),
  askStatus: ({ task, count }) =>
    isCount(task) && isCount(count) ? { type: 'askStatus', task, count } : undefined,
  retract: ({ tasks }) => (areCounts(tasks) ? { type: 'retract', tasks } : undefined),
  pulse: () => ({ type: 'pulse' }),
  askStack: () => ({ type: 'askStack' }),
}

const PROCESSOR_FRAMES: Readers<ProcessorFrame> = {
  log: ({ line }) => {
    const { level, text, fields } = (line ?? {}) as Fields
    if (!LEVELS.has(level) || typeof text !== 'string') return undefined
    return { type: 'log', line: { level: level as LogLevel, text, fields: logFields(fields) } }
  },
  exitNote: ({ note }) => {
    if (note === 'nothing' || note === 'retired' || note === 'unusable')
      return { type: 'exitNote', note }
    const { taskIds } = (note ?? {}) as Fields
    if (!Array.isArray(taskIds) || taskIds.length === 0 || !taskIds.every(isId)) return undefined
    return { type: 'exitNote', note: exitNoteOf(taskIds.map(taskId)) }
  },
  status: ({ status }) => (isStatus(status) ? { type: 'status', status } : undefined),
  retracted: ({ tasks }) => (areCounts(tasks) ? { type: 'retracted', tasks } : undefined),
  pulse: () => ({ type: 'pulse' }),
  stack: ({ report }) => (isStackReport(report) ? { type: 'stack', report } : undefined),
  results: ({ results }) => (areResults(results) ? { type: 'results', results } : undefined),
}

const STOP_REASONS: ReadonlySet<unknown> = new Set<StopReason>(['cancelled', 'timedOut', 'givenUp'])
const LEVELS: ReadonlySet<unknown> = new Set<LogLevel>(['debug', 'info', 'warn', 'error'])

/** One character per byte. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && !/[^\0-\xff]/.test(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function areCounts(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(isCount)
}

function isStatus(value: unknown): value is RunStatus {
  const { dispatchNumber, taskNumber, runningMs, ...flags } = (value ?? {}) as Fields
  const { isStarted, isListening, isAlone, hasGivenUp } = flags
  const areFlags = [isStarted, isListening, isAlone, hasGivenUp].every(
    (flag) => typeof flag === 'boolean',
  )
  return isCount(dispatchNumber) && isCount(taskNumber) && isCount(runningMs) && areFlags
}

function areResults(value: unknown): value is TakenResults {
  const { id, from, attempt, count, packed, metadata } = (value ?? {}) as Fields
  const isPlain = isId(id) && typeof packed === 'string' && typeof metadata === 'string'
  return isPlain && isCount(from) && isCount(attempt) && isCount(count) && count > 0
}

const STACK_OUTCOMES: ReadonlySet<unknown> = new Set<StackReport['outcome']>([
  'running',
  'idle',
  'blocked',
  'failed',
])

function isStackReport(value: unknown): value is StackReport {
  const { outcome, stack, reason } = (value ?? {}) as Fields
  const isPlain = STACK_OUTCOMES.has(outcome) && typeof reason === 'string'
  return isPlain && Array.isArray(stack) && stack.every(isStackFrame)
}

function isStackFrame(value: unknown): boolean {
  const { function: name, file, line, column } = (value ?? {}) as Fields
  return typeof name === 'string' && typeof file === 'string' && isCount(line) && isCount(column)
}

function isUnitsEntry(entry: unknown): entry is [string, number[]] {
  if (!Array.isArray(entry) || entry.length !== 2) return false
  const [name, numbers] = entry as [unknown, unknown]
  return typeof name === 'string' && areCounts(numbers)
}

// Exit notes and log lines, as user code leaves them.

/** An exit note names at most this many tasks. */
const MAX_TASKS = 1_000

/** The note of a processor that exits because of one of these tasks. */
export function exitNoteOf(ids: readonly TaskId[]): ExitNote {
  const [first, ...others] = ids
  return first === undefined ? 'nothing' : { taskIds: [first, ...others.slice(0, MAX_TASKS - 1)] }
}

/** The arguments of a logger call in user code: anything. */
export interface LogWords {
  readonly text: unknown
  readonly fields: unknown
}

/** Longer texts are cut. */
const MAX_TEXT_LENGTH = 64 * 1024
/** Fields beyond this many characters are left out, so that a frame stays below its limit. */
const MAX_FIELDS_LENGTH = 2 * 1024 ** 2

/**
 * A line of a task. Values in it that are not text, a number or a boolean become text or are left
 * out.
 */
export function logLineOf(id: TaskId, level: LogLevel, { text, fields }: LogWords): LogLine {
  return { level, text: textOf(text), fields: { ...logFields(fields), task: idToHex(id) } }
}

function logFields(fields: unknown): LogFields {
  if (typeof fields !== 'object' || fields === null) return {}
  const known: Record<string, string | number | boolean> = {}
  let length = 0
  for (const name of Object.keys(fields)) {
    const value = valueOf(fields, name)
    if (value === undefined) continue
    const isPlain = typeof value === 'number' || typeof value === 'boolean'
    const shown = isPlain ? value : textOf(value)
    length += name.length + String(shown).length
    if (length > MAX_FIELDS_LENGTH) break
    known[name] = shown
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
