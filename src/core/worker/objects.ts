// Moves objects that tasks need from the scheduler to the processor: docs/protocol.md#objects.

import { assert } from '../../base/assert.js'
import { identity, type Identity, type ObjectId } from '../../base/ids.js'
import type { Alarm } from '../../base/machine.js'
import type {
  ObjectInstruction,
  ObjectRequest,
  ObjectResponse,
  SharedObject,
} from '../../wire/message.js'
import { contentBytes, isSerializerId, spokenName } from '../../wire/object-content.js'
import { send, sendToProcessor, type WorkerTurn } from './events.js'
import type { ProcessorSlot } from './processor/slot.js'
import type { Dispatcher } from './queue/dispatcher.js'
import type { WorkerTaskTable } from './task/table.js'
import type { ObjectEntry, WorkerTask } from './task/task.js'

// Which objects the current processor has or is about to receive, which tasks wait for them, and
// which were not used for the longest time.

const NO_WAITERS: WorkerTask[] = []

/**
 * What an object takes in addition to its content, in bytes: many small objects fill memory, too.
 */
const OBJECT_OVERHEAD_BYTES = 512

/** Eviction goes down to this share of the limit, so that it does not happen for each object. */
const KEPT_SHARE = 7 / 8

/** The properties of an object that has arrived. */
interface ArrivedObject {
  readonly bytes: number
  readonly name: string
}

/** The objects of the current processor; cleared when it is replaced. */
export class WorkerObjectTable {
  readonly #entries = new Map<ObjectId, ObjectEntry>()
  #epoch = 0
  /** The size of all objects that are present. */
  #bytes = 0
  #lookUpCount = 0

  /** The size of the processor's objects, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Changes whenever objects are lost: earlier look-ups may no longer hold. */
  get epoch(): number {
    return this.#epoch
  }

  /**
   * Looks up the objects that a task needs, and makes it wait for the missing ones. Adds to
   * `request` the ids that have not been requested yet.
   */
  lookUp(task: WorkerTask, request: ObjectId[]): void {
    task.missingCount = 0
    task.epoch = this.#epoch
    this.#lookUpCount += 1
    this.#need(task.serializerId, task, request)
    task.functionEntry = this.#need(task.functionId, task, request)
    for (const id of task.argumentIds) this.#need(id, task, request)
  }

  /** Requests an object that no task needs yet. Returns false if it was requested before. */
  expect(id: ObjectId): boolean {
    if (this.#entries.has(id)) return false
    this.#entries.set(id, this.#newEntry())
    return true
  }

  /** A task that may wait for objects was cut: the tasks in `rest` wait for the same ones. */
  onCut(task: WorkerTask, rest: WorkerTask): void {
    if (task.state !== 'fetching' || task.missingCount === 0) return
    for (const id of new Set([task.serializerId, task.functionId, ...task.argumentIds])) {
      const entry = this.#entries.get(id)
      if (entry?.waiters.includes(task) === true) entry.waiters.push(rest)
    }
  }

  /** An object has arrived. Calls `onComplete` for each task that now has all of its objects. */
  arrive(
    id: ObjectId,
    { bytes, name }: ArrivedObject,
    onComplete: (task: WorkerTask) => void,
  ): void {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.isPresent) return
    entry.isPresent = true
    entry.name = name
    entry.bytes = bytes + OBJECT_OVERHEAD_BYTES
    this.#bytes += entry.bytes
    const { waiters } = entry
    entry.waiters = NO_WAITERS
    for (const task of waiters) {
      if (task.state !== 'fetching') continue
      task.missingCount -= 1
      if (task.missingCount === 0) onComplete(task)
    }
  }

  /** The processor has created an object itself, and keeps it. */
  keep(id: ObjectId, bytes: number, onComplete: (task: WorkerTask) => void): void {
    if (!this.#entries.has(id)) this.#entries.set(id, this.#newEntry())
    this.arrive(id, { bytes, name: '' }, onComplete)
  }

  /** The scheduler does not have an object: forgets the request. Returns the waiting tasks. */
  miss(id: ObjectId): readonly WorkerTask[] {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.isPresent) return NO_WAITERS
    this.#entries.delete(id)
    return entry.waiters.filter((task) => task.state === 'fetching')
  }

  /** Whether an object was requested and has not arrived. */
  isAwaited(id: ObjectId): boolean {
    return this.#entries.get(id)?.isPresent === false
  }

  /** Forgets objects that were deleted, except requested ones. Returns how many were present. */
  delete(ids: readonly ObjectId[]): number {
    let count = 0
    for (const id of ids) {
      const entry = this.#entries.get(id)
      if (entry?.isPresent !== true) continue
      this.#bytes -= entry.bytes
      this.#entries.delete(id)
      count += 1
    }
    if (count > 0) this.#epoch += 1
    return count
  }

  /**
   * Forgets objects, least recently looked up first, until the size is well under the limit. Keeps
   * those that are needed, and serializers: they are small, and everything created with one is lost
   * with it. Returns the forgotten ids.
   */
  evict(limitBytes: number, isNeeded: (id: ObjectId) => boolean): readonly ObjectId[] {
    const idle: [ObjectId, ObjectEntry][] = []
    for (const [id, entry] of this.#entries) {
      if (entry.isPresent && !isSerializerId(id) && !isNeeded(id)) idle.push([id, entry])
    }
    idle.sort(([, a], [, b]) => a.usedAt - b.usedAt)
    const goalBytes = limitBytes * KEPT_SHARE
    const ids: ObjectId[] = []
    let bytes = this.#bytes
    for (const [id, entry] of idle) {
      if (bytes <= goalBytes) break
      bytes -= entry.bytes
      ids.push(id)
    }
    this.delete(ids)
    return ids
  }

  /** Forgets everything: the processor, or the scheduler that received the requests, is gone. */
  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
    this.#epoch += 1
  }

  /**
   * Throws if any task in `fetching` (all tasks in that state) is not waiting for as many objects
   * as it counts.
   */
  checkInvariants(fetching: ReadonlySet<WorkerTask>): void {
    const counts = new Map<WorkerTask, number>()
    let bytes = 0
    for (const entry of this.#entries.values()) {
      if (entry.isPresent) bytes += entry.bytes
      assert(
        !entry.isPresent || entry.waiters.length === 0,
        'a task waits for an object that is present',
      )
      for (const task of entry.waiters) counts.set(task, (counts.get(task) ?? 0) + 1)
    }
    assert(bytes === this.#bytes, 'the size of the objects is wrong')
    for (const task of fetching) {
      const isWaiting = task.missingCount > 0 && counts.get(task) === task.missingCount
      assert(isWaiting, 'a fetching task waits for an object that was not requested')
    }
  }

  #need(id: ObjectId, task: WorkerTask, request: ObjectId[]): ObjectEntry {
    let entry = this.#entries.get(id)
    if (entry === undefined) {
      entry = this.#newEntry()
      this.#entries.set(id, entry)
      request.push(id)
    }
    entry.usedAt = this.#lookUpCount
    if (!entry.isPresent) this.#wait(entry, task)
    return entry
  }

  #newEntry(): ObjectEntry {
    const usedAt = this.#lookUpCount
    return { isPresent: false, bytes: 0, name: '', usedAt, waiters: [], expectedMs: Infinity }
  }

  /** A task that uses one object twice waits for it once. */
  #wait(entry: ObjectEntry, task: WorkerTask): void {
    if (entry.waiters.at(-1) === task) return
    entry.waiters.push(task)
    task.missingCount += 1
  }
}

/** The time between two attempts to evict objects while all of them are needed, in milliseconds. */
const EVICTION_INTERVAL_MS = 200

/** Longer names are cut: they are only displayed. */
const MAX_NAME_BYTES = 1_000

/** The parts and settings of a fetcher. */
interface FetcherParts {
  readonly turn: WorkerTurn
  readonly slot: ProcessorSlot
  readonly tasks: WorkerTaskTable
  readonly dispatcher: Dispatcher
  /** Above this size, objects are kept only while tasks need them. */
  readonly limitBytes: number
  /** The scheduler does not have these objects. */
  readonly onMissing: (task: WorkerTask, ids: readonly ObjectId[]) => void
}

/**
 * Requests objects, each once per processor, forwards them to the processor, and evicts old ones.
 */
export class Fetcher {
  readonly #parts: FetcherParts
  readonly #turn: WorkerTurn
  readonly #slot: ProcessorSlot
  readonly #table = new WorkerObjectTable()
  #request: ObjectId[] = []
  /** When to try to evict again. Invariant: set only while the limit is exceeded. */
  readonly #alarm: Alarm

  constructor(parts: FetcherParts) {
    this.#parts = parts
    this.#turn = parts.turn
    this.#slot = parts.slot
    this.#alarm = this.#turn.alarm(() => this.#evict())
  }

  /** Whether the processor still has the objects that were found at the task's last look-up. */
  isUpToDate(task: WorkerTask): boolean {
    return task.epoch === this.#table.epoch
  }

  /** Queues a task as soon as the processor has its objects. */
  prepare(task: WorkerTask): void {
    if (this.#slot.isListening && this.fetch(task)) this.#onComplete(task)
  }

  /** Looks up the objects of the task and requests the missing ones. True if none is missing. */
  fetch(task: WorkerTask): boolean {
    this.#table.lookUp(task, this.#request)
    if (this.#request.length > 0) {
      send(this.#turn, requestOf(this.#request))
      this.#request = []
    }
    return task.missingCount === 0
  }

  /** An object is to be fetched before a task needs it. */
  onSharedObject({ type, objectId: id }: SharedObject): void {
    if (type !== 'replicate' || !this.#slot.isListening) return
    if (this.#table.expect(id)) send(this.#turn, requestOf([id]))
  }

  /** Objects have arrived, or the scheduler does not have some. */
  onObjectResponse(response: ObjectResponse): void {
    const { objectIds, objectBytes } = response.objectContent
    const awaited = objectIds.filter((id) => this.#table.isAwaited(id))
    if (awaited.length === 0) return
    if (response.responseType === 'objectNotExist') this.#miss(awaited)
    else if (objectIds.length === objectBytes.length) this.#arrive(response)
    // A 1.9.9 scheduler lists all ids but sends only the objects that it has. Requesting them one
    // by one shows which are missing.
    else if (objectIds.length === 1) this.#miss(awaited)
    else for (const id of awaited) send(this.#turn, requestOf([id]))
  }

  /** Objects were deleted: the processor must forget them, too. */
  onObjectInstruction(instruction: ObjectInstruction): void {
    if (instruction.instructionType !== 'delete') return
    const count = this.#table.delete(instruction.objectContent.objectIds)
    if (count > 0) sendToProcessor(this.#turn, instruction)
  }

  /** The processor does not have these objects: they are requested again with the next task. */
  onLost(ids: readonly ObjectId[]): void {
    this.#table.delete(ids)
  }

  /** A task was cut; `rest` has the tasks after it. */
  onCut(task: WorkerTask, rest: WorkerTask): void {
    this.#table.onCut(task, rest)
  }

  /** The processor keeps one of its results for later tasks. */
  onKept(id: ObjectId, bytes: number): void {
    this.#table.keep(id, bytes, this.#onComplete)
    this.#evict()
  }

  /** The processor keeps a result that did not become an object after all. */
  drop(id: ObjectId): void {
    sendToProcessor(this.#turn, deletionOf([id]))
  }

  /** The processor and its objects are gone. */
  onProcessorExited(): void {
    this.#table.clear()
    this.#alarm.clear()
  }

  /** The scheduler can no longer report deletions: the processor forgets everything. */
  onDisconnected(): void {
    this.#table.clear()
    this.#alarm.clear()
    sendToProcessor(this.#turn, CLEAR)
  }

  /** Throws if a fetching task is not waiting for as many objects as it counts. */
  checkInvariants(fetching: ReadonlySet<WorkerTask>): void {
    this.#table.checkInvariants(fetching)
  }

  /** The processor receives the bytes before any task that needs them. */
  #arrive(response: ObjectResponse): void {
    sendToProcessor(this.#turn, response)
    const { objectIds, objectTypes, objectBytes, objectNames } = response.objectContent
    for (const [index, id] of objectIds.entries()) {
      const bytes = contentBytes(objectTypes[index] ?? 'object', objectBytes[index] ?? [])
      this.#table.arrive(id, { bytes, name: nameFrom(objectNames[index]) }, this.#onComplete)
    }
    this.#evict()
  }

  /**
   * Evicts objects that no task needs if the limit is exceeded. While all are needed, retries only
   * at intervals.
   */
  #evict(): void {
    const { limitBytes } = this.#parts
    if (this.#table.bytes <= limitBytes) {
      this.#alarm.clear()
      return
    }
    if (this.#alarm.isSet || !this.#slot.isListening) return
    const needed = this.#neededIds()
    const ids = this.#table.evict(limitBytes, (id) => needed.has(id))
    if (ids.length > 0) sendToProcessor(this.#turn, deletionOf(ids))
    if (this.#table.bytes > limitBytes) this.#alarm.set(this.#turn.now + EVICTION_INTERVAL_MS)
  }

  #neededIds(): ReadonlySet<ObjectId> {
    const ids = new Set<ObjectId>()
    for (const { serializerId, functionId, argumentIds } of this.#parts.tasks.values()) {
      ids.add(serializerId)
      ids.add(functionId)
      for (const id of argumentIds) ids.add(id)
    }
    return ids
  }

  readonly #onComplete = (task: WorkerTask): void => {
    this.#parts.tasks.change(task, 'objectsPresent')
    this.#parts.dispatcher.add(task)
  }

  #miss(ids: readonly ObjectId[]): void {
    const missing = new Map<WorkerTask, ObjectId[]>()
    for (const id of ids) {
      for (const task of this.#table.miss(id)) {
        const known = missing.get(task)
        if (known === undefined) missing.set(task, [id])
        else known.push(id)
      }
    }
    for (const [task, taskIds] of missing) {
      // A link ends with the task before it.
      if (task.state === 'fetching') this.#parts.onMissing(task, taskIds)
    }
  }
}

const CLEAR: ObjectInstruction = {
  kind: 'objectInstruction',
  instructionType: 'clear',
  objectUser: identity(''),
  objectContent: { objectIds: [], objectTypes: [], objectNames: [], objectBytes: [] },
}

/** The name of a function; empty if it has none. */
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

// Caches the serializer ids of clients: computing one takes a hash, and most tasks come from few
// clients.

/** More clients than a worker usually sees; above this, the cache is cleared. */
const MAX_CLIENTS = 1000

/** Caches a pure function of clients' identities. */
export class SerializerIds {
  readonly #idOf: (source: Identity) => ObjectId
  readonly #known = new Map<Identity, ObjectId>()

  constructor(idOf: (source: Identity) => ObjectId) {
    this.#idOf = idOf
  }

  /** The id of a client's serializer object. */
  of(source: Identity): ObjectId {
    const known = this.#known.get(source)
    if (known !== undefined) return known
    const id = this.#idOf(source)
    if (this.#known.size >= MAX_CLIENTS) this.#known.clear()
    this.#known.set(source, id)
    return id
  }
}
