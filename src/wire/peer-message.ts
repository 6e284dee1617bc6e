// Messages for authors of other peers (`scaler-ts/protocol`): plain values that can be compared,
// copied and changed. Fields beyond 1.9.9 may be omitted. Internally, message.ts does the same
// without checks and copies.

import { AssertionError } from '../base/assert.js'
import { ProtocolError } from '../base/errors.js'
import { schedulerId } from '../base/ids.js'
import {
  decode as decodeMessage,
  encode as encodeMessage,
  encodeFrame as encodeMessageFrame,
  type Message,
  PLAIN_CLIENT_HEARTBEAT,
  PLAIN_HEARTBEAT,
  PLAIN_REPORT,
  PLAIN_RESULT,
  PLAIN_TASK,
  PLAIN_WAITING,
  type SchedulerReport,
  type WaitingTasks,
} from './message.js'

/** The fields that 1.9.9 does not have. */
interface ExtensionFields {
  readonly task: keyof typeof PLAIN_TASK
  readonly taskCancel: 'count'
  readonly taskResult: keyof typeof PLAIN_RESULT
  readonly graphTask: 'isOpen'
  readonly workerHeartbeat: keyof typeof PLAIN_HEARTBEAT | 'features' | 'runtime'
  readonly workerHeartbeatEcho: 'schedulerId' | 'features'
  readonly clientHeartbeat: keyof typeof PLAIN_CLIENT_HEARTBEAT | 'features' | 'runtime'
  readonly clientHeartbeatEcho: 'schedulerId' | 'features' | 'reports' | 'waiting'
}

type Extended = keyof ExtensionFields
type MessageOf<K extends Message['kind']> = Extract<Message, { readonly kind: K }>
type ExtensionsOf<K extends Extended> = Pick<MessageOf<K>, ExtensionFields[K] & keyof MessageOf<K>>

/** Their neutral values. */
const EXTENSIONS: { readonly [K in Extended]: ExtensionsOf<K> } = {
  task: PLAIN_TASK,
  taskCancel: { count: 0 },
  taskResult: PLAIN_RESULT,
  graphTask: { isOpen: false },
  workerHeartbeat: { ...PLAIN_HEARTBEAT, features: 0, runtime: '' },
  workerHeartbeatEcho: { schedulerId: schedulerId(''), features: 0 },
  clientHeartbeat: { ...PLAIN_CLIENT_HEARTBEAT, features: 0, runtime: '' },
  clientHeartbeatEcho: { schedulerId: schedulerId(''), features: 0, reports: [], waiting: [] },
}

type Outgoing<K extends Message['kind']> = K extends Extended
  ? Omit<MessageOf<K>, ExtensionFields[K] | 'bytes'> & Partial<ExtensionsOf<K>>
  : Omit<MessageOf<K>, 'bytes'>

/** A node of a graph to be encoded. */
export type OutgoingTask = Outgoing<'task'>

/** A graph to be encoded. */
export type OutgoingGraphTask = Omit<Outgoing<'graphTask'>, 'graph'> & {
  readonly graph: readonly OutgoingTask[]
}

/** A report to be encoded: fields added by later versions may be omitted. */
type OutgoingReport = Omit<SchedulerReport, keyof typeof PLAIN_REPORT> &
  Partial<typeof PLAIN_REPORT>

/** Why tasks wait, to be encoded: fields added by later versions may be omitted. */
type OutgoingWaitingTasks = Omit<WaitingTasks, keyof typeof PLAIN_WAITING> &
  Partial<typeof PLAIN_WAITING>

/** An answer to a client's heartbeat, to be encoded. */
type OutgoingClientEcho = Omit<Outgoing<'clientHeartbeatEcho'>, 'reports' | 'waiting'> & {
  readonly reports?: readonly OutgoingReport[]
  readonly waiting?: readonly OutgoingWaitingTasks[]
}

/** Messages with nested structs whose fields may also be omitted. */
interface Nested {
  readonly graphTask: OutgoingGraphTask
  readonly clientHeartbeatEcho: OutgoingClientEcho
}

/** A message to be encoded: fields that 1.9.9 does not have may be omitted. */
export type OutgoingMessage = {
  [K in Message['kind']]: K extends keyof Nested ? Nested[K] : Outgoing<K>
}[Message['kind']]

/**
 * The message in one frame. Its byte strings are views of `bytes`, which must not be changed from
 * then on, and which they keep in memory. Throws `ProtocolError`, and nothing else, for anything
 * that is not a message (docs/protocol.md#encoding) or exceeds a limit (docs/protocol.md#limits).
 */
export function decode(bytes: Uint8Array): Message {
  // Callers without types may pass anything.
  if (!((bytes as unknown) instanceof Uint8Array)) {
    throw new ProtocolError('a frame must be a Uint8Array')
  }
  const { bytes: _frame, ...message } = decodeMessage(bytes)
  return plain(message) as Message
}

/**
 * The message as one frame, owned by the caller. Numbers outside a field's range are clamped.
 * Throws `ProtocolError` for what the format cannot express: an unknown kind or enumerant, a byte
 * string of 512 MiB or more, a field that is missing or has the wrong type.
 */
export function encode(message: OutgoingMessage): Uint8Array {
  return plainBytes(checked(message, encodeMessage))
}

/**
 * Like `encode`, but byte strings of 16 KiB and more are not copied: the pieces, in order, form the
 * frame, and some of them are the message's own byte strings.
 */
export function encodeFrame(message: OutgoingMessage): Uint8Array | readonly Uint8Array[] {
  return checked(message, encodeMessageFrame)
}

function checked<T>(outgoing: OutgoingMessage, write: (message: Message) => T): T {
  if (typeof outgoing !== 'object' || (outgoing as unknown) === null) {
    throw new ProtocolError('a message must be an object')
  }
  const message = completed(outgoing)
  try {
    return write(message)
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof AssertionError)) throw error
    const field = missingField(message, write)
    const what = field === undefined ? error.message : `${field} is missing or has the wrong type`
    throw new ProtocolError(`a ${message.kind} message: ${what}`, { cause: error })
  }
}

/** With all fields, and without the frame of a decoded message. */
function completed(outgoing: OutgoingMessage): Message {
  const defaults = EXTENSIONS[outgoing.kind as Extended] as object | undefined
  const message = { ...defaults, ...outgoing, bytes: undefined } as unknown as Message
  if (message.kind === 'graphTask') {
    return { ...message, graph: eachCompleted(message.graph, PLAIN_TASK) }
  }
  if (message.kind !== 'clientHeartbeatEcho') return message
  const { reports, waiting } = message
  return {
    ...message,
    reports: eachCompleted(reports, PLAIN_REPORT),
    waiting: eachCompleted(waiting, PLAIN_WAITING),
  }
}

/** A value that is not a list is reported when it is written. */
function eachCompleted<T extends object>(list: readonly T[], defaults: Partial<T>): readonly T[] {
  return Array.isArray(list) ? list.map((each: T) => ({ ...defaults, ...each })) : list
}

/** The last field read before writing failed, as a path. */
function missingField(message: Message, write: (message: Message) => unknown): string | undefined {
  let last: string | undefined
  const watched = (object: object, path: string): unknown =>
    new Proxy(object, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key)
        if (typeof key === 'symbol' || key === 'bytes') return value
        const place = path === '' ? key : `${path}.${key}`
        if (key !== 'length') last = place
        return isStruct(value) ? watched(value, place) : value
      },
    })
  try {
    write(watched(message, '') as Message)
  } catch {
    return last
  }
  return undefined
}

function isStruct(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
}

/** The same, with byte strings as plain `Uint8Array`s. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return plainBytes(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]))
}

function plainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
