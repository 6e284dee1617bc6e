// The tasks that wait for a worker: ordered by priority, then shared fairly among clients, then by
// age. Clients of one priority take turns: a million tasks of one do not delay ten of another.
//
//   priority 1 ─ ring of clients: [A: t7 t9] [B: t8]
//   priority 0 ─ ring of clients: [A: t1 t2 t3 …]

import { assert } from '../../../base/assert.js'
import { Fifo, type FifoNode } from '../../../base/collection/fifo.js'
import type { InstantMs } from '../../../base/machine.js'
import type { ClientEntry, FunctionCounts, TaskEntry } from '../entries.js'

/** Maximum number of tasks to search for one that fits. */
const MAX_LOOKS = 1000

/** Waiting tasks that share the name of their function. */
export interface WaitingGroup {
  /** Undefined if the function of the tasks is unknown. */
  readonly counts: FunctionCounts | undefined
  tasks: number
  /** Since when the first task of the same client and priority has waited. */
  readonly since: InstantMs
}

/** The waiting tasks of one client at one priority. Invariant: not empty. */
class Turn {
  readonly client: ClientEntry
  readonly tasks = new Fifo<TaskEntry>()
  /** How many tasks these entries are. */
  count = 0
  /** Its place in the ring; undefined while its client is parked. */
  place: FifoNode<Turn> | undefined
  /** The number of tasks for each name of function; never negative. */
  readonly #tallies = new Map<FunctionCounts | undefined, { tasks: number }>()
  #lastCounts: FunctionCounts | undefined
  #last: { tasks: number } | undefined

  constructor(client: ClientEntry) {
    this.client = client
  }

  /** Counts an entry that was added (1) or removed (-1). */
  tally(task: TaskEntry, change: 1 | -1): void {
    const counts = task.function?.counts
    if (this.#last === undefined || counts !== this.#lastCounts) {
      this.#last = this.#tallies.get(counts) ?? { tasks: 0 }
      this.#lastCounts = counts
      this.#tallies.set(counts, this.#last)
    }
    this.#last.tasks += change * task.count
    this.count += change * task.count
  }

  /** The waiting tasks by function. */
  *groups(): Iterable<WaitingGroup> {
    const since = this.tasks.first?.changedAt ?? 0
    for (const [counts, { tasks }] of this.#tallies) {
      if (tasks > 0) yield { counts, tasks, since }
    }
  }
}

/** The tasks of one priority. Invariant: not empty. */
class Level {
  readonly priority: number
  /** The first has the next turn. */
  readonly ring = new Fifo<Turn>()
  readonly turns = new Map<ClientEntry, Turn>()

  constructor(priority: number) {
    this.priority = priority
  }

  turnOf(client: ClientEntry, isParked: boolean): Turn {
    let turn = this.turns.get(client)
    if (turn === undefined) {
      turn = new Turn(client)
      this.turns.set(client, turn)
      if (!isParked) turn.place = this.ring.push(turn)
    }
    return turn
  }

  /** Passes the next turn to the next client. */
  rotate(): void {
    const turn = this.ring.size > 1 ? this.ring.shift() : undefined
    if (turn !== undefined) turn.place = this.ring.push(turn)
  }
}

/** A queue of waiting tasks. Every operation is constant in the number of tasks and clients. */
export class TaskQueue {
  /** Highest priority first. There are few: one per nesting depth or configured priority. */
  readonly #levels: Level[] = []
  /** Clients whose tasks are not taken. */
  readonly #parked = new Set<ClientEntry>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The number of tasks of a client. */
  countOf(client: ClientEntry): number {
    let count = 0
    for (const { turns } of this.#levels) count += turns.get(client)?.count ?? 0
    return count
  }

  /** Since when tasks of a client have waited; Infinity: there are none. */
  sinceOf(client: ClientEntry): InstantMs {
    let since = Infinity
    for (const { turns } of this.#levels) {
      const first = turns.get(client)?.tasks.first
      if (first !== undefined) since = Math.min(since, first.changedAt)
    }
    return since
  }

  /** Adds a task after all others of its client and priority. */
  push(task: TaskEntry): void {
    task.place = this.#enter(task).tasks.push(task)
  }

  /** Adds a task that was taken before: it goes before the other tasks of its client. */
  putBack(task: TaskEntry): void {
    task.place = this.#enter(task).tasks.unshift(task)
  }

  /** Adds a task before a queued one of the same client. */
  pushBefore(task: TaskEntry, other: TaskEntry): void {
    const { tasks } = this.#enter(task)
    const { place } = other
    task.place = place?.queue === tasks ? tasks.insertBefore(task, place) : tasks.unshift(task)
  }

  /** Adds a task after a queued one of the same client. */
  pushBehind(task: TaskEntry, other: TaskEntry): void {
    const next = other.place?.next
    if (next !== undefined) this.pushBefore(task, next.item)
    else this.push(task)
  }

  /** The next task. */
  get first(): TaskEntry | undefined {
    return this.#firstLevel?.ring.first?.tasks.first
  }

  /** The first task that fits among the next `most` tasks. */
  find(isFit: (task: TaskEntry) => boolean, most: number = MAX_LOOKS): TaskEntry | undefined {
    let looks = 0
    for (const { ring } of this.#levels) {
      for (const { tasks } of ring) {
        for (const task of tasks) {
          if (isFit(task)) return task
          if ((looks += 1) >= most) return undefined
        }
      }
    }
    return undefined
  }

  /** Takes the next task. */
  take(): TaskEntry | undefined {
    const level = this.#firstLevel
    const task = level?.ring.first?.tasks.first
    if (level === undefined || task === undefined) return undefined
    level.rotate()
    this.remove(task)
    return task
  }

  /** Stops taking tasks of a client; other clients are not affected. */
  park(client: ClientEntry): void {
    this.#parked.add(client)
    for (const { turns, ring } of this.#levels) {
      const turn = turns.get(client)
      if (turn?.place === undefined) continue
      ring.remove(turn.place)
      turn.place = undefined
    }
  }

  /** Takes tasks of a client again, if it was parked. */
  unpark(client: ClientEntry): void {
    if (!this.#parked.delete(client)) return
    for (const { turns, ring } of this.#levels) {
      const turn = turns.get(client)
      if (turn !== undefined) turn.place = ring.push(turn)
    }
  }

  /** Removes one task, which must be in the queue. */
  remove(task: TaskEntry): void {
    assert(this.discard(task), 'a task is not in its queue')
  }

  /** Removes one task if it is in the queue. */
  discard(task: TaskEntry): boolean {
    const level = this.#levels[this.#indexOf(task.priority)]
    const turn = task.client === undefined ? undefined : level?.turns.get(task.client)
    if (level === undefined || turn === undefined || task.place === undefined) return false
    if (!turn.tasks.remove(task.place)) return false
    task.place = undefined
    this.#size -= task.count
    turn.tally(task, -1)
    if (turn.tasks.size === 0) this.#endTurn(level, turn)
    return true
  }

  /** Removes all tasks of a client that has left, in one step. Their `place` is not reset. */
  drop(client: ClientEntry): readonly Fifo<TaskEntry>[] {
    const dropped: Fifo<TaskEntry>[] = []
    this.#parked.delete(client)
    // In reverse, because a level that becomes empty is removed.
    for (let index = this.#levels.length - 1; index >= 0; index -= 1) {
      const level = this.#levels[index] as Level
      const turn = level.turns.get(client)
      if (turn === undefined) continue
      this.#size -= turn.count
      this.#endTurn(level, turn)
      dropped.push(turn.tasks)
    }
    return dropped
  }

  /** The waiting tasks by client, priority and function. */
  *groups(): Iterable<WaitingGroup> {
    for (const { turns } of this.#levels) {
      for (const turn of turns.values()) yield* turn.groups()
    }
  }

  /** Throws if the queue is inconsistent. */
  checkInvariants(): void {
    let count = 0
    for (const level of this.#levels) {
      const parked = [...level.turns.keys()].filter((client) => this.#parked.has(client))
      assert(level.turns.size > 0, 'a level without turns')
      assert(level.ring.size === level.turns.size - parked.length, 'a level lost a turn')
      for (const turn of level.turns.values()) {
        assert(turn.tasks.size > 0, 'a turn without tasks')
        assert((turn.place === undefined) === this.#parked.has(turn.client), 'a turn is misplaced')
        const tallied = [...turn.groups()].reduce((sum, { tasks }) => sum + tasks, 0)
        assert(tallied === turn.count, 'a turn miscounts its functions')
        for (const task of turn.tasks) {
          count += task.count
          assert(task.state === 'inactive', 'a waiting task is not inactive')
          assert(task.place?.queue === turn.tasks, 'a waiting task has the wrong place')
        }
      }
    }
    assert(count === this.#size, 'the task queue miscounts')
  }

  /** The highest level with a task that may be taken. */
  get #firstLevel(): Level | undefined {
    const [highest] = this.#levels
    if (highest === undefined || highest.ring.size > 0) return highest
    return this.#levels.find((level) => level.ring.size > 0)
  }

  /** Counts a new task; returns the turn that it belongs to. */
  #enter(task: TaskEntry): Turn {
    assert(task.client !== undefined, 'a task without a client cannot wait')
    assert(task.place === undefined, 'a task that is elsewhere cannot wait')
    const isParked = this.#parked.size > 0 && this.#parked.has(task.client)
    const turn = this.#levelOf(task.priority).turnOf(task.client, isParked)
    this.#size += task.count
    turn.tally(task, 1)
    return turn
  }

  #levelOf(priority: number): Level {
    const index = this.#indexOf(priority)
    const known = this.#levels[index]
    if (known?.priority === priority) return known
    const level = new Level(priority)
    this.#levels.splice(index, 0, level)
    return level
  }

  /** The index of the level of a priority, or where to insert it. */
  #indexOf(priority: number): number {
    let from = 0
    let to = this.#levels.length
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#levels[middle] as Level).priority > priority) from = middle + 1
      else to = middle
    }
    return from
  }

  #endTurn(level: Level, turn: Turn): void {
    level.turns.delete(turn.client)
    if (turn.place !== undefined) level.ring.remove(turn.place)
    if (level.turns.size === 0) this.#levels.splice(this.#indexOf(level.priority), 1)
  }
}
