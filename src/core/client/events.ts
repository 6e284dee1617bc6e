// The events, actions and options of the client's core.

import type { Identity, ObjectId, SchedulerId, TaskId } from '../../base/ids.js'
import type { LogAction, Turn } from '../../base/machine.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type {
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
  /** The client's serializer, which goes to the scheduler before anything that needs it. */
  readonly serializer: StoredValue
  /** Unfinished tasks are given up after this time without any message from the scheduler. */
  readonly timeoutMs: number
  readonly heartbeatIntervalMs: number
  /** Serialized arguments up to this size travel inside the Task message. */
  readonly inlineLimitBytes: number
  /** False: the first lost link ends the client. */
  readonly reconnect: boolean
  /** The id under which some content is stored. Must be a pure function of the content. */
  readonly objectIdOf: (content: Uint8Array) => ObjectId
}

/** A task that has not ended, as its owner knows it. */
export interface UnfinishedTask<Owner> {
  readonly taskId: TaskId
  readonly owner: Owner
}

/** Facts. Messages have been decoded, and so checked, before they come here. */
export type ClientEvent<Owner> =
  /** A connection is there: the handshake is done. */
  | { readonly type: 'connected' }
  /** An attempt to connect failed; the transport goes on trying. */
  | { readonly type: 'connectFailed'; readonly reason: string }
  /** The connection ended; the transport connects again. */
  | { readonly type: 'disconnected'; readonly reason: string }
  | { readonly type: 'messageReceived'; readonly message: Message }
  /** A long message is coming in, or going out: the peer lives. Told now and then meanwhile. */
  | { readonly type: 'progressed' }
  /** The answer to `requestFlush`: the transport has room. */
  | { readonly type: 'writable' }
  | { readonly type: 'taskSubmitted'; readonly task: TaskSubmission<Owner> }
  | { readonly type: 'graphSubmitted'; readonly graph: GraphSubmission<Owner> }
  | { readonly type: 'cancelRequested'; readonly taskId: TaskId }
  | { readonly type: 'graphCancelRequested'; readonly graphId: TaskId }
  /** A result that is kept in the cluster is requested: it is fetched for this owner. */
  | { readonly type: 'resultWanted'; readonly taskId: TaskId; readonly owner: Owner }
  /** A result stays in the cluster for now: what happens to it is reported to this owner. */
  | { readonly type: 'resultLeft'; readonly taskId: TaskId; readonly owner: Owner }
  /** A result that is kept in the cluster will never be requested. */
  | { readonly type: 'resultDropped'; readonly taskId: TaskId }
  /** An object is kept in the cluster, used or not, until it was unpinned as often. */
  | { readonly type: 'objectPinned'; readonly value: StoredValue }
  | { readonly type: 'objectUnpinned'; readonly id: ObjectId }
  /** The state of a task is requested: answered with `explainTask`. */
  | { readonly type: 'explanationWanted'; readonly taskId: TaskId }
  /** Somebody waits for the scheduler to answer for the first time. */
  | { readonly type: 'answerWanted' }
  | { readonly type: 'clearRequested' }
  | { readonly type: 'shutdownRequested' }
  | { readonly type: 'closeRequested' }
  /** The answer to `closeLink`. */
  | { readonly type: 'linkClosed' }
  | { readonly type: 'tick' }

/**
 * Why a task ended without a result. `cancelled`: asked for here. `dropped`: the scheduler
 * cancelled it by itself. `disconnected`: the scheduler was given up. `closed`: this client was
 * closed. `cleared`: all that it had was cancelled and deleted. `shutDown`: it has shut the cluster
 * down.
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

/** That tasks wait, and why. */
export interface WaitingWarning {
  readonly reason: WaitingReason
  /** How many there are; 0 = somebody waits for the scheduler itself. */
  readonly tasks: number
  /** For how long that has been so, in milliseconds. */
  readonly forMs: number
  /** Why the last connection, or attempt to get one, ended; '' if that is not known. */
  readonly detail: string
}

/** What the shell carries out. */
export type ClientAction<Owner> =
  | { readonly type: 'send'; readonly message: Message }
  /** Send a ClientHeartbeat with this latency; the shell knows the rest. */
  | { readonly type: 'sendHeartbeat'; readonly latencyUS: number }
  /**
   * Answer with `writable`: `soon`, at the end of this turn (what comes until then leaves
   * together), or in the next turn; in either case not before the transport has room.
   */
  | { readonly type: 'requestFlush'; readonly when: 'soon' | 'nextTurn' }
  /** The scheduler has answered on a new connection. */
  | { readonly type: 'announceOpen'; readonly schedulerId: SchedulerId }
  /** The task returned (the payload is its value) or threw (the payload is an error). */
  | {
      readonly type: 'finishTask'
      readonly owner: Owner
      readonly isSuccess: boolean
      /** A view that is valid during the call only. */
      readonly payload: Uint8Array
      /** The profile (docs/protocol.md#profile-result), or nothing. Valid during the call only. */
      readonly metadata: Uint8Array
      /** Who ran it; '' = unknown. */
      readonly worker: Identity
      /** The task that failed, if this one needed its result. */
      readonly failedTaskId: TaskId | undefined
    }
  /** The task ended in another way. `detail` is for people, possibly ''. */
  | {
      readonly type: 'endTask'
      readonly owner: Owner
      readonly reason: TaskEndReason
      readonly detail: string
      /** The task that ended like this, if this one needed its result. */
      readonly failedTaskId: TaskId | undefined
    }
  /**
   * The task returned; its value is kept in the cluster. Answer with `resultWanted`, `resultLeft`
   * or `resultDropped`.
   */
  | {
      readonly type: 'offerResult'
      readonly owner: Owner
      readonly metadata: Uint8Array
      readonly worker: Identity
    }
  /** Tasks have waited for long, and the user should know why: once for each spell. */
  | { readonly type: 'warnWaiting'; readonly warning: WaitingWarning }
  /** The task tells how far it is: `done` of `total`, 0 = unknown. */
  | {
      readonly type: 'reportProgress'
      readonly owner: Owner
      readonly done: number
      readonly total: number
    }
  /**
   * The answer to `explanationWanted`; undefined where no scheduler gives one. Once for each task,
   * however often it was asked for meanwhile.
   */
  | {
      readonly type: 'explainTask'
      readonly taskId: TaskId
      readonly explanation: TaskExplanation | undefined
    }
  /**
   * A task that runs is about to be cancelled: the `explainTask` that follows for it says which
   * workers had it.
   */
  | { readonly type: 'askAttempts'; readonly taskId: TaskId; readonly owner: Owner }
  /** The task was run before, and other workers had it; then it has ended. */
  | {
      readonly type: 'tellAttempts'
      readonly owner: Owner
      readonly attempts: readonly TaskAttempt[]
    }
  /** A task has printed something. Its bytes are valid during the call only. */
  | { readonly type: 'printOutput'; readonly output: TaskOutput }
  /** What tasks have begun to print has no end: their ends may be missed. */
  | { readonly type: 'endOutput' }
  /**
   * The answer to `shutdownRequested`. `unreachable`: no answer came; `detail` says why. Unless it
   * was accepted this client goes on.
   */
  | {
      readonly type: 'answerShutdown'
      readonly answer: 'accepted' | 'refused' | 'unreachable' | 'closed'
      readonly detail: string
    }
  | LogAction
  /** Write what has been sent, close the connection, answer with `linkClosed`. */
  | { readonly type: 'closeLink' }

// A graph as it is submitted: its calls, and which results are requested by whom.

/** A call whose result is requested. */
export interface GraphTarget<Owner> {
  readonly position: number
  /** Returned to the shell with the outcome; the core does not look at it. */
  readonly owner: Owner
}

/** A graph. The core owns the nodes from then on. */
export interface GraphSubmission<Owner> {
  readonly graphId: TaskId
  /** Those of all calls. */
  readonly options: TaskOptions
  readonly nodes: GraphNodes
  /** Each call once at most. */
  readonly targets: readonly GraphTarget<Owner>[]
}

// What came of a task that ran.

/** What a task returned or threw. */
export interface Outcome {
  readonly isSuccess: boolean
  /** Valid during the call only, like the profile. */
  readonly payload: Uint8Array
  readonly metadata: Uint8Array
  readonly worker: Identity
  /** The task that has failed, if it was another one. */
  readonly failedTaskId: TaskId | undefined
}

// What a task is made of when it is submitted. Apart from the events, because graphs are made of
// the same.

/** Something that is stored in the scheduler under an id. */
export interface StoredValue {
  readonly id: ObjectId
  /** For display. */
  readonly name: Uint8Array
  readonly content: Uint8Array
}

/** How a task is run. Shared by many tasks, so it must not be changed. */
export interface TaskOptions {
  /** Task flags (docs/protocol.md#task-flags). */
  readonly flags: Uint8Array
  /** The same for a 1.9.9 scheduler, which does not understand the rest. */
  readonly plainFlags: Uint8Array
  /** The task inside of which this one was submitted; '' = none. */
  readonly parentTaskId: TaskId
  /** '' = that of the function. */
  readonly name: string
  /** 0 = for ever. */
  readonly timeoutMs: number
  readonly retries: number
  /** 0 = what the scheduler finds right. */
  readonly workerDeathLimit: number
  readonly capabilities: readonly TaskCapability[]
  /** Where what it prints goes. */
  readonly output: OutputPlace
  /** Who prints it, if that is another client; '' = this one. */
  readonly outputClient: Identity
}

/**
 * Where an argument comes from: serialized, as it is; the result of a task that is over, serialized
 * again, which all tasks share; an object of this client that is pinned; or the result of another
 * task of this client that is in the tables.
 */
export type ArgumentSource =
  | Uint8Array
  | { readonly type: 'shared'; readonly content: Uint8Array }
  | { readonly type: 'object'; readonly id: ObjectId }
  | { readonly type: 'task'; readonly taskId: TaskId }

/** One task as it is submitted. All bytes are owned by the core from then on. */
export interface TaskSubmission<Owner> {
  readonly taskId: TaskId
  /**
   * Whatever the shell wants back with the outcome; the core does not look at it. Undefined: nobody
   * wants to know, only tasks that need the result.
   */
  readonly owner: Owner | undefined
  readonly function: StoredValue
  /** Big values of the function, which reach the worker as further arguments. */
  readonly attachments: readonly StoredValue[]
  /** The arguments in order. */
  readonly args: readonly ArgumentSource[]
  readonly options: TaskOptions
}

/** What the parts of a client's core share while an event is handled. */
export type ClientTurn<Owner> = Turn<ClientAction<Owner>>

/** Sends a message now, whatever waits. */
export function send<Owner>(turn: ClientTurn<Owner>, message: Message): void {
  turn.act({ type: 'send', message })
}

/** Reports to an owner what its task returned or threw. */
export function finishTask<Owner>(turn: ClientTurn<Owner>, owner: Owner, outcome: Outcome): void {
  const { isSuccess, payload, metadata, worker, failedTaskId } = outcome
  const type = 'finishTask'
  turn.act({ type, owner, isSuccess, payload, metadata, worker, failedTaskId })
}

/** Why a task ended without a result. */
export interface TaskEnd {
  readonly reason: TaskEndReason
  readonly detail: string
  /** The task that caused it, if that is another one. */
  readonly failedTaskId?: TaskId | undefined
}

/** Reports to an owner that its task ended without a result. */
export function endTask<Owner>(turn: ClientTurn<Owner>, owner: Owner, end: TaskEnd): void {
  const { reason, detail, failedTaskId } = end
  turn.act({ type: 'endTask', owner, reason, detail, failedTaskId })
}
