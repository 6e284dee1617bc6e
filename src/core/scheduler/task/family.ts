// Who runs inside of whom. What was submitted inside of a task (another task, or a graph) ends with
// that task, unless it succeeds. The links are kept here; cancelling is task.ts's, and each graph's
// own. docs/protocol.md#nested
//
// A tree of tasks may be deeper than the stack, so nothing here follows it: whoever loses its
// parent goes on a list, and cancelling one only makes the list longer. What a client leaves
// behind, perhaps a million tasks, goes the same way. The list is worked off in parts: nobody else
// waits for it.

import { assert } from '../../../base/assert.js'
import type { Fifo } from '../../../base/fifo.js'
import type { TaskId } from '../../../base/ids.js'
import type { Child, TaskEntry } from '../entries.js'
import { extraOf } from './extra.js'

/** Most orphans that are cancelled in one go: a millisecond or two of work. */
const MAX_AT_ONCE = 500

/** Makes `child`, which is nobody's yet, end with `parent`. */
export function adopt(parent: TaskEntry, child: Child): void {
  const children = (extraOf(parent).children ??= new Set())
  children.add(child)
  setParent(child, parent)
}

/** `child` has ended, or counts no longer: its parent forgets it. Nothing if it has no parent. */
export function leaveParent(child: Child): void {
  const parent = parentOf(child)
  if (parent === undefined) return
  parent.extra?.children?.delete(child)
  setParent(child, undefined)
}

/** `parent` has ended well: what it began goes on without it. */
export function releaseChildren(parent: TaskEntry): void {
  const children = parent.extra?.children
  if (children === undefined) return
  extraOf(parent).children = undefined
  for (const child of children) setParent(child, undefined)
}

/** Those whose parent did not end well, or whose client has left, until they are cancelled. */
export class Orphans {
  readonly #waiting: Child[] = []
  /** What clients have left behind in the queues. */
  readonly #estates: Fifo<TaskEntry>[] = []
  #isDraining = false

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#estates.length === 0
  }

  /** The client of these tasks has left. They are the callee's from now on. */
  addAll(tasks: Fifo<TaskEntry>): void {
    this.#estates.push(tasks)
  }

  /** `parent` has not ended well, or begins anew: what it began has to end. */
  addChildren(parent: TaskEntry): void {
    const children = parent.extra?.children
    if (children === undefined) return
    releaseChildren(parent)
    for (const child of children) this.#waiting.push(child)
  }

  /**
   * Hands a few hundred of them to `cancel`, those that are added meanwhile included. Those
   * that are left wait for the next call. Called from inside of `cancel` it returns at once: the
   * outer call goes on with what was added. Some may have ended since they were added.
   */
  drain(cancel: (child: Child) => void): void {
    if (this.#isDraining) return
    this.#isDraining = true
    for (let count = 0; count < MAX_AT_ONCE; count += 1) {
      const child = this.#waiting.pop() ?? this.#takeFromEstate()
      if (child === undefined) break
      cancel(child)
    }
    this.#isDraining = false
  }

  #takeFromEstate(): TaskEntry | undefined {
    const tasks = this.#estates[0]
    const task = tasks?.shift()
    if (tasks?.size === 0) this.#estates.shift()
    return task
  }
}

/** Throws if a task and its children or parent disagree, or one of them is not among `tasks`. */
export function checkFamily(
  task: TaskEntry,
  tasks: Pick<ReadonlyMap<TaskId, TaskEntry>, 'get'>,
): void {
  for (const child of task.extra?.children ?? []) {
    assert(parentOf(child) === task, 'a child of somebody else')
    assert('cancel' in child || tasks.get(child.id) === child, 'a child that has ended')
  }
  const parent = task.extra?.parent
  if (parent === undefined) return
  assert(parent.extra?.children?.has(task) === true, 'a child that its parent does not know')
  assert(tasks.get(parent.id) === parent, 'a parent that has ended')
}

function parentOf(child: Child): TaskEntry | undefined {
  return 'cancel' in child ? child.parent : child.extra?.parent
}

function setParent(child: Child, parent: TaskEntry | undefined): void {
  if ('cancel' in child) child.parent = parent
  else extraOf(child).parent = parent
}
