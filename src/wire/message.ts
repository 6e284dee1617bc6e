// Messages to bytes and back. The meaning of the messages and their encoding is in
// docs/protocol.md; the code for each struct is generated from the schemas. What byte strings in
// messages contain is in the other files of this folder.

import { NO_BYTES } from '../base/bytes.js'
import { identity, taskId } from '../base/ids.js'
import {
  measureMessage,
  readMessage,
  writeMessage,
  type ClientHeartbeat,
  type Message,
  type ObjectLoss,
  type SchedulerReport,
  type Task,
  type TaskResult,
  type WaitingTasks,
  type WorkerHeartbeat,
} from './generated/message.js'
import { MAX_DATA_BYTES, MIN_REFERENCED_BYTES } from './limits.js'
import { Reader } from './reader.js'
import { Writer } from './writer.js'

export type {
  ObjectContent,
  ObjectContentType,
  TaskCapability,
  TaskStatus,
  WaitReason,
} from './generated/common.js'
export type {
  BinderStatus,
  BinderStatusPair,
  ClientManagerStatus,
  ClientManagerStatusPair,
  ObjectManagerStatus,
  PeerInfo,
  ProcessorStatus,
  Resource,
  RunningTask,
  TaskManagerStatus,
  WorkerManagerStatus,
  WorkerStatus,
} from './generated/status.js'
export type {
  ArgumentType,
  AttemptOutcome,
  ClientDisconnect,
  ClientHeartbeat,
  ClientHeartbeatEcho,
  ClientReport,
  ClientShutdownResponse,
  DisconnectRequest,
  DisconnectResponse,
  DisconnectType,
  EndedCount,
  FunctionReport,
  GraphCounts,
  GraphEdge,
  GraphNodeReport,
  GraphNodeState,
  GraphReport,
  GraphTask,
  GraphTaskCancel,
  LineSource,
  LoggedLine,
  LossCause,
  LostWorker,
  Message,
  MonitorReport,
  MonitorRequest,
  MonitorState,
  NamedTask,
  NodeTaskType,
  ObjectFiles,
  ObjectInstruction,
  ObjectInstructionType,
  ObjectLoss,
  ObjectPlace,
  ObjectRequest,
  ObjectRequestType,
  ObjectResponse,
  ObjectResponseType,
  ObjectStory,
  OperatorAction,
  OperatorAnswer,
  OperatorOutcome,
  OperatorRequest,
  OutputPlace,
  OutputStream,
  PeerChange,
  ProcessorInitialized,
  SchedulerReport,
  SharedObject,
  SharedObjectType,
  StackFrame,
  StateBalanceAdvice,
  StateClient,
  StateGraphTask,
  StateObject,
  StateScheduler,
  StateTask,
  StateWorker,
  StorageServer,
  StorageServers,
  Task,
  TaskArgument,
  TaskAttempt,
  TaskCancel,
  TaskCancelFlags,
  TaskError,
  TaskEvent,
  TaskExplanation,
  TaskFailure,
  TaskInquiry,
  TaskOutput,
  TaskPast,
  TaskResult,
  TaskRoom,
  TaskStory,
  TaskUpdate,
  TaskUpdateType,
  AllocatorReport,
  AllocatorStatus,
  StorageServerStatus,
  WaitingCount,
  WaitingTasks,
  WorkerHeartbeat,
  WorkerHeartbeatEcho,
  WorkerReport,
} from './generated/message.js'

/** The type of a message: the value of `kind`. */
export type MessageKind = Message['kind']

/** Longer than any byte string: nothing is referenced. */
const REFERENCE_NOTHING = MAX_DATA_BYTES + 1

/**
 * The message in one frame. Its byte strings are views of `bytes`, which must not be changed from
 * then on, and which they keep in memory. Throws `ProtocolError`, and nothing else, for bytes that
 * are not a message (docs/protocol.md#encoding) or exceed a limit (docs/protocol.md#limits).
 */
export function decode(bytes: Uint8Array): Message {
  return readMessage(new Reader(bytes), bytes)
}

/**
 * The beginning of a message in one frame, whose last `missing` bytes are not there: its last byte
 * strings are cut, or empty. Throws `ProtocolError` if anything else is missing, or for what
 * `decode` refuses; `RangeError` if an id or a number is.
 */
export function decodeBeginning(bytes: Uint8Array, missing: number): Message {
  return readMessage(new Reader(bytes, missing), bytes)
}

/**
 * The message as one frame, owned by the caller; for a decoded message, the bytes it came from.
 * Numbers outside a field's range are clamped. Throws `ProtocolError` for what the format cannot
 * express: an unknown kind or enumerant, a byte string of 512 MiB or more.
 */
export function encode(message: Message): Uint8Array {
  return message.bytes ?? (write(message, REFERENCE_NOTHING) as Uint8Array)
}

/**
 * Like `encode`, but byte strings of 16 KiB and more are not copied: the pieces, in order, form the
 * frame, and some of them are the message's own byte strings.
 */
export function encodeFrame(message: Message): Uint8Array | readonly Uint8Array[] {
  return message.bytes ?? write(message, MIN_REFERENCED_BYTES)
}

function write(message: Message, referenceFrom: number): Uint8Array | readonly Uint8Array[] {
  const writer = new Writer(measureMessage(message, referenceFrom), referenceFrom)
  writeMessage(writer, message)
  return writer.finish()
}

/** An ObjectLoss without lists: what a client confirms one with. docs/protocol.md#servers */
export const NO_LOSS: ObjectLoss = {
  kind: 'objectLoss',
  objectIds: [],
  graphTaskIds: [],
  nodeTaskIds: [],
  results: [],
}

/** How many lost workers end a task that sets no limit: it runs again three times. */
const DEFAULT_DEATH_LIMIT = 4

/** How many lost workers, or lost results, end a task. docs/protocol.md#task-options */
export function deathLimitOf({ workerDeathLimit }: Pick<Task, 'workerDeathLimit'>): number {
  return workerDeathLimit === 0 ? DEFAULT_DEATH_LIMIT : workerDeathLimit
}

// The neutral values of fields that 1.9.9 does not have, for code that builds messages by hand. (A
// struct in which all of them are neutral is written exactly as 1.9.9 writes it.)

/** A task that uses nothing beyond 1.9.9. */
export const PLAIN_TASK: Pick<
  Task,
  | 'capabilities'
  | 'parentTaskId'
  | 'name'
  | 'timeoutMs'
  | 'retries'
  | 'workerDeathLimit'
  | 'attempt'
  | 'keepsResult'
  | 'mayHaveRun'
  | 'output'
  | 'outputClient'
  | 'traceContext'
  | 'count'
  | 'packed'
> = {
  capabilities: [],
  parentTaskId: taskId(''),
  name: '',
  timeoutMs: 0,
  retries: 0,
  workerDeathLimit: 0,
  attempt: 0,
  keepsResult: false,
  mayHaveRun: false,
  output: 'log',
  outputClient: identity(''),
  traceContext: '',
  count: 0,
  packed: NO_BYTES,
}

/** A result that reports nothing beyond 1.9.9. */
export const PLAIN_RESULT: Pick<
  TaskResult,
  | 'inlineResults'
  | 'worker'
  | 'failedTaskId'
  | 'attempt'
  | 'attempts'
  | 'error'
  | 'count'
  | 'packed'
  | 'isInFile'
> = {
  inlineResults: [],
  worker: identity(''),
  failedTaskId: taskId(''),
  attempt: 0,
  attempts: [],
  error: [],
  count: 0,
  packed: NO_BYTES,
  isInFile: false,
}

/** A heartbeat of a worker that holds nothing from before and is not leaving. */
export const PLAIN_HEARTBEAT: Pick<
  WorkerHeartbeat,
  'capabilities' | 'tasks' | 'isLeaving' | 'agentId' | 'info' | 'running' | 'concurrency' | 'pasts'
> = {
  capabilities: [],
  tasks: [],
  isLeaving: false,
  agentId: '',
  info: [],
  running: [],
  concurrency: 0,
  pasts: [],
}

/** A heartbeat of a client that is not in a task and requests nothing. */
export const PLAIN_CLIENT_HEARTBEAT: Pick<
  ClientHeartbeat,
  'worker' | 'wantsReport' | 'wantsPeers' | 'info'
> = {
  worker: identity(''),
  wantsReport: false,
  wantsPeers: false,
  info: [],
}

/** A report with numbers only. */
export const PLAIN_REPORT: Pick<
  SchedulerReport,
  'workerReports' | 'clientReports' | 'clients' | 'waiting' | 'freeBytes'
> = {
  workerReports: [],
  clientReports: [],
  clients: 0,
  waiting: [],
  freeBytes: 0,
}

/** Tasks that do not wait for a capability. */
export const PLAIN_WAITING: Pick<WaitingTasks, 'needs' | 'isDeadlocked'> = {
  needs: '',
  isDeadlocked: false,
}
