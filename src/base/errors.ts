// Every error that users of the library can see. Each has a stable `code`; the class names follow
// those of the system that users know.

import type { WaitingReason } from './waiting-reason.js'

/** How many keys of a long cycle are printed at each end. */
const CYCLE_ENDS = 10

/** Ids and causes that errors carry. */
export interface ScalerErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown
}

/** Options of errors about something that waits. */
export interface WaitingErrorOptions extends ScalerErrorOptions {
  /** Why it waits, or has waited; undefined if unknown. */
  readonly reason?: WaitingReason | undefined
}

/** The base of all errors of this library. `code` is stable; `message` is one line for people. */
export class ScalerError extends Error {
  /** `'ERR_SCALER_…'`: stable across versions, for programs. */
  readonly code: string

  constructor(code: string, message: string, options?: ScalerErrorOptions) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    // From the code, not from the class: a minifier renames classes. Not enumerable, like a
    // built-in's.
    Object.defineProperty(this, 'name', { value: nameOf(code), configurable: true, writable: true })
  }
}

/** The names by code: each is needed for every error. */
const NAMES = new Map<string, string>()

/** `'ERR_SCALER_TASK_TIMEOUT'` -> `'TaskTimeoutError'`. */
function nameOf(code: string): string {
  const known = NAMES.get(code)
  if (known !== undefined) return known
  const words = code.replace('ERR_SCALER_', '').toLowerCase().split('_')
  const name = `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Error`
  NAMES.set(code, name)
  return name
}

/** The task was cancelled; `cause` is the reason that was given, if any. */
export class TaskCancelledError extends ScalerError {
  constructor(message = 'the task was cancelled', options?: ScalerErrorOptions) {
    super('ERR_SCALER_TASK_CANCELLED', message, options)
  }
}

/** The task ran longer than its `timeoutMs`. */
export class TaskTimeoutError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_TASK_TIMEOUT', message, options)
  }
}

/** The scheduler has no record of the task. */
export class TaskNotFoundError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_TASK_NOT_FOUND', message, options)
  }
}

/** The task was running on too many workers that died. */
export class WorkerDiedError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_WORKER_DIED', message, options)
  }
}

/** How a processor process died, and its last output. */
export interface ProcessorDeath {
  /** Exit code, or undefined when a signal ended it. */
  readonly exitCode?: number | undefined
  /** For example `'SIGKILL'`, or undefined when it exited on its own. */
  readonly signal?: string | undefined
  /** The last lines that it wrote to stderr, at most 4 KiB. */
  readonly stderr: string
}

/** The process that ran the task died: it crashed, called `process.exit()`, or was killed. */
export class ProcessorDiedError extends ScalerError {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined
  /** For example `'SIGKILL'`; undefined when it exited on its own. */
  readonly signal: string | undefined
  /** The last lines that it wrote to stderr, at most 4 KiB. */
  readonly stderr: string

  constructor(message: string, death: ProcessorDeath, options?: ScalerErrorOptions) {
    super('ERR_SCALER_PROCESSOR_DIED', message, options)
    this.exitCode = death.exitCode
    this.signal = death.signal
    this.stderr = death.stderr
  }
}

/** A 1.9.9 scheduler was configured not to queue more tasks, and no worker has room. */
export class NoWorkerError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_NO_WORKER', message, options)
  }
}

/** The scheduler could not be reached, or did not answer, for `timeoutMs`. */
export class DisconnectedError extends ScalerError {
  /** `'no-scheduler'` if it did not answer within the time limit; otherwise undefined. */
  readonly reason: WaitingReason | undefined

  constructor(message: string, options?: WaitingErrorOptions) {
    super('ERR_SCALER_DISCONNECTED', message, options)
    this.reason = options?.reason
  }
}

/** The cluster was shut down while the task was unfinished. */
export class ClientShutdownError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_CLIENT_SHUTDOWN', message, options)
  }
}

/** The client was closed before or during its use. */
export class ClientClosedError extends ScalerError {
  constructor(message = 'the client is closed', options?: ScalerErrorOptions) {
    super('ERR_SCALER_CLIENT_CLOSED', message, options)
  }
}

/** `Client.connect` got no answer from a scheduler: says what was tried and what was received. */
export class ConnectError extends ScalerError {
  /** `'no-scheduler'`, the same word as in warnings. */
  readonly reason: WaitingReason | undefined

  constructor(message: string, options?: WaitingErrorOptions) {
    super('ERR_SCALER_CONNECT', message, options)
    this.reason = options?.reason
  }
}

/** The scheduler is protected: a client may not shut the cluster down. */
export class ProtectedModeError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_PROTECTED_MODE', message, options)
  }
}

/**
 * The location of the problem in a value, outermost step first: `['argument 1', 'options',
 * 'callback']`.
 */
export interface SerializeErrorOptions extends ScalerErrorOptions {
  readonly path?: readonly string[]
}

/** A function or value cannot be sent. The message has the path to it, the reason, and a remedy. */
export class SerializeError extends ScalerError {
  /** The steps from the serialized value to the part that cannot be sent. */
  readonly path: readonly string[]

  constructor(message: string, options?: SerializeErrorOptions) {
    super('ERR_SCALER_SERIALIZE', message, options)
    this.path = options?.path ?? []
  }
}

/** Received bytes could not be turned into a value. */
export class DeserializeError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_DESERIALIZE', message, options)
  }
}

/** The task needs an object that the scheduler does not have, or no longer has. */
export class MissingObjectError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_MISSING_OBJECT', message, options)
  }
}

/** A client with objects that take up storage. */
export interface StorageOwner {
  /** Its id, as `client.info()` lists it. */
  readonly client: string
  /** Its name; '' if it has none. */
  readonly name: string
  /** The size of its objects, in bytes. */
  readonly bytes: number
}

/** Sizes are in bytes. */
export interface StorageFullOptions extends ScalerErrorOptions {
  /** The object that was not stored, as hexadecimal digits. */
  readonly objectId: string
  readonly sizeBytes: number
  readonly limitBytes: number
  readonly storedBytes: number
  readonly owners: readonly StorageOwner[]
}

/**
 * An argument or a result was not stored: the object storage of the scheduler is full, and so are
 * the object storage servers, if there are any.
 */
export class StorageFullError extends ScalerError {
  /** The object that was not stored, as hexadecimal digits. */
  readonly objectId: string
  /** The size of that object, in bytes. */
  readonly sizeBytes: number
  /** The limit that it would have exceeded, in bytes. */
  readonly limitBytes: number
  /** How much of this limit was in use, in bytes: without what is on object storage servers. */
  readonly storedBytes: number
  /**
   * The clients that use most of the storage, including object storage servers; at most five, the
   * largest first.
   */
  readonly owners: readonly StorageOwner[]

  constructor(message: string, options: StorageFullOptions) {
    super('ERR_SCALER_STORAGE_FULL', message, options)
    this.objectId = options.objectId
    this.sizeBytes = options.sizeBytes
    this.limitBytes = options.limitBytes
    this.storedBytes = options.storedBytes
    this.owners = options.owners
  }
}

/** A graph has no node with a key that was requested, or that another node needs. */
export class GraphKeyError extends ScalerError {
  /** The missing key. */
  readonly key: string
  /** The key of the node that needs it; undefined if it was requested. */
  readonly neededBy: string | undefined

  constructor(key: string, neededBy: string | undefined, options?: ScalerErrorOptions) {
    const why = neededBy === undefined ? 'was requested' : `the node ${quote(neededBy)} needs`
    super('ERR_SCALER_GRAPH_KEY', `the graph has no node ${quote(key)}, which ${why}`, options)
    this.key = key
    this.neededBy = neededBy
  }
}

/** The nodes of a graph depend on each other: none of them can be computed. */
export class GraphCycleError extends ScalerError {
  /** The keys of the nodes, each depending on the next; the last one equals the first. */
  readonly cycle: readonly string[]

  constructor(cycle: readonly string[], options?: ScalerErrorOptions) {
    const keys = shorten(cycle).join(' -> ')
    super('ERR_SCALER_GRAPH_CYCLE', `the graph has a cycle: ${keys}`, options)
    this.cycle = cycle
  }
}

/** An option, flag or address is wrong: the message names it, its value and what is allowed. */
export class ConfigError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_CONFIG', message, options)
  }
}

/** A peer sent what the protocol does not allow. */
export class ProtocolError extends ScalerError {
  constructor(message: string, options?: ScalerErrorOptions) {
    super('ERR_SCALER_PROTOCOL', message, options)
  }
}

/** A wait with a time limit ended without a result; the operation itself continues. */
export class TimeoutError extends ScalerError {
  /** Why it waits; undefined if it does not, or the reason is unknown. */
  readonly reason: WaitingReason | undefined

  constructor(message: string, options?: WaitingErrorOptions) {
    super('ERR_SCALER_TIMEOUT', message, options)
    this.reason = options?.reason
  }
}

function quote(key: string): string {
  return JSON.stringify(key)
}

/** The keys that are printed for a long cycle. */
function shorten(cycle: readonly string[]): readonly string[] {
  const left = cycle.length - 2 * CYCLE_ENDS
  if (left <= 1) return cycle
  return [...cycle.slice(0, CYCLE_ENDS), `… ${left} more …`, ...cycle.slice(-CYCLE_ENDS)]
}
