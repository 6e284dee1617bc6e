// What follows when a task has ended: its owner is told, what it held is let go, and tasks that
// need its result go on, or end like it. One end can bring about many others, one behind the other
// in a chain of any length: they are worked off from a list, not by recursion.

import { assert } from '../../../base/assert.js'
import { copyOf, NO_BYTES } from '../../../base/bytes.js'
import { identity, type TaskId } from '../../../base/ids.js'
import {
  type Outcome,
  type TaskEndReason,
  type ClientTurn,
  endTask,
  finishTask,
} from '../events.js'
import { taskCancelMessage } from '../messages.js'
import type { ObjectTable } from '../objects.js'
import type { Sender } from '../sender.js'
import type { UnacknowledgedTasks } from './flow.js'
import type { TaskInputs } from './inputs.js'
import { isNeeded, ResultInput, type TaskRecord, type TaskTable } from './task.js'

// Tasks that were over and done with, and have to run again after all: the result of another one
// is lost that was made from theirs. What a task is made of stays in its record for as long as
// somebody has a result that was made from its own.

/**
 * Adds the tasks to the table that have to run before one can that is in it: they are waiting, and
 * hold nothing. Returns them; undefined if one of them cannot run again. Works for chains of any
 * length.
 */
export function resubmit<Owner>(
  task: TaskRecord<Owner>,
  tasks: TaskTable<Owner>,
): readonly TaskRecord<Owner>[] | undefined {
  const found = new Set<TaskRecord<Owner>>()
  const open = [task]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const argument of next.args) {
      if (!(argument instanceof ResultInput) || argument.content !== undefined) continue
      const source = argument.task
      if (tasks.has(source) || found.has(source)) continue
      // Only its graph knew what it is made of.
      if (source.graph !== undefined) return undefined
      found.add(source)
      open.push(source)
    }
  }
  const resubmitted = [...found].toReversed()
  for (const source of resubmitted) {
    source.owner = undefined
    source.state = 'waiting'
    source.unready = 0
    tasks.add(source)
  }
  return resubmitted
}

/** What the parts of the core that deal with tasks share. */
interface TaskParts<Owner> {
  readonly tasks: TaskTable<Owner>
  readonly objects: ObjectTable
  readonly inputs: TaskInputs<Owner>
  readonly sender: Sender<Owner>
  readonly unacknowledged: UnacknowledgedTasks<Owner>
}

/** How tasks end that will not run, because another one has ended so. */
type SharedEnd =
  | { readonly failedTaskId: TaskId; readonly payload: Uint8Array }
  | { readonly failedTaskId: TaskId; readonly reason: TaskEndReason; readonly detail: string }

/** A failure of a task that did not run. */
const NOT_RUN = { isSuccess: false, metadata: NO_BYTES, worker: identity('') }

/** Ends tasks. */
export class TaskEnds<Owner> {
  readonly #turn: ClientTurn<Owner>
  readonly #parts: TaskParts<Owner>
  /** Tasks that have to end because of others. Empty between events, like `#unneeded`. */
  #failedByDependency: (readonly [task: TaskRecord<Owner>, end: SharedEnd])[] = []
  /** Tasks that are probably not needed any more. */
  #unneeded: TaskRecord<Owner>[] = []
  /** Whether cancelling may kill what runs: not done to a 1.9.9 worker, which is slow at it. */
  mayForce = true
  /** Called before a scheduler that has a task drops it. */
  onRecall: (task: TaskRecord<Owner>) => void = () => {}

  constructor(turn: ClientTurn<Owner>, parts: TaskParts<Owner>) {
    this.#turn = turn
    this.#parts = parts
  }

  /** A task, which has left the table, has returned or thrown. */
  finish(task: TaskRecord<Owner>, outcome: Outcome): void {
    if (isNeeded(task)) this.#passOn(task, outcome)
    this.#leave(task)
    const { owner } = task
    if (owner !== undefined) finishTask(this.#turn, owner, outcome)
    this.#workOff()
  }

  /** A task, which has left the table, has ended in another way. */
  end(task: TaskRecord<Owner>, reason: TaskEndReason, detail: string, failedTaskId?: TaskId): void {
    if (isNeeded(task) || task.graph !== undefined) {
      this.#failDependents(task, { failedTaskId: failedTaskId ?? task.taskId, reason, detail })
    }
    this.#leave(task)
    const { owner } = task
    if (owner !== undefined) endTask(this.#turn, owner, { reason, detail, failedTaskId })
    this.#workOff()
  }

  /** A task can be sent (again): its state is `waiting`. */
  enqueue(task: TaskRecord<Owner>): void {
    if (task.graph === undefined) this.#parts.sender.enqueue(task)
    else task.graph.enqueue(task)
  }

  /** Has a scheduler that has a task drop it. */
  recall(task: TaskRecord<Owner>): void {
    if (task.state !== 'sent') return
    this.onRecall(task)
    if (task.graph !== undefined) return task.graph.recall(task)
    this.#parts.sender.post(taskCancelMessage(task.taskId, this.mayForce))
  }

  /** Ends a task from this side. */
  abandon(task: TaskRecord<Owner>, reason: TaskEndReason, detail: string): void {
    this.#forgetResult(task)
    this.#parts.tasks.change(task, 'givenUp')
    this.end(task, reason, detail)
  }

  /** The end of a task is not reported any more. */
  disown(task: TaskRecord<Owner>): void {
    task.owner = undefined
    this.#unneeded.push(task)
    this.#workOff()
  }

  /** The result of a task is kept in the cluster: what it is made of can go. */
  rest(task: TaskRecord<Owner>): void {
    const { inputs, sender, unacknowledged } = this.#parts
    unacknowledged.delete(task)
    sender.withdraw(task)
    task.unready = 0
    inputs.letGo(task, this.#unneeded)
    if (task.result?.isSuccess === true && task.asInput !== undefined) this.#onReady(task.asInput)
    this.#workOff()
  }

  /** What the task is made of can go. */
  letGo(task: TaskRecord<Owner>): void {
    this.#parts.inputs.letGo(task, this.#unneeded)
    this.#workOff()
  }

  /** Throws if something was left behind. */
  checkInvariants(): void {
    assert(this.#failedByDependency.length === 0, 'tasks that have to end')
    assert(this.#unneeded.length === 0, 'tasks that nobody needs')
  }

  #passOn(task: TaskRecord<Owner>, { isSuccess, payload, failedTaskId }: Outcome): void {
    const { asInput: input } = task
    if (!isSuccess || input === undefined) {
      return this.#failDependents(task, { failedTaskId: failedTaskId ?? task.taskId, payload })
    }
    input.content = copyOf(payload)
    this.#onReady(input)
  }

  /** A result is there: those that have waited for nothing else can be sent. */
  #onReady(input: ResultInput<Owner>): void {
    const { tasks, inputs } = this.#parts
    for (const user of input.users) {
      if (user.state !== 'blocked') continue
      user.unready -= 1
      if (user.unready > 0) continue
      tasks.change(user, 'inputsReady')
      inputs.settle(user)
      this.enqueue(user)
    }
  }

  /**
   * Tasks that wait for the result of one that has none will end as it did; with one that was
   * cancelled also those that have its result and run.
   */
  #failDependents(task: TaskRecord<Owner>, end: SharedEnd): void {
    const isCancelled = 'reason' in end && end.reason === 'cancelled'
    for (const user of task.asInput?.users ?? []) {
      if (isCancelled || user.state === 'blocked') this.#failedByDependency.push([user, end])
    }
    if (!isCancelled) return
    for (const target of task.graph?.dependentsOf(task) ?? [])
      this.#failedByDependency.push([target, end])
  }

  /** Ends what has to end, and what has to end because of that. */
  #workOff(): void {
    // Both lists grow meanwhile.
    for (;;) {
      const failed = this.#failedByDependency
      const unneeded = this.#unneeded
      if (failed.length === 0 && unneeded.length === 0) return
      this.#failedByDependency = []
      this.#unneeded = []
      for (const [task, end] of failed) this.#endAlike(task, end)
      for (const task of unneeded) this.#release(task)
    }
  }

  #endAlike(task: TaskRecord<Owner>, end: SharedEnd): void {
    const { tasks } = this.#parts
    if (!tasks.has(task)) return
    this.recall(task)
    tasks.change(task, 'givenUp')
    this.#failDependents(task, end)
    this.#leave(task)
    const { owner } = task
    if (owner === undefined) return
    const { failedTaskId } = end
    if ('reason' in end) endTask(this.#turn, owner, end)
    else finishTask(this.#turn, owner, { ...NOT_RUN, payload: end.payload, failedTaskId })
  }

  /** Ends a task whose end is not reported, if nothing else needs it. */
  #release(task: TaskRecord<Owner>): void {
    const { tasks } = this.#parts
    if (!tasks.has(task) || task.owner !== undefined || isNeeded(task)) return
    this.recall(task)
    this.#forgetResult(task)
    tasks.change(task, 'givenUp')
    this.#leave(task)
  }

  #forgetResult(task: TaskRecord<Owner>): void {
    const objectId = this.#parts.tasks.stopKeeping(task)
    if (objectId !== undefined) this.#parts.objects.removeResult(objectId)
  }

  #leave(task: TaskRecord<Owner>): void {
    const { inputs, sender, unacknowledged } = this.#parts
    sender.withdraw(task)
    inputs.letGo(task, this.#unneeded)
    unacknowledged.delete(task)
    task.graph?.onTargetEnded(task)
  }
}
