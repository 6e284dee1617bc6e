// Generated from protocol/common.capnp by `npm run generate`; do not edit.
// Types, readers and writers of the structs, which docs/protocol.md describes.
import type { ObjectId } from '../../base/ids.js'

import {
  dataListListWords,
  dataListWords,
  enumListWords,
  idListWords,
  structListWords,
  textWords,
  readDataList,
  readDataListList,
  readEnumerants,
  readIdList,
} from '../measure.js'
import { NO_ELEMENTS, type Reader } from '../reader.js'
import type { Writer } from '../writer.js'

/**
 * `TaskStatus` of the schema.
 * - `success`: The task returned; one result.
 * - `failed`: The task threw, or could not be run; one result, the error.
 * - `canceled`: Dropped before it ran, or killed by a forced cancel.
 * - `notFound`: The receiver of a cancel does not have the task, or will not cancel it.
 * - `workerDied`: It took down too many workers.
 * - `noWorker`: Refused: no worker can take it.
 * - `inactive`: Monitor only: it waits in the scheduler.
 * - `running`: Monitor only: a worker has it.
 * - `canceling`: Monitor only: its worker was asked to cancel it.
 */
export type TaskStatus =
  | 'success'
  | 'failed'
  | 'canceled'
  | 'notFound'
  | 'workerDied'
  | 'noWorker'
  | 'inactive'
  | 'running'
  | 'canceling'

/** The names of `TaskStatus` by their numbers. */
export const TASK_STATUS: readonly TaskStatus[] = [
  'success',
  'failed',
  'canceled',
  'notFound',
  'workerDied',
  'noWorker',
  'inactive',
  'running',
  'canceling',
]

/**
 * `ObjectContent.ObjectContentType` of the schema.
 * - `serializer`: The serializer of a client.
 * - `object`: Anything else: a function, an argument, a result.
 * - `file`: The same, in a file, which the only chunk names (docs/protocol.md#files).
 * - `refused`: Nothing: it was not stored, and the only chunk says why (docs/protocol.md#storage).
 * - `stored`: The same, on an object storage server (docs/protocol.md#servers).
 */
export type ObjectContentType = 'serializer' | 'object' | 'file' | 'refused' | 'stored'

/** The names of `ObjectContentType` by their numbers. */
export const OBJECT_CONTENT_TYPE: readonly ObjectContentType[] = [
  'serializer',
  'object',
  'file',
  'refused',
  'stored',
]

/**
 * `WaitReason` of the schema.
 * - `noScheduler`: No scheduler answers.
 * - `noWorker`: No worker is connected.
 * - `noRuntime`: There are workers, but none of the client's runtime.
 * - `noCapability`: No worker offers what the task needs.
 * - `allBusy`: Every worker that could run it is busy.
 * - `limit`: The scheduler's limit for waiting tasks is reached.
 * - `dependency`: It needs the result of another task.
 */
export type WaitReason =
  'noScheduler' | 'noWorker' | 'noRuntime' | 'noCapability' | 'allBusy' | 'limit' | 'dependency'

/** The names of `WaitReason` by their numbers. */
export const WAIT_REASON: readonly WaitReason[] = [
  'noScheduler',
  'noWorker',
  'noRuntime',
  'noCapability',
  'allBusy',
  'limit',
  'dependency',
]

/** Objects: parallel lists, one entry per object in each. */
export interface ObjectContent {
  /** Which objects. */
  readonly objectIds: readonly ObjectId[]
  /** The type of each. */
  readonly objectTypes: readonly ObjectContentType[]
  /** Name of each for display, UTF-8. */
  readonly objectNames: readonly Uint8Array[]
  /** Content of each, cut into chunks. */
  readonly objectBytes: readonly (readonly Uint8Array[])[]
}

/** Reads the struct that was entered last. */
export function readObjectContent(reader: Reader): ObjectContent {
  const { pointersAt, structEnd } = reader
  return {
    objectIds: readIdList(reader, pointersAt, structEnd) as readonly ObjectId[],
    objectTypes: readEnumerants(
      reader,
      reader.enterUint16List(pointersAt + 8, structEnd),
      OBJECT_CONTENT_TYPE,
      'ObjectContent.objectTypes',
    ),
    objectNames: readDataList(reader, pointersAt + 16, structEnd),
    objectBytes: readDataListList(reader, pointersAt + 24, structEnd),
  }
}

/** Words of everything that the struct points to. */
export function measureObjectContent(value: ObjectContent, referenceFrom: number): number {
  return (
    idListWords(value.objectIds) +
    enumListWords(value.objectTypes) +
    dataListWords(value.objectNames, referenceFrom) +
    dataListListWords(value.objectBytes, referenceFrom)
  )
}

/** Words of the struct and of everything that it points to. */
export function sizeObjectContent(value: ObjectContent, referenceFrom: number): number {
  return 4 + measureObjectContent(value, referenceFrom)
}

/** Adds the struct and sets the pointer to it. */
export function addObjectContent(writer: Writer, pointerAt: number, value: ObjectContent): void {
  writeObjectContent(writer, writer.struct(pointerAt, 0, 4), value)
}

/** Fills in the struct at `at`; its data section is zero. */
function writeObjectContent(writer: Writer, at: number, value: ObjectContent): void {
  const pointersAt = at
  writer.idList(pointersAt, value.objectIds)
  writer.enumList(
    pointersAt + 8,
    value.objectTypes,
    OBJECT_CONTENT_TYPE,
    'ObjectContent.objectTypes',
  )
  writer.dataList(pointersAt + 16, value.objectNames)
  writer.dataListList(pointersAt + 24, value.objectBytes)
}

/** Something that a worker offers or a task needs. */
export interface TaskCapability {
  /** For example `gpu`. */
  readonly name: string
  /** How many; -1 if only the name matters. */
  readonly value: number
}

/** Reads the struct that was entered last. */
export function readTaskCapability(reader: Reader): TaskCapability {
  const { structAt, pointersAt, structEnd } = reader
  return {
    name: reader.text(pointersAt, structEnd),
    value: reader.int64(structAt, pointersAt),
  }
}

/** Reads the list of structs behind a pointer. */
export function readTaskCapabilityList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly TaskCapability[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: TaskCapability[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readTaskCapability(reader.enter(at, elementDataBytes, elementPointerBytes)))
  }
  return list
}

/** Words of everything that the struct points to. */
export function measureTaskCapability(value: TaskCapability, _referenceFrom: number): number {
  return textWords(value.name)
}

/** Words of a list of the struct: all its elements have the same size. */
export function measureTaskCapabilityList(
  values: readonly TaskCapability[],
  referenceFrom: number,
): number {
  let words = structListWords(values.length, 2)
  for (const value of values) words += measureTaskCapability(value, referenceFrom)
  return words
}

/** Fills in the struct at `at`; its data section is zero. */
function writeTaskCapability(writer: Writer, at: number, value: TaskCapability): void {
  const pointersAt = at + 8
  writer.text(pointersAt, value.name)
  writer.int64(at, value.value)
}

/** Adds a list of the struct and sets the pointer to it. */
export function addTaskCapabilityList(
  writer: Writer,
  pointerAt: number,
  values: readonly TaskCapability[],
): void {
  let at = writer.structList(pointerAt, values.length, 1, 1)
  for (const value of values) {
    writer.zero(at, 1)
    writeTaskCapability(writer, at, value)
    at += 16
  }
}
