// Which objects the processor of this moment has or is about to get, and which tasks wait for them.

import { assert } from '../../base/assert.js'
import type { ObjectId } from '../../base/ids.js'
import type { ObjectEntry, WorkerTask } from './worker-task.js'

const NOBODY: WorkerTask[] = []

/** The objects of one processor after the other. */
export class ObjectTable {
  readonly #entries = new Map<ObjectId, ObjectEntry>()
  #epoch = 0

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
    this.#need(task.serializerId, task, request)
    task.functionEntry = this.#need(task.functionId, task, request)
    for (const id of task.argumentIds) this.#need(id, task, request)
  }

  /** An object has come. Calls `onComplete` for each task that has all of its objects now. */
  arrive(id: ObjectId, onComplete: (task: WorkerTask) => void): void {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.isPresent) return
    entry.isPresent = true
    const { waiters } = entry
    entry.waiters = NOBODY
    for (const task of waiters) {
      if (task.state !== 'fetching') continue
      task.missingCount -= 1
      if (task.missingCount === 0) onComplete(task)
    }
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
      if (this.#entries.get(id)?.isPresent !== true) continue
      this.#entries.delete(id)
      count += 1
    }
    if (count > 0) this.#epoch += 1
    return count
  }

  /** Forgets everything: the processor, or the scheduler that was asked, is gone. */
  clear(): void {
    this.#entries.clear()
    this.#epoch += 1
  }

  /** Throws if `fetching`, all tasks in that state, do not wait for what they count. */
  checkInvariants(fetching: ReadonlySet<WorkerTask>): void {
    const counts = new Map<WorkerTask, number>()
    for (const entry of this.#entries.values()) {
      assert(!entry.isPresent || entry.waiters.length === 0, 'a present object is waited for')
      for (const task of entry.waiters) counts.set(task, (counts.get(task) ?? 0) + 1)
    }
    for (const task of fetching) {
      const isWaiting = task.missingCount > 0 && counts.get(task) === task.missingCount
      assert(isWaiting, 'a fetching task waits for what nobody has asked for')
    }
  }

  #need(id: ObjectId, task: WorkerTask, request: ObjectId[]): ObjectEntry {
    let entry = this.#entries.get(id)
    if (entry === undefined) {
      entry = { isPresent: false, waiters: [], expectedMs: Infinity }
      this.#entries.set(id, entry)
      request.push(id)
    }
    if (!entry.isPresent) this.#wait(entry, task)
    return entry
  }

  /** A task that uses one object twice waits for it once. */
  #wait(entry: ObjectEntry, task: WorkerTask): void {
    if (entry.waiters.at(-1) === task) return
    entry.waiters.push(task)
    task.missingCount += 1
  }
}
