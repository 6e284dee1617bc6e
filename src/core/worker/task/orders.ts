// What a scheduler asks for: to run tasks, and to cancel or return them. A message may be about
// consecutive tasks, of which the worker may have some already.

import type { TaskId } from '../../../base/ids.js'
import type { Task, TaskCancel } from '../../../wire/message.js'
import { countOf, nthTaskId, placeInBlock } from '../../../wire/run.js'
import type { WorkerCoreOptions } from '../events.js'
import { type Fetcher, SerializerIds } from '../objects.js'
import type { GiveBack } from '../queue/give-back.js'
import type { Answers } from './ends.js'
import type { TaskLinks } from './links.js'
import type { WorkerTaskTable } from './table.js'
import { hasOtherObjects, isTied, partOf, renew, type WorkerTask, workerTaskOf } from './task.js'

/** The parts of the worker that are needed here. */
interface OrderParts {
  readonly options: WorkerCoreOptions
  readonly tasks: WorkerTaskTable
  readonly answers: Answers
  readonly fetcher: Fetcher
  readonly giveBack: GiveBack
  readonly links: TaskLinks
  /** Drops a task, whether it has started or not. */
  readonly drop: (task: WorkerTask) => void
}

/** Carries out the orders of the scheduler. */
export class TaskOrders {
  readonly #tasks: WorkerTaskTable
  readonly #answers: Answers
  readonly #giveBack: GiveBack
  readonly #links: TaskLinks
  readonly #fetcher: Fetcher
  readonly #drop: (task: WorkerTask) => void
  readonly #serializerIds: SerializerIds
  readonly #workersTimeoutMs: number
  /** The number of tasks that have arrived. */
  #arrivals = 0

  constructor({ options, tasks, answers, fetcher, giveBack, links, drop }: OrderParts) {
    this.#tasks = tasks
    this.#answers = answers
    this.#fetcher = fetcher
    this.#giveBack = giveBack
    this.#links = links
    this.#drop = drop
    this.#serializerIds = new SerializerIds((source) => options.serializerIdOf(source))
    this.#workersTimeoutMs = options.taskTimeoutMs ?? 0
  }

  /** A task that the worker already has is not added again. */
  onTask(message: Task): void {
    const { taskId } = message
    const count = countOf(message)
    if (count > 1 && (this.#answers.hasKept || this.#tasks.hasAny(taskId, count))) {
      // Something happens to some of them alone.
      for (let n = 0; n < count; n += 1) this.onTask(partOf(message, n, n + 1))
      return
    }
    const known = this.#tasks.get(taskId)
    if (known !== undefined) this.#onKnownTask(known, message)
    else this.#onNewTask(message)
  }

  /** docs/protocol.md#cancel: a task that has started is dropped only by force. */
  onTaskCancel(message: TaskCancel): void {
    const { taskId, flags } = message
    const count = countOf(message)
    let done = 0
    for (const task of this.#tasks.range(taskId, count)) {
      const at = count === 1 ? 0 : placeInBlock(task.id) - placeInBlock(taskId)
      this.#cancelUnknown(message, done, at)
      done = at + task.count
      if (flags.force) this.#cancel(task)
      else this.#giveBack.recall(task)
    }
    this.#cancelUnknown(message, done, count)
  }

  #onNewTask(message: Task): void {
    const task = workerTaskOf(message, {
      order: this.#arrivals,
      serializerId: this.#serializerIds.of(message.source),
      workersTimeoutMs: this.#workersTimeoutMs,
    })
    this.#arrivals += task.count
    // The scheduler does not wait for the result of a link: it sends the task again.
    if (!isTied(task) && this.#answers.answerKept(task)) return
    const isKept = isTied(task) && this.#answers.keeps(task.id)
    if (isKept || this.#giveBack.isLeaving || !this.#links.join(task)) {
      this.#answers.cancel(task.id, 'canceled', task.count)
      return
    }
    this.#tasks.add(task)
    this.#fetcher.prepare(task)
  }

  #onKnownTask(known: WorkerTask, message: Task): void {
    const waitsForOthers = known.state === 'fetching' && hasOtherObjects(known, message)
    if (waitsForOthers || known.isPacked !== message.packed.byteLength > 0) {
      // It would wait in vain, or its answer would be of no use to this scheduler.
      this.#drop(known)
      this.#onNewTask(message)
      return
    }
    renew(known, message)
    if (!this.#links.join(known)) this.#cancel(known)
    else if (known.state === 'abandoned') this.#takeUpAgain(known)
  }

  /** A task that continued while the connection was lost is awaited again. */
  #takeUpAgain(task: WorkerTask): void {
    this.#tasks.change(task, 'sentAgain')
    if (task.isWaiting) this.#answers.waits(task)
  }

  #cancel(task: WorkerTask): void {
    this.#answers.cancel(task.id, 'canceled', task.count)
    this.#drop(task)
  }

  /** Answers for tasks `from` up to, not including, `to`, which the worker does not have. */
  #cancelUnknown({ taskId, flags }: TaskCancel, from: number, to: number): void {
    if (from === to) return
    if (!this.#answers.hasKept) {
      this.#answers.cancel(nthTaskId(taskId, from), 'notFound', to - from)
      return
    }
    for (let n = from; n < to; n += 1) this.#cancelKept(nthTaskId(taskId, n), flags.force)
  }

  #cancelKept(id: TaskId, isForced: boolean): void {
    const wasKept = isForced && this.#answers.dropKept(id)
    this.#answers.cancel(id, wasKept ? 'canceled' : 'notFound')
  }
}
