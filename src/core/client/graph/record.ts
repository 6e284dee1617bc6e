// One graph that has not ended: which of its calls have been sent over this connection, and which
// are to be sent. Usually all of them once, in their order; after a lost connection, when targets
// were cancelled, or when some wait for other tasks, those that the waiting targets need.

import { assert } from '../../../base/assert.js'
import type { GraphContents } from './part.js'
import { GraphDependents } from './nodes.js'
import type { TargetGraph, TaskRecord } from '../task/task.js'

/**
 * `open`: not all of it has been sent, or may be sent yet. `sent`: the scheduler knows that it has
 * all of it. `over`: the scheduler has nothing more to do for it, although results of targets may
 * be kept there.
 */
export type GraphPhase = 'open' | 'sent' | 'over'

/** Notified of what happens to targets. */
export interface GraphWatcher<Owner> {
  /** A graph has something to send, it seems. */
  onUnsent(graph: GraphRecord<Owner>): void
  /** No result of a graph is needed any more. */
  onIdle(graph: GraphRecord<Owner>): void
  /** A target that the scheduler has is given up here. */
  onRecall(target: TaskRecord<Owner>): void
}

/** Marks of a node. */
const NEEDED = 1
const SENT = 2

/**
 * A target that has ended makes other nodes needless, maybe. To look at all nodes again for each
 * would cost more than it saves: it is done when so large a share of them has been passed.
 */
const CULL_SHARE = 8

/** One graph. */
export class GraphRecord<Owner> implements TargetGraph<Owner> {
  readonly contents: GraphContents<Owner>
  phase: GraphPhase = 'open'
  /** Whether this scheduler has seen any part of it. */
  isKnown = false
  /**
   * Whether it was sent again to the same scheduler. It may have ended there just before; then the
   * result of its first time comes while its second one has begun.
   */
  isRepeated = false
  /**
   * Whether the scheduler will tell, once it has all of it, that it has ended. Not for sure if
   * targets were given up that it has, nor if it has refused a part.
   */
  isEndDue = true
  /** Targets that are in the table of tasks, by position. */
  readonly targets: Map<number, TaskRecord<Owner>> = new Map()
  readonly #watcher: GraphWatcher<Owner>
  /** The next node to look at. */
  #cursor = 0
  /** Undefined: all nodes are needed, and those before the cursor have been sent. */
  #marks: Uint8Array | undefined
  #isPlanDue = false
  #isCullDue = false
  #plannedAt = 0
  /** Undefined while no target was cancelled. */
  #dependents: GraphDependents | undefined

  constructor(contents: GraphContents<Owner>, watcher: GraphWatcher<Owner>) {
    this.contents = contents
    this.#watcher = watcher
  }

  /** Whether all that could be sent has been, and nothing can follow. */
  get isComplete(): boolean {
    if (this.#isPlanDue || this.#cursor < this.contents.nodes.count) return false
    for (const target of this.targets.values()) if (target.state === 'blocked') return false
    return true
  }

  /** A scheduler has answered on a new connection: all that targets wait for is sent to it. */
  resume(isSame: boolean): void {
    this.isRepeated = isSame && this.isKnown
    this.isEndDue = true
    if (!isSame) this.isKnown = false
    this.#restart()
  }

  /** The next node that is to be sent; undefined if there is none for now. It counts as sent. */
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
   * The scheduler tells that it has ended, but has not got all of it: that was its first time, or
   * it is refused. In both cases targets are reported one by one.
   */
  onEarlyEnd(): void {
    this.isRepeated = false
    this.isEndDue = false
  }

  enqueue(target: TaskRecord<Owner>): void {
    assert(target.state === 'waiting', 'a target is sent before what it needs is there')
    // It may end there for the first time while its second one has begun.
    if (this.phase === 'sent') this.isRepeated = true
    const position = this.contents.nodes.positionOf(target.taskId) ?? 0
    if (this.phase !== 'open' || this.#isSent(position)) this.#restart()
    this.#isPlanDue = true
    this.#watcher.onUnsent(this)
  }

  recall(target: TaskRecord<Owner>): void {
    this.isEndDue = false
    // With the last one the whole graph is cancelled.
    if (this.targets.size > 1 && this.phase !== 'over') this.#watcher.onRecall(target)
  }

  dependentsOf(target: TaskRecord<Owner>): readonly TaskRecord<Owner>[] {
    const { nodes } = this.contents
    const position = nodes.positionOf(target.taskId)
    if (position === undefined || this.phase === 'over' || this.targets.size <= 1) return []
    this.#dependents ??= new GraphDependents(nodes)
    return this.#dependents.take(position).flatMap((dependent) => {
      const task = this.targets.get(dependent)
      return task === undefined || task.result !== undefined ? [] : [task]
    })
  }

  onBlocked(): void {
    this.#dependents = undefined
    this.#isPlanDue = true
  }

  onTargetEnded(target: TaskRecord<Owner>): void {
    const position = this.contents.nodes.positionOf(target.taskId)
    if (position === undefined || this.targets.get(position) !== target) return
    this.targets.delete(position)
    if (this.targets.size === 0) return this.#watcher.onIdle(this)
    if (this.phase !== 'open' || target.state === 'sent') return
    // What it alone has needed of other tasks may be gone by now.
    if (this.contents.hasResults) this.#isPlanDue = true
    else this.#isCullDue = true
    this.#watcher.onUnsent(this)
  }

  /** Throws if it disagrees with itself. */
  checkInvariants(): void {
    const { nodes } = this.contents
    for (const [position, target] of this.targets) {
      assert(target.graph === this, 'a target of another graph')
      assert(nodes.idOf(position) === target.taskId, 'a target at another position')
      const isUnsent = target.state === 'waiting' && !this.#isSent(position)
      assert(!isUnsent || this.phase === 'open', 'a target that nobody will send')
    }
    assert(this.targets.size > 0 || this.phase === 'sent', 'a graph that nobody waits for')
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
    // Targets that were left alone for their results may have none any more.
    this.#dependents = undefined
    this.phase = 'open'
    this.#cursor = 0
    this.#marks = new Uint8Array(this.contents.nodes.count)
    this.#isPlanDue = true
  }

  /** Marks what the targets need that can be sent. */
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
        if (argument >= 0) marks[argument] = (marks[argument] ?? 0) | NEEDED
      }
    }
    this.#marks = marks
    this.#isPlanDue = false
    this.#isCullDue = false
    this.#plannedAt = this.#cursor
  }
}
