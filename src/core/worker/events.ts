// The events, actions and options of a worker's core.

import type { ProcessorDeath } from '../../base/errors.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { LogFields } from '../../base/logger.js'
import type { LogAction, Turn } from '../../base/machine.js'
import type {
  Message,
  OutputStream,
  PeerInfo,
  TaskOutput,
  TaskResult,
  TaskUpdate,
  WorkerHeartbeat,
} from '../../wire/message.js'
import type { HostUnits, Units } from './queue/units.js'

/** Counts the processors of one worker. One lives at a time; its number is never used again. */
export type ProcessorNumber = number

/**
 * What a processor ran when it ended.
 *
 * - `unknown`: it could not tell, because it was killed or crashed; any task that it had may be the
 *   cause.
 * - `retired`: nothing but what had been given up; it has ended itself to be rid of that.
 * - `taskIds`: one of these has ended it. Usually there is one.
 */
export type LastRun =
  'unknown' | 'nothing' | 'retired' | { readonly taskIds: readonly [TaskId, ...TaskId[]] }

/**
 * Why a task shall stop. `givenUp`: it was told before and did not stop; what becomes of it is of
 * no interest any more.
 */
export type StopReason = 'cancelled' | 'timedOut' | 'givenUp'

/** How far the processor is with a task, as seen from beside it, even while user code runs. */
export interface RunStatus {
  /** Which task: `WorkerTask.dispatchNumber`. */
  readonly dispatchNumber: number
  /** False: it has not begun, or it is over and its answer is on the way. */
  readonly isStarted: boolean
  /** It has asked for its abort signal. */
  readonly isListening: boolean
  /** No other task is started, but for such as were given up. */
  readonly isAlone: boolean
  /** Tasks that were given up are still at it. */
  readonly hasGivenUp: boolean
  /** Since it began, in milliseconds. */
  readonly runningMs: number
}

/** Facts. Messages have been decoded, and so checked, before they come here. */
export type WorkerEvent =
  /** The first event. */
  | { readonly type: 'started' }
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected'; readonly reason: string }
  | { readonly type: 'messageReceived'; readonly message: Message }
  /** Bytes of a long message are coming in, or are taken by the scheduler: it lives. */
  | { readonly type: 'schedulerProgressed' }
  /** More waits to be sent to the scheduler than should. */
  | { readonly type: 'congested' }
  /** There is room again. */
  | { readonly type: 'drained' }
  | { readonly type: 'processorReady'; readonly processor: ProcessorNumber; readonly pid: number }
  /**
   * The processor is done with a task. `inlineResults` are the chunks of the one result or error;
   * `results` has an id if the processor keeps it as that object. Status `canceled` says that the
   * task was skipped or given up because of a `stopTask`.
   */
  | {
      readonly type: 'taskAnswered'
      readonly processor: ProcessorNumber
      readonly result: TaskResult
    }
  /** A task waits for tasks of its own, goes on, or tells how far it is. */
  | {
      readonly type: 'taskUpdated'
      readonly processor: ProcessorNumber
      readonly update: TaskUpdate
    }
  /** A processor tells what a task has printed. */
  | {
      readonly type: 'outputTold'
      readonly processor: ProcessorNumber
      readonly output: TaskOutput
    }
  /** Something was written to the processor's standard streams, by an unknown task. */
  | {
      readonly type: 'outputRead'
      readonly processor: ProcessorNumber
      readonly stream: OutputStream
      readonly content: Uint8Array
    }
  /** Answers `askStatus`. */
  | {
      readonly type: 'statusTold'
      readonly processor: ProcessorNumber
      readonly status: RunStatus
    }
  /**
   * Answers one `retractTasks`, in order. Those in `retracted` will never run nor be answered; all
   * others of `asked` have begun or are done, and their answers come as ever.
   */
  | {
      readonly type: 'tasksRetracted'
      readonly processor: ProcessorNumber
      readonly asked: readonly number[]
      readonly retracted: readonly number[]
    }
  /** The process is gone; what it had written before has been handled. */
  | {
      readonly type: 'processorExited'
      readonly processor: ProcessorNumber
      readonly death: ProcessorDeath
      readonly lastRun: LastRun
    }
  /**
   * The worker shall leave: it gives back what has not begun and has some time to end what runs. If
   * it is urgent, or was said before, it leaves at once.
   */
  | { readonly type: 'stopRequested'; readonly isUrgent?: boolean }
  | { readonly type: 'tick' }

/** What the shell carries out. */
export type WorkerAction =
  | { readonly type: 'send'; readonly message: Message }
  /** Send it with `agent`, `rssFree` and `processors[].resource` filled in: only the shell can. */
  | { readonly type: 'sendHeartbeat'; readonly heartbeat: WorkerHeartbeat }
  /**
   * Pass on what a task has printed, unless too much waits already; that is counted, and so is all
   * where `mayLeave` is false.
   */
  | { readonly type: 'sendOutput'; readonly output: TaskOutput; readonly mayLeave: boolean }
  /** Put something that was printed into the log; `fields` say which task has printed it. */
  | {
      readonly type: 'logOutput'
      readonly stream: OutputStream
      readonly content: Uint8Array
      readonly fields: LogFields
    }
  /** Start the next processor; messages for it may be written before it is ready. */
  | { readonly type: 'startProcessor'; readonly processor: ProcessorNumber }
  /** Hand a Task to the processor, in its bytes; `units`: what it was given, if it needs some. */
  | { readonly type: 'dispatch'; readonly bytes: Uint8Array; readonly units: Units | undefined }
  /** Pass the processor an ObjectResponse or ObjectInstruction. */
  | { readonly type: 'tellProcessor'; readonly message: Message }
  /** Have the processor skip a task that it has not begun, or have one stopped that it has. */
  | { readonly type: 'stopTask'; readonly taskId: TaskId; readonly reason: StopReason }
  /** Have `statusTold`, even while user code keeps the processor from reading messages. */
  | { readonly type: 'askStatus'; readonly dispatchNumber: number }
  /**
   * Take back those of these tasks (`WorkerTask.dispatchNumber`) that the processor has not begun:
   * `tasksRetracted` follows, even while user code runs, unless the processor ends.
   */
  | { readonly type: 'retractTasks'; readonly dispatchNumbers: readonly number[] }
  /**
   * The processor has nothing to do: it had better collect garbage, unless it holds no more memory
   * than so many bytes.
   */
  | { readonly type: 'collectGarbage'; readonly aboveBytes: number }
  /** End the processor by force. What it still answers counts. */
  | { readonly type: 'killProcessor' }
  /** The worker leaves: its processor may end in good order. What it still says is ignored. */
  | { readonly type: 'endProcessor' }
  /** The scheduler has answered for the first time. */
  | { readonly type: 'registered' }
  | LogAction
  /** The last action: close the connection, end the processor. */
  | { readonly type: 'end'; readonly reason: string; readonly isFailure: boolean }

/** What the parts of a worker's core share while an event is handled. */
export type WorkerTurn = Turn<WorkerAction>

/** Sends a message to the scheduler. */
export function send(turn: WorkerTurn, message: Message): void {
  turn.act({ type: 'send', message })
}

/** Passes the processor an ObjectResponse or ObjectInstruction. */
export function tellProcessor(turn: WorkerTurn, message: Message): void {
  turn.act({ type: 'tellProcessor', message })
}

// What a worker's core is given when it is made: settings, and the few functions of the outside
// that are pure or come from the outside's luck.

/** Settings of one worker. Times are in milliseconds, sizes in bytes. */
export interface WorkerCoreOptions {
  readonly identity: Identity
  /** What runs the tasks, for example `node/20.20.2`. */
  readonly runtime: string
  /** Whether each step of each task is logged. Default: false. */
  readonly tellsTasks?: boolean
  readonly heartbeatIntervalMs: number
  /** The worker ends after this silence of the scheduler. */
  readonly deathTimeoutMs: number
  /**
   * A worker that is told to leave has this time to end what runs; with 0 it leaves at once. Not
   * longer than a timer can wait.
   */
  readonly drainMs: number
  /** No task may run for longer. Default: 0, any may run for ever. */
  readonly taskTimeoutMs?: number
  /** Default: it offers nothing. */
  readonly units?: HostUnits
  /** The same for all workers of the agent. Default: its units are its own. */
  readonly agentId?: string
  /** What the scheduler learns about this worker. Default: nothing. */
  readonly info?: PeerInfo
  /** Whether errors are also sent as text, for monitors. Default: true. */
  readonly tellsErrors?: boolean
  /** Longer results become objects. */
  readonly inlineLimitBytes: number
  /** How long a task that listens to its abort signal may continue before force is used. */
  readonly cancelGraceMs: number
  /** Objects of more are forgotten that no task needs, those first that were not used for long. */
  readonly objectCacheBytes: number
  /** How often an idle processor that has worked collects garbage. Default: 0, never. */
  readonly garbageCollectIntervalMs?: number
  /**
   * An idle processor that has worked and holds more memory than this gives back what it can.
   * Default: 0, never.
   */
  readonly trimMemoryThresholdBytes?: number
  /** The id of the serializer object of a client. */
  serializerIdOf(source: Identity): ObjectId
  /** A fresh id for a result object of a client. */
  newResultId(source: Identity): ObjectId
  /** An error as the bytes that clients read. */
  encodeError(error: Error): Uint8Array
}
