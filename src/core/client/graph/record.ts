// One unfinished graph: which of its calls were sent over this connection, and which will be.
// Usually all of them once, in order; after a lost connection, when targets were cancelled, or when
// some wait for other tasks, only those that the waiting targets need.

import { assert } from '../../../base/assert.js'
import type { GraphFlow } from './flow.js'
import type { GraphContents } from './part.js'
import { GraphDependents } from './nodes.js'
import type { ObjectId, TaskId } from '../../../base/ids.js'
import { deathLimitOf, type TaskResult } from '../../../wire/message.js'
import type { TaskRecord } from '../task/task.js'

/**
 * `open`: not all of it has been sent, or can be sent yet. `sent`: the scheduler has all of it, and
 * was notified of that. `over`: the scheduler has nothing more to do for it, although it may keep
 * results of targets.
 */
type GraphPhase = 'open' | 'sent' | 'over'

/** Marks of a node. */
const NEEDED = 1
const SENT = 2

/**
 * When a target has ended, other nodes may have become unneeded. Checking all nodes for each target
 * would cost more than it saves: it is done after 1/`CULL_SHARE` of the nodes has been passed.
 */
const CULL_SHARE = 8

/** One graph. */
export class GraphRecord<Owner> {
  readonly contents: GraphContents<Owner>
  phase: GraphPhase = 'open'
  /** Whether this scheduler has received any part of it. */
  isKnown = false
  /**
   * Whether it was sent again to the same scheduler, where its first run may have ended just
   * before: then the result of the first run arrives although the second one has begun.
   */
  isRepeated = false
  /** Whether it was cancelled, and the scheduler has not answered the cancel yet. */
  isCancelDue = false
  /**
   * Whether the scheduler, once it has all of the graph, is certain to report its end. False if
   * targets that it has were given up, or if it has refused a part.
   */
  isEndDue = true
  /** How many times the result of each call was lost; those of most calls never. */
  readonly #losses = new Map<number, number>()
  /** Targets in the table of tasks, by position. */
  readonly targets: Map<number, TaskRecord<Owner>> = new Map()
  readonly #flow: GraphFlow<Owner>
  /** The next node to examine. */
  #cursor = 0
  /** Undefined: all nodes are needed, and those before the cursor have been sent. */
  #marks: Uint8Array | undefined
  #isPlanDue = false
  #isCullDue = false
  #plannedAt = 0
  /** Undefined until a target is cancelled. */
  #dependents: GraphDependents | undefined

  constructor(contents: GraphContents<Owner>, flow: GraphFlow<Owner>) {
    this.contents = contents
    this.#flow = flow
  }

  /** Whether everything that can be sent has been, and nothing can follow. */
  get isComplete(): boolean {
    if (this.#isPlanDue || this.#cursor < this.contents.nodes.count) return false
    for (const target of this.targets.values()) if (target.state === 'blocked') return false
    return true
  }

  /**
   * A scheduler has answered on a new connection: everything that targets wait for is sent to it.
   */
  resume(isSame: boolean): void {
    this.isRepeated = isSame && this.isKnown
    this.isEndDue = true
    if (!isSame) this.isKnown = false
    this.#restart()
  }

  /** The next node to send; undefined if there is none at present. It counts as sent. */
  takeNode(): number | undefined {
    if (this.#isPlanDue || this.#mayCull) this.#plan()
    const { count } = this.contents.nodes
    const marks = this.#marks
    if (marks === undefined) {
      if (this.#cursor >= count) return undefined
      this.#cursor += 1
      return this.#cursor - 1
    }
    while (this.#cursor < count && marks[this.#cursor] !== NEEDED) this.#cursor += 1
    if (this.#cursor >= count) return undefined
    marks[this.#cursor] = NEEDED | SENT
    this.#cursor += 1
    return this.#cursor - 1
  }

  /**
   * The scheduler reports the end of the graph without having received all of it: either its first
   * run ended, or it was refused. In both cases targets are reported one by one.
   */
  onEarlyEnd(): void {
    this.isRepeated = false
    this.isEndDue = false
  }

  /**
   * Whether a result about the graph answers its cancel. Such an answer must not end a later run: a
   * target that had its result is not cancelled, and runs again if that result is lost. Results of
   * the run that was cancelled come before the answer.
   */
  takeCancelAnswer({ status }: TaskResult): boolean {
    if (!this.isCancelDue || (status !== 'canceled' && status !== 'notFound')) return false
    this.isCancelDue = false
    this.isRepeated = false
    return true
  }

  /** The target can be sent (again): its state is `waiting`. */
  enqueue(target: TaskRecord<Owner>): void {
    assert(target.state === 'waiting', 'a target is sent before its inputs are ready')
    // The first run may end there after the second one has begun.
    if (this.phase === 'sent') this.isRepeated = true
    const position = this.contents.nodes.positionOf(target.id) ?? 0
    if (this.phase !== 'open' || this.#isSent(position)) this.#restart()
    this.#isPlanDue = true
    this.#flow.onUnsent(this)
  }

  /** The scheduler has the target, but need no longer compute it. */
  recall(target: TaskRecord<Owner>): void {
    this.isEndDue = false
    // With the last target, the whole graph is cancelled.
    if (this.targets.size > 1 && this.phase !== 'over') this.#flow.onRecall(target)
  }

  /** The unfinished targets that need this one, directly or not; each once. */
  dependentsOf(target: TaskRecord<Owner>): readonly TaskRecord<Owner>[] {
    const { nodes } = this.contents
    const position = nodes.positionOf(target.id)
    if (position === undefined || this.phase === 'over' || this.targets.size <= 1) return []
    this.#dependents ??= new GraphDependents(nodes)
    return this.#dependents.take(position).flatMap((dependent) => {
      const task = this.targets.get(dependent)
      return task === undefined || task.result !== undefined ? [] : [task]
    })
  }

  /**
   * Objects are lost, among them the results of the calls in `ids` that belong to this graph.
   * Returns the unfinished targets that cannot be computed, because they need a call that has lost
   * its result as often as a task may lose its worker. Not `isNew`: these were counted before.
   */
  onLost(
    lost: ReadonlySet<ObjectId>,
    ids: readonly TaskId[],
    isNew: boolean,
  ): readonly TaskRecord<Owner>[] {
    const { nodes, options } = this.contents
    const calls = this.contents.loseKept(lost)
    if (!isNew) return []
    const positions = ids.map((id) => nodes.positionOf(id)).filter((at) => at !== undefined)
    const spent: number[] = []
    for (const position of [...calls, ...positions]) {
      const losses = (this.#losses.get(position) ?? 0) + 1
      this.#losses.set(position, losses)
      if (losses === deathLimitOf(options)) spent.push(position)
    }
    if (spent.length === 0) return []
    const dependents = new GraphDependents(nodes)
    const all = new Set(spent.flatMap((position) => [position, ...dependents.take(position)]))
    return [...this.targets].flatMap(([position, target]) => {
      return all.has(position) && target.result === undefined ? [target] : []
    })
  }

  /** A target must wait for other tasks after all. */
  onBlocked(): void {
    this.#dependents = undefined
    this.#isPlanDue = true
  }

  /** The target has left the table. */
  onTargetEnded(target: TaskRecord<Owner>): void {
    const position = this.contents.nodes.positionOf(target.id)
    if (position === undefined || this.targets.get(position) !== target) return
    this.targets.delete(position)
    if (this.targets.size === 0) return this.#flow.onIdle(this)
    if (this.phase !== 'open' || target.state === 'sent') return
    // The results of other tasks that only this target needed may be gone.
    if (this.contents.hasResults) this.#isPlanDue = true
    else this.#isCullDue = true
    this.#flow.onUnsent(this)
  }

  /** Throws if the record is inconsistent. */
  checkInvariants(): void {
    const { nodes } = this.contents
    for (const [position, target] of this.targets) {
      assert(target.graph === this, 'a target belongs to another graph')
      assert(nodes.idOf(position) === target.id, 'a target has the wrong position')
      const isUnsent = target.state === 'waiting' && !this.#isSent(position)
      assert(!isUnsent || this.phase === 'open', 'a waiting target will not be sent')
    }
    assert(this.targets.size > 0 || this.phase === 'sent', 'a graph without targets is kept')
  }

  get #mayCull(): boolean {
    if (!this.#isCullDue) return false
    const passed = this.#cursor - this.#plannedAt
    return this.#cursor === 0 || passed * CULL_SHARE >= this.contents.nodes.count
  }

  #isSent(position: number): boolean {
    if (this.#marks === undefined) return position < this.#cursor
    return ((this.#marks[position] ?? 0) & SENT) !== 0
  }

  #restart(): void {
    // Targets that were skipped because they had results may have lost them.
    this.#dependents = undefined
    this.phase = 'open'
    this.#cursor = 0
    this.#marks = new Uint8Array(this.contents.nodes.count)
    this.#isPlanDue = true
  }

  /** Marks the nodes that targets need and that can be sent. */
  #plan(): void {
    const { nodes } = this.contents
    const marks = this.#marks ?? new Uint8Array(nodes.count).fill(SENT, 0, this.#cursor)
    for (let position = 0; position < marks.length; position += 1) {
      marks[position] = (marks[position] ?? 0) & SENT
    }
    for (const [position, { state }] of this.targets) {
      if (state === 'waiting') marks[position] = (marks[position] ?? 0) | NEEDED
    }
    this.#cursor = nodes.count
    for (let position = nodes.count - 1; position >= 0; position -= 1) {
      const mark = marks[position] ?? 0
      if ((mark & NEEDED) === 0) continue
      if (mark === NEEDED) this.#cursor = position
      const end = nodes.argsStart(position + 1)
      for (let at = nodes.argsStart(position); at < end; at += 1) {
        const argument = nodes.argAt(at)
        if (argument < 0 || this.contents.keptAt(argument) !== undefined) continue
        marks[argument] = (marks[argument] ?? 0) | NEEDED
      }
    }
    this.#marks = marks
    this.#isPlanDue = false
    this.#isCullDue = false
    this.#plannedAt = this.#cursor
  }
}
