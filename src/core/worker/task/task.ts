// One task while a worker has it: the parts of its message that are kept, and its state.

import { assert } from '../../../base/assert.js'
import { copyOf } from '../../../base/bytes.js'
import { TaskTimeoutError } from '../../../base/errors.js'
import {
  type Identity,
  type ObjectId,
  objectIdOf,
  type TaskId,
  taskLogFields,
  taskPhrase,
} from '../../../base/ids.js'
import type { HeapItem } from '../../../base/indexed-heap.js'
import { Lifecycle } from '../../../base/lifecycle.js'
import type { LogFields } from '../../../base/logger.js'
import type { InstantMs } from '../../../base/machine.js'
import { encode, type OutputPlace, type Task, type TaskCapability } from '../../../wire/message.js'
import { decodeTaskFlags, DEFAULT_TASK_FLAGS } from '../../../wire/metadata.js'
import type { WorkerTurn } from '../events.js'
import type { Grant } from '../queue/units.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './state.js'

// How long a task may run on a worker: its own limit, and the worker's limit for any task. Separate
// from the rest because agent and processor both report it.

/** How long a task may run. */
export interface TimeLimit {
  /** 0 = no limit. */
  readonly timeoutMs: number
  /** The limit is the worker's, which is shorter than the task's own. */
  readonly isWorkersLimit: boolean
}

/** The shorter of both limits, where 0 means no limit. */
export function timeLimitOf(ownMs: number, workersMs: number): TimeLimit {
  const isWorkersLimit = workersMs > 0 && (ownMs === 0 || workersMs < ownMs)
  return { timeoutMs: isWorkersLimit ? workersMs : ownMs, isWorkersLimit }
}

/** The error of a task that has exceeded its limit. */
export function timeoutErrorOf(id: TaskId, name: string, limit: TimeLimit): TaskTimeoutError {
  const allowed = limit.isWorkersLimit
    ? `the ${limit.timeoutMs} ms that its worker allows to any task`
    : `its ${limit.timeoutMs} ms`
  return new TaskTimeoutError(`${taskPhrase(id, name)} ran for longer than ${allowed}`)
}

const NO_IDS: readonly ObjectId[] = []

/** An object that the processor has, or that was requested for it. */
export interface ObjectEntry {
  isPresent: boolean
  /** Its size once it is present. */
  bytes: number
  /** Its name; empty until it is present. */
  name: string
  /** `WorkerObjectTable`'s number of look-ups when a task last needed it. */
  usedAt: number
  /**
   * Tasks that wait for it, including some that have ended meanwhile. Invariant: empty when
   * present.
   */
  waiters: WorkerTask[]
  /**
   * The expected duration of a call, if this is a function: in milliseconds, Infinity until it has
   * run.
   */
  expectedMs: number
}

/** A task that the worker, or at least its processor, has not answered yet. */
export interface WorkerTask extends HeapItem, TimeLimit {
  readonly id: TaskId
  readonly source: Identity
  /** The latest Task message, in its own memory. */
  bytes: Uint8Array
  /** Its attempt number; the scheduler ignores answers with an older one. */
  attempt: number
  readonly priority: number
  /** Empty: the name of the function applies. */
  readonly name: string
  /** Where its output goes. */
  readonly output: OutputPlace
  /** The client that prints it. */
  readonly outputClient: Identity
  /** Some of its output was forwarded. */
  hasPrinted: boolean
  /** The task that submitted it; empty: none. */
  readonly parentId: TaskId
  /** The capabilities that it needs. */
  readonly needs: readonly TaskCapability[]
  /**
   * The units that it was assigned. Invariant: set while a task that needs units is in the
   * processor.
   */
  grant: Grant | undefined
  /** How often the scheduler runs it again after it has failed. */
  readonly retries: number
  /** Its position among all tasks that arrived at this worker. */
  readonly order: number
  readonly serializerId: ObjectId
  readonly functionId: ObjectId
  /** The arguments that are objects. */
  readonly argumentIds: readonly ObjectId[]
  state: TaskState | 'ended'
  /** The number of awaited objects. Invariant: 0 unless `fetching`. */
  missingCount: number
  /** `WorkerObjectTable.epoch` when the objects were last looked up. */
  epoch: number
  /** The entry of the function in that epoch. */
  functionEntry: ObjectEntry | undefined
  /** Its position among all tasks of this processor, from 0. */
  dispatchNumber: number
  /** Its expected duration when it was dispatched, in milliseconds. */
  expectedMs: number
  dispatchedAt: InstantMs
  /** The processor has reported that it started. If false, it may have started as well. */
  hasBegun: boolean
  /** When it started, once that is known. */
  begunAt: InstantMs | undefined
  /** The scheduler was notified that it has started. */
  isReported: boolean
  /** The processor was instructed to forget all objects after the task was dispatched. */
  isCutOff: boolean
  /** It only waits for its children. Invariant: it is in the processor. */
  isWaiting: boolean
  /** When it last began or stopped waiting. */
  waitsSince: InstantMs
  /** Its duration is not a measure of its function. */
  hasWaited: boolean
  /**
   * How many processors ended while they had this task, and no other task was the certain cause.
   */
  deaths: number
  /** How often it was waiting in a processor that ended. */
  lossCount: number
  /** It may have ended a processor: no other task runs next to it. */
  isCandidate: boolean
}

/** Facts about a task that are not in its message. */
interface TaskFacts {
  /** Its position among all tasks that arrived at this worker. */
  readonly order: number
  readonly serializerId: ObjectId
  /** The worker's limit for any task; 0 = none. */
  readonly workersTimeoutMs: number
}

/** Creates the task of a message that has arrived. Copies everything that it keeps. */
export function workerTaskOf(task: Task, facts: TaskFacts): WorkerTask {
  const { order, serializerId, workersTimeoutMs } = facts
  return {
    id: task.taskId,
    source: task.source,
    bytes: copyOf(encode(task)),
    attempt: task.attempt,
    priority: priorityOf(task.metadata),
    name: task.name,
    output: task.output,
    outputClient: task.outputClient === '' ? task.source : task.outputClient,
    hasPrinted: false,
    parentId: task.parentTaskId,
    ...timeLimitOf(task.timeoutMs, workersTimeoutMs),
    needs: mergedNeeds(task.capabilities),
    grant: undefined,
    retries: task.retries,
    order,
    serializerId,
    functionId: task.funcObjectId,
    argumentIds: argumentIdsOf(task),
    state: 'fetching',
    missingCount: 0,
    epoch: -1,
    functionEntry: undefined,
    dispatchNumber: -1,
    expectedMs: 0,
    dispatchedAt: 0,
    hasBegun: false,
    begunAt: undefined,
    isReported: false,
    isCutOff: false,
    isWaiting: false,
    waitsSince: 0,
    hasWaited: false,
    deaths: 0,
    lossCount: 0,
    isCandidate: false,
    heapIndex: -1,
  }
}

/** The scheduler has sent a task again that is still here: stores the new version. */
export function renew(task: WorkerTask, message: Task): void {
  if (message.attempt === task.attempt) return
  task.bytes = copyOf(encode(message))
  task.attempt = message.attempt
}

/** The displayed name of a task. Empty: unknown. */
export function titleOf({ name, functionEntry }: WorkerTask): string {
  return name === '' ? (functionEntry?.name ?? '') : name
}

/** The beginning of a sentence: `task 00ff… (price)`. */
export function describeTask(task: WorkerTask): string {
  return taskPhrase(task.id, titleOf(task))
}

/** The fields of a task in log lines. Attempts count from 1, as in `currentTask()`. */
export function fieldsOf(task: WorkerTask): LogFields {
  return { ...taskLogFields(task.id, titleOf(task)), attempt: task.attempt + 1 }
}

/** Higher priority first, then the order of arrival. */
export function runsBefore(a: WorkerTask, b: WorkerTask): boolean {
  return a.priority === b.priority ? a.order < b.order : a.priority > b.priority
}

/** Flags of the wrong length, which would end a 1.9.9 worker, are ignored. */
function priorityOf(metadata: Uint8Array): number {
  const flags = metadata.byteLength === 5 ? decodeTaskFlags(metadata) : DEFAULT_TASK_FLAGS
  return flags.priority
}

/** Adds up the units of a name that occurs more than once. */
function mergedNeeds(capabilities: readonly TaskCapability[]): readonly TaskCapability[] {
  if (capabilities.length < 2) return capabilities
  const units = new Map<string, number>()
  for (const { name, value } of capabilities) {
    units.set(name, (units.get(name) ?? 0) + Math.max(value, 0))
  }
  return [...units].map(([name, value]) => ({ name, value }))
}

function argumentIdsOf(task: Task): readonly ObjectId[] {
  let ids: ObjectId[] | undefined
  for (const { type, data } of task.functionArgs) {
    if (type === 'objectID' || type === 'sharedObjectID') (ids ??= []).push(objectIdOf(data))
  }
  return ids ?? NO_IDS
}

// The tasks of a worker by id, and the only way to change their state. With DEBUG lines, each
// change is logged.

const STEPS: Readonly<Record<TaskCause, string>> = {
  objectsPresent: 'task waits for its turn',
  objectsLost: 'task waits for its objects again',
  objectMissing: 'task failed: an object that it needs does not exist',
  handedOver: 'task passed to the processor',
  answered: 'task answered by the processor',
  requeued: 'task waits for a processor again',
  blamed: 'task failed: its processor ended',
  cancelled: 'task cancelled',
  timedOut: 'task exceeded its time limit',
  disconnected: 'task lost its scheduler',
  sentAgain: 'task sent again while running',
}

/** A task that was no longer needed when its processor ended is not retried. */
function stepText(cause: TaskCause, next: TaskState | 'ended'): string {
  return cause === 'requeued' && next === 'ended' ? 'task ended with its processor' : STEPS[cause]
}

/** All tasks that the scheduler may still refer to, and abandoned ones. */
export class WorkerTaskTable {
  /** Invariant: state is `fetching`, `queued`, `dispatched` or `abandoned`. */
  readonly #tasks = new Map<TaskId, WorkerTask>()
  readonly #lifecycle = new Lifecycle(TASK_TRANSITIONS)
  readonly #turn: WorkerTurn
  readonly #logsTasks: boolean
  #candidateCount = 0

  constructor(turn: WorkerTurn, logsTasks: boolean) {
    this.#turn = turn
    this.#logsTasks = logsTasks
  }

  /** The number of tasks. */
  get size(): number {
    return this.#tasks.size
  }

  /** Whether any task may have ended a processor. */
  get hasCandidates(): boolean {
    return this.#candidateCount > 0
  }

  /** The task with this id, unless it is unknown or was cancelled. */
  get(id: TaskId): WorkerTask | undefined {
    return this.#tasks.get(id)
  }

  /** All tasks in order of arrival. */
  values(): IterableIterator<WorkerTask> {
    return this.#tasks.values()
  }

  /** Adds a task whose id is not in the table. */
  add(task: WorkerTask): void {
    this.#tasks.set(task.id, task)
    if (this.#logsTasks) this.#log(task, 'task received')
  }

  /**
   * Changes the state of a task. A task that has ended or was cancelled is removed from the table.
   */
  change(task: WorkerTask, cause: TaskCause): TaskState | 'ended' {
    assert(task.state !== 'ended', 'the state of an ended task changes')
    const next = this.#lifecycle.next(task.id, task.state, cause)
    if (this.#logsTasks) this.#log(task, stepText(cause, next))
    if (next === 'ended' || next === 'canceling') this.#forget(task)
    task.state = next
    return next
  }

  /** From now on, no other task runs next to this one. */
  markCandidate(task: WorkerTask): void {
    if (task.isCandidate) return
    task.isCandidate = true
    this.#candidateCount += 1
  }

  /** Throws if the table has a task that it should not have, or candidates are miscounted. */
  checkInvariants(): void {
    let candidates = 0
    for (const [id, task] of this.#tasks) {
      assert(task.id === id, 'a task has the wrong key')
      assert(
        task.state !== 'ended' && task.state !== 'canceling',
        'a task is still in the table after its end',
      )
      if (task.isCandidate) candidates += 1
    }
    assert(candidates === this.#candidateCount, 'the candidates are miscounted')
  }

  #log(task: WorkerTask, text: string): void {
    this.#turn.log('debug', text, fieldsOf(task))
  }

  /** A cancelled task has been removed already when its processor finishes it. */
  #forget(task: WorkerTask): void {
    if (this.#tasks.get(task.id) === task) this.#tasks.delete(task.id)
    if (!task.isCandidate) return
    task.isCandidate = false
    this.#candidateCount -= 1
  }
}
