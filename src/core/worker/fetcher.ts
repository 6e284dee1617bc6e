// Gets the objects that tasks need from the scheduler to the processor: docs/protocol.md#objects.

import { totalBytes } from '../../base/bytes.js'
import { identity, type ObjectId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { ObjectInstruction, ObjectRequest, ObjectResponse } from '../../wire/message.js'
import { spokenName } from '../../wire/object-content.js'
import { ObjectTable } from './object-table.js'
import type { Output } from './output.js'
import type { WorkerTask } from './worker-task.js'

/** Between two attempts to make room while all that is there is needed, in milliseconds. */
const ROOM_INTERVAL_MS = 200

/** What is longer is cut: it is only for people. */
const MAX_NAME_BYTES = 1_000

/** What a fetcher tells and asks about tasks. */
export interface FetcherHandler {
  /** All tasks whose objects must stay. */
  tasks(): Iterable<WorkerTask>
  /** The processor has all that the task needs. */
  onComplete(task: WorkerTask): void
  /** The scheduler does not have these objects. */
  onMissing(task: WorkerTask, ids: readonly ObjectId[]): void
}

/** Requests objects, each once per processor, passes them on, and has old ones forgotten. */
export class Fetcher {
  readonly #output: Output
  readonly #handler: FetcherHandler
  readonly #table = new ObjectTable()
  readonly #limitBytes: number
  #request: ObjectId[] = []
  /** When room is made next. Invariant: undefined unless there is too much. */
  #makeRoomAt: InstantMs | undefined

  /** More objects than `limitBytes` are kept only while tasks need them. */
  constructor(output: Output, limitBytes: number, handler: FetcherHandler) {
    this.#output = output
    this.#limitBytes = limitBytes
    this.#handler = handler
  }

  /** When `makeRoom` must be called next. */
  get deadline(): InstantMs | undefined {
    return this.#makeRoomAt
  }

  /** Whether the processor still has what the task was found to have. */
  isUpToDate(task: WorkerTask): boolean {
    return task.epoch === this.#table.epoch
  }

  /** Looks up what the task needs and asks for what is missing. True if nothing is. */
  fetch(task: WorkerTask): boolean {
    this.#table.lookUp(task, this.#request)
    if (this.#request.length > 0) {
      this.#output.send(requestOf(this.#request))
      this.#request = []
    }
    return task.missingCount === 0
  }

  /** Objects have come, or the scheduler says which ones it does not have. */
  onObjectResponse(response: ObjectResponse, now: InstantMs): void {
    const { objectIds, objectBytes } = response.objectContent
    const awaited = objectIds.filter((id) => this.#table.isAwaited(id))
    if (awaited.length === 0) return
    if (response.responseType === 'objectNotExist') this.#miss(awaited)
    else if (objectIds.length === objectBytes.length) this.#arrive(response, now)
    // A 1.9.9 scheduler lists all ids but only the objects that it has. Which are missing shows
    // when each is asked for alone.
    else if (objectIds.length === 1) this.#miss(awaited)
    else for (const id of awaited) this.#output.send(requestOf([id]))
  }

  /** Objects were deleted: the processor forgets them, too. */
  onObjectInstruction(instruction: ObjectInstruction): void {
    if (instruction.instructionType !== 'delete') return
    const count = this.#table.delete(instruction.objectContent.objectIds)
    if (count > 0) this.#output.tellProcessor(instruction)
  }

  /** The processor keeps a result of its own, for tasks that will need it. */
  onKept(id: ObjectId, bytes: number, now: InstantMs): void {
    this.#table.keep(id, bytes, this.#onComplete)
    this.makeRoom(now)
  }

  /** The processor keeps a result that became no object after all. */
  drop(id: ObjectId): void {
    this.#output.tellProcessor(deletionOf([id]))
  }

  /** Has the processor forget what no task needs, if there is too much. */
  makeRoom(now: InstantMs): void {
    if (this.#table.bytes <= this.#limitBytes) {
      this.#makeRoomAt = undefined
      return
    }
    if (this.#makeRoomAt !== undefined && now < this.#makeRoomAt) return
    this.#makeRoomAt = now + ROOM_INTERVAL_MS
    const needed = this.#neededIds()
    const ids = this.#table.evict(this.#limitBytes, (id) => needed.has(id))
    if (ids.length > 0) this.#output.tellProcessor(deletionOf(ids))
    if (this.#table.bytes <= this.#limitBytes) this.#makeRoomAt = undefined
  }

  /** The processor and all that it had are gone. */
  onProcessorExited(): void {
    this.#table.clear()
    this.#makeRoomAt = undefined
  }

  /** The scheduler can no longer say what was deleted: the processor forgets everything. */
  onDisconnected(): void {
    this.#table.clear()
    this.#makeRoomAt = undefined
    this.#output.tellProcessor(CLEAR)
  }

  /** Throws if the tasks that are fetching do not wait for what they count. */
  checkInvariants(fetching: ReadonlySet<WorkerTask>): void {
    this.#table.checkInvariants(fetching)
  }

  /** The bytes go to the processor before any task that needs them. */
  #arrive(response: ObjectResponse, now: InstantMs): void {
    this.#output.tellProcessor(response)
    const { objectIds, objectBytes, objectNames } = response.objectContent
    for (const [index, id] of objectIds.entries()) {
      const bytes = totalBytes(objectBytes[index] ?? [])
      this.#table.arrive(id, { bytes, name: nameFrom(objectNames[index]) }, this.#onComplete)
    }
    this.makeRoom(now)
  }

  #neededIds(): ReadonlySet<ObjectId> {
    const ids = new Set<ObjectId>()
    for (const { serializerId, functionId, argumentIds } of this.#handler.tasks()) {
      ids.add(serializerId)
      ids.add(functionId)
      for (const id of argumentIds) ids.add(id)
    }
    return ids
  }

  readonly #onComplete = (task: WorkerTask): void => this.#handler.onComplete(task)

  #miss(ids: readonly ObjectId[]): void {
    const missing = new Map<WorkerTask, ObjectId[]>()
    for (const id of ids) {
      for (const task of this.#table.miss(id)) {
        const known = missing.get(task)
        if (known === undefined) missing.set(task, [id])
        else known.push(id)
      }
    }
    for (const [task, taskIds] of missing) this.#handler.onMissing(task, taskIds)
  }
}

const CLEAR: ObjectInstruction = {
  kind: 'objectInstruction',
  instructionType: 'clear',
  objectUser: identity(''),
  objectContent: { objectIds: [], objectTypes: [], objectNames: [], objectBytes: [] },
}

/** The name of a function; empty for what has none of its own. */
function nameFrom(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : spokenName(bytes, MAX_NAME_BYTES)
}

function deletionOf(objectIds: readonly ObjectId[]): ObjectInstruction {
  return {
    ...CLEAR,
    instructionType: 'delete',
    objectContent: { ...CLEAR.objectContent, objectIds },
  }
}

function requestOf(objectIds: readonly ObjectId[]): ObjectRequest {
  return { kind: 'objectRequest', requestType: 'get', objectIds }
}
