// Gets the objects that tasks need from the scheduler to the processor: docs/protocol.md#objects.

import { assert } from '../../base/assert.js'
import { totalBytes } from '../../base/bytes.js'
import { identity, type Identity, type ObjectId } from '../../base/ids.js'
import type { Alarm } from '../../base/machine.js'
import type { ObjectInstruction, ObjectRequest, ObjectResponse } from '../../wire/message.js'
import { isSerializerId, spokenName } from '../../wire/object-content.js'
import { send, tellProcessor, type WorkerTurn } from './events.js'
import type { ProcessorSlot } from './processor/slot.js'
import type { ObjectEntry, WorkerTask } from './task/task.js'

// Which objects the processor of this moment has or is about to get, which tasks wait for them, and
// which were not used for longest.

const NOBODY: WorkerTask[] = []

/** What an object takes beside its content, in bytes: many small ones fill memory, too. */
const OBJECT_OVERHEAD_BYTES = 512

/** What is left of the limit when room is made: not for each object anew. */
const KEPT_SHARE = 7 / 8

/** What is known of an object that has arrived. */
interface ArrivedObject {
  readonly bytes: number
  readonly name: string
}

/** The objects of one processor after the other. */
export class ObjectTable {
  readonly #entries = new Map<ObjectId, ObjectEntry>()
  #epoch = 0
  /** Of all objects that are present. */
  #bytes = 0
  #lookUpCount = 0

  /** What the objects of the processor take, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Changes whenever objects are lost: what was looked up before may not hold any more. */
  get epoch(): number {
    return this.#epoch
  }

  /**
   * Looks up what a task needs and lets it wait for what is not there. Adds to `request` the ids
   * that nobody has asked for yet.
   */
  lookUp(task: WorkerTask, request: ObjectId[]): void {
    task.missingCount = 0
    task.epoch = this.#epoch
    this.#lookUpCount += 1
    this.#need(task.serializerId, task, request)
    task.functionEntry = this.#need(task.functionId, task, request)
    for (const id of task.argumentIds) this.#need(id, task, request)
  }

  /**
   * An object has come. Calls `onComplete` for each task that has all of its
   * objects now.
   */
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
    entry.waiters = NOBODY
    for (const task of waiters) {
      if (task.state !== 'fetching') continue
      task.missingCount -= 1
      if (task.missingCount === 0) onComplete(task)
    }
  }

  /** The processor has made an object itself, and keeps it. */
  keep(id: ObjectId, bytes: number, onComplete: (task: WorkerTask) => void): void {
    if (!this.#entries.has(id)) this.#entries.set(id, this.#newEntry())
    this.arrive(id, { bytes, name: '' }, onComplete)
  }

  /** The scheduler does not have an object: forgets the request. Returns the waiting tasks. */
  miss(id: ObjectId): readonly WorkerTask[] {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.isPresent) return NOBODY
    this.#entries.delete(id)
    return entry.waiters.filter((task) => task.state === 'fetching')
  }

  /** Whether an object was requested and has not come. */
  isAwaited(id: ObjectId): boolean {
    return this.#entries.get(id)?.isPresent === false
  }

  /** Forgets objects that were deleted. What is on its way stays. Returns how many there were. */
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
   * Forgets objects, those first that were not looked up for longest, until there is room again
   * under the limit. Never those that are needed, nor serializers: they are small, and what was
   * made with one goes with it. Returns what it has forgotten.
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

  /** Forgets everything: the processor, or the scheduler that was asked, is gone. */
  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
    this.#epoch += 1
  }

  /** Throws if `fetching`, all tasks in that state, do not wait for what they count. */
  checkInvariants(fetching: ReadonlySet<WorkerTask>): void {
    const counts = new Map<WorkerTask, number>()
    let bytes = 0
    for (const entry of this.#entries.values()) {
      if (entry.isPresent) bytes += entry.bytes
      assert(!entry.isPresent || entry.waiters.length === 0, 'a present object is waited for')
      for (const task of entry.waiters) counts.set(task, (counts.get(task) ?? 0) + 1)
    }
    assert(bytes === this.#bytes, 'the objects are weighed wrongly')
    for (const task of fetching) {
      const isWaiting = task.missingCount > 0 && counts.get(task) === task.missingCount
      assert(isWaiting, 'a fetching task waits for what nobody has asked for')
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

/** Between two attempts to make room while all that is there is needed, in milliseconds. */
const ROOM_INTERVAL_MS = 200

/** What is longer is cut: it is only for people. */
const MAX_NAME_BYTES = 1_000

/** What a fetcher tells and asks about tasks. */
interface FetcherHandler {
  /** All tasks whose objects must stay. */
  tasks(): Iterable<WorkerTask>
  /** The processor has all that the task needs. */
  onComplete(task: WorkerTask): void
  /** The scheduler does not have these objects. */
  onMissing(task: WorkerTask, ids: readonly ObjectId[]): void
}

/** What a fetcher is made of. */
interface FetcherParts {
  readonly turn: WorkerTurn
  readonly slot: ProcessorSlot
  /** More objects than this are kept only while tasks need them. */
  readonly limitBytes: number
}

/** Requests objects, each once per processor, passes them on, and has old ones forgotten. */
export class Fetcher {
  readonly #turn: WorkerTurn
  readonly #handler: FetcherHandler
  readonly #table = new ObjectTable()
  readonly #slot: ProcessorSlot
  readonly #limitBytes: number
  #request: ObjectId[] = []
  /** When room is made next. Invariant: not set unless there is too much. */
  readonly #alarm: Alarm

  constructor({ turn, slot, limitBytes }: FetcherParts, handler: FetcherHandler) {
    this.#turn = turn
    this.#slot = slot
    this.#limitBytes = limitBytes
    this.#handler = handler
    this.#alarm = turn.alarm(() => this.#makeRoom())
  }

  /** Whether the processor still has what the task was found to have. */
  isUpToDate(task: WorkerTask): boolean {
    return task.epoch === this.#table.epoch
  }

  /** Looks up what the task needs and asks for what is missing. True if nothing is. */
  fetch(task: WorkerTask): boolean {
    this.#table.lookUp(task, this.#request)
    if (this.#request.length > 0) {
      send(this.#turn, requestOf(this.#request))
      this.#request = []
    }
    return task.missingCount === 0
  }

  /** Objects have come, or the scheduler says which ones it does not have. */
  onObjectResponse(response: ObjectResponse): void {
    const { objectIds, objectBytes } = response.objectContent
    const awaited = objectIds.filter((id) => this.#table.isAwaited(id))
    if (awaited.length === 0) return
    if (response.responseType === 'objectNotExist') this.#miss(awaited)
    else if (objectIds.length === objectBytes.length) this.#arrive(response)
    // A 1.9.9 scheduler lists all ids but only the objects that it has. Which are missing shows
    // when each is asked for alone.
    else if (objectIds.length === 1) this.#miss(awaited)
    else for (const id of awaited) send(this.#turn, requestOf([id]))
  }

  /** Objects were deleted: the processor forgets them, too. */
  onObjectInstruction(instruction: ObjectInstruction): void {
    if (instruction.instructionType !== 'delete') return
    const count = this.#table.delete(instruction.objectContent.objectIds)
    if (count > 0) tellProcessor(this.#turn, instruction)
  }

  /** The processor keeps a result of its own, for tasks that will need it. */
  onKept(id: ObjectId, bytes: number): void {
    this.#table.keep(id, bytes, this.#onComplete)
    this.#makeRoom()
  }

  /** The processor keeps a result that became no object after all. */
  drop(id: ObjectId): void {
    tellProcessor(this.#turn, deletionOf([id]))
  }

  /** The processor and all that it had are gone. */
  onProcessorExited(): void {
    this.#table.clear()
    this.#alarm.clear()
  }

  /** The scheduler can no longer say what was deleted: the processor forgets everything. */
  onDisconnected(): void {
    this.#table.clear()
    this.#alarm.clear()
    tellProcessor(this.#turn, CLEAR)
  }

  /** Throws if the tasks that are fetching do not wait for what they count. */
  checkInvariants(fetching: ReadonlySet<WorkerTask>): void {
    this.#table.checkInvariants(fetching)
  }

  /** The bytes go to the processor before any task that needs them. */
  #arrive(response: ObjectResponse): void {
    tellProcessor(this.#turn, response)
    const { objectIds, objectBytes, objectNames } = response.objectContent
    for (const [index, id] of objectIds.entries()) {
      const bytes = totalBytes(objectBytes[index] ?? [])
      this.#table.arrive(id, { bytes, name: nameFrom(objectNames[index]) }, this.#onComplete)
    }
    this.#makeRoom()
  }

  /**
   * Has the processor forget what no task needs, if there is too much. While everything is needed,
   * it is tried again at intervals only.
   */
  #makeRoom(): void {
    if (this.#table.bytes <= this.#limitBytes) {
      this.#alarm.clear()
      return
    }
    if (this.#alarm.isSet || !this.#slot.isListening) return
    const needed = this.#neededIds()
    const ids = this.#table.evict(this.#limitBytes, (id) => needed.has(id))
    if (ids.length > 0) tellProcessor(this.#turn, deletionOf(ids))
    if (this.#table.bytes > this.#limitBytes) this.#alarm.set(this.#turn.now + ROOM_INTERVAL_MS)
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

// The serializer ids of the clients whose tasks come: each costs a hash, and most tasks come from
// few clients.

/** More clients than a worker usually sees; the ids of all of them are forgotten together. */
const MAX_CLIENTS = 1000

/** Remembers a pure function of clients' identities. */
export class SerializerIds {
  readonly #idOf: (source: Identity) => ObjectId
  readonly #known = new Map<Identity, ObjectId>()

  constructor(idOf: (source: Identity) => ObjectId) {
    this.#idOf = idOf
  }

  /** The id of the serializer object of a client. */
  of(source: Identity): ObjectId {
    const known = this.#known.get(source)
    if (known !== undefined) return known
    const id = this.#idOf(source)
    if (this.#known.size >= MAX_CLIENTS) this.#known.clear()
    this.#known.set(source, id)
    return id
  }
}
