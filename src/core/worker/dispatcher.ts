// The queue of a worker and the tasks that its processor has: who goes next, and who is answered.

import { assert } from '../../base/assert.js'
import { Fifo } from '../../base/fifo.js'
import { IndexedHeap } from '../../base/indexed-heap.js'
import type { InstantMs } from '../../base/machine.js'
import { DispatchWindow } from './dispatch-window.js'
import { runsBefore, type WorkerTask } from './worker-task.js'

/** Orders tasks into the processor. It does not know why a task may not go: its owner does. */
export class Dispatcher {
  /** Invariant: the tasks in state `queued`. */
  readonly #queue = new IndexedHeap<WorkerTask>(runsBefore)
  /** What the processor has, in the order in which it will answer. */
  readonly #unanswered = new Fifo<WorkerTask>()
  readonly #window = new DispatchWindow()
  #dispatchCount = 0

  /** How many tasks wait for their turn. */
  get queuedCount(): number {
    return this.#queue.size
  }

  /** How many tasks the processor has. */
  get unansweredCount(): number {
    return this.#unanswered.size
  }

  /** What the processor has, in the order in which it will answer. */
  unanswered(): Iterable<WorkerTask> {
    return this.#unanswered
  }

  /** The task waits for its turn. */
  add(task: WorkerTask): void {
    this.#queue.add(task)
  }

  /** The task does not wait any more. */
  remove(task: WorkerTask): void {
    this.#queue.remove(task)
  }

  /** The task whose turn it is. */
  get next(): WorkerTask | undefined {
    return this.#queue.first
  }

  /** Whether the processor may have this task now. What is suspect runs alone. */
  hasRoomFor(task: WorkerTask, isOneByOne: boolean): boolean {
    return this.#window.count === 0 || (!isOneByOne && this.#window.hasRoomFor(task))
  }

  /** The processor gets the task, which is `next`. */
  handOver(task: WorkerTask, now: InstantMs): void {
    this.#queue.remove(task)
    task.dispatchNumber = this.#dispatchCount
    this.#dispatchCount += 1
    task.dispatchedAt = now
    this.#unanswered.push(task)
    this.#window.add(task)
  }

  /** The task whose answer is due. */
  get first(): WorkerTask | undefined {
    return this.#unanswered.first
  }

  /** The processor is done with the first task. */
  shift(): void {
    const task = this.#unanswered.shift()
    if (task !== undefined) this.#window.remove(task)
  }

  /** A call of the task's function took so long. */
  learn(task: WorkerTask, durationMs: number): void {
    this.#window.learn(task.functionEntry, durationMs)
  }

  /** The processor is gone: what it had not answered, in order. */
  takeAll(): WorkerTask[] {
    const tasks = [...this.#unanswered]
    while (this.#unanswered.shift() !== undefined);
    this.#window.clear()
    this.#dispatchCount = 0
    return tasks
  }

  /** Throws if queue, window and states disagree. */
  checkInvariants(): void {
    this.#queue.checkInvariants()
    const tasks = [...this.#unanswered]
    this.#window.checkInvariants(tasks)
    for (const [index, task] of tasks.entries()) {
      assert(task.state !== 'queued' && task.state !== 'fetching', 'a waiting task was handed over')
      const expected = this.#dispatchCount - tasks.length + index
      assert(task.dispatchNumber === expected, 'tasks were handed over out of order')
    }
  }
}
