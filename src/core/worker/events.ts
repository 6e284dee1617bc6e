// What a worker's core is told, and what it answers.

import type { ProcessorDeath } from '../../base/errors.js'
import type { TaskId } from '../../base/ids.js'
import type { LogFields } from '../../base/logger.js'
import type { Message, TaskResult, WorkerHeartbeat } from '../../wire/message.js'

/** Counts the processors of one worker. One lives at a time; its number is never used again. */
export type ProcessorNumber = number

/**
 * What a processor ran when it ended. `unknown`: it could not tell, because it was killed or
 * crashed; then any task that it had may be the cause.
 */
export type LastRun = 'unknown' | 'nothing' | { readonly taskId: TaskId }

/** Facts. Messages have been decoded, and so checked, before they come here. */
export type WorkerEvent =
  /** The first event. */
  | { readonly type: 'started' }
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected'; readonly reason: string }
  | { readonly type: 'messageReceived'; readonly message: Message }
  /** Bytes of a long message are coming in: the scheduler lives. */
  | { readonly type: 'schedulerProgressed' }
  /** More waits to be sent to the scheduler than should. */
  | { readonly type: 'congested' }
  /** There is room again. */
  | { readonly type: 'drained' }
  | { readonly type: 'processorReady'; readonly processor: ProcessorNumber; readonly pid: number }
  /**
   * The processor is done with a task. `inlineResults` are the chunks of the one result or error;
   * status `canceled` says that a task was skipped because of a `tellProcessor` with its
   * TaskCancel.
   */
  | {
      readonly type: 'taskAnswered'
      readonly processor: ProcessorNumber
      readonly result: TaskResult
    }
  /**
   * Answers `askProgress`: twice the number of tasks that the processor is done with, plus one
   * while it runs the next, modulo 2^32. Tasks run in the order in which they were dispatched.
   */
  | {
      readonly type: 'processorProgressed'
      readonly processor: ProcessorNumber
      readonly progress: number
    }
  /** The process is gone; what it had written before has been handled. */
  | {
      readonly type: 'processorExited'
      readonly processor: ProcessorNumber
      readonly death: ProcessorDeath
      readonly lastRun: LastRun
    }
  /** The worker shall leave in good order. */
  | { readonly type: 'stopRequested' }
  | { readonly type: 'tick' }

/** What the shell carries out. */
export type WorkerAction =
  | { readonly type: 'send'; readonly message: Message }
  /** Send it with `agent`, `rssFree` and `processors[].resource` filled in: only the shell can. */
  | { readonly type: 'sendHeartbeat'; readonly heartbeat: WorkerHeartbeat }
  /** Start the next processor; what is told to it may be written before it is ready. */
  | { readonly type: 'startProcessor'; readonly processor: ProcessorNumber }
  /** Hand a Task to the processor, in its bytes. */
  | { readonly type: 'dispatch'; readonly bytes: Uint8Array }
  /** Pass the processor an ObjectResponse, ObjectInstruction or TaskCancel. */
  | { readonly type: 'tellProcessor'; readonly message: Message }
  /** Have the processor's progress told, even while user code keeps it from reading messages. */
  | { readonly type: 'askProgress' }
  /** End the processor by force. What it still answers counts. */
  | { readonly type: 'killProcessor' }
  /** The scheduler has answered for the first time. */
  | { readonly type: 'registered' }
  | {
      readonly type: 'log'
      readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly text: string
      readonly fields: LogFields
    }
  /** The last action: close the connection, end the processor. */
  | { readonly type: 'end'; readonly reason: string; readonly isFailure: boolean }

/** Takes one action; the machine calls it any number of times per event. */
export type Act = (action: WorkerAction) => void
