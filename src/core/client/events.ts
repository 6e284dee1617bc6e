// The events, actions and options of the client's core.

import {
  type Identity,
  objectId,
  type ObjectId,
  type SchedulerId,
  type TaskId,
} from '../../base/ids.js'
import type { LogAction, Turn } from '../../base/machine.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type {
  ClientHeartbeatEcho,
  Message,
  OutputPlace,
  TaskAttempt,
  TaskCapability,
  TaskExplanation,
  TaskOutput,
} from '../../wire/message.js'
import type { GraphNodes } from './graph/nodes.js'

/** Settings of one client's core; times in milliseconds, sizes in bytes. */
export interface ClientCoreOptions {
  readonly identity: Identity
  /** Whether each step of each task is logged. Default: false. */
  readonly logsTasks?: boolean
  /** The client's serializer, which is sent to the scheduler before anything that needs it. */
  readonly serializer: StoredValue
  /** Unfinished tasks are given up when no message has come from the scheduler for this time. */
  readonly timeoutMs: number
  readonly heartbeatIntervalMs: number
  /** Serialized arguments up to this size travel inside the Task message. */
  readonly inlineLimitBytes: number
  /** False: the client ends when it first loses its connection. */
  readonly reconnect: boolean
  /** The id under which a content is stored. Must be a pure function of the content. */
  readonly objectIdOf: (content: Uint8Array) => ObjectId
  /**
   * The packed values of one task (docs/protocol.md#runs), each serialized by itself. Must be a
   * pure function of the bytes. Undefined: nothing packed is submitted.
   */
  readonly serializedValues?: ((packed: Uint8Array) => readonly Uint8Array[]) | undefined
}

/** A task that has not ended, as its owner sees it. */
export interface UnfinishedTask<Owner> {
  /** The id of the first of `count` consecutive tasks. */
  readonly taskId: TaskId
  readonly count: number
  readonly owner: Owner
}

/** Facts. Messages have been decoded, and thereby checked, before they arrive here. */
export type ClientEvent<Owner> =
  /** A connection has been established, including its handshake. */
  | { readonly type: 'connected' }
  /** A connection attempt failed; the transport keeps trying. */
  | { readonly type: 'connectFailed'; readonly reason: string }
  /** The connection ended; the transport reconnects. */
  | { readonly type: 'disconnected'; readonly reason: string }
  | { readonly type: 'messageReceived'; readonly message: Message }
  /** Part of a long message has arrived or left: the peer is alive. Reported at intervals. */
  | { readonly type: 'progressed' }
  /** The answer to `requestFlush`: the transport has room. */
  | { readonly type: 'writable' }
  | { readonly type: 'taskSubmitted'; readonly task: TaskSubmission<Owner> }
  | { readonly type: 'graphSubmitted'; readonly graph: GraphSubmission<Owner> }
  | { readonly type: 'cancelRequested'; readonly taskId: TaskId; readonly count?: number }
  | { readonly type: 'graphCancelRequested'; readonly graphId: TaskId }
  /** A result that is kept in the cluster is requested: it is fetched for this owner. */
  | { readonly type: 'resultRequested'; readonly taskId: TaskId; readonly owner: Owner }
  /** A result stays in the cluster for now: events about it are reported to this owner. */
  | { readonly type: 'resultLeft'; readonly taskId: TaskId; readonly owner: Owner }
  /** A result that is kept in the cluster will never be requested. */
  | { readonly type: 'resultDropped'; readonly taskId: TaskId }
  /**
   * An object is kept in the cluster, used or not, until it has been unpinned as often as pinned.
   */
  | {
      readonly type: 'objectPinned'
      readonly value: StoredValue
      /** Other clients can find it by this name. */
      readonly sharedAs?: string | undefined
      /** All workers fetch it in advance. Default: false. */
      readonly isReplicated?: boolean
    }
  | { readonly type: 'objectUnpinned'; readonly id: ObjectId }
  /** Answered with `answerShared`. An object that was found is pinned once more. */
  | { readonly type: 'sharedCalled'; readonly call: SharedCall }
  /** The state of a task is requested: answered with `explainTask`. */
  | { readonly type: 'explanationRequested'; readonly taskId: TaskId }
  /** The scheduler must answer a heartbeat now, because it will request a report. */
  | { readonly type: 'reportRequested' }
  /** A caller waits for the scheduler to answer for the first time. */
  | { readonly type: 'answerRequested' }
  | { readonly type: 'clearRequested' }
  | { readonly type: 'shutdownRequested' }
  | { readonly type: 'closeRequested' }
  /** The answer to `closeLink`. */
  | { readonly type: 'linkClosed' }
  | { readonly type: 'tick' }

/**
 * Why a task ended without a result. `cancelled`: by the user of this client. `dropped`: cancelled
 * by the scheduler. `disconnected`: the scheduler was given up. `closed`: this client was closed.
 * `cleared`: everything of this client was cancelled and deleted. `shutDown`: this client has shut
 * down the cluster.
 */
export type TaskEndReason =
  | 'cancelled'
  | 'cleared'
  | 'shutDown'
  | 'dropped'
  | 'notFound'
  | 'workerDied'
  | 'noWorker'
  | 'missingObject'
  | 'malformed'
  | 'disconnected'
  | 'closed'

/** A warning that tasks wait, and why. */
export interface WaitingWarning {
  readonly reason: WaitingReason
  /** The number of waiting tasks; 0 = a caller waits for the scheduler itself. */
  readonly tasks: number
  /** How long the reason has applied, in milliseconds. */
  readonly forMs: number
  /** Why the last connection or connection attempt ended; '' if unknown. */
  readonly detail: string
}

/** What the shell must do. */
export type ClientAction<Owner> =
  | { readonly type: 'send'; readonly message: Message }
  /** Send a ClientHeartbeat with this latency; the shell fills in the rest. */
  | { readonly type: 'sendHeartbeat'; readonly latencyUS: number }
  /**
   * Answer with `writable`, when the transport has room: `soon`, at the end of this turn
   * (everything sent until then leaves together), or in the next turn.
   */
  | { readonly type: 'requestFlush'; readonly when: 'soon' | 'nextTurn' }
  /** The file that this chunk names is not needed any more. */
  | { readonly type: 'releaseFile'; readonly chunk: Uint8Array }
  /** The scheduler has answered on a new connection. */
  | { readonly type: 'announceOpen'; readonly schedulerId: SchedulerId }
  /** The scheduler has reported how many workers can run tasks of this client. */
  | { readonly type: 'reportWorkers'; readonly count: number }
  /** The task returned (the payload is its value) or threw (the payload is an error). */
  | {
      readonly type: 'finishTask'
      readonly owner: Owner
      readonly taskId: TaskId
      readonly isSuccess: boolean
      /** A view that is valid only during the call. */
      readonly payload: Uint8Array
      /** The profile (docs/protocol.md#profile-result), or nothing. Valid only during the call. */
      readonly metadata: Uint8Array
      /** The worker that ran it; '' = unknown. */
      readonly worker: Identity
      /** The task that failed, if this one needed its result. */
      readonly failedTaskId: TaskId | undefined
    }
  /** `count` consecutive tasks have returned: `packed` has their values, in order. */
  | {
      readonly type: 'finishRun'
      readonly owner: Owner
      readonly taskId: TaskId
      readonly count: number
      /** Checked by `layoutOf`. A view that is valid only during the call. */
      readonly packed: Uint8Array
      /** The profiles of all, or nothing. Valid only during the call. */
      readonly metadata: Uint8Array
      readonly worker: Identity
    }
  /** `count` consecutive tasks ended in another way. `detail` is text for the user, possibly ''. */
  | {
      readonly type: 'endTask'
      readonly owner: Owner
      readonly taskId: TaskId
      readonly count: number
      readonly reason: TaskEndReason
      readonly detail: string
      /** The task that ended in this way, if this one needed its result. */
      readonly failedTaskId: TaskId | undefined
    }
  /**
   * The task returned; its value is kept in the cluster. Answer with `resultRequested`,
   * `resultLeft` or `resultDropped`.
   */
  | {
      readonly type: 'offerResult'
      readonly owner: Owner
      readonly taskId: TaskId
      readonly metadata: Uint8Array
      readonly worker: Identity
    }
  /**
   * Tasks have waited for long, and the user should know the reason: once per period of waiting.
   */
  | { readonly type: 'warnWaiting'; readonly warning: WaitingWarning }
  /** The task reports its progress: `done` of `total`, 0 = unknown. */
  | {
      readonly type: 'reportProgress'
      readonly owner: Owner
      readonly taskId: TaskId
      readonly done: number
      readonly total: number
    }
  /**
   * The answer to `explanationRequested`; undefined if no scheduler can give one. Once per task,
   * even if it was requested several times meanwhile.
   */
  | {
      readonly type: 'explainTask'
      readonly taskId: TaskId
      readonly explanation: TaskExplanation | undefined
    }
  /** The answer to `sharedCalled`. */
  | { readonly type: 'answerShared'; readonly ticket: number; readonly answer: SharedAnswer }
  /**
   * A running task is about to be cancelled: the next `explainTask` for it lists the workers that
   * had it.
   */
  | { readonly type: 'requestAttempts'; readonly taskId: TaskId; readonly owner: Owner }
  /** The task ran before, on the workers listed; its end follows. */
  | {
      readonly type: 'reportAttempts'
      readonly owner: Owner
      readonly taskId: TaskId
      readonly attempts: readonly TaskAttempt[]
    }
  /** A task has printed something. The bytes are valid only during the call. */
  | { readonly type: 'printOutput'; readonly output: TaskOutput }
  /** The ends of outputs that have begun may never be reported. */
  | { readonly type: 'endOutput' }
  /**
   * The answer to `shutdownRequested`. `unreachable`: there was no answer, and `detail` says why.
   * Unless it was accepted, this client continues.
   */
  | {
      readonly type: 'answerShutdown'
      readonly answer: 'accepted' | 'refused' | 'unreachable' | 'closed'
      readonly detail: string
    }
  | LogAction
  /** Write everything that was sent, close the connection, answer with `linkClosed`. */
  | { readonly type: 'closeLink' }

// Objects that clients find by a name.

/** A call about the object with a name: to find it, or to remove the name. */
export interface SharedCall {
  /** A number that the shell gives it. */
  readonly ticket: number
  readonly type: 'find' | 'remove'
  readonly name: string
}

/** The answer. */
export interface SharedAnswer {
  /**
   * `missing`: no object has this name. `unstored`: this client shares an object by the name that
   * the scheduler has not stored. `unsupported`: the scheduler knows no names. `closed`: this
   * client has ended.
   */
  readonly outcome: 'found' | 'removed' | 'missing' | 'unstored' | 'unsupported' | 'closed'
  /** What was found; otherwise ''. */
  readonly id: ObjectId
  /** The size of its content; 0 if nothing was found. */
  readonly sizeBytes: number
  /** This client does not have its content. */
  readonly isForeign: boolean
}

/** The part of an answer that says what was found, if nothing was. */
export const NOTHING_FOUND: Omit<SharedAnswer, 'outcome'> = {
  id: objectId(''),
  sizeBytes: 0,
  isForeign: false,
}

// A submitted graph: its calls, and the owners of the requested results.

/** A call whose result is requested. */
export interface GraphTarget<Owner> {
  readonly position: number
  /** Returned to the shell with the outcome; the core does not look at it. */
  readonly owner: Owner
}

/** A graph. The core owns the nodes from then on. */
export interface GraphSubmission<Owner> {
  readonly graphId: TaskId
  /** The options of every call. */
  readonly options: TaskOptions
  readonly nodes: GraphNodes
  /** Each call at most once. */
  readonly targets: readonly GraphTarget<Owner>[]
}

// The outcome of a task that ran.

/** What a task returned or threw. */
export interface Outcome {
  readonly isSuccess: boolean
  /** Valid only during the call, like the profile. */
  readonly payload: Uint8Array
  readonly metadata: Uint8Array
  readonly worker: Identity
  /** The task that failed, if it was another one. */
  readonly failedTaskId: TaskId | undefined
}

// A submitted task. Separate from the events because graphs use the same types.

/** A serialized value that was written into a file. docs/protocol.md#files */
export interface FiledContent {
  /** Names the file. */
  readonly chunk: Uint8Array
  readonly byteLength: number
}

/** A value that is stored in the scheduler under an id. */
export interface StoredValue {
  readonly id: ObjectId
  /** For display. */
  readonly name: Uint8Array
  readonly content: Uint8Array | FiledContent
}

/** The detail of the end `workerDied`, if no worker was lost. */
export const RESULT_LOST = 'its result was lost too often, with object storage servers'

/** The same for a task that lost its input while a worker had it, as often as it may. */
export const INPUT_LOST = 'an object that it needs was lost while a worker had the task'

/** How a task is run. Must not be changed, because many tasks share it. */
export interface TaskOptions {
  /** Task flags (docs/protocol.md#task-flags). */
  readonly flags: Uint8Array
  /** The same for a 1.9.9 scheduler, which does not support the rest. */
  readonly plainFlags: Uint8Array
  /** The task that submitted this one; '' = none. */
  readonly parentTaskId: TaskId
  /** '' = the name of the function. */
  readonly name: string
  /** 0 = no limit. */
  readonly timeoutMs: number
  readonly retries: number
  /** 0 = the scheduler's default. */
  readonly workerDeathLimit: number
  readonly capabilities: readonly TaskCapability[]
  /** Where its output goes. */
  readonly output: OutputPlace
  /** The client that prints it, if it is another one; '' = this one. */
  readonly outputClient: Identity
  /** Its trace (docs/protocol.md#traces); '' = none. */
  readonly traceContext: string
}

/**
 * The source of an argument: serialized bytes; a value that is to be an object; the result of an
 * ended task, serialized again and shared by all tasks; a pinned object of this client; or the
 * result of another task of this client that is in the tables.
 */
export type ArgumentSource =
  | Uint8Array
  | { readonly type: 'value'; readonly value: StoredValue }
  | { readonly type: 'shared'; readonly content: Uint8Array }
  | { readonly type: 'object'; readonly id: ObjectId }
  | { readonly type: 'task'; readonly taskId: TaskId }

/** One submitted task. From then on, all bytes are owned by the core. */
export interface TaskSubmission<Owner> {
  readonly taskId: TaskId
  /**
   * Returned to the shell with the outcome; the core does not look at it. Undefined: the end is not
   * reported, only other tasks need the result.
   */
  readonly owner: Owner | undefined
  readonly function: StoredValue
  /** Large values captured by the function, which reach the worker as additional arguments. */
  readonly attachments: readonly StoredValue[]
  /** The arguments in order. */
  readonly args: readonly ArgumentSource[]
  readonly options: TaskOptions
  /**
   * Instead of arguments: those of `count` consecutive tasks, packed, the first of which has the id
   * `taskId`. They have one owner; actions say which of them they are about.
   */
  readonly run?: { readonly count: number; readonly packed: Uint8Array } | undefined
}

/** Shared by the parts of a client's core while an event is handled. */
export type ClientTurn<Owner> = Turn<ClientAction<Owner>>

/** Sends a message immediately, before everything that is queued. */
export function send<Owner>(turn: ClientTurn<Owner>, message: Message): void {
  turn.act({ type: 'send', message })
}

/** Passes on the number of workers, if a scheduler has reported it. */
export function reportWorkers<Owner>(
  turn: ClientTurn<Owner>,
  { reports }: ClientHeartbeatEcho,
): void {
  for (const { suitable: count } of reports) turn.act({ type: 'reportWorkers', count })
}

/** Reports to an owner what its task returned or threw. */
export function finishTask<Owner>(
  turn: ClientTurn<Owner>,
  { owner, taskId }: { readonly owner: Owner; readonly taskId: TaskId },
  outcome: Outcome,
): void {
  const { isSuccess, payload, metadata, worker, failedTaskId } = outcome
  const type = 'finishTask'
  turn.act({ type, owner, taskId, isSuccess, payload, metadata, worker, failedTaskId })
}

/** Why a task ended without a result. */
export interface TaskEnd {
  readonly reason: TaskEndReason
  readonly detail: string
  /** The task that caused it, if it is another one. */
  readonly failedTaskId?: TaskId | undefined
}

/** Reports to an owner that its tasks ended without a result. */
export function endTask<Owner>(
  turn: ClientTurn<Owner>,
  { owner, taskId, count }: UnfinishedTask<Owner>,
  end: TaskEnd,
): void {
  const { reason, detail, failedTaskId } = end
  turn.act({ type: 'endTask', owner, taskId, count, reason, detail, failedTaskId })
}
