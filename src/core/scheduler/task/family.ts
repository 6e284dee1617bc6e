// Parents and children. A task or graph that was submitted by a task ends with that task, unless
// the task succeeds. This file keeps the links; task.ts cancels tasks, and graph/graph.ts
// cancels graphs. docs/protocol.md#nested
//
// A tree of tasks may be deeper than the stack, so nothing here recurses: children that lose their
// parent go on a list, and cancelling one may add more. The tasks of a client that has left,
// perhaps a million, are handled the same way. The list is processed in slices, so that no other
// work waits for it.

import { assert } from '../../../base/assert.js'
import type { Fifo } from '../../../base/collection/fifo.js'
import type { Alarm, Turn } from '../../../base/machine.js'
import type { Child, TaskEntry } from '../entries.js'
import type { SchedulerAction } from '../events.js'
import type { Graph } from '../graph/graph.js'
import { extraOf } from './extra.js'

/** Most ownerless tasks cancelled in one turn: a millisecond or two of work. */
const MAX_AT_ONCE = 500

/** Whether a child is a graph, not a task. */
export function isGraph(child: Child): child is Graph {
  return 'onParentFailed' in child
}

/** Makes `child`, which has no parent yet, end with `parent`. */
export function adopt(parent: TaskEntry, child: Child): void {
  const children = (extraOf(parent).children ??= new Set())
  children.add(child)
  setParent(child, parent)
}

/** Removes `child`, which has ended or been detached, from its parent, if it has one. */
export function leaveParent(child: Child): void {
  const parent = parentOf(child)
  if (parent === undefined) return
  parent.extra?.children?.delete(child)
  setParent(child, undefined)
}

/** `parent` has succeeded: its children continue without it. */
export function releaseChildren(parent: TaskEntry): void {
  const children = parent.extra?.children
  if (children === undefined) return
  extraOf(parent).children = undefined
  for (const child of children) setParent(child, undefined)
}

/** Children of a failed parent and tasks of a client that left, until they are cancelled. */
export class OwnerlessTasks {
  readonly #waiting: Child[] = []
  /** The queued tasks of clients that have left. */
  readonly #queues: Fifo<TaskEntry>[] = []
  readonly #turn: Turn<SchedulerAction>
  readonly #next: Alarm
  readonly #cancel: (child: Child) => void
  #isDraining = false

  /** `cancel`: cancels a task or graph, which may have ended since it was added. */
  constructor(turn: Turn<SchedulerAction>, cancel: (child: Child) => void) {
    this.#turn = turn
    this.#next = turn.alarm(() => this.drain())
    this.#cancel = cancel
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#queues.length === 0
  }

  /** Adds the queued tasks of a client that has left. Takes ownership of `tasks`. */
  addAll(tasks: Fifo<TaskEntry>): void {
    this.#queues.push(tasks)
  }

  /** Adds the children of `parent`, which did not succeed or is restarted. */
  addChildren(parent: TaskEntry): void {
    const children = parent.extra?.children
    if (children === undefined) return
    releaseChildren(parent)
    this.add(children)
  }

  /** Adds tasks and graphs that have no parent. */
  add(children: Iterable<Child>): void {
    for (const child of children) this.#waiting.push(child)
  }

  /**
   * Cancels a few hundred of them, including those that are added meanwhile; the next tick
   * continues. A call from inside `cancel` returns immediately: the outer call handles what was
   * added.
   */
  drain(): void {
    if (this.#isDraining) return
    this.#isDraining = true
    for (let count = 0; count < MAX_AT_ONCE; count += 1) {
      const child = this.#waiting.pop() ?? this.#takeFromQueues()
      if (child === undefined) break
      this.#cancel(child)
    }
    this.#isDraining = false
    this.#next.set(this.isEmpty ? undefined : this.#turn.now)
  }

  #takeFromQueues(): TaskEntry | undefined {
    const tasks = this.#queues[0]
    const task = tasks?.shift()
    if (tasks?.size === 0) this.#queues.shift()
    return task
  }
}

/** Throws if a task and its children or parent disagree, or one of them is not among `tasks`. */
export function checkFamily(
  task: TaskEntry,
  tasks: { readonly has: (task: TaskEntry) => boolean },
): void {
  for (const child of task.extra?.children ?? []) {
    assert(parentOf(child) === task, 'a child of another parent')
    assert(isGraph(child) || tasks.has(child), 'a child that has ended')
  }
  const parent = task.extra?.parent
  if (parent === undefined) return
  assert(parent.extra?.children?.has(task) === true, 'a child missing from its parent')
  assert(tasks.has(parent), 'a parent that has ended')
}

function parentOf(child: Child): TaskEntry | undefined {
  return isGraph(child) ? child.parent : child.extra?.parent
}

function setParent(child: Child, parent: TaskEntry | undefined): void {
  if (isGraph(child)) child.parent = parent
  else extraOf(child).parent = parent
}
