// One task while a worker has it: what is kept of its message, and where it stands.

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

// How long a task may run on a worker: what it asks for itself, and what the worker allows to any.
// Apart, because agent and processor both say it.

/** How long a task may run. */
export interface TimeLimit {
  /** 0 = for ever. */
  readonly timeoutMs: number
  /** It is the worker's, which is shorter than what the task asks for. */
  readonly isWorkersLimit: boolean
}

/** The shorter of both limits, of which 0 is none. */
export function timeLimitOf(ownMs: number, workersMs: number): TimeLimit {
  const isWorkersLimit = workersMs > 0 && (ownMs === 0 || workersMs < ownMs)
  return { timeoutMs: isWorkersLimit ? workersMs : ownMs, isWorkersLimit }
}

/** The error of a task that has run for longer. */
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
  /** What it is called; empty until it is present. */
  name: string
  /** `ObjectTable`'s count of look-ups when a task needed it last. */
  usedAt: number
  /** Tasks that wait for it, and such as have ended meanwhile. Invariant: empty when present. */
  waiters: WorkerTask[]
  /** What a call takes, if this is a function: in milliseconds, Infinity until it has run. */
  expectedMs: number
}

/** A task that a worker, or at least its processor, has not answered yet. */
export interface WorkerTask extends HeapItem, TimeLimit {
  readonly id: TaskId
  readonly source: Identity
  /** The Task as it came last, in memory of its own. */
  bytes: Uint8Array
  /** Its number then: for the scheduler, an answer with another one is an old one. */
  attempt: number
  readonly priority: number
  /** Empty: that of the function. */
  readonly name: string
  /** Where what it prints goes. */
  readonly output: OutputPlace
  /** The client that prints it. */
  readonly outputClient: Identity
  /** Something was passed on that it has printed. */
  hasPrinted: boolean
  /** The task that has submitted it; empty: none. */
  readonly parentId: TaskId
  /** What it needs of its worker. */
  readonly needs: readonly TaskCapability[]
  /** What it was given of that. Invariant: set while the processor has a task that needs some. */
  grant: Grant | undefined
  /** How often the scheduler runs it again after it has failed. */
  readonly retries: number
  /** Place among all arrivals at this worker. */
  readonly order: number
  readonly serializerId: ObjectId
  readonly functionId: ObjectId
  /** The arguments that are objects. */
  readonly argumentIds: readonly ObjectId[]
  state: TaskState | 'ended'
  /** How many objects are awaited. Invariant: 0 unless `fetching`. */
  missingCount: number
  /** `ObjectTable.epoch` when the objects were last looked up. */
  epoch: number
  /** The function's entry of that epoch. */
  functionEntry: ObjectEntry | undefined
  /** Place among all tasks that this processor got, from 0. */
  dispatchNumber: number
  /** What it was expected to take when it was dispatched, in milliseconds. */
  expectedMs: number
  dispatchedAt: InstantMs
  /** The processor has said that it has begun. False says nothing. */
  hasBegun: boolean
  /** When it has begun, once that is known. */
  begunAt: InstantMs | undefined
  /** The scheduler was notified that it has begun. */
  isTold: boolean
  /** Since it got the task, the processor was ordered to forget all objects. */
  isCutOff: boolean
  /** It only waits for tasks of its own. Invariant: the processor has it. */
  isWaiting: boolean
  /** Since when, the last time. */
  waitsSince: InstantMs
  /** What it takes says nothing about its function. */
  hasWaited: boolean
  /** How many processors ended while they had this task, and no other was the certain cause. */
  deaths: number
  /** How often it waited in a processor that ended. */
  lossCount: number
  /** May have ended a processor: runs with nothing else beside it. */
  isCandidate: boolean
}

/** What is said of a task that its message does not say. */
interface TaskFacts {
  /** Place among all arrivals at this worker. */
  readonly order: number
  readonly serializerId: ObjectId
  /** How long the worker lets any task run; 0 = for ever. */
  readonly workersTimeoutMs: number
}

/** The task of a message that has arrived. It copies what it keeps. */
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
    isTold: false,
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

/** The scheduler has sent a task again that is still here: this is its newest form. */
export function renew(task: WorkerTask, message: Task): void {
  if (message.attempt === task.attempt) return
  task.bytes = copyOf(encode(message))
  task.attempt = message.attempt
}

/** What a task is called, for people. Empty: unknown. */
export function titleOf({ name, functionEntry }: WorkerTask): string {
  return name === '' ? (functionEntry?.name ?? '') : name
}

/** The beginning of a sentence: `task 00ff… (price)`. */
export function describeTask(task: WorkerTask): string {
  return taskPhrase(task.id, titleOf(task))
}

/** What a line about a task says of it. Attempts count from 1, as in `currentTask()`. */
export function fieldsOf(task: WorkerTask): LogFields {
  return { ...taskLogFields(task.id, titleOf(task)), attempt: task.attempt + 1 }
}

/** Higher priority first, then the order of arrival. */
export function runsBefore(a: WorkerTask, b: WorkerTask): boolean {
  return a.priority === b.priority ? a.order < b.order : a.priority > b.priority
}

/** Flags of a wrong length, which would end a 1.9.9 worker, count as none. */
function priorityOf(metadata: Uint8Array): number {
  const flags = metadata.byteLength === 5 ? decodeTaskFlags(metadata) : DEFAULT_TASK_FLAGS
  return flags.priority
}

/** A name that stands there twice is needed with the sum of its units. */
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

// The tasks of a worker by id, and the only way in which their state changes. Where lines for DEBUG
// are written, each change is one.

const STEPS: Readonly<Record<TaskCause, string>> = {
  objectsPresent: 'task waits for its turn',
  objectsLost: 'task waits for its objects again',
  objectMissing: 'task failed: an object that it needs does not exist',
  handedOver: 'task given to the processor',
  answered: 'the processor is done with a task',
  requeued: 'task waits for a processor again',
  blamed: 'task failed: its processor ended',
  cancelled: 'task cancelled',
  timedOut: 'task has run for too long',
  disconnected: 'task has lost its scheduler',
  sentAgain: 'task sent again while it runs',
}

/** One that was not wanted any more when its processor ended is not tried again. */
function stepText(cause: TaskCause, next: TaskState | 'ended'): string {
  return cause === 'requeued' && next === 'ended' ? 'task ended with its processor' : STEPS[cause]
}

/** All tasks that the scheduler may still ask about, and those that were abandoned. */
export class TaskTable {
  /** Invariant: state is `fetching`, `queued`, `dispatched` or `abandoned`. */
  readonly #tasks = new Map<TaskId, WorkerTask>()
  readonly #lifecycle = new Lifecycle(TASK_TRANSITIONS)
  readonly #turn: WorkerTurn
  readonly #tellsTasks: boolean
  #candidateCount = 0

  constructor(turn: WorkerTurn, tellsTasks: boolean) {
    this.#turn = turn
    this.#tellsTasks = tellsTasks
  }

  /** How many tasks there are. */
  get size(): number {
    return this.#tasks.size
  }

  /** Whether some task may have ended a processor. */
  get hasCandidates(): boolean {
    return this.#candidateCount > 0
  }

  /** The task of this id, unless it is unknown or was cancelled. */
  get(id: TaskId): WorkerTask | undefined {
    return this.#tasks.get(id)
  }

  /** All tasks in order of arrival. */
  values(): IterableIterator<WorkerTask> {
    return this.#tasks.values()
  }

  /** Adds a task whose id is not here. */
  add(task: WorkerTask): void {
    this.#tasks.set(task.id, task)
    if (this.#tellsTasks) this.#tell(task, 'task received')
  }

  /** Changes the state of a task. One that has ended or was cancelled leaves the table. */
  change(task: WorkerTask, cause: TaskCause): TaskState | 'ended' {
    assert(task.state !== 'ended', 'a task that has ended changes its state')
    const next = this.#lifecycle.next(task.id, task.state, cause)
    if (this.#tellsTasks) this.#tell(task, stepText(cause, next))
    if (next === 'ended' || next === 'canceling') this.#forget(task)
    task.state = next
    return next
  }

  /** From now on the task runs with nothing else beside it. */
  markCandidate(task: WorkerTask): void {
    if (task.isCandidate) return
    task.isCandidate = true
    this.#candidateCount += 1
  }

  /** Throws if a task is here that should not be, or candidates are miscounted. */
  checkInvariants(): void {
    let candidates = 0
    for (const [id, task] of this.#tasks) {
      assert(task.id === id, 'a task is kept under the id of another')
      assert(task.state !== 'ended' && task.state !== 'canceling', 'a task is kept too long')
      if (task.isCandidate) candidates += 1
    }
    assert(candidates === this.#candidateCount, 'the candidates are miscounted')
  }

  #tell(task: WorkerTask, text: string): void {
    this.#turn.log('debug', text, fieldsOf(task))
  }

  /** A cancelled task has left already when its processor is done with it. */
  #forget(task: WorkerTask): void {
    if (this.#tasks.get(task.id) === task) this.#tasks.delete(task.id)
    if (!task.isCandidate) return
    task.isCandidate = false
    this.#candidateCount -= 1
  }
}
