// Generated from protocol/message.capnp by `npm run generate`; do not edit.
// Types, readers and writers of the structs, which docs/protocol.md describes.
import type { Identity, ObjectId, SchedulerId, TaskId } from '../../base/ids.js'
import { ProtocolError } from '../../base/errors.js'
import {
  dataListWords,
  dataWords,
  idListWords,
  idWords,
  structListWords,
  textWords,
  codeOf,
  nameOf,
  readDataList,
  readIdList,
} from '../measure.js'
import { NO_ELEMENTS, type Reader } from '../reader.js'
import type { Writer } from '../writer.js'
import {
  TASK_STATUS,
  WAIT_REASON,
  readObjectContent,
  sizeObjectContent,
  addObjectContent,
  readTaskCapabilityList,
  measureTaskCapabilityList,
  addTaskCapabilityList,
  type TaskStatus,
  type WaitReason,
  type ObjectContent,
  type TaskCapability,
} from './common.js'
import {
  readResource,
  sizeResource,
  addResource,
  readPeerInfoList,
  measurePeerInfoList,
  addPeerInfoList,
  readRunningTaskList,
  measureRunningTaskList,
  addRunningTaskList,
  readObjectManagerStatus,
  sizeObjectManagerStatus,
  addObjectManagerStatus,
  readClientManagerStatus,
  sizeClientManagerStatus,
  addClientManagerStatus,
  readTaskManagerStatus,
  sizeTaskManagerStatus,
  addTaskManagerStatus,
  readProcessorStatusList,
  measureProcessorStatusList,
  addProcessorStatusList,
  readWorkerStatus,
  sizeWorkerStatus,
  addWorkerStatus,
  readWorkerManagerStatus,
  sizeWorkerManagerStatus,
  addWorkerManagerStatus,
  readBinderStatus,
  sizeBinderStatus,
  addBinderStatus,
  type Resource,
  type PeerInfo,
  type RunningTask,
  type ObjectManagerStatus,
  type ClientManagerStatus,
  type TaskManagerStatus,
  type ProcessorStatus,
  type WorkerStatus,
  type WorkerManagerStatus,
  type BinderStatus,
} from './status.js'

/**
 * `Task.OutputPlace` of the schema.
 * - `log`: To the log of its worker.
 * - `forward`: To the client, which prints it.
 * - `off`: Nowhere.
 */
export type OutputPlace = 'log' | 'forward' | 'off'

/** The names of `OutputPlace` by their numbers. */
export const OUTPUT_PLACE: readonly OutputPlace[] = ['log', 'forward', 'off']

/**
 * `Task.Argument.ArgumentType` of the schema.
 * - `task`: The id of another node of the same graph. Only inside a GraphTask or a link.
 * - `objectID`: The id of an object.
 * - `inline`: The serialized value itself (docs/protocol.md#inline).
 * - `sharedObjectID`: As objectID; tasks share the value and must not change it.
 * - `sharedInline`: As inline; it is the result of another task.
 */
export type ArgumentType = 'task' | 'objectID' | 'inline' | 'sharedObjectID' | 'sharedInline'

/** The names of `ArgumentType` by their numbers. */
export const ARGUMENT_TYPE: readonly ArgumentType[] = [
  'task',
  'objectID',
  'inline',
  'sharedObjectID',
  'sharedInline',
]

/**
 * `TaskAttempt.AttemptOutcome` of the schema.
 * - `unfinished`: The worker has the task, and has not started it as far as is known.
 * - `running`: The worker has started it.
 * - `failed`: The function failed, and the task was run again.
 * - `workerLost`: The worker left, or was lost.
 */
export type AttemptOutcome = 'unfinished' | 'running' | 'failed' | 'workerLost'

/** The names of `AttemptOutcome` by their numbers. */
export const ATTEMPT_OUTCOME: readonly AttemptOutcome[] = [
  'unfinished',
  'running',
  'failed',
  'workerLost',
]

/**
 * `TaskExplanation.ExplainedState` of the schema.
 * - `unknown`: The scheduler does not have it (any longer).
 * - `waiting`: It waits for a worker, or for other tasks.
 * - `assigned`: A worker has it.
 * - `canceling`: It was cancelled, and its worker has not answered.
 */
export type ExplainedState = 'unknown' | 'waiting' | 'assigned' | 'canceling'

/** The names of `ExplainedState` by their numbers. */
export const EXPLAINED_STATE: readonly ExplainedState[] = [
  'unknown',
  'waiting',
  'assigned',
  'canceling',
]

/**
 * `TaskUpdate.TaskUpdateType` of the schema.
 * - `waiting`: It only waits for tasks that it has submitted itself.
 * - `resumed`: It continues.
 * - `progress`: It reports its progress.
 * - `running`: It has started.
 * - `queued`: It had started, and waits for a worker again.
 */
export type TaskUpdateType = 'waiting' | 'resumed' | 'progress' | 'running' | 'queued'

/** The names of `TaskUpdateType` by their numbers. */
export const TASK_UPDATE_TYPE: readonly TaskUpdateType[] = [
  'waiting',
  'resumed',
  'progress',
  'running',
  'queued',
]

/**
 * `TaskOutput.OutputStream` of the schema.
 * - `stdout`: Standard output.
 * - `stderr`: Standard error.
 */
export type OutputStream = 'stdout' | 'stderr'

/** The names of `OutputStream` by their numbers. */
export const OUTPUT_STREAM: readonly OutputStream[] = ['stdout', 'stderr']

/**
 * `ObjectInstruction.ObjectInstructionType` of the schema.
 * - `create`: Store the objects, or add a user to them.
 * - `delete`: The user no longer needs the objects.
 * - `clear`: Never sent.
 */
export type ObjectInstructionType = 'create' | 'delete' | 'clear'

/** The names of `ObjectInstructionType` by their numbers. */
export const OBJECT_INSTRUCTION_TYPE: readonly ObjectInstructionType[] = [
  'create',
  'delete',
  'clear',
]

/**
 * `ObjectRequest.ObjectRequestType` of the schema.
 * - `get`: The objects are requested. The only type in 1.9.9.
 * - `note`: The worker has got them from another worker of its agent: it is notified of removals.
 */
export type ObjectRequestType = 'get' | 'note'

/** The names of `ObjectRequestType` by their numbers. */
export const OBJECT_REQUEST_TYPE: readonly ObjectRequestType[] = ['get', 'note']

/**
 * `ObjectResponse.ObjectResponseType` of the schema.
 * - `content`: Objects that exist.
 * - `objectNotExist`: Objects that do not exist. Crashes a 1.9.9 worker.
 */
export type ObjectResponseType = 'content' | 'objectNotExist'

/** The names of `ObjectResponseType` by their numbers. */
export const OBJECT_RESPONSE_TYPE: readonly ObjectResponseType[] = ['content', 'objectNotExist']

/**
 * `SharedObject.SharedObjectType` of the schema.
 * - `publish`: From a client: the name stands for this object, instead of any other.
 * - `restore`: The same on a later connection: another object keeps the name.
 * - `find`: Asks for the object with this name, to use it.
 * - `hold`: It uses this object, which may not be stored yet.
 * - `remove`: The name is not to stand for anything.
 * - `found`: From a scheduler: the client is a user of this object.
 * - `missing`: No object has this name.
 * - `removed`: The answer to `remove`: the name stood for this object.
 * - `withdrawn`: To a user of the object: the name does not stand for it any more.
 * - `published`: The answer to `publish`, `restore`, `confirm`, `claim` and `copy`: it is stored, and named.
 * - `unstored`: The answer to the same: it is not stored, and its name has not changed.
 * - `replicate`: From a client, and to workers: they fetch the object before a task needs it.
 * - `confirm`: To an object storage server: asks whether this object is stored there.
 * - `claim`: The same, from a scheduler, which becomes its only user.
 * - `copy`: The same: if it is not stored there, it is copied from the server `name`.
 * - `source`: Between servers: asks from which one to copy it. The answer has its name; empty: from itself.
 */
export type SharedObjectType =
  | 'publish'
  | 'restore'
  | 'find'
  | 'hold'
  | 'remove'
  | 'found'
  | 'missing'
  | 'removed'
  | 'withdrawn'
  | 'published'
  | 'unstored'
  | 'replicate'
  | 'confirm'
  | 'claim'
  | 'copy'
  | 'source'

/** The names of `SharedObjectType` by their numbers. */
export const SHARED_OBJECT_TYPE: readonly SharedObjectType[] = [
  'publish',
  'restore',
  'find',
  'hold',
  'remove',
  'found',
  'missing',
  'removed',
  'withdrawn',
  'published',
  'unstored',
  'replicate',
  'confirm',
  'claim',
  'copy',
  'source',
]

/**
 * `ClientDisconnect.DisconnectType` of the schema.
 * - `disconnect`: Only this client leaves.
 * - `shutdown`: The whole cluster stops.
 */
export type DisconnectType = 'disconnect' | 'shutdown'

/** The names of `DisconnectType` by their numbers. */
export const DISCONNECT_TYPE: readonly DisconnectType[] = ['disconnect', 'shutdown']

/**
 * `StateGraphTask.NodeTaskType` of the schema.
 * - `normal`: An intermediate node.
 * - `target`: One of the graph's targets.
 */
export type NodeTaskType = 'normal' | 'target'

/** The names of `NodeTaskType` by their numbers. */
export const NODE_TASK_TYPE: readonly NodeTaskType[] = ['normal', 'target']

/**
 * `StorageServerStatus.StorageServerState` of the schema.
 * - `up`: It can.
 * - `away`: The scheduler cannot reach it.
 * - `leaving`: It ends: its content is being copied to others.
 */
export type StorageServerState = 'up' | 'away' | 'leaving'

/** The names of `StorageServerState` by their numbers. */
export const STORAGE_SERVER_STATE: readonly StorageServerState[] = ['up', 'away', 'leaving']

/**
 * `LostWorker.LossCause` of the schema.
 * - `connection`: Its connection was closed.
 * - `silence`: It sent nothing for too long.
 */
export type LossCause = 'connection' | 'silence'

/** The names of `LossCause` by their numbers. */
export const LOSS_CAUSE: readonly LossCause[] = ['connection', 'silence']

/**
 * `GraphNodeReport.GraphNodeState` of the schema.
 * - `waiting`: It waits for other nodes.
 * - `ready`: It waits for a worker.
 * - `running`: It is assigned to a worker.
 * - `succeeded`: It has succeeded.
 * - `failed`: It, or a node that it needs, has failed or was cancelled.
 * - `dropped`: It is no longer needed.
 */
export type GraphNodeState = 'waiting' | 'ready' | 'running' | 'succeeded' | 'failed' | 'dropped'

/** The names of `GraphNodeState` by their numbers. */
export const GRAPH_NODE_STATE: readonly GraphNodeState[] = [
  'waiting',
  'ready',
  'running',
  'succeeded',
  'failed',
  'dropped',
]

/**
 * `AllocatorStatus.AllocatorDecision` of the schema.
 * - `wait`: Nothing.
 * - `start`: It starts workers.
 * - `drain`: It ends workers without tasks, or that have not come.
 * - `backOff`: It waits after failed starts.
 */
export type AllocatorDecision = 'wait' | 'start' | 'drain' | 'backOff'

/** The names of `AllocatorDecision` by their numbers. */
export const ALLOCATOR_DECISION: readonly AllocatorDecision[] = [
  'wait',
  'start',
  'drain',
  'backOff',
]

/**
 * `OperatorRequest.OperatorAction` of the schema.
 * - `explain`: The state and the history of a task.
 * - `cancel`: Cancel a task, as its client would.
 * - `stack`: The JavaScript stack of a task or a worker.
 * - `logs`: The last lines of a worker.
 * - `drain`: Have a worker leave once it has finished what it runs.
 * - `waiting`: The tasks that have waited longest.
 * - `objects`: The largest objects that are stored.
 * - `pause`: Have an allocator start no workers.
 * - `resume`: Have it start workers again.
 */
export type OperatorAction =
  'explain' | 'cancel' | 'stack' | 'logs' | 'drain' | 'waiting' | 'objects' | 'pause' | 'resume'

/** The names of `OperatorAction` by their numbers. */
export const OPERATOR_ACTION: readonly OperatorAction[] = [
  'explain',
  'cancel',
  'stack',
  'logs',
  'drain',
  'waiting',
  'objects',
  'pause',
  'resume',
]

/**
 * `OperatorAnswer.OperatorOutcome` of the schema.
 * - `done`: It was.
 * - `unknown`: There is no such task or worker.
 * - `ambiguous`: Several tasks begin like this.
 * - `refused`: The scheduler is protected.
 * - `unsupported`: The worker does not understand such requests, or the task has no worker.
 * - `timedOut`: The worker has not answered in time.
 * - `busy`: Too many requests at a time: ask again later.
 */
export type OperatorOutcome =
  'done' | 'unknown' | 'ambiguous' | 'refused' | 'unsupported' | 'timedOut' | 'busy'

/** The names of `OperatorOutcome` by their numbers. */
export const OPERATOR_OUTCOME: readonly OperatorOutcome[] = [
  'done',
  'unknown',
  'ambiguous',
  'refused',
  'unsupported',
  'timedOut',
  'busy',
]

/**
 * `ObjectStory.ObjectPlace` of the schema.
 * - `memory`: In the memory of the scheduler.
 * - `shm`: In a file in shared memory, on the machine of the scheduler.
 * - `disk`: In another file there.
 * - `server`: On an object storage server.
 */
export type ObjectPlace = 'memory' | 'shm' | 'disk' | 'server'

/** The names of `ObjectPlace` by their numbers. */
export const OBJECT_PLACE: readonly ObjectPlace[] = ['memory', 'shm', 'disk', 'server']

/**
 * `LoggedLine.LineSource` of the schema.
 * - `log`: The log of the worker.
 * - `stdout`: The standard output of its processor.
 * - `stderr`: The standard error of its processor.
 */
export type LineSource = 'log' | 'stdout' | 'stderr'

/** The names of `LineSource` by their numbers. */
export const LINE_SOURCE: readonly LineSource[] = ['log', 'stdout', 'stderr']

/** One call of a function: client -> scheduler -> worker. (docs/protocol.md#struct-task) */
export interface Task {
  readonly kind: 'task'
  /** Chosen by the client, unique in the whole scheduler while the task is unfinished. */
  readonly taskId: TaskId
  /** The client that owns the task. */
  readonly source: Identity
  /** Task flags (docs/protocol.md#task-flags). */
  readonly metadata: Uint8Array
  /** The function. */
  readonly funcObjectId: ObjectId
  /** The arguments in order. */
  readonly functionArgs: readonly TaskArgument[]
  /** What the worker must offer. Not in 1.9.9. */
  readonly capabilities: readonly TaskCapability[]
  /** The task inside which this one was submitted. Not in 1.9.9. */
  readonly parentTaskId: TaskId
  /** Name for display; empty: the name of the function. Not in 1.9.9. */
  readonly name: string
  /** How long it may run; 0 = no limit. Not in 1.9.9. */
  readonly timeoutMs: number
  /** How often it is run again after it has failed. Not in 1.9.9. */
  readonly retries: number
  /** It fails with workerDied after the loss of this many workers; 0 = the scheduler's default. Not in 1.9.9. */
  readonly workerDeathLimit: number
  /** How often it was started before. Set by schedulers. Not in 1.9.9. */
  readonly attempt: number
  /** The worker should keep a result that becomes an object: another task needs it. Set by schedulers. Small results of packed tasks are then written by the serializer. Not in 1.9.9. */
  readonly keepsResult: boolean
  /** Another scheduler process had it before: a worker may still have it. Set by clients. Not in 1.9.9. */
  readonly mayHaveRun: boolean
  /** Where its output goes (docs/protocol.md#output). Not in 1.9.9. */
  readonly output: OutputPlace
  /** forward: the client that prints it, if that is not `source`. Not in 1.9.9. */
  readonly outputClient: Identity
  /** The trace to which it belongs (docs/protocol.md#traces). Not in 1.9.9. */
  readonly traceContext: string
  /** How many tasks this is: a run of tasks that differ only in their arguments (docs/protocol.md#runs); 0 = one. Not in 1.9.9. */
  readonly count: number
  /** The arguments of all tasks of the run; `functionArgs` has only the attachments of the function. Not in 1.9.9. */
  readonly packed: Uint8Array
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readTask(reader: Reader, bytes: Uint8Array | undefined): Task {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'task',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    source: reader.id(pointersAt + 8, structEnd) as Identity,
    metadata: reader.data(pointersAt + 16, structEnd),
    funcObjectId: reader.id(pointersAt + 24, structEnd) as ObjectId,
    functionArgs: readTaskArgumentList(reader, pointersAt + 32, structEnd),
    capabilities: readTaskCapabilityList(reader, pointersAt + 40, structEnd),
    parentTaskId: reader.id(pointersAt + 48, structEnd) as TaskId,
    name: reader.text(pointersAt + 56, structEnd),
    timeoutMs: reader.uint32(structAt, pointersAt),
    retries: reader.uint32(structAt + 4, pointersAt),
    workerDeathLimit: reader.uint32(structAt + 8, pointersAt),
    attempt: reader.uint32(structAt + 12, pointersAt),
    keepsResult: reader.bool(structAt, 128, pointersAt),
    mayHaveRun: reader.bool(structAt, 129, pointersAt),
    output: nameOf(OUTPUT_PLACE, reader.uint16(structAt + 18, pointersAt), 'Task.output'),
    outputClient: reader.id(pointersAt + 64, structEnd) as Identity,
    traceContext: reader.text(pointersAt + 72, structEnd),
    count: reader.uint32(structAt + 20, pointersAt),
    packed: reader.data(pointersAt + 80, structEnd),
    bytes,
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly Task[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: Task[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTask(reader.enter(at, elementDataBytes, elementPointerBytes), undefined))
  }
  return list
}

/** Whether any field is set that 1.9.9 does not have. */
function isExtendedTask(value: Task): boolean {
  return (
    value.capabilities.length > 0 ||
    value.parentTaskId.length > 0 ||
    value.name.length > 0 ||
    value.timeoutMs !== 0 ||
    value.retries !== 0 ||
    value.workerDeathLimit !== 0 ||
    value.attempt !== 0 ||
    value.keepsResult ||
    value.mayHaveRun ||
    value.output !== 'log' ||
    value.outputClient.length > 0 ||
    value.traceContext.length > 0 ||
    value.count !== 0 ||
    value.packed.length > 0
  )
}

/** Words of everything that the struct points to. */
export function measureTask(value: Task, referenceFrom: number, isExtended: boolean): number {
  const words =
    idWords(value.taskId) +
    idWords(value.source) +
    dataWords(value.metadata, referenceFrom) +
    idWords(value.funcObjectId) +
    measureTaskArgumentList(value.functionArgs, referenceFrom)
  return isExtended
    ? words +
        measureTaskCapabilityList(value.capabilities, referenceFrom) +
        idWords(value.parentTaskId) +
        textWords(value.name) +
        idWords(value.outputClient) +
        textWords(value.traceContext) +
        dataWords(value.packed, referenceFrom)
    : words
}

/** Words of the struct and of everything that it points to. */
export function sizeTask(value: Task, referenceFrom: number): number {
  const isExtended = isExtendedTask(value)
  return (isExtended ? 14 : 5) + measureTask(value, referenceFrom, isExtended)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskList(values: readonly Task[], referenceFrom: number): number {
  const isExtended = values.some(isExtendedTask)
  let words = structListWords(values.length, isExtended ? 14 : 5)
  for (const value of values) words += measureTask(value, referenceFrom, isExtended)
  return words
}

/** Adds the struct and sets the pointer to it. */
export function addTask(writer: Writer, pointerAt: number, value: Task): void {
  const isExtended = isExtendedTask(value)
  writeTask(
    writer,
    writer.struct(pointerAt, isExtended ? 3 : 0, isExtended ? 11 : 5),
    value,
    isExtended,
  )
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTask(writer: Writer, at: number, value: Task, isExtended: boolean): void {
  const pointersAt = at + (isExtended ? 24 : 0)
  writer.id(pointersAt, value.taskId)
  writer.id(pointersAt + 8, value.source)
  writer.data(pointersAt + 16, value.metadata)
  writer.id(pointersAt + 24, value.funcObjectId)
  addTaskArgumentList(writer, pointersAt + 32, value.functionArgs)
  if (!isExtended) return
  addTaskCapabilityList(writer, pointersAt + 40, value.capabilities)
  writer.id(pointersAt + 48, value.parentTaskId)
  writer.text(pointersAt + 56, value.name)
  writer.uint32(at, value.timeoutMs)
  writer.uint32(at + 4, value.retries)
  writer.uint32(at + 8, value.workerDeathLimit)
  writer.uint32(at + 12, value.attempt)
  writer.bool(at, 128, value.keepsResult)
  writer.bool(at, 129, value.mayHaveRun)
  writer.uint16(at + 18, codeOf(OUTPUT_PLACE, value.output, 'Task.output'))
  writer.id(pointersAt + 64, value.outputClient)
  writer.text(pointersAt + 72, value.traceContext)
  writer.uint32(at + 20, value.count)
  writer.data(pointersAt + 80, value.packed)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskList(writer: Writer, pointerAt: number, values: readonly Task[]): void {
  const isExtended = values.some(isExtendedTask)
  let at = writer.structList(pointerAt, values.length, isExtended ? 3 : 0, isExtended ? 11 : 5)
  for (const value of values) {
    writer.zero(at, isExtended ? 3 : 0)
    writeTask(writer, at, value, isExtended)
    at += isExtended ? 112 : 40
  }
}

/** One argument of a task. */
export interface TaskArgument {
  /** The kind of `data`. */
  readonly type: ArgumentType
  /** A task id, an object id or a serialized value, by `type`. */
  readonly data: Uint8Array
}

/** Reads the struct that was entered last. */
export function readTaskArgument(reader: Reader): TaskArgument {
  const { structAt, pointersAt, structEnd } = reader
  return {
    type: nameOf(ARGUMENT_TYPE, reader.uint16(structAt, pointersAt), 'Task.Argument.type'),
    data: reader.data(pointersAt, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskArgumentList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskArgument[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskArgument[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskArgument(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureTaskArgument(value: TaskArgument, referenceFrom: number): number {
  return dataWords(value.data, referenceFrom)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskArgumentList(
  values: readonly TaskArgument[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 2)
  for (const value of values) words += measureTaskArgument(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskArgument(writer: Writer, at: number, value: TaskArgument): void {
  const pointersAt = at + 8
  writer.uint16(at, codeOf(ARGUMENT_TYPE, value.type, 'Task.Argument.type'))
  writer.data(pointersAt, value.data)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskArgumentList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskArgument[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 1)
  for (const value of values) {
    writer.zero(at, 1)
    writeTaskArgument(writer, at, value)
    at += 16
  }
}

/** Cancel a task: client -> scheduler; scheduler -> worker. (docs/protocol.md#struct-taskcancel) */
export interface TaskCancel {
  readonly kind: 'taskCancel'
  /** Which task. */
  readonly taskId: TaskId
  /** How. */
  readonly flags: TaskCancelFlags
  /** How many consecutive tasks, of which `taskId` is the first (docs/protocol.md#runs); 0 = one. Not in 1.9.9. */
  readonly count: number
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readTaskCancel(reader: Reader, bytes: Uint8Array | undefined): TaskCancel {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'taskCancel',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    flags: readTaskCancelFlags(reader.enterStruct(pointersAt + 8, structEnd)),
    count: reader.uint32(structAt, pointersAt),
    bytes,
  }
}

/** Whether any field is set that 1.9.9 does not have. */
function isExtendedTaskCancel(value: TaskCancel): boolean {
  return value.count !== 0
}

/** Words of everything that the struct points to. */
export function measureTaskCancel(
  value: TaskCancel,
  referenceFrom: number,
  isExtended: boolean,
): number {
  const words = idWords(value.taskId) + sizeTaskCancelFlags(value.flags, referenceFrom)
  return isExtended ? words + 0 : words
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskCancel(value: TaskCancel, referenceFrom: number): number {
  const isExtended = isExtendedTaskCancel(value)
  return (isExtended ? 3 : 2) + measureTaskCancel(value, referenceFrom, isExtended)
}

/** Adds the struct and sets the pointer to it. */
export function addTaskCancel(writer: Writer, pointerAt: number, value: TaskCancel): void {
  const isExtended = isExtendedTaskCancel(value)
  writeTaskCancel(writer, writer.struct(pointerAt, isExtended ? 1 : 0, 2), value, isExtended)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskCancel(writer: Writer, at: number, value: TaskCancel, isExtended: boolean): void {
  const pointersAt = at + (isExtended ? 8 : 0)
  writer.id(pointersAt, value.taskId)
  addTaskCancelFlags(writer, pointersAt + 8, value.flags)
  if (!isExtended) return
  writer.uint32(at, value.count)
}

/** How a task is cancelled. */
export interface TaskCancelFlags {
  /** Cancel it even if it is running: its processor is killed. */
  readonly force: boolean
  /** Requests the task itself in the answer. Always false: true crashes a 1.9.9 worker. */
  readonly retrieveTaskObject: boolean
}

/** Reads the struct that was entered last. */
export function readTaskCancelFlags(reader: Reader): TaskCancelFlags {
  const { structAt, pointersAt } = reader
  return {
    force: reader.bool(structAt, 0, pointersAt),
    retrieveTaskObject: reader.bool(structAt, 1, pointersAt),
  }
}

/** Words of everything that the struct points to. */
export function measureTaskCancelFlags(_value: TaskCancelFlags, _referenceFrom: number): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskCancelFlags(value: TaskCancelFlags, referenceFrom: number): number {
  return 1 + measureTaskCancelFlags(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addTaskCancelFlags(
  writer: Writer,
  pointerAt: number,
  value: TaskCancelFlags,
): void {
  writeTaskCancelFlags(writer, writer.struct(pointerAt, 1, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskCancelFlags(writer: Writer, at: number, value: TaskCancelFlags): void {
  writer.bool(at, 0, value.force)
  writer.bool(at, 1, value.retrieveTaskObject)
}

/** How a task or graph ended: worker -> scheduler -> client. (docs/protocol.md#struct-taskresult) */
export interface TaskResult {
  readonly kind: 'taskResult'
  /** The task, or the graph (its last message). */
  readonly taskId: TaskId
  /** How it ended. */
  readonly status: TaskStatus
  /** Profile result (docs/protocol.md#profile-result). */
  readonly metadata: Uint8Array
  /** The object that holds the result or the error; empty if there is none or it is inline. */
  readonly results: readonly ObjectId[]
  /** The serialized result or error itself, instead of an object (docs/protocol.md#inline). Not in 1.9.9. */
  readonly inlineResults: readonly Uint8Array[]
  /** The worker that ran it. Not in 1.9.9. */
  readonly worker: Identity
  /** For a node of a graph that failed because another node did: that other node. Not in 1.9.9. */
  readonly failedTaskId: TaskId
  /** The attempt of the Task that this answers. Not in 1.9.9. */
  readonly attempt: number
  /** The attempts before the one that this answers, oldest first. Set by schedulers. Not in 1.9.9. */
  readonly attempts: readonly TaskAttempt[]
  /** failed: the error as text, for monitors; at most one (docs/protocol.md#failures). Not in 1.9.9. */
  readonly error: readonly TaskError[]
  /** How many consecutive tasks ended in this way, of which `taskId` is the first (docs/protocol.md#runs); 0 = one. Not in 1.9.9. */
  readonly count: number
  /** success: the results of all of them, instead of `results` and `inlineResults`. Not in 1.9.9. */
  readonly packed: Uint8Array
  /** From a processor to its agent: the result is in a file, which `inlineResults` names. Not in 1.9.9. */
  readonly isInFile: boolean
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readTaskResult(reader: Reader, bytes: Uint8Array | undefined): TaskResult {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'taskResult',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    status: nameOf(TASK_STATUS, reader.uint16(structAt, pointersAt), 'TaskResult.status'),
    metadata: reader.data(pointersAt + 8, structEnd),
    results: readIdList(reader, pointersAt + 16, structEnd) as readonly ObjectId[],
    inlineResults: readDataList(reader, pointersAt + 24, structEnd),
    worker: reader.id(pointersAt + 32, structEnd) as Identity,
    failedTaskId: reader.id(pointersAt + 40, structEnd) as TaskId,
    attempt: reader.uint32(structAt + 4, pointersAt),
    attempts: readTaskAttemptList(reader, pointersAt + 48, structEnd),
    error: readTaskErrorList(reader, pointersAt + 56, structEnd),
    count: reader.uint32(structAt + 8, pointersAt),
    packed: reader.data(pointersAt + 64, structEnd),
    isInFile: reader.bool(structAt, 16, pointersAt),
    bytes,
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskResultList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskResult[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskResult[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskResult(reader.enter(at, elementDataBytes, elementPointerBytes), undefined))
  }
  return list
}

/** Whether any field is set that 1.9.9 does not have. */
function isExtendedTaskResult(value: TaskResult): boolean {
  return (
    value.inlineResults.length > 0 ||
    value.worker.length > 0 ||
    value.failedTaskId.length > 0 ||
    value.attempt !== 0 ||
    value.attempts.length > 0 ||
    value.error.length > 0 ||
    value.count !== 0 ||
    value.packed.length > 0 ||
    value.isInFile
  )
}

/** Words of everything that the struct points to. */
export function measureTaskResult(
  value: TaskResult,
  referenceFrom: number,
  isExtended: boolean,
): number {
  const words =
    idWords(value.taskId) + dataWords(value.metadata, referenceFrom) + idListWords(value.results)
  return isExtended
    ? words +
        dataListWords(value.inlineResults, referenceFrom) +
        idWords(value.worker) +
        idWords(value.failedTaskId) +
        measureTaskAttemptList(value.attempts, referenceFrom) +
        measureTaskErrorList(value.error, referenceFrom) +
        dataWords(value.packed, referenceFrom)
    : words
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskResult(value: TaskResult, referenceFrom: number): number {
  const isExtended = isExtendedTaskResult(value)
  return (isExtended ? 11 : 4) + measureTaskResult(value, referenceFrom, isExtended)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskResultList(
  values: readonly TaskResult[],
  referenceFrom: number,
): number {
  const isExtended = values.some(isExtendedTaskResult)
  let words = structListWords(values.length, isExtended ? 11 : 4)
  for (const value of values) words += measureTaskResult(value, referenceFrom, isExtended)
  return words
}

/** Adds the struct and sets the pointer to it. */
export function addTaskResult(writer: Writer, pointerAt: number, value: TaskResult): void {
  const isExtended = isExtendedTaskResult(value)
  writeTaskResult(
    writer,
    writer.struct(pointerAt, isExtended ? 2 : 1, isExtended ? 9 : 3),
    value,
    isExtended,
  )
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskResult(writer: Writer, at: number, value: TaskResult, isExtended: boolean): void {
  const pointersAt = at + (isExtended ? 16 : 8)
  writer.id(pointersAt, value.taskId)
  writer.uint16(at, codeOf(TASK_STATUS, value.status, 'TaskResult.status'))
  writer.data(pointersAt + 8, value.metadata)
  writer.idList(pointersAt + 16, value.results)
  if (!isExtended) return
  writer.dataList(pointersAt + 24, value.inlineResults)
  writer.id(pointersAt + 32, value.worker)
  writer.id(pointersAt + 40, value.failedTaskId)
  writer.uint32(at + 4, value.attempt)
  addTaskAttemptList(writer, pointersAt + 48, value.attempts)
  addTaskErrorList(writer, pointersAt + 56, value.error)
  writer.uint32(at + 8, value.count)
  writer.data(pointersAt + 64, value.packed)
  writer.bool(at, 16, value.isInFile)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskResultList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskResult[],
): void {
  const isExtended = values.some(isExtendedTaskResult)
  let at = writer.structList(pointerAt, values.length, isExtended ? 2 : 1, isExtended ? 9 : 3)
  for (const value of values) {
    writer.zero(at, isExtended ? 2 : 1)
    writeTaskResult(writer, at, value, isExtended)
    at += isExtended ? 88 : 32
  }
}

/** The texts of an error, for display. */
export interface TaskError {
  /** Its name: `TypeError`. At most 256 characters. */
  readonly name: string
  /** Its message, at most 1,024 characters. */
  readonly message: string
  /** Its stack, name and message included, at most 4,096 characters. */
  readonly stack: string
}

/** Reads the struct that was entered last. */
export function readTaskError(reader: Reader): TaskError {
  const { pointersAt, structEnd } = reader
  return {
    name: reader.text(pointersAt, structEnd),
    message: reader.text(pointersAt + 8, structEnd),
    stack: reader.text(pointersAt + 16, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskErrorList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskError[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskError[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskError(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureTaskError(value: TaskError, _referenceFrom: number): number {
  return textWords(value.name) + textWords(value.message) + textWords(value.stack)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskErrorList(values: readonly TaskError[], referenceFrom: number): number {
  let words = structListWords(values.length, 3)
  for (const value of values) words += measureTaskError(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskError(writer: Writer, at: number, value: TaskError): void {
  const pointersAt = at
  writer.text(pointersAt, value.name)
  writer.text(pointersAt + 8, value.message)
  writer.text(pointersAt + 16, value.stack)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskErrorList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskError[],
): void {
  let at = writer.structList(pointerAt, values.length, 0, 3)
  for (const value of values) {
    writeTaskError(writer, at, value)
    at += 24
  }
}

/** An assignment of a task to a worker (docs/protocol.md#explanation). */
export interface TaskAttempt {
  /** Which worker. */
  readonly worker: Identity
  /** Its outcome. */
  readonly outcome: AttemptOutcome
  /** How long ago the task was assigned to the worker, in milliseconds. */
  readonly agoMS: number
  /** How long the worker had it, or has had it so far, in milliseconds. */
  readonly forMS: number
}

/** Reads the struct that was entered last. */
export function readTaskAttempt(reader: Reader): TaskAttempt {
  const { structAt, pointersAt, structEnd } = reader
  return {
    worker: reader.id(pointersAt, structEnd) as Identity,
    outcome: nameOf(ATTEMPT_OUTCOME, reader.uint16(structAt, pointersAt), 'TaskAttempt.outcome'),
    agoMS: reader.uint32(structAt + 4, pointersAt),
    forMS: reader.uint32(structAt + 8, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskAttemptList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskAttempt[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskAttempt[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskAttempt(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureTaskAttempt(value: TaskAttempt, _referenceFrom: number): number {
  return idWords(value.worker)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskAttemptList(
  values: readonly TaskAttempt[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 3)
  for (const value of values) words += measureTaskAttempt(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskAttempt(writer: Writer, at: number, value: TaskAttempt): void {
  const pointersAt = at + 16
  writer.id(pointersAt, value.worker)
  writer.uint16(at, codeOf(ATTEMPT_OUTCOME, value.outcome, 'TaskAttempt.outcome'))
  writer.uint32(at + 4, value.agoMS)
  writer.uint32(at + 8, value.forMS)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskAttemptList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskAttempt[],
): void {
  let at = writer.structList(pointerAt, values.length, 2, 1)
  for (const value of values) {
    writer.zero(at, 2)
    writeTaskAttempt(writer, at, value)
    at += 24
  }
}

/** Asks for the state of a task: client -> scheduler (docs/protocol.md#explanation). (docs/protocol.md#struct-taskinquiry) */
export interface TaskInquiry {
  readonly kind: 'taskInquiry'
  /** The task, or a node of a graph of this client. */
  readonly taskId: TaskId
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readTaskInquiry(reader: Reader, bytes: Uint8Array | undefined): TaskInquiry {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'taskInquiry',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureTaskInquiry(value: TaskInquiry, _referenceFrom: number): number {
  return idWords(value.taskId)
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskInquiry(value: TaskInquiry, referenceFrom: number): number {
  return 1 + measureTaskInquiry(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addTaskInquiry(writer: Writer, pointerAt: number, value: TaskInquiry): void {
  writeTaskInquiry(writer, writer.struct(pointerAt, 0, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskInquiry(writer: Writer, at: number, value: TaskInquiry): void {
  const pointersAt = at
  writer.id(pointersAt, value.taskId)
}

/** The answer to a TaskInquiry: scheduler -> client. (docs/protocol.md#struct-taskexplanation) */
export interface TaskExplanation {
  readonly kind: 'taskExplanation'
  /** The task of the TaskInquiry. */
  readonly taskId: TaskId
  /** The state of the task. */
  readonly state: ExplainedState
  /** waiting: the reason. */
  readonly reason: WaitReason
  /** Its requirements that no worker offers: `gpu=1, linux`. Only with the reason noCapability. */
  readonly needs: string
  /** How long it has been in this state, in milliseconds; 0 if that is not measured. */
  readonly forMS: number
  /** The unfinished nodes whose results it needs, at most 20. Only with the reason dependency. */
  readonly dependsOn: readonly TaskId[]
  /** The workers that had it, oldest first, and the one that has it; at most 20. */
  readonly attempts: readonly TaskAttempt[]
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readTaskExplanation(
  reader: Reader,
  bytes: Uint8Array | undefined,
): TaskExplanation {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'taskExplanation',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    state: nameOf(EXPLAINED_STATE, reader.uint16(structAt, pointersAt), 'TaskExplanation.state'),
    reason: nameOf(WAIT_REASON, reader.uint16(structAt + 2, pointersAt), 'TaskExplanation.reason'),
    needs: reader.text(pointersAt + 8, structEnd),
    forMS: reader.uint32(structAt + 4, pointersAt),
    dependsOn: readIdList(reader, pointersAt + 16, structEnd) as readonly TaskId[],
    attempts: readTaskAttemptList(reader, pointersAt + 24, structEnd),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureTaskExplanation(value: TaskExplanation, referenceFrom: number): number {
  return (
    idWords(value.taskId) +
    textWords(value.needs) +
    idListWords(value.dependsOn) +
    measureTaskAttemptList(value.attempts, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskExplanation(value: TaskExplanation, referenceFrom: number): number {
  return 5 + measureTaskExplanation(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addTaskExplanation(
  writer: Writer,
  pointerAt: number,
  value: TaskExplanation,
): void {
  writeTaskExplanation(writer, writer.struct(pointerAt, 1, 4), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskExplanation(writer: Writer, at: number, value: TaskExplanation): void {
  const pointersAt = at + 8
  writer.id(pointersAt, value.taskId)
  writer.uint16(at, codeOf(EXPLAINED_STATE, value.state, 'TaskExplanation.state'))
  writer.uint16(at + 2, codeOf(WAIT_REASON, value.reason, 'TaskExplanation.reason'))
  writer.text(pointersAt + 8, value.needs)
  writer.uint32(at + 4, value.forMS)
  writer.idList(pointersAt + 16, value.dependsOn)
  addTaskAttemptList(writer, pointersAt + 24, value.attempts)
}

/** Reports on an unfinished task: worker -> scheduler -> client (docs/protocol.md#task-updates). (docs/protocol.md#struct-taskupdate) */
export interface TaskUpdate {
  readonly kind: 'taskUpdate'
  /** The task. */
  readonly taskId: TaskId
  /** What has changed. */
  readonly update: TaskUpdateType
  /** progress: how much of it is done; waiting: how often it has lost its process while waiting. */
  readonly done: number
  /** progress: how much there is; 0 = unknown. */
  readonly total: number
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readTaskUpdate(reader: Reader, bytes: Uint8Array | undefined): TaskUpdate {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'taskUpdate',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    update: nameOf(TASK_UPDATE_TYPE, reader.uint16(structAt, pointersAt), 'TaskUpdate.update'),
    done: reader.float64(structAt + 8, pointersAt),
    total: reader.float64(structAt + 16, pointersAt),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureTaskUpdate(value: TaskUpdate, _referenceFrom: number): number {
  return idWords(value.taskId)
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskUpdate(value: TaskUpdate, referenceFrom: number): number {
  return 4 + measureTaskUpdate(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addTaskUpdate(writer: Writer, pointerAt: number, value: TaskUpdate): void {
  writeTaskUpdate(writer, writer.struct(pointerAt, 3, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskUpdate(writer: Writer, at: number, value: TaskUpdate): void {
  const pointersAt = at + 24
  writer.id(pointersAt, value.taskId)
  writer.uint16(at, codeOf(TASK_UPDATE_TYPE, value.update, 'TaskUpdate.update'))
  writer.float64(at + 8, value.done)
  writer.float64(at + 16, value.total)
}

/** Output of a task: worker -> scheduler -> client (docs/protocol.md#output). (docs/protocol.md#struct-taskoutput) */
export interface TaskOutput {
  readonly kind: 'taskOutput'
  /** The task. */
  readonly taskId: TaskId
  /** The client that prints it. */
  readonly client: Identity
  /** The name of the task, for display. */
  readonly name: string
  /** The stream to which the task wrote it. */
  readonly stream: OutputStream
  /** The bytes; may begin and end anywhere in a line. */
  readonly content: Uint8Array
  /** How much output for this client was dropped since the last report, in bytes. */
  readonly droppedBytes: number
  /** The task has finished on this worker: nothing from this run follows. */
  readonly isLast: boolean
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readTaskOutput(reader: Reader, bytes: Uint8Array | undefined): TaskOutput {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'taskOutput',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    client: reader.id(pointersAt + 8, structEnd) as Identity,
    name: reader.text(pointersAt + 16, structEnd),
    stream: nameOf(OUTPUT_STREAM, reader.uint16(structAt, pointersAt), 'TaskOutput.stream'),
    content: reader.data(pointersAt + 24, structEnd),
    droppedBytes: reader.uint64(structAt + 8, pointersAt),
    isLast: reader.bool(structAt, 16, pointersAt),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureTaskOutput(value: TaskOutput, referenceFrom: number): number {
  return (
    idWords(value.taskId) +
    idWords(value.client) +
    textWords(value.name) +
    dataWords(value.content, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskOutput(value: TaskOutput, referenceFrom: number): number {
  return 6 + measureTaskOutput(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addTaskOutput(writer: Writer, pointerAt: number, value: TaskOutput): void {
  writeTaskOutput(writer, writer.struct(pointerAt, 2, 4), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskOutput(writer: Writer, at: number, value: TaskOutput): void {
  const pointersAt = at + 16
  writer.id(pointersAt, value.taskId)
  writer.id(pointersAt + 8, value.client)
  writer.text(pointersAt + 16, value.name)
  writer.uint16(at, codeOf(OUTPUT_STREAM, value.stream, 'TaskOutput.stream'))
  writer.data(pointersAt + 24, value.content)
  writer.uint64(at + 8, value.droppedBytes)
  writer.bool(at, 16, value.isLast)
}

/** Tasks that depend on each other: client -> scheduler. (docs/protocol.md#struct-graphtask) */
export interface GraphTask {
  readonly kind: 'graphTask'
  /** Id of the graph, from the same name space as task ids. */
  readonly taskId: TaskId
  /** The client that owns the graph. */
  readonly source: Identity
  /** The nodes whose results the client needs. */
  readonly targets: readonly TaskId[]
  /** All nodes, in any order. */
  readonly graph: readonly Task[]
  /** More nodes follow in further messages of the same graph (docs/protocol.md#graph-parts). Not in 1.9.9. */
  readonly isOpen: boolean
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readGraphTask(reader: Reader, bytes: Uint8Array | undefined): GraphTask {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'graphTask',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    source: reader.id(pointersAt + 8, structEnd) as Identity,
    targets: readIdList(reader, pointersAt + 16, structEnd) as readonly TaskId[],
    graph: readTaskList(reader, pointersAt + 24, structEnd),
    isOpen: reader.bool(structAt, 0, pointersAt),
    bytes,
  }
}

/** Whether any field is set that 1.9.9 does not have. */
function isExtendedGraphTask(value: GraphTask): boolean {
  return value.isOpen
}

/** Words of everything that the struct points to. */
export function measureGraphTask(
  value: GraphTask,
  referenceFrom: number,
  isExtended: boolean,
): number {
  const words =
    idWords(value.taskId) +
    idWords(value.source) +
    idListWords(value.targets) +
    measureTaskList(value.graph, referenceFrom)
  return isExtended ? words + 0 : words
}

/** Words of the struct and of everything that it points to. */
export function sizeGraphTask(value: GraphTask, referenceFrom: number): number {
  const isExtended = isExtendedGraphTask(value)
  return (isExtended ? 5 : 4) + measureGraphTask(value, referenceFrom, isExtended)
}

/** Adds the struct and sets the pointer to it. */
export function addGraphTask(writer: Writer, pointerAt: number, value: GraphTask): void {
  const isExtended = isExtendedGraphTask(value)
  writeGraphTask(writer, writer.struct(pointerAt, isExtended ? 1 : 0, 4), value, isExtended)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeGraphTask(writer: Writer, at: number, value: GraphTask, isExtended: boolean): void {
  const pointersAt = at + (isExtended ? 8 : 0)
  writer.id(pointersAt, value.taskId)
  writer.id(pointersAt + 8, value.source)
  writer.idList(pointersAt + 16, value.targets)
  addTaskList(writer, pointersAt + 24, value.graph)
  if (!isExtended) return
  writer.bool(at, 0, value.isOpen)
}

/** Cancel a graph: client -> scheduler. (docs/protocol.md#struct-graphtaskcancel) */
export interface GraphTaskCancel {
  readonly kind: 'graphTaskCancel'
  /** Which graph. */
  readonly taskId: TaskId
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readGraphTaskCancel(
  reader: Reader,
  bytes: Uint8Array | undefined,
): GraphTaskCancel {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'graphTaskCancel',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureGraphTaskCancel(value: GraphTaskCancel, _referenceFrom: number): number {
  return idWords(value.taskId)
}

/** Words of the struct and of everything that it points to. */
export function sizeGraphTaskCancel(value: GraphTaskCancel, referenceFrom: number): number {
  return 1 + measureGraphTaskCancel(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addGraphTaskCancel(
  writer: Writer,
  pointerAt: number,
  value: GraphTaskCancel,
): void {
  writeGraphTaskCancel(writer, writer.struct(pointerAt, 0, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeGraphTaskCancel(writer: Writer, at: number, value: GraphTaskCancel): void {
  const pointersAt = at
  writer.id(pointersAt, value.taskId)
}

/** A client is alive: client -> scheduler. (docs/protocol.md#struct-clientheartbeat) */
export interface ClientHeartbeat {
  readonly kind: 'clientHeartbeat'
  /** The resources that the client's process uses. */
  readonly resource: Resource
  /** Half of the last heartbeat's round trip, in microseconds; 0 before the first echo. */
  readonly latencyUS: number
  /** The features that the client understands (docs/protocol.md#features). Not in 1.9.9. */
  readonly features: number
  /** The runtime of its functions, for example `node/20.20.2`; absent means `python`. Not in 1.9.9. */
  readonly runtime: string
  /** The worker that runs the task in which this client was created; empty: none. Not in 1.9.9. */
  readonly worker: Identity
  /** Requests a report in the echo. Not in 1.9.9. */
  readonly wantsReport: boolean
  /** In the first heartbeat of a connection: one, of the client's process; otherwise none. Not in 1.9.9. */
  readonly info: readonly PeerInfo[]
  /** Requests that the report include workers and clients. Not in 1.9.9. */
  readonly wantsPeers: boolean
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readClientHeartbeat(
  reader: Reader,
  bytes: Uint8Array | undefined,
): ClientHeartbeat {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'clientHeartbeat',
    resource: readResource(reader.enterStruct(pointersAt, structEnd)),
    latencyUS: reader.uint32(structAt, pointersAt),
    features: reader.bitSet(structAt + 8, pointersAt),
    runtime: reader.text(pointersAt + 8, structEnd),
    worker: reader.id(pointersAt + 16, structEnd) as Identity,
    wantsReport: reader.bool(structAt, 32, pointersAt),
    info: readPeerInfoList(reader, pointersAt + 24, structEnd),
    wantsPeers: reader.bool(structAt, 33, pointersAt),
    bytes,
  }
}

/** Whether any field is set that 1.9.9 does not have. */
function isExtendedClientHeartbeat(value: ClientHeartbeat): boolean {
  return (
    value.features !== 0 ||
    value.runtime.length > 0 ||
    value.worker.length > 0 ||
    value.wantsReport ||
    value.info.length > 0 ||
    value.wantsPeers
  )
}

/** Words of everything that the struct points to. */
export function measureClientHeartbeat(
  value: ClientHeartbeat,
  referenceFrom: number,
  isExtended: boolean,
): number {
  const words = sizeResource(value.resource, referenceFrom)
  return isExtended
    ? words +
        textWords(value.runtime) +
        idWords(value.worker) +
        measurePeerInfoList(value.info, referenceFrom)
    : words
}

/** Words of the struct and of everything that it points to. */
export function sizeClientHeartbeat(value: ClientHeartbeat, referenceFrom: number): number {
  const isExtended = isExtendedClientHeartbeat(value)
  return (isExtended ? 6 : 2) + measureClientHeartbeat(value, referenceFrom, isExtended)
}

/** Adds the struct and sets the pointer to it. */
export function addClientHeartbeat(
  writer: Writer,
  pointerAt: number,
  value: ClientHeartbeat,
): void {
  const isExtended = isExtendedClientHeartbeat(value)
  writeClientHeartbeat(
    writer,
    writer.struct(pointerAt, isExtended ? 2 : 1, isExtended ? 4 : 1),
    value,
    isExtended,
  )
}

/** Fills in the struct at `at`; its data section is zero. */
function writeClientHeartbeat(
  writer: Writer,
  at: number,
  value: ClientHeartbeat,
  isExtended: boolean,
): void {
  const pointersAt = at + (isExtended ? 16 : 8)
  addResource(writer, pointersAt, value.resource)
  writer.uint32(at, value.latencyUS)
  if (!isExtended) return
  writer.bitSet(at + 8, value.features)
  writer.text(pointersAt + 8, value.runtime)
  writer.id(pointersAt + 16, value.worker)
  writer.bool(at, 32, value.wantsReport)
  addPeerInfoList(writer, pointersAt + 24, value.info)
  writer.bool(at, 33, value.wantsPeers)
}

/** The answer to each ClientHeartbeat: scheduler -> client. (docs/protocol.md#struct-clientheartbeatecho) */
export interface ClientHeartbeatEcho {
  readonly kind: 'clientHeartbeatEcho'
  /** Random id of this scheduler process. A change means that it was restarted. Not in 1.9.9. */
  readonly schedulerId: SchedulerId
  /** The features that the scheduler understands (docs/protocol.md#features). Not in 1.9.9. */
  readonly features: number
  /** One if the client has requested it, otherwise none (docs/protocol.md#report). Not in 1.9.9. */
  readonly reports: readonly SchedulerReport[]
  /** Why tasks of the client wait in the scheduler (docs/protocol.md#waiting). Not in 1.9.9. */
  readonly waiting: readonly WaitingTasks[]
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readClientHeartbeatEcho(
  reader: Reader,
  bytes: Uint8Array | undefined,
): ClientHeartbeatEcho {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'clientHeartbeatEcho',
    schedulerId: reader.id(pointersAt, structEnd) as SchedulerId,
    features: reader.bitSet(structAt, pointersAt),
    reports: readSchedulerReportList(reader, pointersAt + 8, structEnd),
    waiting: readWaitingTasksList(reader, pointersAt + 16, structEnd),
    bytes,
  }
}

/** Whether any field is set that 1.9.9 does not have. */
function isExtendedClientHeartbeatEcho(value: ClientHeartbeatEcho): boolean {
  return (
    value.schedulerId.length > 0 ||
    value.features !== 0 ||
    value.reports.length > 0 ||
    value.waiting.length > 0
  )
}

/** Words of everything that the struct points to. */
export function measureClientHeartbeatEcho(
  value: ClientHeartbeatEcho,
  referenceFrom: number,
  isExtended: boolean,
): number {
  const words = 0
  return isExtended
    ? words +
        idWords(value.schedulerId) +
        measureSchedulerReportList(value.reports, referenceFrom) +
        measureWaitingTasksList(value.waiting, referenceFrom)
    : words
}

/** Words of the struct and of everything that it points to. */
export function sizeClientHeartbeatEcho(value: ClientHeartbeatEcho, referenceFrom: number): number {
  const isExtended = isExtendedClientHeartbeatEcho(value)
  return (isExtended ? 4 : 0) + measureClientHeartbeatEcho(value, referenceFrom, isExtended)
}

/** Adds the struct and sets the pointer to it. */
export function addClientHeartbeatEcho(
  writer: Writer,
  pointerAt: number,
  value: ClientHeartbeatEcho,
): void {
  const isExtended = isExtendedClientHeartbeatEcho(value)
  writeClientHeartbeatEcho(
    writer,
    writer.struct(pointerAt, isExtended ? 1 : 0, isExtended ? 3 : 0),
    value,
    isExtended,
  )
}

/** Fills in the struct at `at`; its data section is zero. */
function writeClientHeartbeatEcho(
  writer: Writer,
  at: number,
  value: ClientHeartbeatEcho,
  isExtended: boolean,
): void {
  const pointersAt = at + (isExtended ? 8 : 0)

  if (!isExtended) return
  writer.id(pointersAt, value.schedulerId)
  writer.bitSet(at, value.features)
  addSchedulerReportList(writer, pointersAt + 8, value.reports)
  addWaitingTasksList(writer, pointersAt + 16, value.waiting)
}

/** Tasks that wait for the same reason. */
export interface WaitingTasks {
  /** Why they wait. */
  readonly reason: WaitReason
  /** How many there are in the scheduler. */
  readonly tasks: number
  /** How long this has been the reason, in milliseconds; 0 if that is not measured. */
  readonly forMS: number
  /** Their requirements that no worker offers: `gpu=1, linux`. Only with the reason noCapability. */
  readonly needs: string
  /** Whether workers offer them, but waiting parent tasks hold the units. Only with noCapability. */
  readonly isDeadlocked: boolean
}

/** Reads the struct that was entered last. */
export function readWaitingTasks(reader: Reader): WaitingTasks {
  const { structAt, pointersAt, structEnd } = reader
  return {
    reason: nameOf(WAIT_REASON, reader.uint16(structAt, pointersAt), 'WaitingTasks.reason'),
    tasks: reader.uint32(structAt + 4, pointersAt),
    forMS: reader.uint32(structAt + 8, pointersAt),
    needs: reader.text(pointersAt, structEnd),
    isDeadlocked: reader.bool(structAt, 16, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readWaitingTasksList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly WaitingTasks[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: WaitingTasks[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readWaitingTasks(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureWaitingTasks(value: WaitingTasks, _referenceFrom: number): number {
  return textWords(value.needs)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureWaitingTasksList(
  values: readonly WaitingTasks[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 3)
  for (const value of values) words += measureWaitingTasks(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeWaitingTasks(writer: Writer, at: number, value: WaitingTasks): void {
  const pointersAt = at + 16
  writer.uint16(at, codeOf(WAIT_REASON, value.reason, 'WaitingTasks.reason'))
  writer.uint32(at + 4, value.tasks)
  writer.uint32(at + 8, value.forMS)
  writer.text(pointersAt, value.needs)
  writer.bool(at, 16, value.isDeadlocked)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addWaitingTasksList(
  writer: Writer,
  pointerAt: number,
  values: readonly WaitingTasks[],
): void {
  let at = writer.structList(pointerAt, values.length, 2, 1)
  for (const value of values) {
    writer.zero(at, 2)
    writeWaitingTasks(writer, at, value)
    at += 24
  }
}

/** Describes a scheduler, for operators. */
export interface SchedulerReport {
  /** The version of the package: `0.1.0`. */
  readonly version: string
  /** Its runtime, for example `node/20.20.2`. */
  readonly runtime: string
  /** Its clock at the time of the answer: milliseconds since 1970. */
  readonly clockMS: number
  /** The bound address for monitors: `tcp://0.0.0.0:2347`. */
  readonly monitorAddress: string
  /** How many workers there are. */
  readonly workers: number
  /** How many of them can run the functions of the client that sent the request. */
  readonly suitable: number
  /** How many of these are idle. */
  readonly idle: number
  /** The workers in the order in which they joined, at most 1,000; none unless requested. */
  readonly workerReports: readonly WorkerReport[]
  /** The clients, likewise; those that only request reports are not included. */
  readonly clientReports: readonly ClientReport[]
  /** How many such clients there are. */
  readonly clients: number
  /** Why tasks wait, if peers were requested; largest counts first, at most 200. */
  readonly waiting: readonly WaitingCount[]
  /** How much more an object storage server can store, in bytes: at least 1. From schedulers: 0. */
  readonly freeBytes: number
}

/** Reads the struct that was entered last. */
export function readSchedulerReport(reader: Reader): SchedulerReport {
  const { structAt, pointersAt, structEnd } = reader
  return {
    version: reader.text(pointersAt, structEnd),
    runtime: reader.text(pointersAt + 8, structEnd),
    clockMS: reader.uint64(structAt, pointersAt),
    monitorAddress: reader.text(pointersAt + 16, structEnd),
    workers: reader.uint32(structAt + 8, pointersAt),
    suitable: reader.uint32(structAt + 12, pointersAt),
    idle: reader.uint32(structAt + 16, pointersAt),
    workerReports: readWorkerReportList(reader, pointersAt + 24, structEnd),
    clientReports: readClientReportList(reader, pointersAt + 32, structEnd),
    clients: reader.uint32(structAt + 20, pointersAt),
    waiting: readWaitingCountList(reader, pointersAt + 40, structEnd),
    freeBytes: reader.uint64(structAt + 24, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readSchedulerReportList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly SchedulerReport[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: SchedulerReport[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readSchedulerReport(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureSchedulerReport(value: SchedulerReport, referenceFrom: number): number {
  return (
    textWords(value.version) +
    textWords(value.runtime) +
    textWords(value.monitorAddress) +
    measureWorkerReportList(value.workerReports, referenceFrom) +
    measureClientReportList(value.clientReports, referenceFrom) +
    measureWaitingCountList(value.waiting, referenceFrom)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureSchedulerReportList(
  values: readonly SchedulerReport[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 10)
  for (const value of values) words += measureSchedulerReport(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeSchedulerReport(writer: Writer, at: number, value: SchedulerReport): void {
  const pointersAt = at + 32
  writer.text(pointersAt, value.version)
  writer.text(pointersAt + 8, value.runtime)
  writer.uint64(at, value.clockMS)
  writer.text(pointersAt + 16, value.monitorAddress)
  writer.uint32(at + 8, value.workers)
  writer.uint32(at + 12, value.suitable)
  writer.uint32(at + 16, value.idle)
  addWorkerReportList(writer, pointersAt + 24, value.workerReports)
  addClientReportList(writer, pointersAt + 32, value.clientReports)
  writer.uint32(at + 20, value.clients)
  addWaitingCountList(writer, pointersAt + 40, value.waiting)
  writer.uint64(at + 24, value.freeBytes)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addSchedulerReportList(
  writer: Writer,
  pointerAt: number,
  values: readonly SchedulerReport[],
): void {
  let at = writer.structList(pointerAt, values.length, 4, 6)
  for (const value of values) {
    writer.zero(at, 4)
    writeSchedulerReport(writer, at, value)
    at += 80
  }
}

/** Tasks of one function that wait in the scheduler for the same reason. */
export interface WaitingCount {
  /** Why they wait. */
  readonly reason: WaitReason
  /** Their requirements: `gpu=1, linux`; empty: none. */
  readonly needs: string
  /** The name of their function; empty: it has none, or it is unknown. */
  readonly function: string
  /** How many there are. */
  readonly tasks: number
  /** About how long the first of them has waited, in milliseconds; 0 if that is not measured. */
  readonly forMS: number
  /** Their function is of Python. */
  readonly isPython: boolean
}

/** Reads the struct that was entered last. */
export function readWaitingCount(reader: Reader): WaitingCount {
  const { structAt, pointersAt, structEnd } = reader
  return {
    reason: nameOf(WAIT_REASON, reader.uint16(structAt, pointersAt), 'WaitingCount.reason'),
    needs: reader.text(pointersAt, structEnd),
    function: reader.text(pointersAt + 8, structEnd),
    tasks: reader.uint32(structAt + 4, pointersAt),
    forMS: reader.uint32(structAt + 8, pointersAt),
    isPython: reader.bool(structAt, 16, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readWaitingCountList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly WaitingCount[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: WaitingCount[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readWaitingCount(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureWaitingCount(value: WaitingCount, _referenceFrom: number): number {
  return textWords(value.needs) + textWords(value.function)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureWaitingCountList(
  values: readonly WaitingCount[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 4)
  for (const value of values) words += measureWaitingCount(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeWaitingCount(writer: Writer, at: number, value: WaitingCount): void {
  const pointersAt = at + 16
  writer.uint16(at, codeOf(WAIT_REASON, value.reason, 'WaitingCount.reason'))
  writer.text(pointersAt, value.needs)
  writer.text(pointersAt + 8, value.function)
  writer.uint32(at + 4, value.tasks)
  writer.uint32(at + 8, value.forMS)
  writer.bool(at, 16, value.isPython)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addWaitingCountList(
  writer: Writer,
  pointerAt: number,
  values: readonly WaitingCount[],
): void {
  let at = writer.structList(pointerAt, values.length, 2, 2)
  for (const value of values) {
    writer.zero(at, 2)
    writeWaitingCount(writer, at, value)
    at += 32
  }
}

/** A worker, as seen by the scheduler. */
export interface WorkerReport {
  /** The same as for monitors. */
  readonly worker: WorkerStatus
  /** The runtime in its heartbeats; empty: Python. */
  readonly runtime: string
  /** Identical for all workers that share their units. */
  readonly agentId: string
  /** The capabilities that it offers. */
  readonly capabilities: readonly TaskCapability[]
  /** It accepts no further tasks. */
  readonly isLeaving: boolean
  /** One; none for a worker that has not sent it, such as those of 1.9.9. */
  readonly info: readonly PeerInfo[]
  /** The running tasks in its last heartbeat. */
  readonly running: readonly RunningTask[]
  /** The IP address from which it is connected; empty: over a unix socket, or unknown. */
  readonly address: string
}

/** Reads the struct that was entered last. */
export function readWorkerReport(reader: Reader): WorkerReport {
  const { structAt, pointersAt, structEnd } = reader
  return {
    worker: readWorkerStatus(reader.enterStruct(pointersAt, structEnd)),
    runtime: reader.text(pointersAt + 8, structEnd),
    agentId: reader.text(pointersAt + 16, structEnd),
    capabilities: readTaskCapabilityList(reader, pointersAt + 24, structEnd),
    isLeaving: reader.bool(structAt, 0, pointersAt),
    info: readPeerInfoList(reader, pointersAt + 32, structEnd),
    running: readRunningTaskList(reader, pointersAt + 40, structEnd),
    address: reader.text(pointersAt + 48, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readWorkerReportList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly WorkerReport[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: WorkerReport[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readWorkerReport(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureWorkerReport(value: WorkerReport, referenceFrom: number): number {
  return (
    sizeWorkerStatus(value.worker, referenceFrom) +
    textWords(value.runtime) +
    textWords(value.agentId) +
    measureTaskCapabilityList(value.capabilities, referenceFrom) +
    measurePeerInfoList(value.info, referenceFrom) +
    measureRunningTaskList(value.running, referenceFrom) +
    textWords(value.address)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureWorkerReportList(
  values: readonly WorkerReport[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 8)
  for (const value of values) words += measureWorkerReport(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeWorkerReport(writer: Writer, at: number, value: WorkerReport): void {
  const pointersAt = at + 8
  addWorkerStatus(writer, pointersAt, value.worker)
  writer.text(pointersAt + 8, value.runtime)
  writer.text(pointersAt + 16, value.agentId)
  addTaskCapabilityList(writer, pointersAt + 24, value.capabilities)
  writer.bool(at, 0, value.isLeaving)
  addPeerInfoList(writer, pointersAt + 32, value.info)
  addRunningTaskList(writer, pointersAt + 40, value.running)
  writer.text(pointersAt + 48, value.address)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addWorkerReportList(
  writer: Writer,
  pointerAt: number,
  values: readonly WorkerReport[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 7)
  for (const value of values) {
    writer.zero(at, 1)
    writeWorkerReport(writer, at, value)
    at += 64
  }
}

/** A client, as seen by the scheduler. */
export interface ClientReport {
  /** Which client. */
  readonly client: Identity
  /** The runtime in its heartbeats; empty: Python. */
  readonly runtime: string
  /** One; none for a client that has not sent it, such as those of 1.9.9. */
  readonly info: readonly PeerInfo[]
  /** How many of its tasks, nodes of graphs included, have not ended. */
  readonly tasks: number
  /** The worker that runs the task in which it was created; empty: none. */
  readonly worker: Identity
  /** The total size in bytes of the stored objects that it uses. */
  readonly objectBytes: number
}

/** Reads the struct that was entered last. */
export function readClientReport(reader: Reader): ClientReport {
  const { structAt, pointersAt, structEnd } = reader
  return {
    client: reader.id(pointersAt, structEnd) as Identity,
    runtime: reader.text(pointersAt + 8, structEnd),
    info: readPeerInfoList(reader, pointersAt + 16, structEnd),
    tasks: reader.uint32(structAt, pointersAt),
    worker: reader.id(pointersAt + 24, structEnd) as Identity,
    objectBytes: reader.uint64(structAt + 8, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readClientReportList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly ClientReport[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: ClientReport[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readClientReport(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureClientReport(value: ClientReport, referenceFrom: number): number {
  return (
    idWords(value.client) +
    textWords(value.runtime) +
    measurePeerInfoList(value.info, referenceFrom) +
    idWords(value.worker)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureClientReportList(
  values: readonly ClientReport[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 6)
  for (const value of values) words += measureClientReport(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeClientReport(writer: Writer, at: number, value: ClientReport): void {
  const pointersAt = at + 16
  writer.id(pointersAt, value.client)
  writer.text(pointersAt + 8, value.runtime)
  addPeerInfoList(writer, pointersAt + 16, value.info)
  writer.uint32(at, value.tasks)
  writer.id(pointersAt + 24, value.worker)
  writer.uint64(at + 8, value.objectBytes)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addClientReportList(
  writer: Writer,
  pointerAt: number,
  values: readonly ClientReport[],
): void {
  let at = writer.structList(pointerAt, values.length, 2, 4)
  for (const value of values) {
    writer.zero(at, 2)
    writeClientReport(writer, at, value)
    at += 48
  }
}

/** A worker is alive: worker -> scheduler. (docs/protocol.md#struct-workerheartbeat) */
export interface WorkerHeartbeat {
  readonly kind: 'workerHeartbeat'
  /** The resources that the agent process uses. */
  readonly agent: Resource
  /** Available memory of the machine in bytes. */
  readonly rssFree: number
  /** Tasks that wait inside the worker. */
  readonly queuedTasks: number
  /** Half of the last heartbeat's round trip, in microseconds; 0 before the first echo. */
  readonly latencyUS: number
  /** Shown by monitors as the L of ITL. 1.9.9 workers always say true. */
  readonly taskLock: boolean
  /** Its living processors. */
  readonly processors: readonly ProcessorStatus[]
  /** The features that the worker understands (docs/protocol.md#features). Not in 1.9.9. */
  readonly features: number
  /** The runtime of functions, for example `node/20.20.2`; absent means `python`. Not in 1.9.9. */
  readonly runtime: string
  /** What it offers to tasks that require it. Not in 1.9.9. */
  readonly capabilities: readonly TaskCapability[]
  /** In the first heartbeat of a connection: the tasks that it still has (docs/protocol.md#return). Not in 1.9.9. */
  readonly tasks: readonly TaskId[]
  /** It accepts no further tasks and returns those that it has not started. Not in 1.9.9. */
  readonly isLeaving: boolean
  /** Identical for all workers that share their units (docs/protocol.md#capabilities); absent: its units are not shared. Not in 1.9.9. */
  readonly agentId: string
  /** In the first heartbeat of a connection: one, of the worker; otherwise none. Not in 1.9.9. */
  readonly info: readonly PeerInfo[]
  /** Tasks that have run for a while, in the order in which they started; at most 32. Only to schedulers with bit 6. Not in 1.9.9. */
  readonly running: readonly RunningTask[]
  /** How many tasks it runs at a time (docs/protocol.md#concurrency); 0: one, in a processor. Not in 1.9.9. */
  readonly concurrency: number
  /** Of those in `tasks` that had been started before: what a new scheduler does not know of them. Not in 1.9.9. */
  readonly pasts: readonly TaskPast[]
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readWorkerHeartbeat(
  reader: Reader,
  bytes: Uint8Array | undefined,
): WorkerHeartbeat {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'workerHeartbeat',
    agent: readResource(reader.enterStruct(pointersAt, structEnd)),
    rssFree: reader.uint64(structAt, pointersAt),
    queuedTasks: reader.uint32(structAt + 8, pointersAt),
    latencyUS: reader.uint32(structAt + 12, pointersAt),
    taskLock: reader.bool(structAt, 128, pointersAt),
    processors: readProcessorStatusList(reader, pointersAt + 8, structEnd),
    features: reader.bitSet(structAt + 24, pointersAt),
    runtime: reader.text(pointersAt + 16, structEnd),
    capabilities: readTaskCapabilityList(reader, pointersAt + 24, structEnd),
    tasks: readIdList(reader, pointersAt + 32, structEnd) as readonly TaskId[],
    isLeaving: reader.bool(structAt, 129, pointersAt),
    agentId: reader.text(pointersAt + 40, structEnd),
    info: readPeerInfoList(reader, pointersAt + 48, structEnd),
    running: readRunningTaskList(reader, pointersAt + 56, structEnd),
    concurrency: reader.uint32(structAt + 20, pointersAt),
    pasts: readTaskPastList(reader, pointersAt + 64, structEnd),
    bytes,
  }
}

/** Whether any field is set that 1.9.9 does not have. */
function isExtendedWorkerHeartbeat(value: WorkerHeartbeat): boolean {
  return (
    value.features !== 0 ||
    value.runtime.length > 0 ||
    value.capabilities.length > 0 ||
    value.tasks.length > 0 ||
    value.isLeaving ||
    value.agentId.length > 0 ||
    value.info.length > 0 ||
    value.running.length > 0 ||
    value.concurrency !== 0 ||
    value.pasts.length > 0
  )
}

/** Words of everything that the struct points to. */
export function measureWorkerHeartbeat(
  value: WorkerHeartbeat,
  referenceFrom: number,
  isExtended: boolean,
): number {
  const words =
    sizeResource(value.agent, referenceFrom) +
    measureProcessorStatusList(value.processors, referenceFrom)
  return isExtended
    ? words +
        textWords(value.runtime) +
        measureTaskCapabilityList(value.capabilities, referenceFrom) +
        idListWords(value.tasks) +
        textWords(value.agentId) +
        measurePeerInfoList(value.info, referenceFrom) +
        measureRunningTaskList(value.running, referenceFrom) +
        measureTaskPastList(value.pasts, referenceFrom)
    : words
}

/** Words of the struct and of everything that it points to. */
export function sizeWorkerHeartbeat(value: WorkerHeartbeat, referenceFrom: number): number {
  const isExtended = isExtendedWorkerHeartbeat(value)
  return (isExtended ? 13 : 5) + measureWorkerHeartbeat(value, referenceFrom, isExtended)
}

/** Adds the struct and sets the pointer to it. */
export function addWorkerHeartbeat(
  writer: Writer,
  pointerAt: number,
  value: WorkerHeartbeat,
): void {
  const isExtended = isExtendedWorkerHeartbeat(value)
  writeWorkerHeartbeat(
    writer,
    writer.struct(pointerAt, isExtended ? 4 : 3, isExtended ? 9 : 2),
    value,
    isExtended,
  )
}

/** Fills in the struct at `at`; its data section is zero. */
function writeWorkerHeartbeat(
  writer: Writer,
  at: number,
  value: WorkerHeartbeat,
  isExtended: boolean,
): void {
  const pointersAt = at + (isExtended ? 32 : 24)
  addResource(writer, pointersAt, value.agent)
  writer.uint64(at, value.rssFree)
  writer.uint32(at + 8, value.queuedTasks)
  writer.uint32(at + 12, value.latencyUS)
  writer.bool(at, 128, value.taskLock)
  addProcessorStatusList(writer, pointersAt + 8, value.processors)
  if (!isExtended) return
  writer.bitSet(at + 24, value.features)
  writer.text(pointersAt + 16, value.runtime)
  addTaskCapabilityList(writer, pointersAt + 24, value.capabilities)
  writer.idList(pointersAt + 32, value.tasks)
  writer.bool(at, 129, value.isLeaving)
  writer.text(pointersAt + 40, value.agentId)
  addPeerInfoList(writer, pointersAt + 48, value.info)
  addRunningTaskList(writer, pointersAt + 56, value.running)
  writer.uint32(at + 20, value.concurrency)
  addTaskPastList(writer, pointersAt + 64, value.pasts)
}

/** What a worker knows of the earlier attempts of a task (docs/protocol.md#return). */
export interface TaskPast {
  /** Which task. */
  readonly taskId: TaskId
  /** As in the Task that the worker got. */
  readonly attempt: number
  /** As in that Task: how many times it is still run again. */
  readonly retries: number
}

/** Reads the struct that was entered last. */
export function readTaskPast(reader: Reader): TaskPast {
  const { structAt, pointersAt, structEnd } = reader
  return {
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    attempt: reader.uint32(structAt, pointersAt),
    retries: reader.uint32(structAt + 4, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskPastList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskPast[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskPast[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskPast(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureTaskPast(value: TaskPast, _referenceFrom: number): number {
  return idWords(value.taskId)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskPastList(values: readonly TaskPast[], referenceFrom: number): number {
  let words = structListWords(values.length, 2)
  for (const value of values) words += measureTaskPast(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskPast(writer: Writer, at: number, value: TaskPast): void {
  const pointersAt = at + 8
  writer.id(pointersAt, value.taskId)
  writer.uint32(at, value.attempt)
  writer.uint32(at + 4, value.retries)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskPastList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskPast[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 1)
  for (const value of values) {
    writer.zero(at, 1)
    writeTaskPast(writer, at, value)
    at += 16
  }
}

/** The answer to each WorkerHeartbeat: scheduler -> worker. (docs/protocol.md#struct-workerheartbeatecho) */
export interface WorkerHeartbeatEcho {
  readonly kind: 'workerHeartbeatEcho'
  /** Random id of this scheduler process. A change means that it was restarted. Not in 1.9.9. */
  readonly schedulerId: SchedulerId
  /** The features that the scheduler understands (docs/protocol.md#features). Not in 1.9.9. */
  readonly features: number
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readWorkerHeartbeatEcho(
  reader: Reader,
  bytes: Uint8Array | undefined,
): WorkerHeartbeatEcho {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'workerHeartbeatEcho',
    schedulerId: reader.id(pointersAt, structEnd) as SchedulerId,
    features: reader.bitSet(structAt, pointersAt),
    bytes,
  }
}

/** Whether any field is set that 1.9.9 does not have. */
function isExtendedWorkerHeartbeatEcho(value: WorkerHeartbeatEcho): boolean {
  return value.schedulerId.length > 0 || value.features !== 0
}

/** Words of everything that the struct points to. */
export function measureWorkerHeartbeatEcho(
  value: WorkerHeartbeatEcho,
  _referenceFrom: number,
  isExtended: boolean,
): number {
  const words = 0
  return isExtended ? words + idWords(value.schedulerId) : words
}

/** Words of the struct and of everything that it points to. */
export function sizeWorkerHeartbeatEcho(value: WorkerHeartbeatEcho, referenceFrom: number): number {
  const isExtended = isExtendedWorkerHeartbeatEcho(value)
  return (isExtended ? 2 : 0) + measureWorkerHeartbeatEcho(value, referenceFrom, isExtended)
}

/** Adds the struct and sets the pointer to it. */
export function addWorkerHeartbeatEcho(
  writer: Writer,
  pointerAt: number,
  value: WorkerHeartbeatEcho,
): void {
  const isExtended = isExtendedWorkerHeartbeatEcho(value)
  writeWorkerHeartbeatEcho(
    writer,
    writer.struct(pointerAt, isExtended ? 1 : 0, isExtended ? 1 : 0),
    value,
    isExtended,
  )
}

/** Fills in the struct at `at`; its data section is zero. */
function writeWorkerHeartbeatEcho(
  writer: Writer,
  at: number,
  value: WorkerHeartbeatEcho,
  isExtended: boolean,
): void {
  const pointersAt = at + (isExtended ? 8 : 0)

  if (!isExtended) return
  writer.id(pointersAt, value.schedulerId)
  writer.bitSet(at, value.features)
}

/** Create or delete objects: client or worker -> scheduler; scheduler -> worker (delete). (docs/protocol.md#struct-objectinstruction) */
export interface ObjectInstruction {
  readonly kind: 'objectInstruction'
  /** Create or delete. */
  readonly instructionType: ObjectInstructionType
  /** The client that owns the objects; the receiving worker in deletes sent by a scheduler. */
  readonly objectUser: Identity
  /** create: all four lists; delete: only the ids; clear: nothing. */
  readonly objectContent: ObjectContent
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readObjectInstruction(
  reader: Reader,
  bytes: Uint8Array | undefined,
): ObjectInstruction {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'objectInstruction',
    instructionType: nameOf(
      OBJECT_INSTRUCTION_TYPE,
      reader.uint16(structAt, pointersAt),
      'ObjectInstruction.instructionType',
    ),
    objectUser: reader.id(pointersAt, structEnd) as Identity,
    objectContent: readObjectContent(reader.enterStruct(pointersAt + 8, structEnd)),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureObjectInstruction(value: ObjectInstruction, referenceFrom: number): number {
  return idWords(value.objectUser) + sizeObjectContent(value.objectContent, referenceFrom)
}

/** Words of the struct and of everything that it points to. */
export function sizeObjectInstruction(value: ObjectInstruction, referenceFrom: number): number {
  return 3 + measureObjectInstruction(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addObjectInstruction(
  writer: Writer,
  pointerAt: number,
  value: ObjectInstruction,
): void {
  writeObjectInstruction(writer, writer.struct(pointerAt, 1, 2), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeObjectInstruction(writer: Writer, at: number, value: ObjectInstruction): void {
  const pointersAt = at + 8
  writer.uint16(
    at,
    codeOf(OBJECT_INSTRUCTION_TYPE, value.instructionType, 'ObjectInstruction.instructionType'),
  )
  writer.id(pointersAt, value.objectUser)
  addObjectContent(writer, pointersAt + 8, value.objectContent)
}

/** Requests objects: client or worker -> scheduler. (docs/protocol.md#struct-objectrequest) */
export interface ObjectRequest {
  readonly kind: 'objectRequest'
  /** What it is about. */
  readonly requestType: ObjectRequestType
  /** Which objects. Order and duplicates affect the answer. */
  readonly objectIds: readonly ObjectId[]
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readObjectRequest(reader: Reader, bytes: Uint8Array | undefined): ObjectRequest {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'objectRequest',
    requestType: nameOf(
      OBJECT_REQUEST_TYPE,
      reader.uint16(structAt, pointersAt),
      'ObjectRequest.requestType',
    ),
    objectIds: readIdList(reader, pointersAt, structEnd) as readonly ObjectId[],
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureObjectRequest(value: ObjectRequest, _referenceFrom: number): number {
  return idListWords(value.objectIds)
}

/** Words of the struct and of everything that it points to. */
export function sizeObjectRequest(value: ObjectRequest, referenceFrom: number): number {
  return 2 + measureObjectRequest(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addObjectRequest(writer: Writer, pointerAt: number, value: ObjectRequest): void {
  writeObjectRequest(writer, writer.struct(pointerAt, 1, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeObjectRequest(writer: Writer, at: number, value: ObjectRequest): void {
  const pointersAt = at + 8
  writer.uint16(at, codeOf(OBJECT_REQUEST_TYPE, value.requestType, 'ObjectRequest.requestType'))
  writer.idList(pointersAt, value.objectIds)
}

/** The answer to an ObjectRequest: scheduler -> client or worker. (docs/protocol.md#struct-objectresponse) */
export interface ObjectResponse {
  readonly kind: 'objectResponse'
  /** The meaning of the list of ids. */
  readonly responseType: ObjectResponseType
  /** The objects; see docs/protocol.md#objects for the lists when some do not exist. */
  readonly objectContent: ObjectContent
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readObjectResponse(reader: Reader, bytes: Uint8Array | undefined): ObjectResponse {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'objectResponse',
    responseType: nameOf(
      OBJECT_RESPONSE_TYPE,
      reader.uint16(structAt, pointersAt),
      'ObjectResponse.responseType',
    ),
    objectContent: readObjectContent(reader.enterStruct(pointersAt, structEnd)),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureObjectResponse(value: ObjectResponse, referenceFrom: number): number {
  return sizeObjectContent(value.objectContent, referenceFrom)
}

/** Words of the struct and of everything that it points to. */
export function sizeObjectResponse(value: ObjectResponse, referenceFrom: number): number {
  return 2 + measureObjectResponse(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addObjectResponse(writer: Writer, pointerAt: number, value: ObjectResponse): void {
  writeObjectResponse(writer, writer.struct(pointerAt, 1, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeObjectResponse(writer: Writer, at: number, value: ObjectResponse): void {
  const pointersAt = at + 8
  writer.uint16(at, codeOf(OBJECT_RESPONSE_TYPE, value.responseType, 'ObjectResponse.responseType'))
  addObjectContent(writer, pointersAt, value.objectContent)
}

/** Content of objects in files instead of messages: scheduler -> client or worker, and back (docs/protocol.md#files). (docs/protocol.md#struct-objectfiles) */
export interface ObjectFiles {
  readonly kind: 'objectFiles'
  /** From a scheduler: where the files are. */
  readonly directory: string
  /** From a client or worker: the content of the file `key` there. Empty: it reads no files any more. */
  readonly proof: Uint8Array
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readObjectFiles(reader: Reader, bytes: Uint8Array | undefined): ObjectFiles {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'objectFiles',
    directory: reader.text(pointersAt, structEnd),
    proof: reader.data(pointersAt + 8, structEnd),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureObjectFiles(value: ObjectFiles, referenceFrom: number): number {
  return textWords(value.directory) + dataWords(value.proof, referenceFrom)
}

/** Words of the struct and of everything that it points to. */
export function sizeObjectFiles(value: ObjectFiles, referenceFrom: number): number {
  return 2 + measureObjectFiles(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addObjectFiles(writer: Writer, pointerAt: number, value: ObjectFiles): void {
  writeObjectFiles(writer, writer.struct(pointerAt, 0, 2), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeObjectFiles(writer: Writer, at: number, value: ObjectFiles): void {
  const pointersAt = at
  writer.text(pointersAt, value.directory)
  writer.data(pointersAt + 8, value.proof)
}

/** An object that clients find by a name, or that workers fetch in advance: client -> scheduler, and back; scheduler -> worker (docs/protocol.md#shared). (docs/protocol.md#struct-sharedobject) */
export interface SharedObject {
  readonly kind: 'sharedObject'
  /** What it says. */
  readonly type: SharedObjectType
  /** 1 to 1,000 characters; empty with `hold`, `replicate`, `confirm` and `claim`. With `copy` and `source`, the address of a server, as in the name of stored content; with a request for a `source`, that of the server that asks (empty: others cannot reach it). */
  readonly name: string
  /** The object; empty with `find`, `remove` and `missing`. */
  readonly objectId: ObjectId
  /** With `found`: the size of its content. */
  readonly sizeBytes: number
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readSharedObject(reader: Reader, bytes: Uint8Array | undefined): SharedObject {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'sharedObject',
    type: nameOf(SHARED_OBJECT_TYPE, reader.uint16(structAt, pointersAt), 'SharedObject.type'),
    name: reader.text(pointersAt, structEnd),
    objectId: reader.id(pointersAt + 8, structEnd) as ObjectId,
    sizeBytes: reader.uint64(structAt + 8, pointersAt),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureSharedObject(value: SharedObject, _referenceFrom: number): number {
  return textWords(value.name) + idWords(value.objectId)
}

/** Words of the struct and of everything that it points to. */
export function sizeSharedObject(value: SharedObject, referenceFrom: number): number {
  return 4 + measureSharedObject(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addSharedObject(writer: Writer, pointerAt: number, value: SharedObject): void {
  writeSharedObject(writer, writer.struct(pointerAt, 2, 2), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeSharedObject(writer: Writer, at: number, value: SharedObject): void {
  const pointersAt = at + 16
  writer.uint16(at, codeOf(SHARED_OBJECT_TYPE, value.type, 'SharedObject.type'))
  writer.text(pointersAt, value.name)
  writer.id(pointersAt + 8, value.objectId)
  writer.uint64(at + 8, value.sizeBytes)
}

/** Content is lost, and what needed it was dropped: scheduler -> client, which sends it again. And back, without lists, as the confirmation (docs/protocol.md#servers). (docs/protocol.md#struct-objectloss) */
export interface ObjectLoss {
  readonly kind: 'objectLoss'
  /** The objects that are not stored any more. Tasks of the client that use them were dropped. */
  readonly objectIds: readonly ObjectId[]
  /** The graphs that were dropped. */
  readonly graphTaskIds: readonly TaskId[]
  /** The nodes of these graphs whose results are lost, or that must not run again. */
  readonly nodeTaskIds: readonly TaskId[]
  /** Results of other nodes, which are still there. The client is a user of their objects now. And `workerDied` for tasks that must not run again. */
  readonly results: readonly TaskResult[]
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readObjectLoss(reader: Reader, bytes: Uint8Array | undefined): ObjectLoss {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'objectLoss',
    objectIds: readIdList(reader, pointersAt, structEnd) as readonly ObjectId[],
    graphTaskIds: readIdList(reader, pointersAt + 8, structEnd) as readonly TaskId[],
    nodeTaskIds: readIdList(reader, pointersAt + 16, structEnd) as readonly TaskId[],
    results: readTaskResultList(reader, pointersAt + 24, structEnd),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureObjectLoss(value: ObjectLoss, referenceFrom: number): number {
  return (
    idListWords(value.objectIds) +
    idListWords(value.graphTaskIds) +
    idListWords(value.nodeTaskIds) +
    measureTaskResultList(value.results, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeObjectLoss(value: ObjectLoss, referenceFrom: number): number {
  return 4 + measureObjectLoss(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addObjectLoss(writer: Writer, pointerAt: number, value: ObjectLoss): void {
  writeObjectLoss(writer, writer.struct(pointerAt, 0, 4), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeObjectLoss(writer: Writer, at: number, value: ObjectLoss): void {
  const pointersAt = at
  writer.idList(pointersAt, value.objectIds)
  writer.idList(pointersAt + 8, value.graphTaskIds)
  writer.idList(pointersAt + 16, value.nodeTaskIds)
  addTaskResultList(writer, pointersAt + 24, value.results)
}

/** Where the content of large objects is stored: scheduler -> client or worker, and back; object storage server -> scheduler (docs/protocol.md#servers). (docs/protocol.md#struct-storageservers) */
export interface StorageServers {
  readonly kind: 'storageServers'
  /** From a scheduler: those that can be used now, instead of those of the last message. To a server: the one, by the name that others use; none: the scheduler cannot reach it. From a client or worker: those it can reach; none: it gets content in messages. */
  readonly servers: readonly StorageServer[]
  /** The message comes from a server, which is the only one in the list, or is the answer to it. */
  readonly isServer: boolean
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readStorageServers(reader: Reader, bytes: Uint8Array | undefined): StorageServers {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'storageServers',
    servers: readStorageServerList(reader, pointersAt, structEnd),
    isServer: reader.bool(structAt, 0, pointersAt),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureStorageServers(value: StorageServers, referenceFrom: number): number {
  return measureStorageServerList(value.servers, referenceFrom)
}

/** Words of the struct and of everything that it points to. */
export function sizeStorageServers(value: StorageServers, referenceFrom: number): number {
  return 2 + measureStorageServers(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addStorageServers(writer: Writer, pointerAt: number, value: StorageServers): void {
  writeStorageServers(writer, writer.struct(pointerAt, 1, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStorageServers(writer: Writer, at: number, value: StorageServers): void {
  const pointersAt = at + 8
  addStorageServerList(writer, pointersAt, value.servers)
  writer.bool(at, 0, value.isServer)
}

/** An object storage server. */
export interface StorageServer {
  /** Where it listens, for example `tcp://10.0.0.5:55555`. The host `*` stands for the one under which the peer reaches the scheduler; in a message from a server, for the one it connected from. */
  readonly address: string
  /** The scheduler id in its echoes: whoever gets another one has reached another server. */
  readonly instance: SchedulerId
  /** How much more it can store, in bytes, as the scheduler has heard last: at least 1; 0: not known. Only from a scheduler. */
  readonly freeBytes: number
}

/** Reads the struct that was entered last. */
export function readStorageServer(reader: Reader): StorageServer {
  const { structAt, pointersAt, structEnd } = reader
  return {
    address: reader.text(pointersAt, structEnd),
    instance: reader.id(pointersAt + 8, structEnd) as SchedulerId,
    freeBytes: reader.uint64(structAt, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readStorageServerList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly StorageServer[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: StorageServer[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readStorageServer(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureStorageServer(value: StorageServer, _referenceFrom: number): number {
  return textWords(value.address) + idWords(value.instance)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureStorageServerList(
  values: readonly StorageServer[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 3)
  for (const value of values) words += measureStorageServer(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStorageServer(writer: Writer, at: number, value: StorageServer): void {
  const pointersAt = at + 8
  writer.text(pointersAt, value.address)
  writer.id(pointersAt + 8, value.instance)
  writer.uint64(at, value.freeBytes)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addStorageServerList(
  writer: Writer,
  pointerAt: number,
  values: readonly StorageServer[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 2)
  for (const value of values) {
    writer.zero(at, 1)
    writeStorageServer(writer, at, value)
    at += 24
  }
}

/** How many tasks a client may send after a refusal: scheduler -> client (docs/protocol.md#room). (docs/protocol.md#struct-taskroom) */
export interface TaskRoom {
  readonly kind: 'taskRoom'
  /** The number of tasks; no more until the next TaskRoom. */
  readonly tasks: number
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readTaskRoom(reader: Reader, bytes: Uint8Array | undefined): TaskRoom {
  const { structAt, pointersAt } = reader
  return {
    kind: 'taskRoom',
    tasks: reader.uint32(structAt, pointersAt),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureTaskRoom(_value: TaskRoom, _referenceFrom: number): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskRoom(value: TaskRoom, referenceFrom: number): number {
  return 1 + measureTaskRoom(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addTaskRoom(writer: Writer, pointerAt: number, value: TaskRoom): void {
  writeTaskRoom(writer, writer.struct(pointerAt, 1, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskRoom(writer: Writer, at: number, value: TaskRoom): void {
  writer.uint32(at, value.tasks)
}

/** A worker leaves: worker -> scheduler. (docs/protocol.md#struct-disconnectrequest) */
export interface DisconnectRequest {
  readonly kind: 'disconnectRequest'
  /** Which worker. */
  readonly worker: Identity
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readDisconnectRequest(
  reader: Reader,
  bytes: Uint8Array | undefined,
): DisconnectRequest {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'disconnectRequest',
    worker: reader.id(pointersAt, structEnd) as Identity,
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureDisconnectRequest(value: DisconnectRequest, _referenceFrom: number): number {
  return idWords(value.worker)
}

/** Words of the struct and of everything that it points to. */
export function sizeDisconnectRequest(value: DisconnectRequest, referenceFrom: number): number {
  return 1 + measureDisconnectRequest(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addDisconnectRequest(
  writer: Writer,
  pointerAt: number,
  value: DisconnectRequest,
): void {
  writeDisconnectRequest(writer, writer.struct(pointerAt, 0, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeDisconnectRequest(writer: Writer, at: number, value: DisconnectRequest): void {
  const pointersAt = at
  writer.id(pointersAt, value.worker)
}

/** The answer to a DisconnectRequest: scheduler -> worker. (docs/protocol.md#struct-disconnectresponse) */
export interface DisconnectResponse {
  readonly kind: 'disconnectResponse'
  /** The worker of the request. */
  readonly worker: Identity
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readDisconnectResponse(
  reader: Reader,
  bytes: Uint8Array | undefined,
): DisconnectResponse {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'disconnectResponse',
    worker: reader.id(pointersAt, structEnd) as Identity,
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureDisconnectResponse(
  value: DisconnectResponse,
  _referenceFrom: number,
): number {
  return idWords(value.worker)
}

/** Words of the struct and of everything that it points to. */
export function sizeDisconnectResponse(value: DisconnectResponse, referenceFrom: number): number {
  return 1 + measureDisconnectResponse(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addDisconnectResponse(
  writer: Writer,
  pointerAt: number,
  value: DisconnectResponse,
): void {
  writeDisconnectResponse(writer, writer.struct(pointerAt, 0, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeDisconnectResponse(writer: Writer, at: number, value: DisconnectResponse): void {
  const pointersAt = at
  writer.id(pointersAt, value.worker)
}

/** A client leaves or stops the cluster: client -> scheduler; scheduler -> worker (shutdown). (docs/protocol.md#struct-clientdisconnect) */
export interface ClientDisconnect {
  readonly kind: 'clientDisconnect'
  /** Which of the two. */
  readonly disconnectType: DisconnectType
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readClientDisconnect(
  reader: Reader,
  bytes: Uint8Array | undefined,
): ClientDisconnect {
  const { structAt, pointersAt } = reader
  return {
    kind: 'clientDisconnect',
    disconnectType: nameOf(
      DISCONNECT_TYPE,
      reader.uint16(structAt, pointersAt),
      'ClientDisconnect.disconnectType',
    ),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureClientDisconnect(_value: ClientDisconnect, _referenceFrom: number): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeClientDisconnect(value: ClientDisconnect, referenceFrom: number): number {
  return 1 + measureClientDisconnect(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addClientDisconnect(
  writer: Writer,
  pointerAt: number,
  value: ClientDisconnect,
): void {
  writeClientDisconnect(writer, writer.struct(pointerAt, 1, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeClientDisconnect(writer: Writer, at: number, value: ClientDisconnect): void {
  writer.uint16(
    at,
    codeOf(DISCONNECT_TYPE, value.disconnectType, 'ClientDisconnect.disconnectType'),
  )
}

/** The answer to a ClientDisconnect of type shutdown: scheduler -> client. (docs/protocol.md#struct-clientshutdownresponse) */
export interface ClientShutdownResponse {
  readonly kind: 'clientShutdownResponse'
  /** False when the scheduler is protected. */
  readonly accepted: boolean
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readClientShutdownResponse(
  reader: Reader,
  bytes: Uint8Array | undefined,
): ClientShutdownResponse {
  const { structAt, pointersAt } = reader
  return {
    kind: 'clientShutdownResponse',
    accepted: reader.bool(structAt, 0, pointersAt),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureClientShutdownResponse(
  _value: ClientShutdownResponse,
  _referenceFrom: number,
): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeClientShutdownResponse(
  value: ClientShutdownResponse,
  referenceFrom: number,
): number {
  return 1 + measureClientShutdownResponse(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addClientShutdownResponse(
  writer: Writer,
  pointerAt: number,
  value: ClientShutdownResponse,
): void {
  writeClientShutdownResponse(writer, writer.struct(pointerAt, 1, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeClientShutdownResponse(
  writer: Writer,
  at: number,
  value: ClientShutdownResponse,
): void {
  writer.bool(at, 0, value.accepted)
}

/** Never sent. (docs/protocol.md#struct-stateclient) */
export interface StateClient {
  readonly kind: 'stateClient'
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readStateClient(_reader: Reader, bytes: Uint8Array | undefined): StateClient {
  return {
    kind: 'stateClient',
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureStateClient(_value: StateClient, _referenceFrom: number): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeStateClient(value: StateClient, referenceFrom: number): number {
  return 0 + measureStateClient(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addStateClient(writer: Writer, pointerAt: number, _value: StateClient): void {
  writer.struct(pointerAt, 0, 0)
}

/** Never sent. (docs/protocol.md#struct-stateobject) */
export interface StateObject {
  readonly kind: 'stateObject'
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readStateObject(_reader: Reader, bytes: Uint8Array | undefined): StateObject {
  return {
    kind: 'stateObject',
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureStateObject(_value: StateObject, _referenceFrom: number): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeStateObject(value: StateObject, referenceFrom: number): number {
  return 0 + measureStateObject(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addStateObject(writer: Writer, pointerAt: number, _value: StateObject): void {
  writer.struct(pointerAt, 0, 0)
}

/** Monitor: tasks are about to be taken back from a worker. (docs/protocol.md#struct-statebalanceadvice) */
export interface StateBalanceAdvice {
  readonly kind: 'stateBalanceAdvice'
  /** The worker that has too many. */
  readonly workerId: Identity
  /** The tasks. */
  readonly taskIds: readonly TaskId[]
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readStateBalanceAdvice(
  reader: Reader,
  bytes: Uint8Array | undefined,
): StateBalanceAdvice {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'stateBalanceAdvice',
    workerId: reader.id(pointersAt, structEnd) as Identity,
    taskIds: readIdList(reader, pointersAt + 8, structEnd) as readonly TaskId[],
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureStateBalanceAdvice(
  value: StateBalanceAdvice,
  _referenceFrom: number,
): number {
  return idWords(value.workerId) + idListWords(value.taskIds)
}

/** Words of the struct and of everything that it points to. */
export function sizeStateBalanceAdvice(value: StateBalanceAdvice, referenceFrom: number): number {
  return 2 + measureStateBalanceAdvice(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addStateBalanceAdvice(
  writer: Writer,
  pointerAt: number,
  value: StateBalanceAdvice,
): void {
  writeStateBalanceAdvice(writer, writer.struct(pointerAt, 0, 2), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStateBalanceAdvice(writer: Writer, at: number, value: StateBalanceAdvice): void {
  const pointersAt = at
  writer.id(pointersAt, value.workerId)
  writer.idList(pointersAt + 8, value.taskIds)
}

/** Monitor, every second: the state of the scheduler and its peers. (docs/protocol.md#struct-statescheduler) */
export interface StateScheduler {
  readonly kind: 'stateScheduler'
  /** Messages counted on its main socket. */
  readonly binder: BinderStatus
  /** The resources that the scheduler process uses. */
  readonly scheduler: Resource
  /** Available memory of its machine in bytes. */
  readonly rssFree: number
  /** Its clients. */
  readonly clientManager: ClientManagerStatus
  /** Its objects. */
  readonly objectManager: ObjectManagerStatus
  /** Its tasks. */
  readonly taskManager: TaskManagerStatus
  /** Its workers. */
  readonly workerManager: WorkerManagerStatus
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readStateScheduler(reader: Reader, bytes: Uint8Array | undefined): StateScheduler {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'stateScheduler',
    binder: readBinderStatus(reader.enterStruct(pointersAt, structEnd)),
    scheduler: readResource(reader.enterStruct(pointersAt + 8, structEnd)),
    rssFree: reader.uint64(structAt, pointersAt),
    clientManager: readClientManagerStatus(reader.enterStruct(pointersAt + 16, structEnd)),
    objectManager: readObjectManagerStatus(reader.enterStruct(pointersAt + 24, structEnd)),
    taskManager: readTaskManagerStatus(reader.enterStruct(pointersAt + 32, structEnd)),
    workerManager: readWorkerManagerStatus(reader.enterStruct(pointersAt + 40, structEnd)),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureStateScheduler(value: StateScheduler, referenceFrom: number): number {
  return (
    sizeBinderStatus(value.binder, referenceFrom) +
    sizeResource(value.scheduler, referenceFrom) +
    sizeClientManagerStatus(value.clientManager, referenceFrom) +
    sizeObjectManagerStatus(value.objectManager, referenceFrom) +
    sizeTaskManagerStatus(value.taskManager, referenceFrom) +
    sizeWorkerManagerStatus(value.workerManager, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeStateScheduler(value: StateScheduler, referenceFrom: number): number {
  return 7 + measureStateScheduler(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addStateScheduler(writer: Writer, pointerAt: number, value: StateScheduler): void {
  writeStateScheduler(writer, writer.struct(pointerAt, 1, 6), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStateScheduler(writer: Writer, at: number, value: StateScheduler): void {
  const pointersAt = at + 8
  addBinderStatus(writer, pointersAt, value.binder)
  addResource(writer, pointersAt + 8, value.scheduler)
  writer.uint64(at, value.rssFree)
  addClientManagerStatus(writer, pointersAt + 16, value.clientManager)
  addObjectManagerStatus(writer, pointersAt + 24, value.objectManager)
  addTaskManagerStatus(writer, pointersAt + 32, value.taskManager)
  addWorkerManagerStatus(writer, pointersAt + 40, value.workerManager)
}

/** Monitor: a worker joined or left. (docs/protocol.md#struct-stateworker) */
export interface StateWorker {
  readonly kind: 'stateWorker'
  /** Which worker. */
  readonly workerId: Identity
  /** `connected` or `disconnected` in ASCII. */
  readonly message: Uint8Array
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readStateWorker(reader: Reader, bytes: Uint8Array | undefined): StateWorker {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'stateWorker',
    workerId: reader.id(pointersAt, structEnd) as Identity,
    message: reader.data(pointersAt + 8, structEnd),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureStateWorker(value: StateWorker, referenceFrom: number): number {
  return idWords(value.workerId) + dataWords(value.message, referenceFrom)
}

/** Words of the struct and of everything that it points to. */
export function sizeStateWorker(value: StateWorker, referenceFrom: number): number {
  return 2 + measureStateWorker(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addStateWorker(writer: Writer, pointerAt: number, value: StateWorker): void {
  writeStateWorker(writer, writer.struct(pointerAt, 0, 2), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStateWorker(writer: Writer, at: number, value: StateWorker): void {
  const pointersAt = at
  writer.id(pointersAt, value.workerId)
  writer.data(pointersAt + 8, value.message)
}

/** Monitor: a task changed its state. (docs/protocol.md#struct-statetask) */
export interface StateTask {
  readonly kind: 'stateTask'
  /** Which task. */
  readonly taskId: TaskId
  /** The name of its function object. */
  readonly functionName: Uint8Array
  /** Its new state. */
  readonly status: TaskStatus
  /** The worker that has it while it runs, otherwise empty. */
  readonly worker: Identity
  /** The profile result once it is finished, otherwise empty. */
  readonly metadata: Uint8Array
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readStateTask(reader: Reader, bytes: Uint8Array | undefined): StateTask {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'stateTask',
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    functionName: reader.data(pointersAt + 8, structEnd),
    status: nameOf(TASK_STATUS, reader.uint16(structAt, pointersAt), 'StateTask.status'),
    worker: reader.id(pointersAt + 16, structEnd) as Identity,
    metadata: reader.data(pointersAt + 24, structEnd),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureStateTask(value: StateTask, referenceFrom: number): number {
  return (
    idWords(value.taskId) +
    dataWords(value.functionName, referenceFrom) +
    idWords(value.worker) +
    dataWords(value.metadata, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeStateTask(value: StateTask, referenceFrom: number): number {
  return 5 + measureStateTask(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addStateTask(writer: Writer, pointerAt: number, value: StateTask): void {
  writeStateTask(writer, writer.struct(pointerAt, 1, 4), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStateTask(writer: Writer, at: number, value: StateTask): void {
  const pointersAt = at + 8
  writer.id(pointersAt, value.taskId)
  writer.data(pointersAt + 8, value.functionName)
  writer.uint16(at, codeOf(TASK_STATUS, value.status, 'StateTask.status'))
  writer.id(pointersAt + 16, value.worker)
  writer.data(pointersAt + 24, value.metadata)
}

/** Monitor: a node of a graph that was submitted. (docs/protocol.md#struct-stategraphtask) */
export interface StateGraphTask {
  readonly kind: 'stateGraphTask'
  /** The graph. */
  readonly graphTaskId: TaskId
  /** The node. */
  readonly taskId: TaskId
  /** Whether it is a target. */
  readonly nodeTaskType: NodeTaskType
  /** The nodes that it needs. */
  readonly parentTaskIds: readonly TaskId[]
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readStateGraphTask(reader: Reader, bytes: Uint8Array | undefined): StateGraphTask {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'stateGraphTask',
    graphTaskId: reader.id(pointersAt, structEnd) as TaskId,
    taskId: reader.id(pointersAt + 8, structEnd) as TaskId,
    nodeTaskType: nameOf(
      NODE_TASK_TYPE,
      reader.uint16(structAt, pointersAt),
      'StateGraphTask.nodeTaskType',
    ),
    parentTaskIds: readIdList(reader, pointersAt + 16, structEnd) as readonly TaskId[],
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureStateGraphTask(value: StateGraphTask, _referenceFrom: number): number {
  return idWords(value.graphTaskId) + idWords(value.taskId) + idListWords(value.parentTaskIds)
}

/** Words of the struct and of everything that it points to. */
export function sizeStateGraphTask(value: StateGraphTask, referenceFrom: number): number {
  return 4 + measureStateGraphTask(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addStateGraphTask(writer: Writer, pointerAt: number, value: StateGraphTask): void {
  writeStateGraphTask(writer, writer.struct(pointerAt, 1, 3), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStateGraphTask(writer: Writer, at: number, value: StateGraphTask): void {
  const pointersAt = at + 8
  writer.id(pointersAt, value.graphTaskId)
  writer.id(pointersAt + 8, value.taskId)
  writer.uint16(at, codeOf(NODE_TASK_TYPE, value.nodeTaskType, 'StateGraphTask.nodeTaskType'))
  writer.idList(pointersAt + 16, value.parentTaskIds)
}

/** Requests reports for a monitor: monitor -> scheduler (docs/protocol.md#monitors). (docs/protocol.md#struct-monitorrequest) */
export interface MonitorRequest {
  readonly kind: 'monitorRequest'
  /** How many more MonitorReports may be sent to it. */
  readonly credit: number
  /** Whether to report each task that finishes. */
  readonly wantsEvents: boolean
  /** Whether to report failures. */
  readonly wantsFailures: boolean
  /** The number of the last failure that the monitor has; 0: send all that are kept. Used only in the first request of a connection that has wantsFailures. */
  readonly failuresAfter: number
  /** Whether states list graphs. */
  readonly wantsGraphs: boolean
  /** With wantsEvents: whether to report each worker and client that joins or leaves. */
  readonly wantsPeers: boolean
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readMonitorRequest(reader: Reader, bytes: Uint8Array | undefined): MonitorRequest {
  const { structAt, pointersAt } = reader
  return {
    kind: 'monitorRequest',
    credit: reader.uint32(structAt, pointersAt),
    wantsEvents: reader.bool(structAt, 32, pointersAt),
    wantsFailures: reader.bool(structAt, 33, pointersAt),
    failuresAfter: reader.uint64(structAt + 8, pointersAt),
    wantsGraphs: reader.bool(structAt, 34, pointersAt),
    wantsPeers: reader.bool(structAt, 35, pointersAt),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureMonitorRequest(_value: MonitorRequest, _referenceFrom: number): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeMonitorRequest(value: MonitorRequest, referenceFrom: number): number {
  return 2 + measureMonitorRequest(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addMonitorRequest(writer: Writer, pointerAt: number, value: MonitorRequest): void {
  writeMonitorRequest(writer, writer.struct(pointerAt, 2, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeMonitorRequest(writer: Writer, at: number, value: MonitorRequest): void {
  writer.uint32(at, value.credit)
  writer.bool(at, 32, value.wantsEvents)
  writer.bool(at, 33, value.wantsFailures)
  writer.uint64(at + 8, value.failuresAfter)
  writer.bool(at, 34, value.wantsGraphs)
  writer.bool(at, 35, value.wantsPeers)
}

/** A report to a monitor: scheduler -> monitor. Uses one credit. (docs/protocol.md#struct-monitorreport) */
export interface MonitorReport {
  readonly kind: 'monitorReport'
  /** The complete state, at most one: once per second. */
  readonly states: readonly MonitorState[]
  /** Tasks that have finished, in this order; at most 500. */
  readonly events: readonly TaskEvent[]
  /** How many were omitted here: the monitor had no credit, or too many tasks finished per second. Includes changes of `peers`. */
  readonly lostEvents: number
  /** Tasks that have failed, in this order; at most 50. */
  readonly failures: readonly TaskFailure[]
  /** How many were omitted before these: they are no longer kept. */
  readonly lostFailures: number
  /** Workers and clients that have joined or left, in this order; at most 100. Only with wantsPeers. */
  readonly peers: readonly PeerChange[]
  /** Whether no change of `peers` is missing. If false, some can only be found by comparing states. */
  readonly hasAllPeers: boolean
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readMonitorReport(reader: Reader, bytes: Uint8Array | undefined): MonitorReport {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'monitorReport',
    states: readMonitorStateList(reader, pointersAt, structEnd),
    events: readTaskEventList(reader, pointersAt + 8, structEnd),
    lostEvents: reader.uint64(structAt, pointersAt),
    failures: readTaskFailureList(reader, pointersAt + 16, structEnd),
    lostFailures: reader.uint64(structAt + 8, pointersAt),
    peers: readPeerChangeList(reader, pointersAt + 24, structEnd),
    hasAllPeers: reader.bool(structAt, 128, pointersAt),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureMonitorReport(value: MonitorReport, referenceFrom: number): number {
  return (
    measureMonitorStateList(value.states, referenceFrom) +
    measureTaskEventList(value.events, referenceFrom) +
    measureTaskFailureList(value.failures, referenceFrom) +
    measurePeerChangeList(value.peers, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeMonitorReport(value: MonitorReport, referenceFrom: number): number {
  return 7 + measureMonitorReport(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addMonitorReport(writer: Writer, pointerAt: number, value: MonitorReport): void {
  writeMonitorReport(writer, writer.struct(pointerAt, 3, 4), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeMonitorReport(writer: Writer, at: number, value: MonitorReport): void {
  const pointersAt = at + 24
  addMonitorStateList(writer, pointersAt, value.states)
  addTaskEventList(writer, pointersAt + 8, value.events)
  writer.uint64(at, value.lostEvents)
  addTaskFailureList(writer, pointersAt + 16, value.failures)
  writer.uint64(at + 8, value.lostFailures)
  addPeerChangeList(writer, pointersAt + 24, value.peers)
  writer.bool(at, 128, value.hasAllPeers)
}

/** A worker or a client, excluding monitors, has joined or left. */
export interface PeerChange {
  /** Whether it has left; otherwise it has joined. */
  readonly hasLeft: boolean
  /** How many of the `events` of the same report came before. */
  readonly after: number
  /** The worker as it was then; empty: a client. */
  readonly worker: readonly WorkerReport[]
  /** The client as it was then; empty: a worker. */
  readonly client: readonly ClientReport[]
}

/** Reads the struct that was entered last. */
export function readPeerChange(reader: Reader): PeerChange {
  const { structAt, pointersAt, structEnd } = reader
  return {
    hasLeft: reader.bool(structAt, 0, pointersAt),
    after: reader.uint32(structAt + 4, pointersAt),
    worker: readWorkerReportList(reader, pointersAt, structEnd),
    client: readClientReportList(reader, pointersAt + 8, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readPeerChangeList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly PeerChange[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: PeerChange[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readPeerChange(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measurePeerChange(value: PeerChange, referenceFrom: number): number {
  return (
    measureWorkerReportList(value.worker, referenceFrom) +
    measureClientReportList(value.client, referenceFrom)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measurePeerChangeList(
  values: readonly PeerChange[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 3)
  for (const value of values) words += measurePeerChange(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writePeerChange(writer: Writer, at: number, value: PeerChange): void {
  const pointersAt = at + 8
  writer.bool(at, 0, value.hasLeft)
  writer.uint32(at + 4, value.after)
  addWorkerReportList(writer, pointersAt, value.worker)
  addClientReportList(writer, pointersAt + 8, value.client)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addPeerChangeList(
  writer: Writer,
  pointerAt: number,
  values: readonly PeerChange[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 2)
  for (const value of values) {
    writer.zero(at, 1)
    writePeerChange(writer, at, value)
    at += 24
  }
}

/** The complete state. */
export interface MonitorState {
  /** The resources that the process of the scheduler uses. */
  readonly scheduler: Resource
  /** Available memory of its machine in bytes. */
  readonly rssFree: number
  /** Tasks that wait for a worker, including nodes of graphs that are ready to run. */
  readonly waiting: number
  /** Tasks assigned to workers. */
  readonly running: number
  /** Tasks that have finished since the scheduler started, by status. */
  readonly ended: readonly EndedCount[]
  /** How many workers there are. */
  readonly workers: number
  /** The index of the first worker in `workerReports`, in the order in which they joined; from 0. */
  readonly firstWorker: number
  /** At most 250 of them. If there are more, the next message contains the next ones. */
  readonly workerReports: readonly WorkerReport[]
  /** How many clients there are, excluding monitors. */
  readonly clients: number
  /** The same as `firstWorker`. */
  readonly firstClient: number
  /** The same as `workerReports`. */
  readonly clientReports: readonly ClientReport[]
  /** Functions by name, those with the most finished tasks first; at most 200. */
  readonly functions: readonly FunctionReport[]
  /** Why tasks wait; largest counts first, at most 200. */
  readonly waitingCounts: readonly WaitingCount[]
  /** How many objects the scheduler stores. */
  readonly objects: number
  /** Their total size in bytes. */
  readonly objectBytes: number
  /** For how long the scheduler has run, in milliseconds. */
  readonly uptimeMS: number
  /** Tasks that arrived, including nodes of graphs, per second in the last full second. */
  readonly submittedPerS: number
  /** Tasks that finished, with any status, likewise. */
  readonly endedPerS: number
  /** Of these, those that failed (`failed`, `workerDied`), likewise. */
  readonly failedPerS: number
  /** The 99th percentile of how long the scheduler's event loop worked without a pause, in milliseconds, over about the last ten seconds; 0: not measured. */
  readonly turnP99MS: number
  /** How many messages it has received and sent, by the names of their structs. */
  readonly binder: BinderStatus
  /** How many workers were lost in the last ten minutes and have not returned. */
  readonly lost: number
  /** The last workers that were lost in the last ten minutes, oldest first; at most 100. */
  readonly lostWorkers: readonly LostWorker[]
  /** How many graphs there are that have not ended. */
  readonly graphCount: number
  /** Only with wantsGraphs: the oldest unfinished graphs, at most 50, and graphs that have ended since the last state for this monitor. */
  readonly graphs: readonly GraphReport[]
  /** How many bytes of objects can be stored now (docs/protocol.md#storage); 0: unknown. */
  readonly objectLimitBytes: number
  /** How many of `objectBytes` were moved to disk. */
  readonly objectDiskBytes: number
  /** How many objects were not stored, since the start. */
  readonly objectsRefused: number
  /** Why no objects are moved to disk; empty: they are, or need not be. */
  readonly diskError: string
  /** In the order in which they connected, at most 100. */
  readonly allocators: readonly AllocatorStatus[]
  /** The object storage servers, in the order in which they became known, at most 100. */
  readonly storageServers: readonly StorageServerStatus[]
}

/** Reads the struct that was entered last. */
export function readMonitorState(reader: Reader): MonitorState {
  const { structAt, pointersAt, structEnd } = reader
  return {
    scheduler: readResource(reader.enterStruct(pointersAt, structEnd)),
    rssFree: reader.uint64(structAt, pointersAt),
    waiting: reader.uint64(structAt + 8, pointersAt),
    running: reader.uint64(structAt + 16, pointersAt),
    ended: readEndedCountList(reader, pointersAt + 8, structEnd),
    workers: reader.uint32(structAt + 24, pointersAt),
    firstWorker: reader.uint32(structAt + 28, pointersAt),
    workerReports: readWorkerReportList(reader, pointersAt + 16, structEnd),
    clients: reader.uint32(structAt + 32, pointersAt),
    firstClient: reader.uint32(structAt + 36, pointersAt),
    clientReports: readClientReportList(reader, pointersAt + 24, structEnd),
    functions: readFunctionReportList(reader, pointersAt + 32, structEnd),
    waitingCounts: readWaitingCountList(reader, pointersAt + 40, structEnd),
    objects: reader.uint32(structAt + 40, pointersAt),
    objectBytes: reader.uint64(structAt + 48, pointersAt),
    uptimeMS: reader.float64(structAt + 56, pointersAt),
    submittedPerS: reader.float64(structAt + 64, pointersAt),
    endedPerS: reader.float64(structAt + 72, pointersAt),
    failedPerS: reader.float64(structAt + 80, pointersAt),
    turnP99MS: reader.float64(structAt + 88, pointersAt),
    binder: readBinderStatus(reader.enterStruct(pointersAt + 48, structEnd)),
    lost: reader.uint32(structAt + 44, pointersAt),
    lostWorkers: readLostWorkerList(reader, pointersAt + 56, structEnd),
    graphCount: reader.uint32(structAt + 96, pointersAt),
    graphs: readGraphReportList(reader, pointersAt + 64, structEnd),
    objectLimitBytes: reader.uint64(structAt + 104, pointersAt),
    objectDiskBytes: reader.uint64(structAt + 112, pointersAt),
    objectsRefused: reader.uint32(structAt + 100, pointersAt),
    diskError: reader.text(pointersAt + 72, structEnd),
    allocators: readAllocatorStatusList(reader, pointersAt + 80, structEnd),
    storageServers: readStorageServerStatusList(reader, pointersAt + 88, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readMonitorStateList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly MonitorState[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: MonitorState[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readMonitorState(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureMonitorState(value: MonitorState, referenceFrom: number): number {
  return (
    sizeResource(value.scheduler, referenceFrom) +
    measureEndedCountList(value.ended, referenceFrom) +
    measureWorkerReportList(value.workerReports, referenceFrom) +
    measureClientReportList(value.clientReports, referenceFrom) +
    measureFunctionReportList(value.functions, referenceFrom) +
    measureWaitingCountList(value.waitingCounts, referenceFrom) +
    sizeBinderStatus(value.binder, referenceFrom) +
    measureLostWorkerList(value.lostWorkers, referenceFrom) +
    measureGraphReportList(value.graphs, referenceFrom) +
    textWords(value.diskError) +
    measureAllocatorStatusList(value.allocators, referenceFrom) +
    measureStorageServerStatusList(value.storageServers, referenceFrom)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureMonitorStateList(
  values: readonly MonitorState[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 27)
  for (const value of values) words += measureMonitorState(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeMonitorState(writer: Writer, at: number, value: MonitorState): void {
  const pointersAt = at + 120
  addResource(writer, pointersAt, value.scheduler)
  writer.uint64(at, value.rssFree)
  writer.uint64(at + 8, value.waiting)
  writer.uint64(at + 16, value.running)
  addEndedCountList(writer, pointersAt + 8, value.ended)
  writer.uint32(at + 24, value.workers)
  writer.uint32(at + 28, value.firstWorker)
  addWorkerReportList(writer, pointersAt + 16, value.workerReports)
  writer.uint32(at + 32, value.clients)
  writer.uint32(at + 36, value.firstClient)
  addClientReportList(writer, pointersAt + 24, value.clientReports)
  addFunctionReportList(writer, pointersAt + 32, value.functions)
  addWaitingCountList(writer, pointersAt + 40, value.waitingCounts)
  writer.uint32(at + 40, value.objects)
  writer.uint64(at + 48, value.objectBytes)
  writer.float64(at + 56, value.uptimeMS)
  writer.float64(at + 64, value.submittedPerS)
  writer.float64(at + 72, value.endedPerS)
  writer.float64(at + 80, value.failedPerS)
  writer.float64(at + 88, value.turnP99MS)
  addBinderStatus(writer, pointersAt + 48, value.binder)
  writer.uint32(at + 44, value.lost)
  addLostWorkerList(writer, pointersAt + 56, value.lostWorkers)
  writer.uint32(at + 96, value.graphCount)
  addGraphReportList(writer, pointersAt + 64, value.graphs)
  writer.uint64(at + 104, value.objectLimitBytes)
  writer.uint64(at + 112, value.objectDiskBytes)
  writer.uint32(at + 100, value.objectsRefused)
  writer.text(pointersAt + 72, value.diskError)
  addAllocatorStatusList(writer, pointersAt + 80, value.allocators)
  addStorageServerStatusList(writer, pointersAt + 88, value.storageServers)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addMonitorStateList(
  writer: Writer,
  pointerAt: number,
  values: readonly MonitorState[],
): void {
  let at = writer.structList(pointerAt, values.length, 15, 12)
  for (const value of values) {
    writer.zero(at, 15)
    writeMonitorState(writer, at, value)
    at += 216
  }
}

/** An object storage server, as its scheduler sees it (docs/protocol.md#servers). */
export interface StorageServerStatus {
  /** By which peers reach it. */
  readonly address: string
  /** Whether it can be used. */
  readonly state: StorageServerState
  /** Why the scheduler has no connection to it; empty: it has. */
  readonly problem: string
  /** How many objects of this scheduler have their content there. */
  readonly objects: number
  /** The size of that content in bytes. */
  readonly objectBytes: number
}

/** Reads the struct that was entered last. */
export function readStorageServerStatus(reader: Reader): StorageServerStatus {
  const { structAt, pointersAt, structEnd } = reader
  return {
    address: reader.text(pointersAt, structEnd),
    state: nameOf(
      STORAGE_SERVER_STATE,
      reader.uint16(structAt, pointersAt),
      'StorageServerStatus.state',
    ),
    problem: reader.text(pointersAt + 8, structEnd),
    objects: reader.uint32(structAt + 4, pointersAt),
    objectBytes: reader.uint64(structAt + 8, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readStorageServerStatusList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly StorageServerStatus[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: StorageServerStatus[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readStorageServerStatus(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureStorageServerStatus(
  value: StorageServerStatus,
  _referenceFrom: number,
): number {
  return textWords(value.address) + textWords(value.problem)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureStorageServerStatusList(
  values: readonly StorageServerStatus[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 4)
  for (const value of values) words += measureStorageServerStatus(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStorageServerStatus(writer: Writer, at: number, value: StorageServerStatus): void {
  const pointersAt = at + 16
  writer.text(pointersAt, value.address)
  writer.uint16(at, codeOf(STORAGE_SERVER_STATE, value.state, 'StorageServerStatus.state'))
  writer.text(pointersAt + 8, value.problem)
  writer.uint32(at + 4, value.objects)
  writer.uint64(at + 8, value.objectBytes)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addStorageServerStatusList(
  writer: Writer,
  pointerAt: number,
  values: readonly StorageServerStatus[],
): void {
  let at = writer.structList(pointerAt, values.length, 2, 2)
  for (const value of values) {
    writer.zero(at, 2)
    writeStorageServerStatus(writer, at, value)
    at += 32
  }
}

/** A worker that was lost: it did not say that it would leave. */
export interface LostWorker {
  /** The worker. */
  readonly worker: Identity
  /** Its name for people; empty if it has none. */
  readonly name: string
  /** Its host name; empty if it did not report it. */
  readonly host: string
  /** How the scheduler noticed. */
  readonly cause: LossCause
  /** When: milliseconds before the message. */
  readonly agoMS: number
  /** Whether it is connected again. */
  readonly hasReturned: boolean
  /** The tasks that it had, in the order in which it received them; at most 8. */
  readonly tasks: readonly NamedTask[]
  /** How many tasks it had. */
  readonly taskCount: number
}

/** Reads the struct that was entered last. */
export function readLostWorker(reader: Reader): LostWorker {
  const { structAt, pointersAt, structEnd } = reader
  return {
    worker: reader.id(pointersAt, structEnd) as Identity,
    name: reader.text(pointersAt + 8, structEnd),
    host: reader.text(pointersAt + 16, structEnd),
    cause: nameOf(LOSS_CAUSE, reader.uint16(structAt, pointersAt), 'LostWorker.cause'),
    agoMS: reader.float64(structAt + 8, pointersAt),
    hasReturned: reader.bool(structAt, 16, pointersAt),
    tasks: readNamedTaskList(reader, pointersAt + 24, structEnd),
    taskCount: reader.uint32(structAt + 4, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readLostWorkerList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly LostWorker[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: LostWorker[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readLostWorker(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureLostWorker(value: LostWorker, referenceFrom: number): number {
  return (
    idWords(value.worker) +
    textWords(value.name) +
    textWords(value.host) +
    measureNamedTaskList(value.tasks, referenceFrom)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureLostWorkerList(
  values: readonly LostWorker[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 6)
  for (const value of values) words += measureLostWorker(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeLostWorker(writer: Writer, at: number, value: LostWorker): void {
  const pointersAt = at + 16
  writer.id(pointersAt, value.worker)
  writer.text(pointersAt + 8, value.name)
  writer.text(pointersAt + 16, value.host)
  writer.uint16(at, codeOf(LOSS_CAUSE, value.cause, 'LostWorker.cause'))
  writer.float64(at + 8, value.agoMS)
  writer.bool(at, 16, value.hasReturned)
  addNamedTaskList(writer, pointersAt + 24, value.tasks)
  writer.uint32(at + 4, value.taskCount)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addLostWorkerList(
  writer: Writer,
  pointerAt: number,
  values: readonly LostWorker[],
): void {
  let at = writer.structList(pointerAt, values.length, 2, 4)
  for (const value of values) {
    writer.zero(at, 2)
    writeLostWorker(writer, at, value)
    at += 48
  }
}

/** How far a graph has come (docs/protocol.md#graph-reports). */
export interface GraphReport {
  /** The graph. */
  readonly graphId: TaskId
  /** Its client. */
  readonly client: Identity
  /** `running`: it is unfinished. Else how it ended. */
  readonly status: TaskStatus
  /** More nodes may arrive. */
  readonly isOpen: boolean
  /** When its first nodes arrived, in milliseconds before the message. */
  readonly begunAgoMS: number
  /** When it ended, likewise; 0: it is unfinished. */
  readonly endedAgoMS: number
  /** All of its nodes. */
  readonly counts: GraphCounts
  /** Its nodes by layer; empty: not known. At most 100: of more layers, neighbours are added up. */
  readonly layers: readonly GraphCounts[]
  /** Its nodes, in the order in which they arrived, if it has at most 200. */
  readonly nodes: readonly GraphNodeReport[]
  /** Which of these nodes need which. */
  readonly edges: readonly GraphEdge[]
}

/** Reads the struct that was entered last. */
export function readGraphReport(reader: Reader): GraphReport {
  const { structAt, pointersAt, structEnd } = reader
  return {
    graphId: reader.id(pointersAt, structEnd) as TaskId,
    client: reader.id(pointersAt + 8, structEnd) as Identity,
    status: nameOf(TASK_STATUS, reader.uint16(structAt, pointersAt), 'GraphReport.status'),
    isOpen: reader.bool(structAt, 16, pointersAt),
    begunAgoMS: reader.float64(structAt + 8, pointersAt),
    endedAgoMS: reader.float64(structAt + 16, pointersAt),
    counts: readGraphCounts(reader.enterStruct(pointersAt + 16, structEnd)),
    layers: readGraphCountsList(reader, pointersAt + 24, structEnd),
    nodes: readGraphNodeReportList(reader, pointersAt + 32, structEnd),
    edges: readGraphEdgeList(reader, pointersAt + 40, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readGraphReportList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly GraphReport[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: GraphReport[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readGraphReport(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureGraphReport(value: GraphReport, referenceFrom: number): number {
  return (
    idWords(value.graphId) +
    idWords(value.client) +
    sizeGraphCounts(value.counts, referenceFrom) +
    measureGraphCountsList(value.layers, referenceFrom) +
    measureGraphNodeReportList(value.nodes, referenceFrom) +
    measureGraphEdgeList(value.edges, referenceFrom)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureGraphReportList(
  values: readonly GraphReport[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 9)
  for (const value of values) words += measureGraphReport(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeGraphReport(writer: Writer, at: number, value: GraphReport): void {
  const pointersAt = at + 24
  writer.id(pointersAt, value.graphId)
  writer.id(pointersAt + 8, value.client)
  writer.uint16(at, codeOf(TASK_STATUS, value.status, 'GraphReport.status'))
  writer.bool(at, 16, value.isOpen)
  writer.float64(at + 8, value.begunAgoMS)
  writer.float64(at + 16, value.endedAgoMS)
  addGraphCounts(writer, pointersAt + 16, value.counts)
  addGraphCountsList(writer, pointersAt + 24, value.layers)
  addGraphNodeReportList(writer, pointersAt + 32, value.nodes)
  addGraphEdgeList(writer, pointersAt + 40, value.edges)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addGraphReportList(
  writer: Writer,
  pointerAt: number,
  values: readonly GraphReport[],
): void {
  let at = writer.structList(pointerAt, values.length, 3, 6)
  for (const value of values) {
    writer.zero(at, 3)
    writeGraphReport(writer, at, value)
    at += 72
  }
}

/** Nodes of a graph by state. */
export interface GraphCounts {
  /** How many layers these are the nodes of; 0: of all. */
  readonly layers: number
  /** They wait for other nodes. */
  readonly waiting: number
  /** They wait for a worker. */
  readonly ready: number
  /** They are assigned to workers. */
  readonly running: number
  /** They have succeeded. */
  readonly succeeded: number
  /** They, or nodes that they need, have failed or were cancelled. */
  readonly failed: number
  /** They are no longer needed. */
  readonly dropped: number
}

/** Reads the struct that was entered last. */
export function readGraphCounts(reader: Reader): GraphCounts {
  const { structAt, pointersAt } = reader
  return {
    layers: reader.uint32(structAt, pointersAt),
    waiting: reader.uint32(structAt + 4, pointersAt),
    ready: reader.uint32(structAt + 8, pointersAt),
    running: reader.uint32(structAt + 12, pointersAt),
    succeeded: reader.uint32(structAt + 16, pointersAt),
    failed: reader.uint32(structAt + 20, pointersAt),
    dropped: reader.uint32(structAt + 24, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readGraphCountsList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly GraphCounts[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: GraphCounts[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readGraphCounts(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureGraphCounts(_value: GraphCounts, _referenceFrom: number): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeGraphCounts(value: GraphCounts, referenceFrom: number): number {
  return 4 + measureGraphCounts(value, referenceFrom)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureGraphCountsList(
  values: readonly GraphCounts[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 4)
  for (const value of values) words += measureGraphCounts(value, referenceFrom)
  return words
}

/** Adds the struct and sets the pointer to it. */
export function addGraphCounts(writer: Writer, pointerAt: number, value: GraphCounts): void {
  writeGraphCounts(writer, writer.struct(pointerAt, 4, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeGraphCounts(writer: Writer, at: number, value: GraphCounts): void {
  writer.uint32(at, value.layers)
  writer.uint32(at + 4, value.waiting)
  writer.uint32(at + 8, value.ready)
  writer.uint32(at + 12, value.running)
  writer.uint32(at + 16, value.succeeded)
  writer.uint32(at + 20, value.failed)
  writer.uint32(at + 24, value.dropped)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addGraphCountsList(
  writer: Writer,
  pointerAt: number,
  values: readonly GraphCounts[],
): void {
  let at = writer.structList(pointerAt, values.length, 4, 0)
  for (const value of values) {
    writer.zero(at, 4)
    writeGraphCounts(writer, at, value)
    at += 32
  }
}

/** A node of a graph. */
export interface GraphNodeReport {
  /** Its task. */
  readonly taskId: TaskId
  /** The name of its function; empty: it has none, or it is unknown. */
  readonly function: string
  /** Its layer, from 0: the length of the longest path that leads to it. */
  readonly layer: number
  /** Its state. */
  readonly nodeState: GraphNodeState
}

/** Reads the struct that was entered last. */
export function readGraphNodeReport(reader: Reader): GraphNodeReport {
  const { structAt, pointersAt, structEnd } = reader
  return {
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    function: reader.text(pointersAt + 8, structEnd),
    layer: reader.uint16(structAt, pointersAt),
    nodeState: nameOf(
      GRAPH_NODE_STATE,
      reader.uint16(structAt + 2, pointersAt),
      'GraphNodeReport.nodeState',
    ),
  }
}

/** Reads the list of structs behind a pointer. */
export function readGraphNodeReportList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly GraphNodeReport[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: GraphNodeReport[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readGraphNodeReport(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureGraphNodeReport(value: GraphNodeReport, _referenceFrom: number): number {
  return idWords(value.taskId) + textWords(value.function)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureGraphNodeReportList(
  values: readonly GraphNodeReport[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 3)
  for (const value of values) words += measureGraphNodeReport(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeGraphNodeReport(writer: Writer, at: number, value: GraphNodeReport): void {
  const pointersAt = at + 8
  writer.id(pointersAt, value.taskId)
  writer.text(pointersAt + 8, value.function)
  writer.uint16(at, value.layer)
  writer.uint16(at + 2, codeOf(GRAPH_NODE_STATE, value.nodeState, 'GraphNodeReport.nodeState'))
}

/** Adds a list of the struct and sets the pointer to it. */
export function addGraphNodeReportList(
  writer: Writer,
  pointerAt: number,
  values: readonly GraphNodeReport[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 2)
  for (const value of values) {
    writer.zero(at, 1)
    writeGraphNodeReport(writer, at, value)
    at += 24
  }
}

/** A node needs the result of another one. */
export interface GraphEdge {
  /** The index of the node whose result is needed. */
  readonly input: number
  /** The index of the node that needs it. */
  readonly node: number
}

/** Reads the struct that was entered last. */
export function readGraphEdge(reader: Reader): GraphEdge {
  const { structAt, pointersAt } = reader
  return {
    input: reader.uint16(structAt, pointersAt),
    node: reader.uint16(structAt + 2, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readGraphEdgeList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly GraphEdge[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: GraphEdge[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readGraphEdge(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureGraphEdge(_value: GraphEdge, _referenceFrom: number): number {
  return 0
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureGraphEdgeList(values: readonly GraphEdge[], referenceFrom: number): number {
  let words = structListWords(values.length, 1)
  for (const value of values) words += measureGraphEdge(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeGraphEdge(writer: Writer, at: number, value: GraphEdge): void {
  writer.uint16(at, value.input)
  writer.uint16(at + 2, value.node)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addGraphEdgeList(
  writer: Writer,
  pointerAt: number,
  values: readonly GraphEdge[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 0)
  for (const value of values) {
    writer.zero(at, 1)
    writeGraphEdge(writer, at, value)
    at += 8
  }
}

/** How many tasks have finished with one status. */
export interface EndedCount {
  /** The status. */
  readonly status: TaskStatus
  /** How many tasks. */
  readonly tasks: number
}

/** Reads the struct that was entered last. */
export function readEndedCount(reader: Reader): EndedCount {
  const { structAt, pointersAt } = reader
  return {
    status: nameOf(TASK_STATUS, reader.uint16(structAt, pointersAt), 'EndedCount.status'),
    tasks: reader.uint64(structAt + 8, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readEndedCountList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly EndedCount[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: EndedCount[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readEndedCount(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureEndedCount(_value: EndedCount, _referenceFrom: number): number {
  return 0
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureEndedCountList(
  values: readonly EndedCount[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 2)
  for (const value of values) words += measureEndedCount(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeEndedCount(writer: Writer, at: number, value: EndedCount): void {
  writer.uint16(at, codeOf(TASK_STATUS, value.status, 'EndedCount.status'))
  writer.uint64(at + 8, value.tasks)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addEndedCountList(
  writer: Writer,
  pointerAt: number,
  values: readonly EndedCount[],
): void {
  let at = writer.structList(pointerAt, values.length, 2, 0)
  for (const value of values) {
    writer.zero(at, 2)
    writeEndedCount(writer, at, value)
    at += 16
  }
}

/** All functions with one name, since the scheduler started. */
export interface FunctionReport {
  /** Empty: those without a name. `(others)`: those beyond the first 1,000 names. */
  readonly name: string
  /** How many of their tasks have finished, with any status. */
  readonly ended: number
  /** How many of these failed. */
  readonly failed: number
  /** For how many tasks the duration is known. */
  readonly measured: number
  /** The total duration of these. */
  readonly totalMS: number
  /** The duration of the longest of them. */
  readonly longestMS: number
  /** Half of the measured tasks took at most this long; within 5 percent. 0: none was measured. */
  readonly p50MS: number
  /** The same for 90 percent of them. */
  readonly p90MS: number
  /** The same for 99 percent of them. */
  readonly p99MS: number
  /** The largest memory that one of them used, for tasks that were profiled; 0: none. */
  readonly peakBytes: number
}

/** Reads the struct that was entered last. */
export function readFunctionReport(reader: Reader): FunctionReport {
  const { structAt, pointersAt, structEnd } = reader
  return {
    name: reader.text(pointersAt, structEnd),
    ended: reader.uint64(structAt, pointersAt),
    failed: reader.uint64(structAt + 8, pointersAt),
    measured: reader.uint64(structAt + 16, pointersAt),
    totalMS: reader.float64(structAt + 24, pointersAt),
    longestMS: reader.float64(structAt + 32, pointersAt),
    p50MS: reader.float64(structAt + 40, pointersAt),
    p90MS: reader.float64(structAt + 48, pointersAt),
    p99MS: reader.float64(structAt + 56, pointersAt),
    peakBytes: reader.uint64(structAt + 64, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readFunctionReportList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly FunctionReport[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: FunctionReport[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readFunctionReport(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureFunctionReport(value: FunctionReport, _referenceFrom: number): number {
  return textWords(value.name)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureFunctionReportList(
  values: readonly FunctionReport[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 10)
  for (const value of values) words += measureFunctionReport(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeFunctionReport(writer: Writer, at: number, value: FunctionReport): void {
  const pointersAt = at + 72
  writer.text(pointersAt, value.name)
  writer.uint64(at, value.ended)
  writer.uint64(at + 8, value.failed)
  writer.uint64(at + 16, value.measured)
  writer.float64(at + 24, value.totalMS)
  writer.float64(at + 32, value.longestMS)
  writer.float64(at + 40, value.p50MS)
  writer.float64(at + 48, value.p90MS)
  writer.float64(at + 56, value.p99MS)
  writer.uint64(at + 64, value.peakBytes)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addFunctionReportList(
  writer: Writer,
  pointerAt: number,
  values: readonly FunctionReport[],
): void {
  let at = writer.structList(pointerAt, values.length, 9, 1)
  for (const value of values) {
    writer.zero(at, 9)
    writeFunctionReport(writer, at, value)
    at += 80
  }
}

/** The life of a finished task. Times are milliseconds before the message. */
export interface TaskEvent {
  /** The task. */
  readonly taskId: TaskId
  /** The name given to it; empty: none. */
  readonly name: string
  /** The name of its function; empty: it has none, or it is unknown. */
  readonly function: string
  /** Its client; empty: the client has left. */
  readonly client: Identity
  /** The last worker that had it; empty: no worker had it. */
  readonly worker: Identity
  /** How it ended. */
  readonly status: TaskStatus
  /** When it started to wait for this worker; 0: unknown. */
  readonly queuedAgoMS: number
  /** When the function was called, or, if that is unknown, when the worker received the task; 0: no worker received it. */
  readonly startAgoMS: number
  /** When the scheduler learned that it had finished. */
  readonly endAgoMS: number
  /** How long its function took, in milliseconds; 0: unknown. */
  readonly durationMS: number
  /** failed: the name of the error, if it is known. */
  readonly errorName: string
  /** How many workers had it. */
  readonly attempts: number
  /** The attempts before the last one, oldest first; at most 20. */
  readonly past: readonly TaskAttempt[]
}

/** Reads the struct that was entered last. */
export function readTaskEvent(reader: Reader): TaskEvent {
  const { structAt, pointersAt, structEnd } = reader
  return {
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    name: reader.text(pointersAt + 8, structEnd),
    function: reader.text(pointersAt + 16, structEnd),
    client: reader.id(pointersAt + 24, structEnd) as Identity,
    worker: reader.id(pointersAt + 32, structEnd) as Identity,
    status: nameOf(TASK_STATUS, reader.uint16(structAt, pointersAt), 'TaskEvent.status'),
    queuedAgoMS: reader.float64(structAt + 8, pointersAt),
    startAgoMS: reader.float64(structAt + 16, pointersAt),
    endAgoMS: reader.float64(structAt + 24, pointersAt),
    durationMS: reader.float64(structAt + 32, pointersAt),
    errorName: reader.text(pointersAt + 40, structEnd),
    attempts: reader.uint32(structAt + 4, pointersAt),
    past: readTaskAttemptList(reader, pointersAt + 48, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskEventList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskEvent[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskEvent[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskEvent(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureTaskEvent(value: TaskEvent, referenceFrom: number): number {
  return (
    idWords(value.taskId) +
    textWords(value.name) +
    textWords(value.function) +
    idWords(value.client) +
    idWords(value.worker) +
    textWords(value.errorName) +
    measureTaskAttemptList(value.past, referenceFrom)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskEventList(values: readonly TaskEvent[], referenceFrom: number): number {
  let words = structListWords(values.length, 12)
  for (const value of values) words += measureTaskEvent(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskEvent(writer: Writer, at: number, value: TaskEvent): void {
  const pointersAt = at + 40
  writer.id(pointersAt, value.taskId)
  writer.text(pointersAt + 8, value.name)
  writer.text(pointersAt + 16, value.function)
  writer.id(pointersAt + 24, value.client)
  writer.id(pointersAt + 32, value.worker)
  writer.uint16(at, codeOf(TASK_STATUS, value.status, 'TaskEvent.status'))
  writer.float64(at + 8, value.queuedAgoMS)
  writer.float64(at + 16, value.startAgoMS)
  writer.float64(at + 24, value.endAgoMS)
  writer.float64(at + 32, value.durationMS)
  writer.text(pointersAt + 40, value.errorName)
  writer.uint32(at + 4, value.attempts)
  addTaskAttemptList(writer, pointersAt + 48, value.past)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskEventList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskEvent[],
): void {
  let at = writer.structList(pointerAt, values.length, 5, 7)
  for (const value of values) {
    writer.zero(at, 5)
    writeTaskEvent(writer, at, value)
    at += 96
  }
}

/** A task that has failed. The scheduler keeps the last 1,000. */
export interface TaskFailure {
  /** From 1, in the order of the failures since the scheduler started. */
  readonly number: number
  /** The task. */
  readonly taskId: TaskId
  /** As in TaskEvent. */
  readonly name: string
  /** As in TaskEvent. */
  readonly function: string
  /** As in TaskEvent. */
  readonly client: Identity
  /** As in TaskEvent. */
  readonly worker: Identity
  /** `failed` or `workerDied`. */
  readonly status: TaskStatus
  /** When it failed: milliseconds before the message. */
  readonly agoMS: number
  /** The error as reported by its worker, at most one. */
  readonly error: readonly TaskError[]
  /** As in TaskEvent. */
  readonly attempts: number
}

/** Reads the struct that was entered last. */
export function readTaskFailure(reader: Reader): TaskFailure {
  const { structAt, pointersAt, structEnd } = reader
  return {
    number: reader.uint64(structAt, pointersAt),
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    name: reader.text(pointersAt + 8, structEnd),
    function: reader.text(pointersAt + 16, structEnd),
    client: reader.id(pointersAt + 24, structEnd) as Identity,
    worker: reader.id(pointersAt + 32, structEnd) as Identity,
    status: nameOf(TASK_STATUS, reader.uint16(structAt + 8, pointersAt), 'TaskFailure.status'),
    agoMS: reader.float64(structAt + 16, pointersAt),
    error: readTaskErrorList(reader, pointersAt + 40, structEnd),
    attempts: reader.uint32(structAt + 12, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskFailureList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskFailure[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskFailure[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskFailure(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureTaskFailure(value: TaskFailure, referenceFrom: number): number {
  return (
    idWords(value.taskId) +
    textWords(value.name) +
    textWords(value.function) +
    idWords(value.client) +
    idWords(value.worker) +
    measureTaskErrorList(value.error, referenceFrom)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskFailureList(
  values: readonly TaskFailure[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 9)
  for (const value of values) words += measureTaskFailure(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskFailure(writer: Writer, at: number, value: TaskFailure): void {
  const pointersAt = at + 24
  writer.uint64(at, value.number)
  writer.id(pointersAt, value.taskId)
  writer.text(pointersAt + 8, value.name)
  writer.text(pointersAt + 16, value.function)
  writer.id(pointersAt + 24, value.client)
  writer.id(pointersAt + 32, value.worker)
  writer.uint16(at + 8, codeOf(TASK_STATUS, value.status, 'TaskFailure.status'))
  writer.float64(at + 16, value.agoMS)
  addTaskErrorList(writer, pointersAt + 40, value.error)
  writer.uint32(at + 12, value.attempts)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskFailureList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskFailure[],
): void {
  let at = writer.structList(pointerAt, values.length, 3, 6)
  for (const value of values) {
    writer.zero(at, 3)
    writeTaskFailure(writer, at, value)
    at += 72
  }
}

/** What an allocator announces: allocator -> scheduler (docs/protocol.md#allocators). (docs/protocol.md#struct-allocatorreport) */
export interface AllocatorReport {
  readonly kind: 'allocatorReport'
  /** Its state, which replaces the last one. */
  readonly allocator: AllocatorStatus
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readAllocatorReport(
  reader: Reader,
  bytes: Uint8Array | undefined,
): AllocatorReport {
  const { pointersAt, structEnd } = reader
  return {
    kind: 'allocatorReport',
    allocator: readAllocatorStatus(reader.enterStruct(pointersAt, structEnd)),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureAllocatorReport(value: AllocatorReport, referenceFrom: number): number {
  return sizeAllocatorStatus(value.allocator, referenceFrom)
}

/** Words of the struct and of everything that it points to. */
export function sizeAllocatorReport(value: AllocatorReport, referenceFrom: number): number {
  return 1 + measureAllocatorReport(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addAllocatorReport(
  writer: Writer,
  pointerAt: number,
  value: AllocatorReport,
): void {
  writeAllocatorReport(writer, writer.struct(pointerAt, 0, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeAllocatorReport(writer: Writer, at: number, value: AllocatorReport): void {
  const pointersAt = at
  addAllocatorStatus(writer, pointersAt, value.allocator)
}

/** A process that starts workers. Numbers are of workers. */
export interface AllocatorStatus {
  /** Its name, also the first part of the `allocation` of its workers, before a slash. */
  readonly name: string
  /** What starts them: `local`, `slurm`. */
  readonly provider: string
  /** `python`: they run tasks of Python; else those of JavaScript. */
  readonly runtime: string
  /** The capabilities that they offer. */
  readonly offers: readonly TaskCapability[]
  /** How many more it could ask for now. */
  readonly room: number
  /** Asked for, and not there yet. */
  readonly pending: number
  /** About to be asked for, unless another allocator does so first. */
  readonly claim: number
  /** There. */
  readonly running: number
  /** It starts none. */
  readonly isPaused: boolean
  /** Its last decision. */
  readonly decision: AllocatorDecision
  /** Its reason, in one line. */
  readonly why: string
  /** Why its last start has failed; empty: none has, or others have succeeded since. */
  readonly problem: string
}

/** Reads the struct that was entered last. */
export function readAllocatorStatus(reader: Reader): AllocatorStatus {
  const { structAt, pointersAt, structEnd } = reader
  return {
    name: reader.text(pointersAt, structEnd),
    provider: reader.text(pointersAt + 8, structEnd),
    runtime: reader.text(pointersAt + 16, structEnd),
    offers: readTaskCapabilityList(reader, pointersAt + 24, structEnd),
    room: reader.uint32(structAt, pointersAt),
    pending: reader.uint32(structAt + 4, pointersAt),
    claim: reader.uint32(structAt + 8, pointersAt),
    running: reader.uint32(structAt + 12, pointersAt),
    isPaused: reader.bool(structAt, 128, pointersAt),
    decision: nameOf(
      ALLOCATOR_DECISION,
      reader.uint16(structAt + 18, pointersAt),
      'AllocatorStatus.decision',
    ),
    why: reader.text(pointersAt + 32, structEnd),
    problem: reader.text(pointersAt + 40, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readAllocatorStatusList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly AllocatorStatus[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: AllocatorStatus[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readAllocatorStatus(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureAllocatorStatus(value: AllocatorStatus, referenceFrom: number): number {
  return (
    textWords(value.name) +
    textWords(value.provider) +
    textWords(value.runtime) +
    measureTaskCapabilityList(value.offers, referenceFrom) +
    textWords(value.why) +
    textWords(value.problem)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeAllocatorStatus(value: AllocatorStatus, referenceFrom: number): number {
  return 9 + measureAllocatorStatus(value, referenceFrom)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureAllocatorStatusList(
  values: readonly AllocatorStatus[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 9)
  for (const value of values) words += measureAllocatorStatus(value, referenceFrom)
  return words
}

/** Adds the struct and sets the pointer to it. */
export function addAllocatorStatus(
  writer: Writer,
  pointerAt: number,
  value: AllocatorStatus,
): void {
  writeAllocatorStatus(writer, writer.struct(pointerAt, 3, 6), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeAllocatorStatus(writer: Writer, at: number, value: AllocatorStatus): void {
  const pointersAt = at + 24
  writer.text(pointersAt, value.name)
  writer.text(pointersAt + 8, value.provider)
  writer.text(pointersAt + 16, value.runtime)
  addTaskCapabilityList(writer, pointersAt + 24, value.offers)
  writer.uint32(at, value.room)
  writer.uint32(at + 4, value.pending)
  writer.uint32(at + 8, value.claim)
  writer.uint32(at + 12, value.running)
  writer.bool(at, 128, value.isPaused)
  writer.uint16(at + 18, codeOf(ALLOCATOR_DECISION, value.decision, 'AllocatorStatus.decision'))
  writer.text(pointersAt + 32, value.why)
  writer.text(pointersAt + 40, value.problem)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addAllocatorStatusList(
  writer: Writer,
  pointerAt: number,
  values: readonly AllocatorStatus[],
): void {
  let at = writer.structList(pointerAt, values.length, 3, 6)
  for (const value of values) {
    writer.zero(at, 3)
    writeAllocatorStatus(writer, at, value)
    at += 72
  }
}

/** A question or an order of an operator: monitor -> scheduler, and scheduler -> worker (docs/protocol.md#operators). (docs/protocol.md#struct-operatorrequest) */
export interface OperatorRequest {
  readonly kind: 'operatorRequest'
  /** Chosen by the sender; repeated in the answer. */
  readonly number: number
  /** What to do. */
  readonly action: OperatorAction
  /** explain, cancel, stack: the id of the task in hexadecimal digits, or its beginning. */
  readonly task: string
  /** stack, to a worker: the task; empty: whatever runs. */
  readonly taskId: TaskId
  /** stack without a task, logs, drain: which worker. */
  readonly worker: Identity
  /** logs: the most lines to send. waiting, objects: the most of these, up to 1,000. */
  readonly lines: number
  /** drain: how long running tasks may take to finish, in milliseconds. */
  readonly limitMS: number
  /** pause, resume: the name of the allocator. */
  readonly allocator: string
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readOperatorRequest(
  reader: Reader,
  bytes: Uint8Array | undefined,
): OperatorRequest {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'operatorRequest',
    number: reader.uint32(structAt, pointersAt),
    action: nameOf(
      OPERATOR_ACTION,
      reader.uint16(structAt + 4, pointersAt),
      'OperatorRequest.action',
    ),
    task: reader.text(pointersAt, structEnd),
    taskId: reader.id(pointersAt + 8, structEnd) as TaskId,
    worker: reader.id(pointersAt + 16, structEnd) as Identity,
    lines: reader.uint32(structAt + 8, pointersAt),
    limitMS: reader.uint32(structAt + 12, pointersAt),
    allocator: reader.text(pointersAt + 24, structEnd),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureOperatorRequest(value: OperatorRequest, _referenceFrom: number): number {
  return (
    textWords(value.task) +
    idWords(value.taskId) +
    idWords(value.worker) +
    textWords(value.allocator)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeOperatorRequest(value: OperatorRequest, referenceFrom: number): number {
  return 6 + measureOperatorRequest(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addOperatorRequest(
  writer: Writer,
  pointerAt: number,
  value: OperatorRequest,
): void {
  writeOperatorRequest(writer, writer.struct(pointerAt, 2, 4), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeOperatorRequest(writer: Writer, at: number, value: OperatorRequest): void {
  const pointersAt = at + 16
  writer.uint32(at, value.number)
  writer.uint16(at + 4, codeOf(OPERATOR_ACTION, value.action, 'OperatorRequest.action'))
  writer.text(pointersAt, value.task)
  writer.id(pointersAt + 8, value.taskId)
  writer.id(pointersAt + 16, value.worker)
  writer.uint32(at + 8, value.lines)
  writer.uint32(at + 12, value.limitMS)
  writer.text(pointersAt + 24, value.allocator)
}

/** The answer to an OperatorRequest: worker -> scheduler -> monitor. (docs/protocol.md#struct-operatoranswer) */
export interface OperatorAnswer {
  readonly kind: 'operatorAnswer'
  /** The number of the request. */
  readonly number: number
  /** Whether it was done. */
  readonly outcome: OperatorOutcome
  /** Details for people, in one line; empty: none. */
  readonly note: string
  /** explain, cancel: the task. stack, drain: what the worker runs. ambiguous: at most 10 candidates. waiting: the oldest first, without nodes of graphs that are not tasks yet. */
  readonly tasks: readonly TaskStory[]
  /** stack: at most 100 frames, the innermost first; none: no JavaScript was running. */
  readonly stack: readonly StackFrame[]
  /** logs: oldest first. */
  readonly lines: readonly LoggedLine[]
  /** The worker that was asked; empty: none. */
  readonly worker: Identity
  /** objects: the largest first. */
  readonly objects: readonly ObjectStory[]
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readOperatorAnswer(reader: Reader, bytes: Uint8Array | undefined): OperatorAnswer {
  const { structAt, pointersAt, structEnd } = reader
  return {
    kind: 'operatorAnswer',
    number: reader.uint32(structAt, pointersAt),
    outcome: nameOf(
      OPERATOR_OUTCOME,
      reader.uint16(structAt + 4, pointersAt),
      'OperatorAnswer.outcome',
    ),
    note: reader.text(pointersAt, structEnd),
    tasks: readTaskStoryList(reader, pointersAt + 8, structEnd),
    stack: readStackFrameList(reader, pointersAt + 16, structEnd),
    lines: readLoggedLineList(reader, pointersAt + 24, structEnd),
    worker: reader.id(pointersAt + 32, structEnd) as Identity,
    objects: readObjectStoryList(reader, pointersAt + 40, structEnd),
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureOperatorAnswer(value: OperatorAnswer, referenceFrom: number): number {
  return (
    textWords(value.note) +
    measureTaskStoryList(value.tasks, referenceFrom) +
    measureStackFrameList(value.stack, referenceFrom) +
    measureLoggedLineList(value.lines, referenceFrom) +
    idWords(value.worker) +
    measureObjectStoryList(value.objects, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeOperatorAnswer(value: OperatorAnswer, referenceFrom: number): number {
  return 7 + measureOperatorAnswer(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addOperatorAnswer(writer: Writer, pointerAt: number, value: OperatorAnswer): void {
  writeOperatorAnswer(writer, writer.struct(pointerAt, 1, 6), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeOperatorAnswer(writer: Writer, at: number, value: OperatorAnswer): void {
  const pointersAt = at + 8
  writer.uint32(at, value.number)
  writer.uint16(at + 4, codeOf(OPERATOR_OUTCOME, value.outcome, 'OperatorAnswer.outcome'))
  writer.text(pointersAt, value.note)
  addTaskStoryList(writer, pointersAt + 8, value.tasks)
  addStackFrameList(writer, pointersAt + 16, value.stack)
  addLoggedLineList(writer, pointersAt + 24, value.lines)
  writer.id(pointersAt + 32, value.worker)
  addObjectStoryList(writer, pointersAt + 40, value.objects)
}

/** All that a scheduler knows of one task. */
export interface TaskStory {
  /** The task. */
  readonly taskId: TaskId
  /** The name given to it; empty: none. */
  readonly name: string
  /** The name of its function; empty: it has none, or it is unknown. */
  readonly function: string
  /** Its client; empty: the client has left, or it is unknown. */
  readonly client: Identity
  /** `inactive`: it waits. `running`: a worker has it. Else `canceling`, or how it ended. */
  readonly status: TaskStatus
  /** inactive: why it waits. */
  readonly reason: WaitReason
  /** Its requirements that no worker offers: `gpu=1, linux`. Only with the reason noCapability; in the answer to waiting, all that it requires. */
  readonly needs: string
  /** How long it has been in this state, in milliseconds; 0: unknown. */
  readonly forMS: number
  /** The unfinished nodes whose results it needs, at most 20. Only with the reason dependency. */
  readonly dependsOn: readonly NamedTask[]
  /** The workers that had it, oldest first, and the one that has it; at most 20. */
  readonly attempts: readonly TaskAttempt[]
  /** How many workers had it. */
  readonly attemptCount: number
  /** The error with which it failed, at most one. */
  readonly error: readonly TaskError[]
  /** It has not ended, and its function is of Python. */
  readonly isPython: boolean
}

/** Reads the struct that was entered last. */
export function readTaskStory(reader: Reader): TaskStory {
  const { structAt, pointersAt, structEnd } = reader
  return {
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    name: reader.text(pointersAt + 8, structEnd),
    function: reader.text(pointersAt + 16, structEnd),
    client: reader.id(pointersAt + 24, structEnd) as Identity,
    status: nameOf(TASK_STATUS, reader.uint16(structAt, pointersAt), 'TaskStory.status'),
    reason: nameOf(WAIT_REASON, reader.uint16(structAt + 2, pointersAt), 'TaskStory.reason'),
    needs: reader.text(pointersAt + 32, structEnd),
    forMS: reader.float64(structAt + 8, pointersAt),
    dependsOn: readNamedTaskList(reader, pointersAt + 40, structEnd),
    attempts: readTaskAttemptList(reader, pointersAt + 48, structEnd),
    attemptCount: reader.uint32(structAt + 4, pointersAt),
    error: readTaskErrorList(reader, pointersAt + 56, structEnd),
    isPython: reader.bool(structAt, 128, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskStoryList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskStory[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskStory[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskStory(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureTaskStory(value: TaskStory, referenceFrom: number): number {
  return (
    idWords(value.taskId) +
    textWords(value.name) +
    textWords(value.function) +
    idWords(value.client) +
    textWords(value.needs) +
    measureNamedTaskList(value.dependsOn, referenceFrom) +
    measureTaskAttemptList(value.attempts, referenceFrom) +
    measureTaskErrorList(value.error, referenceFrom)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskStoryList(values: readonly TaskStory[], referenceFrom: number): number {
  let words = structListWords(values.length, 11)
  for (const value of values) words += measureTaskStory(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskStory(writer: Writer, at: number, value: TaskStory): void {
  const pointersAt = at + 24
  writer.id(pointersAt, value.taskId)
  writer.text(pointersAt + 8, value.name)
  writer.text(pointersAt + 16, value.function)
  writer.id(pointersAt + 24, value.client)
  writer.uint16(at, codeOf(TASK_STATUS, value.status, 'TaskStory.status'))
  writer.uint16(at + 2, codeOf(WAIT_REASON, value.reason, 'TaskStory.reason'))
  writer.text(pointersAt + 32, value.needs)
  writer.float64(at + 8, value.forMS)
  addNamedTaskList(writer, pointersAt + 40, value.dependsOn)
  addTaskAttemptList(writer, pointersAt + 48, value.attempts)
  writer.uint32(at + 4, value.attemptCount)
  addTaskErrorList(writer, pointersAt + 56, value.error)
  writer.bool(at, 128, value.isPython)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskStoryList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskStory[],
): void {
  let at = writer.structList(pointerAt, values.length, 3, 8)
  for (const value of values) {
    writer.zero(at, 3)
    writeTaskStory(writer, at, value)
    at += 88
  }
}

/** A call that was running. */
export interface StackFrame {
  /** The name of the function; empty: it has none. */
  readonly function: string
  /** The path or URL of its script. */
  readonly file: string
  /** The line that was running, from 1. */
  readonly line: number
  /** Where in this line, from 1. */
  readonly column: number
}

/** Reads the struct that was entered last. */
export function readStackFrame(reader: Reader): StackFrame {
  const { structAt, pointersAt, structEnd } = reader
  return {
    function: reader.text(pointersAt, structEnd),
    file: reader.text(pointersAt + 8, structEnd),
    line: reader.uint32(structAt, pointersAt),
    column: reader.uint32(structAt + 4, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readStackFrameList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly StackFrame[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: StackFrame[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readStackFrame(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureStackFrame(value: StackFrame, _referenceFrom: number): number {
  return textWords(value.function) + textWords(value.file)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureStackFrameList(
  values: readonly StackFrame[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 3)
  for (const value of values) words += measureStackFrame(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeStackFrame(writer: Writer, at: number, value: StackFrame): void {
  const pointersAt = at + 8
  writer.text(pointersAt, value.function)
  writer.text(pointersAt + 8, value.file)
  writer.uint32(at, value.line)
  writer.uint32(at + 4, value.column)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addStackFrameList(
  writer: Writer,
  pointerAt: number,
  values: readonly StackFrame[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 2)
  for (const value of values) {
    writer.zero(at, 1)
    writeStackFrame(writer, at, value)
    at += 24
  }
}

/** A task with its name. */
export interface NamedTask {
  /** The task. */
  readonly taskId: TaskId
  /** The name of its function; empty: it has none, or it is unknown. */
  readonly name: string
}

/** Reads the struct that was entered last. */
export function readNamedTask(reader: Reader): NamedTask {
  const { pointersAt, structEnd } = reader
  return {
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    name: reader.text(pointersAt + 8, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readNamedTaskList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly NamedTask[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: NamedTask[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readNamedTask(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureNamedTask(value: NamedTask, _referenceFrom: number): number {
  return idWords(value.taskId) + textWords(value.name)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureNamedTaskList(values: readonly NamedTask[], referenceFrom: number): number {
  let words = structListWords(values.length, 2)
  for (const value of values) words += measureNamedTask(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeNamedTask(writer: Writer, at: number, value: NamedTask): void {
  const pointersAt = at
  writer.id(pointersAt, value.taskId)
  writer.text(pointersAt + 8, value.name)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addNamedTaskList(
  writer: Writer,
  pointerAt: number,
  values: readonly NamedTask[],
): void {
  let at = writer.structList(pointerAt, values.length, 0, 2)
  for (const value of values) {
    writeNamedTask(writer, at, value)
    at += 16
  }
}

/** An object that the scheduler stores. */
export interface ObjectStory {
  /** Which object. */
  readonly objectId: ObjectId
  /** The name that its client gave it; that of the function; or empty. */
  readonly name: string
  /** The size of its content. */
  readonly objectBytes: number
  /** A client that uses it; empty: none, it is kept until its retention ends. */
  readonly owner: Identity
  /** How many clients and graphs use it. */
  readonly users: number
  /** At most 20 workers that may have a copy. */
  readonly holders: readonly Identity[]
  /** How many workers may have one. */
  readonly holderCount: number
  /** How long ago it was stored first, in milliseconds. */
  readonly forMS: number
  /** Where its content is. */
  readonly place: ObjectPlace
  /** With `server`: the address of the object storage server; else empty. */
  readonly server: string
}

/** Reads the struct that was entered last. */
export function readObjectStory(reader: Reader): ObjectStory {
  const { structAt, pointersAt, structEnd } = reader
  return {
    objectId: reader.id(pointersAt, structEnd) as ObjectId,
    name: reader.text(pointersAt + 8, structEnd),
    objectBytes: reader.uint64(structAt, pointersAt),
    owner: reader.id(pointersAt + 16, structEnd) as Identity,
    users: reader.uint32(structAt + 8, pointersAt),
    holders: readIdList(reader, pointersAt + 24, structEnd) as readonly Identity[],
    holderCount: reader.uint32(structAt + 12, pointersAt),
    forMS: reader.float64(structAt + 16, pointersAt),
    place: nameOf(OBJECT_PLACE, reader.uint16(structAt + 24, pointersAt), 'ObjectStory.place'),
    server: reader.text(pointersAt + 32, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readObjectStoryList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly ObjectStory[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: ObjectStory[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readObjectStory(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureObjectStory(value: ObjectStory, _referenceFrom: number): number {
  return (
    idWords(value.objectId) +
    textWords(value.name) +
    idWords(value.owner) +
    idListWords(value.holders) +
    textWords(value.server)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureObjectStoryList(
  values: readonly ObjectStory[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 9)
  for (const value of values) words += measureObjectStory(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeObjectStory(writer: Writer, at: number, value: ObjectStory): void {
  const pointersAt = at + 32
  writer.id(pointersAt, value.objectId)
  writer.text(pointersAt + 8, value.name)
  writer.uint64(at, value.objectBytes)
  writer.id(pointersAt + 16, value.owner)
  writer.uint32(at + 8, value.users)
  writer.idList(pointersAt + 24, value.holders)
  writer.uint32(at + 12, value.holderCount)
  writer.float64(at + 16, value.forMS)
  writer.uint16(at + 24, codeOf(OBJECT_PLACE, value.place, 'ObjectStory.place'))
  writer.text(pointersAt + 32, value.server)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addObjectStoryList(
  writer: Writer,
  pointerAt: number,
  values: readonly ObjectStory[],
): void {
  let at = writer.structList(pointerAt, values.length, 4, 5)
  for (const value of values) {
    writer.zero(at, 4)
    writeObjectStory(writer, at, value)
    at += 72
  }
}

/** A line that a worker has logged, or that its tasks have printed. */
export interface LoggedLine {
  /** When: milliseconds since 1970, by the clock of the worker. */
  readonly atMS: number
  /** Where it was written. */
  readonly source: LineSource
  /** At most 4,096 characters of the line, without its end. */
  readonly text: string
}

/** Reads the struct that was entered last. */
export function readLoggedLine(reader: Reader): LoggedLine {
  const { structAt, pointersAt, structEnd } = reader
  return {
    atMS: reader.float64(structAt, pointersAt),
    source: nameOf(LINE_SOURCE, reader.uint16(structAt + 8, pointersAt), 'LoggedLine.source'),
    text: reader.text(pointersAt, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readLoggedLineList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly LoggedLine[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: LoggedLine[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readLoggedLine(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureLoggedLine(value: LoggedLine, _referenceFrom: number): number {
  return textWords(value.text)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureLoggedLineList(
  values: readonly LoggedLine[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 3)
  for (const value of values) words += measureLoggedLine(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeLoggedLine(writer: Writer, at: number, value: LoggedLine): void {
  const pointersAt = at + 16
  writer.float64(at, value.atMS)
  writer.uint16(at + 8, codeOf(LINE_SOURCE, value.source, 'LoggedLine.source'))
  writer.text(pointersAt, value.text)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addLoggedLineList(
  writer: Writer,
  pointerAt: number,
  values: readonly LoggedLine[],
): void {
  let at = writer.structList(pointerAt, values.length, 2, 1)
  for (const value of values) {
    writer.zero(at, 2)
    writeLoggedLine(writer, at, value)
    at += 24
  }
}

/** Only inside a 1.9.9 worker: a processor has started. (docs/protocol.md#struct-processorinitialized) */
export interface ProcessorInitialized {
  readonly kind: 'processorInitialized'
  /**
   * Inside this package, the encoded message that this was decoded from, if any. Always
   * undefined in `scaler-ts/protocol`.
   */
  readonly bytes?: Uint8Array | undefined
}

/** Reads the struct that was entered last. */
export function readProcessorInitialized(
  _reader: Reader,
  bytes: Uint8Array | undefined,
): ProcessorInitialized {
  return {
    kind: 'processorInitialized',
    bytes,
  }
}

/** Words of everything that the struct points to. */
export function measureProcessorInitialized(
  _value: ProcessorInitialized,
  _referenceFrom: number,
): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeProcessorInitialized(
  value: ProcessorInitialized,
  referenceFrom: number,
): number {
  return 0 + measureProcessorInitialized(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addProcessorInitialized(
  writer: Writer,
  pointerAt: number,
  _value: ProcessorInitialized,
): void {
  writer.struct(pointerAt, 0, 0)
}

/** Any message (docs/protocol.md#messages); `kind` says which one. */
export type Message =
  | Task
  | TaskCancel
  | TaskResult
  | GraphTask
  | GraphTaskCancel
  | ObjectInstruction
  | ObjectRequest
  | ObjectResponse
  | ClientHeartbeat
  | ClientHeartbeatEcho
  | WorkerHeartbeat
  | WorkerHeartbeatEcho
  | DisconnectRequest
  | DisconnectResponse
  | StateClient
  | StateObject
  | StateBalanceAdvice
  | StateScheduler
  | StateWorker
  | StateTask
  | StateGraphTask
  | ClientDisconnect
  | ClientShutdownResponse
  | ProcessorInitialized
  | TaskUpdate
  | TaskRoom
  | TaskOutput
  | TaskInquiry
  | TaskExplanation
  | MonitorRequest
  | MonitorReport
  | OperatorRequest
  | OperatorAnswer
  | ObjectFiles
  | SharedObject
  | StorageServers
  | AllocatorReport
  | ObjectLoss

/** Reads the message in a frame. Throws `ProtocolError` if its kind is unknown. */
export function readMessage(reader: Reader, bytes: Uint8Array): Message {
  const { structAt, pointersAt, structEnd } = reader.enterRoot()
  const tag = reader.uint16(structAt, pointersAt)
  switch (tag) {
    case 0:
      return readTask(reader.enterStruct(pointersAt, structEnd), bytes)
    case 1:
      return readTaskCancel(reader.enterStruct(pointersAt, structEnd), bytes)
    case 2:
      return readTaskResult(reader.enterStruct(pointersAt, structEnd), bytes)
    case 3:
      return readGraphTask(reader.enterStruct(pointersAt, structEnd), bytes)
    case 4:
      return readGraphTaskCancel(reader.enterStruct(pointersAt, structEnd), bytes)
    case 5:
      return readObjectInstruction(reader.enterStruct(pointersAt, structEnd), bytes)
    case 6:
      return readObjectRequest(reader.enterStruct(pointersAt, structEnd), bytes)
    case 7:
      return readObjectResponse(reader.enterStruct(pointersAt, structEnd), bytes)
    case 8:
      return readClientHeartbeat(reader.enterStruct(pointersAt, structEnd), bytes)
    case 9:
      return readClientHeartbeatEcho(reader.enterStruct(pointersAt, structEnd), bytes)
    case 10:
      return readWorkerHeartbeat(reader.enterStruct(pointersAt, structEnd), bytes)
    case 11:
      return readWorkerHeartbeatEcho(reader.enterStruct(pointersAt, structEnd), bytes)
    case 12:
      return readDisconnectRequest(reader.enterStruct(pointersAt, structEnd), bytes)
    case 13:
      return readDisconnectResponse(reader.enterStruct(pointersAt, structEnd), bytes)
    case 14:
      return readStateClient(reader.enterStruct(pointersAt, structEnd), bytes)
    case 15:
      return readStateObject(reader.enterStruct(pointersAt, structEnd), bytes)
    case 16:
      return readStateBalanceAdvice(reader.enterStruct(pointersAt, structEnd), bytes)
    case 17:
      return readStateScheduler(reader.enterStruct(pointersAt, structEnd), bytes)
    case 18:
      return readStateWorker(reader.enterStruct(pointersAt, structEnd), bytes)
    case 19:
      return readStateTask(reader.enterStruct(pointersAt, structEnd), bytes)
    case 20:
      return readStateGraphTask(reader.enterStruct(pointersAt, structEnd), bytes)
    case 21:
      return readClientDisconnect(reader.enterStruct(pointersAt, structEnd), bytes)
    case 22:
      return readClientShutdownResponse(reader.enterStruct(pointersAt, structEnd), bytes)
    case 23:
      return readProcessorInitialized(reader.enterStruct(pointersAt, structEnd), bytes)
    case 24:
      return readTaskUpdate(reader.enterStruct(pointersAt, structEnd), bytes)
    case 25:
      return readTaskRoom(reader.enterStruct(pointersAt, structEnd), bytes)
    case 26:
      return readTaskOutput(reader.enterStruct(pointersAt, structEnd), bytes)
    case 27:
      return readTaskInquiry(reader.enterStruct(pointersAt, structEnd), bytes)
    case 28:
      return readTaskExplanation(reader.enterStruct(pointersAt, structEnd), bytes)
    case 29:
      return readMonitorRequest(reader.enterStruct(pointersAt, structEnd), bytes)
    case 30:
      return readMonitorReport(reader.enterStruct(pointersAt, structEnd), bytes)
    case 31:
      return readOperatorRequest(reader.enterStruct(pointersAt, structEnd), bytes)
    case 32:
      return readOperatorAnswer(reader.enterStruct(pointersAt, structEnd), bytes)
    case 33:
      return readObjectFiles(reader.enterStruct(pointersAt, structEnd), bytes)
    case 34:
      return readSharedObject(reader.enterStruct(pointersAt, structEnd), bytes)
    case 35:
      return readStorageServers(reader.enterStruct(pointersAt, structEnd), bytes)
    case 36:
      return readAllocatorReport(reader.enterStruct(pointersAt, structEnd), bytes)
    case 37:
      return readObjectLoss(reader.enterStruct(pointersAt, structEnd), bytes)
    default:
      throw new ProtocolError(`Message: unknown kind ${tag}, known are 0 to 37`)
  }
}

/** Words of a whole message. Throws `ProtocolError` if its kind is unknown. */
export function measureMessage(message: Message, referenceFrom: number): number {
  switch (message.kind) {
    case 'task':
      return 3 + sizeTask(message, referenceFrom)
    case 'taskCancel':
      return 3 + sizeTaskCancel(message, referenceFrom)
    case 'taskResult':
      return 3 + sizeTaskResult(message, referenceFrom)
    case 'graphTask':
      return 3 + sizeGraphTask(message, referenceFrom)
    case 'graphTaskCancel':
      return 3 + sizeGraphTaskCancel(message, referenceFrom)
    case 'objectInstruction':
      return 3 + sizeObjectInstruction(message, referenceFrom)
    case 'objectRequest':
      return 3 + sizeObjectRequest(message, referenceFrom)
    case 'objectResponse':
      return 3 + sizeObjectResponse(message, referenceFrom)
    case 'clientHeartbeat':
      return 3 + sizeClientHeartbeat(message, referenceFrom)
    case 'clientHeartbeatEcho':
      return 3 + sizeClientHeartbeatEcho(message, referenceFrom)
    case 'workerHeartbeat':
      return 3 + sizeWorkerHeartbeat(message, referenceFrom)
    case 'workerHeartbeatEcho':
      return 3 + sizeWorkerHeartbeatEcho(message, referenceFrom)
    case 'disconnectRequest':
      return 3 + sizeDisconnectRequest(message, referenceFrom)
    case 'disconnectResponse':
      return 3 + sizeDisconnectResponse(message, referenceFrom)
    case 'stateClient':
      return 3 + sizeStateClient(message, referenceFrom)
    case 'stateObject':
      return 3 + sizeStateObject(message, referenceFrom)
    case 'stateBalanceAdvice':
      return 3 + sizeStateBalanceAdvice(message, referenceFrom)
    case 'stateScheduler':
      return 3 + sizeStateScheduler(message, referenceFrom)
    case 'stateWorker':
      return 3 + sizeStateWorker(message, referenceFrom)
    case 'stateTask':
      return 3 + sizeStateTask(message, referenceFrom)
    case 'stateGraphTask':
      return 3 + sizeStateGraphTask(message, referenceFrom)
    case 'clientDisconnect':
      return 3 + sizeClientDisconnect(message, referenceFrom)
    case 'clientShutdownResponse':
      return 3 + sizeClientShutdownResponse(message, referenceFrom)
    case 'processorInitialized':
      return 3 + sizeProcessorInitialized(message, referenceFrom)
    case 'taskUpdate':
      return 3 + sizeTaskUpdate(message, referenceFrom)
    case 'taskRoom':
      return 3 + sizeTaskRoom(message, referenceFrom)
    case 'taskOutput':
      return 3 + sizeTaskOutput(message, referenceFrom)
    case 'taskInquiry':
      return 3 + sizeTaskInquiry(message, referenceFrom)
    case 'taskExplanation':
      return 3 + sizeTaskExplanation(message, referenceFrom)
    case 'monitorRequest':
      return 3 + sizeMonitorRequest(message, referenceFrom)
    case 'monitorReport':
      return 3 + sizeMonitorReport(message, referenceFrom)
    case 'operatorRequest':
      return 3 + sizeOperatorRequest(message, referenceFrom)
    case 'operatorAnswer':
      return 3 + sizeOperatorAnswer(message, referenceFrom)
    case 'objectFiles':
      return 3 + sizeObjectFiles(message, referenceFrom)
    case 'sharedObject':
      return 3 + sizeSharedObject(message, referenceFrom)
    case 'storageServers':
      return 3 + sizeStorageServers(message, referenceFrom)
    case 'allocatorReport':
      return 3 + sizeAllocatorReport(message, referenceFrom)
    case 'objectLoss':
      return 3 + sizeObjectLoss(message, referenceFrom)
    default:
      throw unknownKind(message)
  }
}

/** Writes a whole message that has been measured. */
export function writeMessage(writer: Writer, message: Message): void {
  const at = writer.struct(8, 1, 1)
  switch (message.kind) {
    case 'task':
      writer.uint16(at, 0)
      addTask(writer, at + 8, message)
      break
    case 'taskCancel':
      writer.uint16(at, 1)
      addTaskCancel(writer, at + 8, message)
      break
    case 'taskResult':
      writer.uint16(at, 2)
      addTaskResult(writer, at + 8, message)
      break
    case 'graphTask':
      writer.uint16(at, 3)
      addGraphTask(writer, at + 8, message)
      break
    case 'graphTaskCancel':
      writer.uint16(at, 4)
      addGraphTaskCancel(writer, at + 8, message)
      break
    case 'objectInstruction':
      writer.uint16(at, 5)
      addObjectInstruction(writer, at + 8, message)
      break
    case 'objectRequest':
      writer.uint16(at, 6)
      addObjectRequest(writer, at + 8, message)
      break
    case 'objectResponse':
      writer.uint16(at, 7)
      addObjectResponse(writer, at + 8, message)
      break
    case 'clientHeartbeat':
      writer.uint16(at, 8)
      addClientHeartbeat(writer, at + 8, message)
      break
    case 'clientHeartbeatEcho':
      writer.uint16(at, 9)
      addClientHeartbeatEcho(writer, at + 8, message)
      break
    case 'workerHeartbeat':
      writer.uint16(at, 10)
      addWorkerHeartbeat(writer, at + 8, message)
      break
    case 'workerHeartbeatEcho':
      writer.uint16(at, 11)
      addWorkerHeartbeatEcho(writer, at + 8, message)
      break
    case 'disconnectRequest':
      writer.uint16(at, 12)
      addDisconnectRequest(writer, at + 8, message)
      break
    case 'disconnectResponse':
      writer.uint16(at, 13)
      addDisconnectResponse(writer, at + 8, message)
      break
    case 'stateClient':
      writer.uint16(at, 14)
      addStateClient(writer, at + 8, message)
      break
    case 'stateObject':
      writer.uint16(at, 15)
      addStateObject(writer, at + 8, message)
      break
    case 'stateBalanceAdvice':
      writer.uint16(at, 16)
      addStateBalanceAdvice(writer, at + 8, message)
      break
    case 'stateScheduler':
      writer.uint16(at, 17)
      addStateScheduler(writer, at + 8, message)
      break
    case 'stateWorker':
      writer.uint16(at, 18)
      addStateWorker(writer, at + 8, message)
      break
    case 'stateTask':
      writer.uint16(at, 19)
      addStateTask(writer, at + 8, message)
      break
    case 'stateGraphTask':
      writer.uint16(at, 20)
      addStateGraphTask(writer, at + 8, message)
      break
    case 'clientDisconnect':
      writer.uint16(at, 21)
      addClientDisconnect(writer, at + 8, message)
      break
    case 'clientShutdownResponse':
      writer.uint16(at, 22)
      addClientShutdownResponse(writer, at + 8, message)
      break
    case 'processorInitialized':
      writer.uint16(at, 23)
      addProcessorInitialized(writer, at + 8, message)
      break
    case 'taskUpdate':
      writer.uint16(at, 24)
      addTaskUpdate(writer, at + 8, message)
      break
    case 'taskRoom':
      writer.uint16(at, 25)
      addTaskRoom(writer, at + 8, message)
      break
    case 'taskOutput':
      writer.uint16(at, 26)
      addTaskOutput(writer, at + 8, message)
      break
    case 'taskInquiry':
      writer.uint16(at, 27)
      addTaskInquiry(writer, at + 8, message)
      break
    case 'taskExplanation':
      writer.uint16(at, 28)
      addTaskExplanation(writer, at + 8, message)
      break
    case 'monitorRequest':
      writer.uint16(at, 29)
      addMonitorRequest(writer, at + 8, message)
      break
    case 'monitorReport':
      writer.uint16(at, 30)
      addMonitorReport(writer, at + 8, message)
      break
    case 'operatorRequest':
      writer.uint16(at, 31)
      addOperatorRequest(writer, at + 8, message)
      break
    case 'operatorAnswer':
      writer.uint16(at, 32)
      addOperatorAnswer(writer, at + 8, message)
      break
    case 'objectFiles':
      writer.uint16(at, 33)
      addObjectFiles(writer, at + 8, message)
      break
    case 'sharedObject':
      writer.uint16(at, 34)
      addSharedObject(writer, at + 8, message)
      break
    case 'storageServers':
      writer.uint16(at, 35)
      addStorageServers(writer, at + 8, message)
      break
    case 'allocatorReport':
      writer.uint16(at, 36)
      addAllocatorReport(writer, at + 8, message)
      break
    case 'objectLoss':
      writer.uint16(at, 37)
      addObjectLoss(writer, at + 8, message)
      break
    default:
      throw unknownKind(message)
  }
}

function unknownKind(message: never): ProtocolError {
  const { kind } = message as { kind?: unknown }
  return new ProtocolError(`Message: unknown kind ${String(kind)}`)
}
