// Which objects the processor of this moment has or is about to get, which tasks wait for them, and
// which were not used for longest.

import { assert } from '../../base/assert.js'
import type { ObjectId } from '../../base/ids.js'
import { isSerializerId } from '../../wire/object-content.js'
import type { ObjectEntry, WorkerTask } from './worker-task.js'

const NOBODY: WorkerTask[] = []

/** What an object takes beside its content, in bytes: many small ones fill memory, too. */
const OBJECT_OVERHEAD_BYTES = 512

/** What is left of the limit when room is made: not for each object anew. */
const KEPT_SHARE = 7 / 8

/** What is told of an object that has come. */
export interface ArrivedObject {
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

  /** The scheduler does not have an object: forgets that it was asked for. Returns who waited. */
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
