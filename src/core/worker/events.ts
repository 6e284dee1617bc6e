// The events, actions and options of a worker's core.

import type { ProcessorDeath } from '../../base/errors.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { LogFields } from '../../base/logger.js'
import type { LogAction, Turn } from '../../base/machine.js'
import type {
  Message,
  OutputStream,
  PeerInfo,
  StackFrame,
  TaskOutput,
  TaskResult,
  TaskUpdate,
  WorkerHeartbeat,
} from '../../wire/message.js'
import type { ObjectFile } from '../../wire/object-content.js'
import type { HostConcurrency } from './queue/concurrency.js'
import type { HostUnits, Units } from './queue/units.js'

/** Numbers the processors of one worker, which run one after another. A number is never reused. */
export type ProcessorNumber = number

/**
 * What a processor was running when it exited.
 *
 * - `unknown`: it could not report this, because it was killed or crashed; any of its tasks may be
 *   the cause.
 * - `unread`: the same, but it had not read the last task that it was sent.
 * - `retired`: only tasks that had been given up; it exited on its own to get rid of them.
 * - `unusable`: nothing; it had no thread for its guardian, and no task is to blame for that.
 * - `taskIds`: one of these caused the exit. Usually there is only one.
 */
export type LastRun =
  | 'unknown'
  | 'unread'
  | 'nothing'
  | 'retired'
  | 'unusable'
  | { readonly taskIds: readonly [TaskId, ...TaskId[]] }

/**
 * Why a task must stop. `givenUp`: it was already requested to stop and did not; its outcome no
 * longer matters.
 */
export type StopReason = 'cancelled' | 'timedOut' | 'givenUp'

/** The status of a task in the processor, as its guardian reports it, even while user code runs. */
export interface RunStatus {
  /** The first of the tasks that were asked about: `WorkerTask.dispatchNumber`. */
  readonly dispatchNumber: number
  /** Which of them this is about: one that has started, if there is one. */
  readonly taskNumber: number
  /** False: it has not started, or it has ended and its answer is on the way. */
  readonly isStarted: boolean
  /** It has read its abort signal. */
  readonly isListening: boolean
  /** No other task has started, except tasks that were given up. */
  readonly isAlone: boolean
  /** Tasks that were given up are still running. */
  readonly hasGivenUp: boolean
  /** The time since it started, in milliseconds. */
  readonly runningMs: number
}

/**
 * What the main thread of a processor was doing.
 *
 * - `running`: the calls of `stack`, the innermost first; only those of users.
 * - `idle`: it ran no JavaScript of users.
 * - `blocked`: it did not respond; it is in native code.
 * - `failed`: it could not be looked at, for the `reason`.
 */
export interface StackReport {
  readonly outcome: 'running' | 'idle' | 'blocked' | 'failed'
  readonly stack: readonly StackFrame[]
  /** Empty unless `failed`. */
  readonly reason: string
}

/** Facts. Messages have been decoded, and thereby checked, before they arrive here. */
export type WorkerEvent =
  /** The first event. */
  | { readonly type: 'started' }
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected'; readonly reason: string }
  | { readonly type: 'messageReceived'; readonly message: Message }
  /** Part of a long message has arrived, or the scheduler has read part of one: it is alive. */
  | { readonly type: 'schedulerProgressed' }
  /** More messages are waiting to be sent to the scheduler than should be. */
  | { readonly type: 'congested' }
  /** The send queue is short again. */
  | { readonly type: 'drained' }
  /**
   * A TaskResult waits for content that is being stored, and heartbeats overtake it; or (not
   * `isHeld`) it was given to the connection. Only for messages of this connection.
   */
  | {
      readonly type: 'resultHeld'
      readonly taskId: TaskId
      /** As in the message. */
      readonly count: number
      readonly isHeld: boolean
    }
  | { readonly type: 'processorReady'; readonly processor: ProcessorNumber; readonly pid: number }
  /** Files of objects were gone before the processor read them: it does not have these. */
  | {
      readonly type: 'objectsLost'
      readonly processor: ProcessorNumber
      readonly objectIds: readonly ObjectId[]
    }
  /**
   * The processor has finished with a task, or with consecutive ones. `inlineResults` has the
   * chunks of the one result or error; `results` contains an id if the processor keeps the result
   * as that object; `packed` has the results of tasks that were sent packed. Status `canceled`
   * means that they were skipped or given up because of a `stopTask`.
   */
  | {
      readonly type: 'taskAnswered'
      readonly processor: ProcessorNumber
      readonly result: TaskResult
    }
  /** A task waits for its children, continues, or reports progress. */
  | {
      readonly type: 'taskUpdated'
      readonly processor: ProcessorNumber
      readonly update: TaskUpdate
    }
  /** A processor reports what a task has printed. */
  | {
      readonly type: 'outputReported'
      readonly processor: ProcessorNumber
      readonly output: TaskOutput
    }
  /** An unknown task has written to the standard streams of the processor. */
  | {
      readonly type: 'outputRead'
      readonly processor: ProcessorNumber
      readonly stream: OutputStream
      readonly content: Uint8Array
    }
  /** Answers `askStatus`. */
  | {
      readonly type: 'statusReported'
      readonly processor: ProcessorNumber
      readonly status: RunStatus
    }
  /** Answers `askStack`. */
  | {
      readonly type: 'stackReported'
      readonly processor: ProcessorNumber
      readonly report: StackReport
    }
  /**
   * Answers one `retractTasks`; answers arrive in order. The tasks in `retracted` will never run
   * nor be answered; all others in `asked` have started or finished, and are answered as usual.
   */
  | {
      readonly type: 'tasksRetracted'
      readonly processor: ProcessorNumber
      readonly asked: readonly number[]
      readonly retracted: readonly number[]
    }
  /** The process has exited; everything that it wrote before has been handled. */
  | {
      readonly type: 'processorExited'
      readonly processor: ProcessorNumber
      readonly death: ProcessorDeath
      readonly lastRun: LastRun
    }
  /**
   * The worker must leave: it gives back tasks that have not started and gives running ones some
   * time to finish. If `isUrgent`, or on the second request, it leaves immediately. `drainMs`: this
   * time, instead of that of the options.
   */
  | { readonly type: 'stopRequested'; readonly isUrgent?: boolean; readonly drainMs?: number }
  | { readonly type: 'tick' }

/** What the shell must do. */
export type WorkerAction =
  | { readonly type: 'send'; readonly message: Message }
  /**
   * Send it after filling in `agent`, `rssFree`, `processors[].resource` and `info[].endsInMS`,
   * which only the shell knows.
   */
  | { readonly type: 'sendHeartbeat'; readonly heartbeat: WorkerHeartbeat }
  /** Forward task output, or count it as dropped if too much is waiting or `mayLeave` is false. */
  | { readonly type: 'sendOutput'; readonly output: TaskOutput; readonly mayLeave: boolean }
  /** Write printed output to the log; `fields` identify the task that printed it. */
  | {
      readonly type: 'logOutput'
      readonly stream: OutputStream
      readonly content: Uint8Array
      readonly fields: LogFields
    }
  /** Start the next processor; messages for it may be written before it is ready. */
  | { readonly type: 'startProcessor'; readonly processor: ProcessorNumber }
  /**
   * Send a Task to the processor, in its original bytes. `units`: those that it was assigned, if
   * any.
   */
  | { readonly type: 'dispatch'; readonly bytes: Uint8Array; readonly units: Units | undefined }
  /** Send an ObjectResponse or ObjectInstruction to the processor. */
  | { readonly type: 'sendToProcessor'; readonly message: Message }
  /** Make the processor skip the tasks that have not started, and stop those that have. */
  | {
      readonly type: 'stopTask'
      readonly taskId: TaskId
      /** How many consecutive tasks it is about. */
      readonly count: number
      readonly reason: StopReason
    }
  /**
   * Request `statusReported` for `count` tasks dispatched together; it arrives even while user code
   * keeps the processor from reading messages.
   */
  | { readonly type: 'askStatus'; readonly dispatchNumber: number; readonly count: number }
  /**
   * Take back the tasks (`WorkerTask.dispatchNumber`) that the processor has not started.
   * `tasksRetracted` follows, even while user code runs, unless the processor exits.
   */
  | { readonly type: 'retractTasks'; readonly dispatchNumbers: readonly number[] }
  /** Request `stackReported`; it arrives some time later, unless the processor exits. */
  | { readonly type: 'askStack' }
  /** Answer the operator's request with at most this many of the last lines of this worker. */
  | { readonly type: 'sendLines'; readonly number: number; readonly most: number }
  /**
   * A result is kept that is in this file, whose content must remain readable, or (not `isKept`) is
   * not kept any more.
   */
  | { readonly type: 'keepFile'; readonly file: ObjectFile; readonly isKept: boolean }
  /** The processor is idle: make it collect garbage if it uses more memory than `aboveBytes`. */
  | { readonly type: 'collectGarbage'; readonly aboveBytes: number }
  /** Kill the processor. What it answers until it exits still counts. */
  | { readonly type: 'killProcessor' }
  /**
   * The worker is leaving: let its processor exit in an orderly way. Anything else it reports is
   * ignored.
   */
  | { readonly type: 'endProcessor' }
  /** Close the connection once everything is sent, and connect again. */
  | { readonly type: 'reconnect'; readonly reason: string }
  /** The scheduler has answered for the first time. */
  | { readonly type: 'registered' }
  | LogAction
  /** The last action: close the connection and end the processor. */
  | { readonly type: 'end'; readonly reason: string; readonly isFailure: boolean }

/** Shared by the parts of a worker's core while an event is handled. */
export type WorkerTurn = Turn<WorkerAction>

/** Sends a message to the scheduler. */
export function send(turn: WorkerTurn, message: Message): void {
  turn.act({ type: 'send', message })
}

/** Sends an ObjectResponse or ObjectInstruction to the processor. */
export function sendToProcessor(turn: WorkerTurn, message: Message): void {
  turn.act({ type: 'sendToProcessor', message })
}

// The input of a worker's core: its settings, and a few functions that are pure or supply
// randomness.

/** How a worker passes its tasks on to another system, which runs them elsewhere. */
export interface Gateway {
  /** What takes the place of the processor, for logs: `bridge to Symphony`. */
  readonly name: string
  /** How many tasks run at a time, for all workers of the agent. */
  readonly concurrency: HostConcurrency
  /** The features that the worker reports: those that make sense for tasks elsewhere. */
  readonly features: number
}

/** Settings of one worker. Times are in milliseconds, sizes in bytes. */
export interface WorkerCoreOptions {
  readonly identity: Identity
  /** The runtime that runs the tasks, for example `node/20.20.2`. */
  readonly runtime: string
  /** Whether each step of each task is logged. Default: false. */
  readonly logsTasks?: boolean
  readonly heartbeatIntervalMs: number
  /** The worker ends when the scheduler has been silent for this time. */
  readonly deathTimeoutMs: number
  /**
   * How long running tasks may take to finish when the worker leaves; with 0 it leaves immediately.
   * At most the longest delay of a timer.
   */
  readonly drainMs: number
  /** The longest time that any task may run. Default: 0, no limit. */
  readonly taskTimeoutMs?: number
  /** Default: no capabilities. */
  readonly units?: HostUnits
  /** Default: tasks run in a processor of this worker. */
  readonly gateway?: Gateway
  /** The same for all workers of an agent. Default: this worker does not share its units. */
  readonly agentId?: string
  /** Sent to the scheduler once per connection. Default: nothing. */
  readonly info?: PeerInfo
  /** Whether errors are also sent as text, for monitors. Default: true. */
  readonly reportsErrors?: boolean
  /** Larger results become objects. */
  readonly inlineLimitBytes: number
  /**
   * How long a task that listens to its abort signal may continue before its processor is killed.
   */
  readonly cancelGraceMs: number
  /** Above this size, objects that no task needs are evicted, least recently used first. */
  readonly objectCacheBytes: number
  /** How often an idle processor that has worked collects garbage. Default: 0, never. */
  readonly garbageCollectIntervalMs?: number
  /**
   * An idle processor that has worked and uses more memory than this frees what it can. Default: 0,
   * never.
   */
  readonly trimMemoryThresholdBytes?: number
  /** The id of a client's serializer object. */
  serializerIdOf(source: Identity): ObjectId
  /** A new id for a result object of a client. */
  newResultId(source: Identity): ObjectId
  /** Encodes an error in the form that clients read. */
  encodeError(error: Error): Uint8Array
}
