// The messages that a client sends, built from what it knows.

import { latin1ToBytes } from '../../base/bytes.js'
import { taskId as brandTaskId, type Identity, type ObjectId, type TaskId } from '../../base/ids.js'
import type {
  ObjectContent,
  ObjectInstruction,
  ObjectRequest,
  Task,
  TaskArgument,
  TaskCancel,
} from '../../wire/message.js'
import { splitChunks } from '../../wire/object-content.js'
import type { StoredValue } from './events.js'
import type { ClientObject } from './object-table.js'
import type { TaskRecord } from './task-table.js'

const NO_PARENT = brandTaskId('')
const NO_CONTENT: ObjectContent = {
  objectIds: [],
  objectTypes: [],
  objectNames: [],
  objectBytes: [],
}

/** A Task. Arguments that are still bytes travel inside it. */
export function taskMessage<Owner>(source: Identity, task: TaskRecord<Owner>): Task {
  const { taskId, flags } = task
  const functionArgs: TaskArgument[] = []
  for (const argument of task.args) functionArgs.push(taskArgument(argument))
  return {
    kind: 'task',
    taskId,
    source,
    metadata: flags,
    funcObjectId: task.function.value.id,
    functionArgs,
    capabilities: [],
    parentTaskId: NO_PARENT,
    name: '',
    timeoutMs: 0,
    retries: 0,
    workerDeathLimit: 0,
    attempt: 0,
    keepsResult: false,
  }
}

function taskArgument(argument: Uint8Array | ClientObject): TaskArgument {
  if (argument instanceof Uint8Array) return { type: 'inline', data: argument }
  return { type: 'objectID', data: latin1ToBytes(argument.value.id) }
}

/** Asks the scheduler to drop a task; with `force` also when it runs already. */
export function taskCancelMessage(taskId: TaskId, force: boolean): TaskCancel {
  return { kind: 'taskCancel', taskId, flags: { force, retrieveTaskObject: false } }
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
      objectTypes: objects.map(() => objectType),
      objectNames: objects.map((object) => object.name),
      objectBytes: objects.map((object) => splitChunks(object.content)),
    },
  }
}

/** Tells the scheduler that this client does not need some objects any more. */
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

/** Asks for one object: an answer to several could not be told apart when one is missing. */
export function requestMessage(id: ObjectId): ObjectRequest {
  return { kind: 'objectRequest', requestType: 'get', objectIds: [id] }
}
