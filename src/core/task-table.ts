// The tasks of a machine by their ids. Consecutive tasks that differ only in their arguments, a
// run, are one entry for as long as the same happens to all of them:
//
//   added           [ 0 ................................. 4095 ]   one entry
//   cut(.., 64)     [ 0 ... 63 ] [ 64 .................. 4095 ]   64 tasks are assigned
//   get(id of 70)   [ 0 ... 63 ] [ 64 .. 69 ] [70] [ 71 . 4095 ]   task 70 is cancelled
//
// Whoever asks for a task by its id gets an entry of that task alone, so nothing else has to know
// of runs except what handles many tasks at once, and counts.

import { assert } from '../base/assert.js'
import type { TaskId } from '../base/ids.js'
import { SpreadMap } from '../base/collection/spread.js'
import { blockNameOf, isBlockId, isInBlock, placeInBlock } from '../wire/run.js'

/** One task, or consecutive tasks. */
export interface CountedEntry {
  /** The id of the first task. */
  readonly id: TaskId
  /** How many tasks it is. */
  readonly count: number
}

/** Shortens an entry to its first `count` tasks, and returns an entry for the others. */
type Cut<T> = (entry: T, count: number) => T

/** Tasks whose ids are in one block, in order. Invariant: not empty. */
interface Block<T> {
  readonly name: string
  readonly entries: T[]
}

/** A table of tasks. An iteration may include entries added meanwhile. */
export class TaskTable<T extends CountedEntry> {
  readonly #blocks = new Map<string, Block<T>>()
  /** The block that was used last: the next task is usually in the same. */
  #last: Block<T> | undefined
  /** Tasks whose ids cannot be in a run. */
  readonly #others = new SpreadMap<TaskId, T>()
  readonly #cut: Cut<T>
  #blockTasks = 0

  /** `cut`: shortens an entry; it must not use this table. */
  constructor(cut: Cut<T>) {
    this.#cut = cut
  }

  /** The number of tasks. */
  get size(): number {
    return this.#others.size + this.#blockTasks
  }

  /** The entry of one task: if it is part of a run, it is cut out. */
  get(id: TaskId): T | undefined {
    const entry = this.peek(id)
    if (entry === undefined || entry.count === 1) return entry
    const offset = placeInBlock(id) - placeInBlock(entry.id)
    const from = offset === 0 ? entry : this.cut(entry, offset)
    if (from.count > 1) this.cut(from, 1)
    return from
  }

  /** The entry that includes a task, as it is. */
  peek(id: TaskId): T | undefined {
    if (!isBlockId(id)) return this.#others.get(id)
    const entries = this.#blockOf(id)?.entries
    if (entries === undefined) return undefined
    const place = placeInBlock(id)
    const entry = entries[lastUpTo(entries, place)]
    const isIncluded = entry !== undefined && place < placeInBlock(entry.id) + entry.count
    return isIncluded ? entry : undefined
  }

  /**
   * The entries of `count` consecutive tasks that are in the table, in order: entries that include
   * others as well are cut.
   */
  range(id: TaskId, count: number): readonly T[] {
    if (count === 1) {
      const only = this.get(id)
      return only === undefined ? [] : [only]
    }
    const entries = this.#blockOf(id)?.entries ?? []
    const begin = placeInBlock(id)
    const end = begin + count
    const found: T[] = []
    for (let index = Math.max(0, lastUpTo(entries, begin)); index < entries.length; index += 1) {
      let entry = entries[index] as T
      const from = placeInBlock(entry.id)
      if (from >= end) break
      if (from + entry.count <= begin) continue
      if (from < begin) {
        entry = this.cut(entry, begin - from)
        index += 1
      }
      const at = placeInBlock(entry.id)
      if (at + entry.count > end) this.cut(entry, end - at)
      found.push(entry)
    }
    return found
  }

  /** Whether any of `count` consecutive tasks is in the table. */
  hasAny(id: TaskId, count: number): boolean {
    if (count === 1) return this.peek(id) !== undefined
    const entries = this.#blockOf(id)?.entries
    if (entries === undefined) return false
    const begin = placeInBlock(id)
    const entry = entries[lastUpTo(entries, begin + count - 1)]
    return entry !== undefined && placeInBlock(entry.id) + entry.count > begin
  }

  /** Shortens an entry to its first `count` tasks; returns the entry of the others. */
  cut(entry: T, count: number): T {
    assert(count > 0 && count < entry.count, 'a task cannot be cut')
    const entries = this.#blockOf(entry.id)?.entries
    const index = entries === undefined ? -1 : lastUpTo(entries, placeInBlock(entry.id))
    assert(entries?.[index] === entry, 'a task that is not in the table was cut')
    const rest = this.#cut(entry, count)
    entries.splice(index + 1, 0, rest)
    return rest
  }

  /** Adds an entry, none of whose tasks is in the table. */
  add(entry: T): void {
    const { id, count } = entry
    if (!isBlockId(id)) {
      assert(count === 1, 'a run with an unsuitable id')
      this.#others.set(id, entry)
      return
    }
    this.#blockTasks += count
    const block = this.#blockOf(id)
    if (block !== undefined) {
      const { entries } = block
      const index = lastUpTo(entries, placeInBlock(id)) + 1
      // Tasks usually arrive in their order.
      if (index === entries.length) entries.push(entry)
      else entries.splice(index, 0, entry)
      return
    }
    const name = blockNameOf(id)
    this.#last = { name, entries: [entry] }
    this.#blocks.set(name, this.#last)
  }

  /** Removes an entry. Returns whether it was in the table. */
  delete(entry: T): boolean {
    const { id } = entry
    if (!isBlockId(id)) return this.#others.get(id) === entry && this.#others.delete(id)
    const block = this.#blockOf(id)
    if (block === undefined) return false
    const { entries, name } = block
    const index = lastUpTo(entries, placeInBlock(id))
    if (entries[index] !== entry) return false
    this.#blockTasks -= entry.count
    if (entries.length === 1) {
      this.#blocks.delete(name)
      this.#last = undefined
    } else if (2 * index < entries.length) {
      // Tasks usually end in about their order: few entries are moved.
      for (let at = index; at > 0; at -= 1) entries[at] = entries[at - 1] as T
      entries.shift()
    } else entries.splice(index, 1)
    return true
  }

  /** Whether an entry is in the table. */
  has(entry: T): boolean {
    return this.peek(entry.id) === entry
  }

  /** All entries, in no particular order. */
  *values(): Generator<T, void, undefined> {
    yield* this.#others.values()
    for (const { entries } of this.#blocks.values()) yield* entries.slice()
  }

  /** Throws if the table is inconsistent. */
  checkInvariants(): void {
    let count = 0
    for (const [name, { entries }] of this.#blocks) {
      let end = 0
      assert(entries.length > 0, 'a block without tasks')
      for (const entry of entries) {
        const from = placeInBlock(entry.id)
        assert(blockNameOf(entry.id) === name, 'a task in another block')
        assert(entry.count > 0 && from >= end, 'entries overlap')
        end = from + entry.count
        count += entry.count
      }
    }
    assert(count === this.#blockTasks, 'the tasks of a table are miscounted')
    for (const { count: tasks } of this.#others.values()) assert(tasks === 1, 'a run of other ids')
  }

  #blockOf(id: TaskId): Block<T> | undefined {
    if (this.#last !== undefined && isInBlock(id, this.#last.name)) return this.#last
    const block = this.#blocks.get(blockNameOf(id))
    if (block !== undefined) this.#last = block
    return block
  }
}

/**
 * The index of the last entry that begins at or before a place; -1 if there is none. No two entries
 * begin at one place, so indices differ by at most as much as places do: without gaps, and with
 * tasks that are entries of their own, there is nothing left to search.
 */
function lastUpTo(entries: readonly CountedEntry[], place: number): number {
  const { length } = entries
  if (length === 0) return -1
  const first = placeInBlock((entries[0] as CountedEntry).id)
  const last = placeInBlock((entries[length - 1] as CountedEntry).id)
  let from = Math.max(0, length - Math.max(0, last - place))
  let to = Math.min(length, Math.max(0, place - first + 1))
  while (from < to) {
    const middle = (from + to) >> 1
    if (placeInBlock((entries[middle] as CountedEntry).id) <= place) from = middle + 1
    else to = middle
  }
  return from - 1
}
