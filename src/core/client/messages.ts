// Builds the messages that a client sends.

import { assert } from '../../base/assert.js'
import { latin1ToBytes, NO_BYTES } from '../../base/bytes.js'
import {
  identity,
  taskId as brandTaskId,
  type Identity,
  type ObjectId,
  type TaskId,
} from '../../base/ids.js'
import type {
  ObjectContent,
  ObjectInstruction,
  ObjectRequest,
  Task,
  TaskArgument,
  TaskCancel,
  TaskCapability,
} from '../../wire/message.js'
import { splitChunks } from '../../wire/object-content.js'
import type { StoredValue } from './events.js'
import { packedOf, ResultInput, type TaskInput, type TaskRecord } from './task/task.js'

const NO_PARENT = brandTaskId('')
const NO_CLIENT = identity('')
const NO_CAPABILITIES: readonly TaskCapability[] = []
const NO_CONTENT: ObjectContent = {
  objectIds: [],
  objectTypes: [],
  objectNames: [],
  objectBytes: [],
}

/** How to write a Task. */
interface TaskForm {
  /** False: fields unknown to 1.9.9 are left out. */
  readonly isExtended: boolean
  /** Another scheduler had it before: a worker may still have it. */
  readonly mayHaveRun: boolean
}

/** A Task. Arguments that are bytes are included in it. */
export function taskMessage<Owner>(
  source: Identity,
  task: TaskRecord<Owner>,
  { isExtended, mayHaveRun }: TaskForm,
): Task {
  const { id: taskId, count, options } = task
  const functionArgs: TaskArgument[] = []
  for (const [index, argument] of task.args.entries()) {
    const isShared = isExtended && task.sharedArgs?.has(index) === true
    functionArgs.push(taskArgument(argument, isShared, isExtended))
  }
  const isPlain = !isExtended
  return {
    kind: 'task',
    taskId,
    source,
    metadata: isPlain ? options.plainFlags : options.flags,
    funcObjectId: task.function.value.id,
    functionArgs,
    capabilities: isPlain ? NO_CAPABILITIES : options.capabilities,
    parentTaskId: isPlain ? NO_PARENT : options.parentTaskId,
    name: isPlain ? '' : options.name,
    timeoutMs: isPlain ? 0 : options.timeoutMs,
    retries: isPlain ? 0 : options.retries,
    workerDeathLimit: isPlain ? 0 : options.workerDeathLimit,
    attempt: 0,
    keepsResult: false,
    mayHaveRun: isExtended && mayHaveRun,
    output: isPlain ? 'log' : options.output,
    outputClient: isPlain ? NO_CLIENT : options.outputClient,
    traceContext: isPlain ? '' : options.traceContext,
    count: count === 1 ? 0 : count,
    packed: packedOf(task) ?? NO_BYTES,
  }
}

/** `isShared`: it is the value of a reference, or the result of another task. */
function taskArgument<Owner>(
  argument: TaskInput<Owner>,
  isShared: boolean,
  isExtended: boolean,
): TaskArgument {
  if (argument instanceof Uint8Array) {
    return { type: isShared ? 'sharedInline' : 'inline', data: argument }
  }
  if (!(argument instanceof ResultInput)) {
    const type = isShared ? 'sharedObjectID' : 'objectID'
    return { type, data: latin1ToBytes(argument.value.id) }
  }
  const { result } = argument.task
  assert(result !== undefined, 'a task was sent before its input is ready')
  const type = isExtended ? 'sharedObjectID' : 'objectID'
  return { type, data: latin1ToBytes(result.objectId) }
}

/** Requests that the scheduler drop a task, or consecutive ones; with `force`, even if running. */
export function taskCancelMessage(taskId: TaskId, force: boolean, tasks = 1): TaskCancel {
  const count = tasks === 1 ? 0 : tasks
  return { kind: 'taskCancel', taskId, count, flags: { force, retrieveTaskObject: false } }
}

/** Stores objects in the scheduler. */
export function createMessage(
  objectUser: Identity,
  objectType: 'serializer' | 'object',
  objects: readonly StoredValue[],
): ObjectInstruction {
  return {
    kind: 'objectInstruction',
    instructionType: 'create',
    objectUser,
    objectContent: {
      objectIds: objects.map((object) => object.id),
      objectTypes: objects.map(({ content }) =>
        content instanceof Uint8Array ? objectType : 'file',
      ),
      objectNames: objects.map((object) => object.name),
      objectBytes: objects.map(({ content }) =>
        content instanceof Uint8Array ? splitChunks(content) : [content.chunk],
      ),
    },
  }
}

/** Notifies the scheduler that this client no longer needs some objects. */
export function deleteMessage(
  objectUser: Identity,
  objectIds: readonly ObjectId[],
): ObjectInstruction {
  return {
    kind: 'objectInstruction',
    instructionType: 'delete',
    objectUser,
    objectContent: { ...NO_CONTENT, objectIds },
  }
}

/**
 * Requests one object: in the answer to a request for several, the missing ones could not be
 * identified.
 */
export function requestMessage(id: ObjectId): ObjectRequest {
  return { kind: 'objectRequest', requestType: 'get', objectIds: [id] }
}
