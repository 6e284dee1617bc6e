// Generated from protocol/status.capnp by `npm run generate`; do not edit.
// Types, readers and writers of the structs, which docs/protocol.md describes.
import type { Identity, TaskId } from '../../base/ids.js'

import { idWords, structListWords, textWords } from '../measure.js'
import { NO_ELEMENTS, type Reader } from '../reader.js'
import type { Writer } from '../writer.js'

/** The resources that one process uses. */
export interface Resource {
  /** CPU percent times ten, 992 = 99.2 %. More than one core can make it exceed 1000. */
  readonly cpu: number
  /** Resident memory in bytes. */
  readonly rss: number
}

/** Reads the struct that was entered last. */
export function readResource(reader: Reader): Resource {
  const { structAt, pointersAt } = reader
  return {
    cpu: reader.uint16(structAt, pointersAt),
    rss: reader.uint64(structAt + 8, pointersAt),
  }
}

/** Words of everything that the struct points to. */
export function measureResource(_value: Resource, _referenceFrom: number): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeResource(value: Resource, referenceFrom: number): number {
  return 2 + measureResource(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addResource(writer: Writer, pointerAt: number, value: Resource): void {
  writeResource(writer, writer.struct(pointerAt, 2, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeResource(writer: Writer, at: number, value: Resource): void {
  writer.uint16(at, value.cpu)
  writer.uint64(at + 8, value.rss)
}

/** Describes a process of this package and its host (docs/protocol.md#peers). */
export interface PeerInfo {
  /** Its name for display; empty: a client inside a task. */
  readonly name: string
  /** The machine's own host name. */
  readonly host: string
  /** The same in all processes on one running system, including containers; empty: unknown. */
  readonly machineId: string
  /** Its process id on that machine. */
  readonly pid: number
  /** Of the package: `0.1.0`. */
  readonly version: string
  /** When it started, by its own clock: milliseconds since 1970. */
  readonly startedMS: number
  /** When its time limit ends, by its own clock; 0 = no known limit. */
  readonly endsMS: number
  /** The cluster manager's job that it was started in, or NAME/UNIT of an allocator; empty: none. */
  readonly allocation: string
  /** How much of its time is left when this is sent, in milliseconds; 0 = no known limit. */
  readonly endsInMS: number
}

/** Reads the struct that was entered last. */
export function readPeerInfo(reader: Reader): PeerInfo {
  const { structAt, pointersAt, structEnd } = reader
  return {
    name: reader.text(pointersAt, structEnd),
    host: reader.text(pointersAt + 8, structEnd),
    machineId: reader.text(pointersAt + 16, structEnd),
    pid: reader.uint32(structAt, pointersAt),
    version: reader.text(pointersAt + 24, structEnd),
    startedMS: reader.uint64(structAt + 8, pointersAt),
    endsMS: reader.uint64(structAt + 16, pointersAt),
    allocation: reader.text(pointersAt + 32, structEnd),
    endsInMS: reader.uint64(structAt + 24, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readPeerInfoList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly PeerInfo[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: PeerInfo[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readPeerInfo(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measurePeerInfo(value: PeerInfo, _referenceFrom: number): number {
  return (
    textWords(value.name) +
    textWords(value.host) +
    textWords(value.machineId) +
    textWords(value.version) +
    textWords(value.allocation)
  )
}

/** Words of a list of the struct: all its elements have the same size. */
export function measurePeerInfoList(values: readonly PeerInfo[], referenceFrom: number): number {
  let words = structListWords(values.length, 9)
  for (const value of values) words += measurePeerInfo(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writePeerInfo(writer: Writer, at: number, value: PeerInfo): void {
  const pointersAt = at + 32
  writer.text(pointersAt, value.name)
  writer.text(pointersAt + 8, value.host)
  writer.text(pointersAt + 16, value.machineId)
  writer.uint32(at, value.pid)
  writer.text(pointersAt + 24, value.version)
  writer.uint64(at + 8, value.startedMS)
  writer.uint64(at + 16, value.endsMS)
  writer.text(pointersAt + 32, value.allocation)
  writer.uint64(at + 24, value.endsInMS)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addPeerInfoList(
  writer: Writer,
  pointerAt: number,
  values: readonly PeerInfo[],
): void {
  let at = writer.structList(pointerAt, values.length, 4, 5)
  for (const value of values) {
    writer.zero(at, 4)
    writePeerInfo(writer, at, value)
    at += 72
  }
}

/** A task that has started and not finished. */
export interface RunningTask {
  /** Which task. */
  readonly taskId: TaskId
  /** How long it has run, in milliseconds, as measured by the worker. */
  readonly forMS: number
  /** Its name for display. Empty in heartbeats. */
  readonly name: string
  /** The name of its function for display. Empty in heartbeats. */
  readonly function: string
}

/** Reads the struct that was entered last. */
export function readRunningTask(reader: Reader): RunningTask {
  const { structAt, pointersAt, structEnd } = reader
  return {
    taskId: reader.id(pointersAt, structEnd) as TaskId,
    forMS: reader.uint32(structAt, pointersAt),
    name: reader.text(pointersAt + 8, structEnd),
    function: reader.text(pointersAt + 16, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readRunningTaskList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly RunningTask[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: RunningTask[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readRunningTask(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureRunningTask(value: RunningTask, _referenceFrom: number): number {
  return idWords(value.taskId) + textWords(value.name) + textWords(value.function)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureRunningTaskList(
  values: readonly RunningTask[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 4)
  for (const value of values) words += measureRunningTask(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeRunningTask(writer: Writer, at: number, value: RunningTask): void {
  const pointersAt = at + 8
  writer.id(pointersAt, value.taskId)
  writer.uint32(at, value.forMS)
  writer.text(pointersAt + 8, value.name)
  writer.text(pointersAt + 16, value.function)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addRunningTaskList(
  writer: Writer,
  pointerAt: number,
  values: readonly RunningTask[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 3)
  for (const value of values) {
    writer.zero(at, 1)
    writeRunningTask(writer, at, value)
    at += 32
  }
}

/** The scheduler's objects. */
export interface ObjectManagerStatus {
  /** Objects stored now. */
  readonly numberOfObjects: number
}

/** Reads the struct that was entered last. */
export function readObjectManagerStatus(reader: Reader): ObjectManagerStatus {
  const { structAt, pointersAt } = reader
  return {
    numberOfObjects: reader.uint32(structAt, pointersAt),
  }
}

/** Words of everything that the struct points to. */
export function measureObjectManagerStatus(
  _value: ObjectManagerStatus,
  _referenceFrom: number,
): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeObjectManagerStatus(value: ObjectManagerStatus, referenceFrom: number): number {
  return 1 + measureObjectManagerStatus(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addObjectManagerStatus(
  writer: Writer,
  pointerAt: number,
  value: ObjectManagerStatus,
): void {
  writeObjectManagerStatus(writer, writer.struct(pointerAt, 1, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeObjectManagerStatus(writer: Writer, at: number, value: ObjectManagerStatus): void {
  writer.uint32(at, value.numberOfObjects)
}

/** The scheduler's clients. */
export interface ClientManagerStatus {
  /** The clients that have unfinished tasks. */
  readonly clientToNumOfTask: readonly ClientManagerStatusPair[]
}

/** Reads the struct that was entered last. */
export function readClientManagerStatus(reader: Reader): ClientManagerStatus {
  const { pointersAt, structEnd } = reader
  return {
    clientToNumOfTask: readClientManagerStatusPairList(reader, pointersAt, structEnd),
  }
}

/** Words of everything that the struct points to. */
export function measureClientManagerStatus(
  value: ClientManagerStatus,
  referenceFrom: number,
): number {
  return measureClientManagerStatusPairList(value.clientToNumOfTask, referenceFrom)
}

/** Words of the struct and of everything that it points to. */
export function sizeClientManagerStatus(value: ClientManagerStatus, referenceFrom: number): number {
  return 1 + measureClientManagerStatus(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addClientManagerStatus(
  writer: Writer,
  pointerAt: number,
  value: ClientManagerStatus,
): void {
  writeClientManagerStatus(writer, writer.struct(pointerAt, 0, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeClientManagerStatus(writer: Writer, at: number, value: ClientManagerStatus): void {
  const pointersAt = at
  addClientManagerStatusPairList(writer, pointersAt, value.clientToNumOfTask)
}

/** One client and its load (in code `ClientManagerStatusPair`). */
export interface ClientManagerStatusPair {
  /** Which client. */
  readonly client: Identity
  /** Its unfinished tasks and graphs. */
  readonly numTask: number
}

/** Reads the struct that was entered last. */
export function readClientManagerStatusPair(reader: Reader): ClientManagerStatusPair {
  const { structAt, pointersAt, structEnd } = reader
  return {
    client: reader.id(pointersAt, structEnd) as Identity,
    numTask: reader.uint32(structAt, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readClientManagerStatusPairList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly ClientManagerStatusPair[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: ClientManagerStatusPair[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readClientManagerStatusPair(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureClientManagerStatusPair(
  value: ClientManagerStatusPair,
  _referenceFrom: number,
): number {
  return idWords(value.client)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureClientManagerStatusPairList(
  values: readonly ClientManagerStatusPair[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 2)
  for (const value of values) words += measureClientManagerStatusPair(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeClientManagerStatusPair(
  writer: Writer,
  at: number,
  value: ClientManagerStatusPair,
): void {
  const pointersAt = at + 8
  writer.id(pointersAt, value.client)
  writer.uint32(at, value.numTask)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addClientManagerStatusPairList(
  writer: Writer,
  pointerAt: number,
  values: readonly ClientManagerStatusPair[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 1)
  for (const value of values) {
    writer.zero(at, 1)
    writeClientManagerStatusPair(writer, at, value)
    at += 16
  }
}

/** The scheduler's tasks: two gauges, then counters since it started. */
export interface TaskManagerStatus {
  /** Tasks that wait for a worker. */
  readonly unassigned: number
  /** Tasks assigned to workers. */
  readonly running: number
  /** Tasks that finished with this status. */
  readonly success: number
  /** Tasks that finished with this status. */
  readonly failed: number
  /** Tasks that finished with this status. */
  readonly canceled: number
  /** Tasks that finished with this status. */
  readonly notFound: number
}

/** Reads the struct that was entered last. */
export function readTaskManagerStatus(reader: Reader): TaskManagerStatus {
  const { structAt, pointersAt } = reader
  return {
    unassigned: reader.uint32(structAt, pointersAt),
    running: reader.uint32(structAt + 4, pointersAt),
    success: reader.uint32(structAt + 8, pointersAt),
    failed: reader.uint32(structAt + 12, pointersAt),
    canceled: reader.uint32(structAt + 16, pointersAt),
    notFound: reader.uint32(structAt + 20, pointersAt),
  }
}

/** Words of everything that the struct points to. */
export function measureTaskManagerStatus(
  _value: TaskManagerStatus,
  _referenceFrom: number,
): number {
  return 0
}

/** Words of the struct and of everything that it points to. */
export function sizeTaskManagerStatus(value: TaskManagerStatus, referenceFrom: number): number {
  return 3 + measureTaskManagerStatus(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addTaskManagerStatus(
  writer: Writer,
  pointerAt: number,
  value: TaskManagerStatus,
): void {
  writeTaskManagerStatus(writer, writer.struct(pointerAt, 3, 0), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskManagerStatus(writer: Writer, at: number, value: TaskManagerStatus): void {
  writer.uint32(at, value.unassigned)
  writer.uint32(at + 4, value.running)
  writer.uint32(at + 8, value.success)
  writer.uint32(at + 12, value.failed)
  writer.uint32(at + 16, value.canceled)
  writer.uint32(at + 20, value.notFound)
}

/** One process that runs tasks. */
export interface ProcessorStatus {
  /** Process id. */
  readonly pid: number
  /** It has started and can take tasks. */
  readonly initialized: boolean
  /** It runs a task now. */
  readonly hasTask: boolean
  /** It was suspended for a more urgent task. */
  readonly suspended: boolean
  /** The resources that it uses. */
  readonly resource: Resource
}

/** Reads the struct that was entered last. */
export function readProcessorStatus(reader: Reader): ProcessorStatus {
  const { structAt, pointersAt, structEnd } = reader
  return {
    pid: reader.uint32(structAt, pointersAt),
    initialized: reader.bool(structAt, 32, pointersAt),
    hasTask: reader.bool(structAt, 33, pointersAt),
    suspended: reader.bool(structAt, 34, pointersAt),
    resource: readResource(reader.enterStruct(pointersAt, structEnd)),
  }
}

/** Reads the list of structs behind a pointer. */
export function readProcessorStatusList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly ProcessorStatus[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: ProcessorStatus[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readProcessorStatus(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureProcessorStatus(value: ProcessorStatus, referenceFrom: number): number {
  return sizeResource(value.resource, referenceFrom)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureProcessorStatusList(
  values: readonly ProcessorStatus[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 2)
  for (const value of values) words += measureProcessorStatus(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeProcessorStatus(writer: Writer, at: number, value: ProcessorStatus): void {
  const pointersAt = at + 8
  writer.uint32(at, value.pid)
  writer.bool(at, 32, value.initialized)
  writer.bool(at, 33, value.hasTask)
  writer.bool(at, 34, value.suspended)
  addResource(writer, pointersAt, value.resource)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addProcessorStatusList(
  writer: Writer,
  pointerAt: number,
  values: readonly ProcessorStatus[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 1)
  for (const value of values) {
    writer.zero(at, 1)
    writeProcessorStatus(writer, at, value)
    at += 16
  }
}

/** One worker as the scheduler sees it; many fields are copied from its last heartbeat. */
export interface WorkerStatus {
  /** Which worker. */
  readonly workerId: Identity
  /** The resources that its agent process uses (copied). */
  readonly agent: Resource
  /** Available memory of its machine in bytes (copied). */
  readonly rssFree: number
  /** Tasks that it can still accept: its queue size minus `sent`. */
  readonly free: number
  /** Unfinished tasks that the scheduler has assigned to it. */
  readonly sent: number
  /** Tasks that wait inside the worker (copied from `queuedTasks`). */
  readonly queued: number
  /** Number of its suspended processors, at most 255. Not a flag. */
  readonly suspended: number
  /** Its latency in microseconds (copied from `latencyUS`). */
  readonly lagUS: number
  /** Whole seconds since its last heartbeat, at most 255. */
  readonly lastS: number
  /** Three characters, each `0` or `1`: processor initialized, has a task, task lock. */
  readonly itl: string
  /** Its processors (copied). */
  readonly processorStatuses: readonly ProcessorStatus[]
}

/** Reads the struct that was entered last. */
export function readWorkerStatus(reader: Reader): WorkerStatus {
  const { structAt, pointersAt, structEnd } = reader
  return {
    workerId: reader.id(pointersAt, structEnd) as Identity,
    agent: readResource(reader.enterStruct(pointersAt + 8, structEnd)),
    rssFree: reader.uint64(structAt, pointersAt),
    free: reader.uint32(structAt + 8, pointersAt),
    sent: reader.uint32(structAt + 12, pointersAt),
    queued: reader.uint32(structAt + 16, pointersAt),
    suspended: reader.uint8(structAt + 20, pointersAt),
    lagUS: reader.uint64(structAt + 24, pointersAt),
    lastS: reader.uint8(structAt + 21, pointersAt),
    itl: reader.text(pointersAt + 16, structEnd),
    processorStatuses: readProcessorStatusList(reader, pointersAt + 24, structEnd),
  }
}

/** Reads the list of structs behind a pointer. */
export function readWorkerStatusList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly WorkerStatus[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: WorkerStatus[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readWorkerStatus(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureWorkerStatus(value: WorkerStatus, referenceFrom: number): number {
  return (
    idWords(value.workerId) +
    sizeResource(value.agent, referenceFrom) +
    textWords(value.itl) +
    measureProcessorStatusList(value.processorStatuses, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeWorkerStatus(value: WorkerStatus, referenceFrom: number): number {
  return 8 + measureWorkerStatus(value, referenceFrom)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureWorkerStatusList(
  values: readonly WorkerStatus[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 8)
  for (const value of values) words += measureWorkerStatus(value, referenceFrom)
  return words
}

/** Adds the struct and sets the pointer to it. */
export function addWorkerStatus(writer: Writer, pointerAt: number, value: WorkerStatus): void {
  writeWorkerStatus(writer, writer.struct(pointerAt, 4, 4), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeWorkerStatus(writer: Writer, at: number, value: WorkerStatus): void {
  const pointersAt = at + 32
  writer.id(pointersAt, value.workerId)
  addResource(writer, pointersAt + 8, value.agent)
  writer.uint64(at, value.rssFree)
  writer.uint32(at + 8, value.free)
  writer.uint32(at + 12, value.sent)
  writer.uint32(at + 16, value.queued)
  writer.uint8(at + 20, value.suspended)
  writer.uint64(at + 24, value.lagUS)
  writer.uint8(at + 21, value.lastS)
  writer.text(pointersAt + 16, value.itl)
  addProcessorStatusList(writer, pointersAt + 24, value.processorStatuses)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addWorkerStatusList(
  writer: Writer,
  pointerAt: number,
  values: readonly WorkerStatus[],
): void {
  let at = writer.structList(pointerAt, values.length, 4, 4)
  for (const value of values) {
    writer.zero(at, 4)
    writeWorkerStatus(writer, at, value)
    at += 64
  }
}

/** The scheduler's workers. */
export interface WorkerManagerStatus {
  /** One entry per living worker, in the order in which they joined. */
  readonly workers: readonly WorkerStatus[]
}

/** Reads the struct that was entered last. */
export function readWorkerManagerStatus(reader: Reader): WorkerManagerStatus {
  const { pointersAt, structEnd } = reader
  return {
    workers: readWorkerStatusList(reader, pointersAt, structEnd),
  }
}

/** Words of everything that the struct points to. */
export function measureWorkerManagerStatus(
  value: WorkerManagerStatus,
  referenceFrom: number,
): number {
  return measureWorkerStatusList(value.workers, referenceFrom)
}

/** Words of the struct and of everything that it points to. */
export function sizeWorkerManagerStatus(value: WorkerManagerStatus, referenceFrom: number): number {
  return 1 + measureWorkerManagerStatus(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addWorkerManagerStatus(
  writer: Writer,
  pointerAt: number,
  value: WorkerManagerStatus,
): void {
  writeWorkerManagerStatus(writer, writer.struct(pointerAt, 0, 1), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeWorkerManagerStatus(writer: Writer, at: number, value: WorkerManagerStatus): void {
  const pointersAt = at
  addWorkerStatusList(writer, pointersAt, value.workers)
}

/** Messages counted on the scheduler's main socket. */
export interface BinderStatus {
  /** Messages received. */
  readonly received: readonly BinderStatusPair[]
  /** Messages sent. */
  readonly sent: readonly BinderStatusPair[]
}

/** Reads the struct that was entered last. */
export function readBinderStatus(reader: Reader): BinderStatus {
  const { pointersAt, structEnd } = reader
  return {
    received: readBinderStatusPairList(reader, pointersAt, structEnd),
    sent: readBinderStatusPairList(reader, pointersAt + 8, structEnd),
  }
}

/** Words of everything that the struct points to. */
export function measureBinderStatus(value: BinderStatus, referenceFrom: number): number {
  return (
    measureBinderStatusPairList(value.received, referenceFrom) +
    measureBinderStatusPairList(value.sent, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeBinderStatus(value: BinderStatus, referenceFrom: number): number {
  return 2 + measureBinderStatus(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addBinderStatus(writer: Writer, pointerAt: number, value: BinderStatus): void {
  writeBinderStatus(writer, writer.struct(pointerAt, 0, 2), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeBinderStatus(writer: Writer, at: number, value: BinderStatus): void {
  const pointersAt = at
  addBinderStatusPairList(writer, pointersAt, value.received)
  addBinderStatusPairList(writer, pointersAt + 8, value.sent)
}

/** One kind of message and its number (in code `BinderStatusPair`). */
export interface BinderStatusPair {
  /** The name of the message's struct, for example `TaskResult`. The field's name is an accident. */
  readonly client: string
  /** How many. */
  readonly number: number
}

/** Reads the struct that was entered last. */
export function readBinderStatusPair(reader: Reader): BinderStatusPair {
  const { structAt, pointersAt, structEnd } = reader
  return {
    client: reader.text(pointersAt, structEnd),
    number: reader.uint32(structAt, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readBinderStatusPairList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly BinderStatusPair[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: BinderStatusPair[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readBinderStatusPair(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureBinderStatusPair(value: BinderStatusPair, _referenceFrom: number): number {
  return textWords(value.client)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureBinderStatusPairList(
  values: readonly BinderStatusPair[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 2)
  for (const value of values) words += measureBinderStatusPair(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeBinderStatusPair(writer: Writer, at: number, value: BinderStatusPair): void {
  const pointersAt = at + 8
  writer.text(pointersAt, value.client)
  writer.uint32(at, value.number)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addBinderStatusPairList(
  writer: Writer,
  pointerAt: number,
  values: readonly BinderStatusPair[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 1)
  for (const value of values) {
    writer.zero(at, 1)
    writeBinderStatusPair(writer, at, value)
    at += 16
  }
}
