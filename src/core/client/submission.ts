// What a task is made of when it is submitted. Apart from the events, because graphs are made of
// the same.

import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { OutputPlace, TaskCapability } from '../../wire/message.js'

/** Something that is stored in the scheduler under an id. */
export interface StoredValue {
  readonly id: ObjectId
  /** For display. */
  readonly name: Uint8Array
  readonly content: Uint8Array
}

/** How a task is run. Shared by many tasks: nobody changes it. */
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
 * Where an argument comes from: serialized, as it is; an object of this client that is pinned; or
 * the result of another task of this client that is in the tables.
 */
export type ArgumentSource =
  | Uint8Array
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
