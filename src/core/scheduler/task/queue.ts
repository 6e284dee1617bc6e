// The tasks that wait for a worker: by priority, then fair between clients, then by age. Clients of
// one priority take turns, so that a million tasks of one do not delay ten of another.
//
//   priority 1 ─ ring of clients: [A: t7 t9] [B: t8]
//   priority 0 ─ ring of clients: [A: t1 t2 t3 …]

import { assert } from '../../../base/assert.js'
import { Fifo, type FifoNode } from '../../../base/fifo.js'
import type { InstantMs } from '../../../base/machine.js'
import type { ClientEntry, FunctionCounts, TaskEntry } from '../entries.js'

/** Among so many tasks one that fits is looked for. */
const MAX_LOOKS = 1000

/** Tasks of one name of function that wait. */
export interface WaitingGroup {
  /** Undefined: the tasks have no function that is known. */
  readonly counts: FunctionCounts | undefined
  tasks: number
  /** Since when the first of those has waited that wait beside them. */
  readonly since: InstantMs
}

/** What one client has waiting at one priority. Invariant: not empty. */
class Turn {
  readonly client: ClientEntry
  readonly tasks = new Fifo<TaskEntry>()
  /** Its place in the ring; undefined while its client is parked. */
  place: FifoNode<Turn> | undefined
  /** How many tasks there are of each name of function; none is below 0. */
  readonly #tallies = new Map<FunctionCounts | undefined, { tasks: number }>()
  #lastCounts: FunctionCounts | undefined
  #last: { tasks: number } | undefined

  constructor(client: ClientEntry) {
    this.client = client
  }

  /** A task has come (1) or gone (-1). */
  tally(task: TaskEntry, change: 1 | -1): void {
    const counts = task.function?.counts
    if (this.#last === undefined || counts !== this.#lastCounts) {
      this.#last = this.#tallies.get(counts) ?? { tasks: 0 }
      this.#lastCounts = counts
      this.#tallies.set(counts, this.#last)
    }
    this.#last.tasks += change
  }

  /** What waits, by function. */
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

  /** The next turn goes to the next client. */
  rotate(): void {
    const turn = this.ring.size > 1 ? this.ring.shift() : undefined
    if (turn !== undefined) turn.place = this.ring.push(turn)
  }
}

/** A queue of waiting tasks. Every operation is constant in the number of tasks and clients. */
export class TaskQueue {
  /** Highest priority first. There are few: one per nesting depth or configured number. */
  readonly #levels: Level[] = []
  /** Clients of which nothing is taken. */
  readonly #parked = new Set<ClientEntry>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How many tasks of a client there are. */
  countOf(client: ClientEntry): number {
    let count = 0
    for (const { turns } of this.#levels) count += turns.get(client)?.tasks.size ?? 0
    return count
  }

  /** Adds a task behind all others of its client and priority. */
  push(task: TaskEntry): void {
    task.place = this.#enter(task).tasks.push(task)
  }

  /** Adds a task that was taken before: it goes in front of its client's others. */
  putBack(task: TaskEntry): void {
    task.place = this.#enter(task).tasks.unshift(task)
  }

  /** Adds a task in front of one of the same client that is here. */
  pushBefore(task: TaskEntry, other: TaskEntry): void {
    if (other.place === undefined || other.priority !== task.priority) {
      this.putBack(task)
      return
    }
    task.place = this.#enter(task).tasks.insertBefore(task, other.place)
  }

  /** Adds a task behind one of the same client that is here. */
  pushBehind(task: TaskEntry, other: TaskEntry): void {
    const next = other.place?.next
    if (next !== undefined) this.pushBefore(task, next.item)
    else this.push(task)
  }

  /** The task whose turn it is. */
  get first(): TaskEntry | undefined {
    return this.#firstLevel?.ring.first?.tasks.first
  }

  /** The first task that fits, among the `most` that come next. */
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

  /** Takes the task whose turn it is. */
  take(): TaskEntry | undefined {
    const level = this.#firstLevel
    const task = level?.ring.first?.tasks.first
    if (level === undefined || task === undefined) return undefined
    level.rotate()
    this.remove(task)
    return task
  }

  /** Nothing of a client is taken from now on; all else goes on. */
  park(client: ClientEntry): void {
    this.#parked.add(client)
    for (const { turns, ring } of this.#levels) {
      const turn = turns.get(client)
      if (turn?.place === undefined) continue
      ring.remove(turn.place)
      turn.place = undefined
    }
  }

  /** A client has its turns again, if it was parked. */
  unpark(client: ClientEntry): void {
    if (!this.#parked.delete(client)) return
    for (const { turns, ring } of this.#levels) {
      const turn = turns.get(client)
      if (turn !== undefined) turn.place = ring.push(turn)
    }
  }

  /** Takes one task out. It must be waiting here. */
  remove(task: TaskEntry): void {
    assert(this.discard(task), 'a task is not in its queue')
  }

  /** Takes one task out, if it is here. */
  discard(task: TaskEntry): boolean {
    const level = this.#levels[this.#indexOf(task.priority)]
    const turn = task.client === undefined ? undefined : level?.turns.get(task.client)
    if (level === undefined || turn === undefined || task.place === undefined) return false
    if (!turn.tasks.remove(task.place)) return false
    task.place = undefined
    this.#size -= 1
    turn.tally(task, -1)
    if (turn.tasks.size === 0) this.#endTurn(level, turn)
    return true
  }

  /** Takes out all tasks of a client that has left, at once. They do not learn of it. */
  drop(client: ClientEntry): readonly Fifo<TaskEntry>[] {
    const dropped: Fifo<TaskEntry>[] = []
    this.#parked.delete(client)
    // Backwards, because a level that becomes empty goes.
    for (let index = this.#levels.length - 1; index >= 0; index -= 1) {
      const level = this.#levels[index] as Level
      const turn = level.turns.get(client)
      if (turn === undefined) continue
      this.#size -= turn.tasks.size
      this.#endTurn(level, turn)
      dropped.push(turn.tasks)
    }
    return dropped
  }

  /** What waits, by client, priority and function. */
  *groups(): Iterable<WaitingGroup> {
    for (const { turns } of this.#levels) {
      for (const turn of turns.values()) yield* turn.groups()
    }
  }

  /** Throws if the queue disagrees with itself. */
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
        assert(tallied === turn.tasks.size, 'a turn miscounts its functions')
        for (const task of turn.tasks) {
          count += 1
          assert(task.state === 'inactive', 'a waiting task is not inactive')
          assert(task.place?.queue === turn.tasks, 'a waiting task does not know its place')
        }
      }
    }
    assert(count === this.#size, 'the task queue miscounts')
  }

  /** The highest level of which something may be taken. */
  get #firstLevel(): Level | undefined {
    const [highest] = this.#levels
    if (highest === undefined || highest.ring.size > 0) return highest
    return this.#levels.find((level) => level.ring.size > 0)
  }

  /** A task comes in; returns where it belongs. */
  #enter(task: TaskEntry): Turn {
    assert(task.client !== undefined, 'a task without a client cannot wait')
    const isParked = this.#parked.size > 0 && this.#parked.has(task.client)
    const turn = this.#levelOf(task.priority).turnOf(task.client, isParked)
    this.#size += 1
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

  /** Where the level of a priority is, or would be. */
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
