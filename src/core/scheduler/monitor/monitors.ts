// Monitors of ours: clients that want to know what happens. Each is told as much as it has given
// credit for; what it has no credit for is kept for a while, for all of them together, and then
// lost. Nothing is built while nobody asks, but the failures, which are few.
// docs/protocol.md#monitors

import { clippedError } from '../../../base/text.js'
import { FEATURE_MONITORS, hasFeature } from '../../../base/features.js'
import { identity, type Identity, type TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type {
  EndedCount,
  MonitorReport,
  MonitorRequest,
  MonitorState,
  Resource,
  TaskError,
  TaskEvent,
  TaskFailure,
  TaskResult,
  TaskStatus,
} from '../../../wire/message.js'
import type { ClientEntry, TaskEntry, WorkerEntry } from '../entries.js'
import type { Output } from '../output.js'
import type { SchedulerState } from '../state.js'
import { extraOf } from '../task/extra.js'
import { clientRows, type FunctionTable, hasFailed, MAX_ROWS, workerRows } from './report.js'
import { waitingCounts } from './waiting.js'

// The last of something: each item has a number, counted from the first one ever.

/** A list that forgets its oldest items. */
class History<T> {
  readonly #capacity: number
  #items: T[] = []
  #start = 0
  #end = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** The number of the oldest item that is kept. */
  get start(): number {
    return this.#start
  }

  /** The number that the next item gets. */
  get end(): number {
    return this.#end
  }

  push(item: T): void {
    if (this.#items.length === 0) this.#items.length = this.#capacity
    this.#items[this.#end % this.#capacity] = item
    this.#end += 1
    this.#start = Math.max(this.#start, this.#end - this.#capacity)
  }

  /** Items from a number on that is not forgotten. */
  slice(from: number, most: number): readonly T[] {
    const to = Math.min(this.#end, from + most)
    const items: T[] = []
    for (let number = from; number < to; number += 1) {
      items.push(this.#items[number % this.#capacity] as T)
    }
    return items
  }

  /** Forgets all items; the next one has the next number. */
  clear(): void {
    this.#items = []
    this.#start = this.#end
  }
}

/** So many events wait for monitors that are slow. */
const MAX_EVENTS = 10_000

const MAX_FAILURES = 1_000
const MAX_MONITORS = 100

/** Of messages that one has not read: what waits for it is no more than this. */
const MAX_CREDIT = 32

/** In one message. */
const MOST = { events: 500, failures: 50 } as const

/** To one monitor in one turn. */
const MAX_MESSAGES = 10

/** What has happened is told no later than this. */
const DELAY_MS = 100

/** Names that tasks come with are cut. */
const MAX_NAME = 256

const NOBODY: Identity = identity('')

/** What this needs to know of the scheduler. */
interface Circumstances {
  readonly clients: ReadonlyMap<Identity, ClientEntry>
  readonly functions: FunctionTable
  readonly output: Output
  readonly now: InstantMs
}

/** Where the rows of a state begin. */
interface FirstRows {
  readonly firstWorker: number
  readonly firstClient: number
}

/** What is known of a task that has ended. */
interface Ended {
  readonly taskId: TaskId
  readonly name: string
  readonly function: string
  readonly client: Identity
  readonly worker: Identity
  readonly status: TaskStatus
  readonly endAt: InstantMs
  readonly attempts: number
  readonly error: TaskError | undefined
}

/** The same with its times. */
interface EndedInTime extends Ended {
  readonly queuedAt: InstantMs | undefined
  readonly startAt: InstantMs | undefined
  readonly durationMs: number
}

/** How a task has ended. */
interface TaskEnding {
  readonly result: Pick<TaskResult, 'status' | 'error'>
  /** The worker that had it, as far as it had one. */
  readonly worker: WorkerEntry | undefined
  readonly durationMs: number | undefined
}

/** A client that wants to know. Numbers are those of the next event or failure that it is told. */
interface Monitor {
  readonly client: Identity
  credit: number
  /** Undefined: it does not want events. */
  events: number | undefined
  failures: number | undefined
  /** The rows of its next state begin here. */
  firstWorker: number
  firstClient: number
}

/** All monitors that have asked. */
export class Monitors {
  readonly #byClient = new Map<ClientEntry, Monitor>()
  readonly #events = new History<EndedInTime>(MAX_EVENTS)
  readonly #failures = new History<Ended>(MAX_FAILURES)
  /** When something is to be told. */
  #dueAt: InstantMs | undefined
  /** Whether events are kept: somebody wants them. */
  wantsEvents = false

  /** When `flush` must be called next. */
  get deadline(): InstantMs | undefined {
    return this.#dueAt
  }

  /** A client wants to be told, or to be told more. */
  onRequest(state: Circumstances, from: Identity, message: MonitorRequest): void {
    const client = state.clients.get(from)
    if (client === undefined || !hasFeature(client.features, FEATURE_MONITORS)) {
      const fields = { client: from }
      state.output.log('debug', 'ignored a monitor that has not said what it is', fields)
      return
    }
    const monitor = this.#byClient.get(client) ?? this.#add(state, client)
    if (monitor === undefined) return
    const { credit, wantsEvents, wantsFailures, failuresAfter } = message
    monitor.credit = Math.min(MAX_CREDIT, monitor.credit + credit)
    monitor.events = wantsEvents ? (monitor.events ?? this.#events.end) : undefined
    const firstFailure = Math.min(failuresAfter, this.#failures.end)
    monitor.failures = wantsFailures ? (monitor.failures ?? firstFailure) : undefined
    this.#onWishes()
    this.#dueAt = state.now
  }

  /** A client has gone, or has lost its connection: it asks anew when it is back. */
  leave(client: ClientEntry): void {
    if (this.#byClient.delete(client)) this.#onWishes()
  }

  /** Whether `onEnded` is of any use for a task that ends so. */
  wants(status: TaskStatus): boolean {
    return this.wantsEvents || hasFailed(status)
  }

  /** A task has ended. */
  onEnded(state: Circumstances, task: TaskEntry, ending: TaskEnding): void {
    const ended = endedOf(state, task, ending)
    if (hasFailed(ended.status)) this.#failures.push(ended)
    if (this.wantsEvents) this.#events.push({ ...ended, ...timesOf(state, task, ending) })
    if (this.#byClient.size === 0) return
    this.#dueAt ??= state.now + DELAY_MS
    if (this.#events.end % MOST.events === 0) this.#dueAt = state.now
  }

  /** Tells what is due. Called after each event. */
  flush(state: Circumstances): void {
    if (this.#dueAt === undefined || state.now < this.#dueAt) return
    this.#dueAt = undefined
    for (const monitor of this.#byClient.values()) {
      for (let count = 0; this.#hasNews(monitor) && count < MAX_MESSAGES; count += 1) {
        this.#tell(state, monitor, [])
      }
      if (this.#hasNews(monitor)) this.#dueAt = state.now
    }
  }

  /** Tells all that have credit the state of everything. */
  sendStates(state: Circumstances, stateFor: (first: FirstRows) => MonitorState): void {
    for (const monitor of this.#byClient.values()) {
      if (monitor.credit === 0) continue
      const told = stateFor(monitor)
      monitor.firstWorker = nextRow(told.firstWorker, told.workerReports.length, told.workers)
      monitor.firstClient = nextRow(told.firstClient, told.clientReports.length, told.clients)
      this.#tell(state, monitor, [told])
    }
  }

  #add({ output }: Circumstances, client: ClientEntry): Monitor | undefined {
    const { identity: id } = client
    if (this.#byClient.size >= MAX_MONITORS) {
      output.log('warn', 'refused a monitor: there are too many', {
        client: id,
        limit: MAX_MONITORS,
      })
      return undefined
    }
    const none = { events: undefined, failures: undefined }
    const monitor = { client: id, credit: 0, ...none, firstWorker: 0, firstClient: 0 }
    this.#byClient.set(client, monitor)
    output.log('debug', 'a client monitors', { client: id })
    return monitor
  }

  #onWishes(): void {
    this.wantsEvents = [...this.#byClient.values()].some(({ events }) => events !== undefined)
    if (!this.wantsEvents) this.#events.clear()
  }

  #hasNews({ credit, events, failures }: Monitor): boolean {
    const hasEvents = events !== undefined && events < this.#events.end
    return credit > 0 && (hasEvents || (failures !== undefined && failures < this.#failures.end))
  }

  #tell({ now, output }: Circumstances, monitor: Monitor, states: readonly MonitorState[]): void {
    const events = nextOf(this.#events, monitor.events, MOST.events)
    const failures = nextOf(this.#failures, monitor.failures, MOST.failures)
    const message: MonitorReport = {
      kind: 'monitorReport',
      states,
      events: events.items.map((ended) => eventOf(ended, now)),
      lostEvents: events.lost,
      failures: failures.items.map((ended, index) => {
        return failureOf(ended, failures.from + index + 1, now)
      }),
      lostFailures: failures.lost,
    }
    if (monitor.events !== undefined) monitor.events = events.to
    if (monitor.failures !== undefined) monitor.failures = failures.to
    monitor.credit -= 1
    output.send(monitor.client, message)
  }
}

/** What comes next of a history for somebody who has all before `next`. */
function nextOf<T>(
  history: History<T>,
  next: number | undefined,
  most: number,
): { readonly items: readonly T[]; from: number; to: number; lost: number } {
  if (next === undefined) return { items: [], from: 0, to: 0, lost: 0 }
  const from = Math.max(next, history.start)
  const items = history.slice(from, most)
  return { items, from, to: from + items.length, lost: from - next }
}

/** Where the rows of the next message begin. */
function nextRow(first: number, told: number, all: number): number {
  return first + told >= all ? 0 : first + told
}

function endedOf(state: Circumstances, task: TaskEntry, { result, worker }: TaskEnding): Ended {
  const { id, client, extra } = task
  const [error] = result.error
  return {
    taskId: id,
    name: (extra?.name ?? '').slice(0, MAX_NAME),
    function: state.functions.of(task.function).name,
    client: client?.identity ?? NOBODY,
    worker: worker?.identity ?? NOBODY,
    status: result.status,
    endAt: state.now,
    attempts: (extra?.attempts?.length ?? 0) + (worker === undefined ? 0 : 1),
    error: error && clippedError(error),
  }
}

function timesOf(
  { now }: Circumstances,
  { changedAt, extra }: TaskEntry,
  { worker, durationMs }: TaskEnding,
): Pick<EndedInTime, 'queuedAt' | 'startAt' | 'durationMs'> {
  if (worker === undefined) return { queuedAt: changedAt, startAt: undefined, durationMs: 0 }
  const startAt = durationMs === undefined ? changedAt : Math.max(changedAt, now - durationMs)
  return { queuedAt: extra?.queuedAt, startAt, durationMs: durationMs ?? 0 }
}

function eventOf(ended: EndedInTime, now: InstantMs): TaskEvent {
  const { endAt, queuedAt, startAt, durationMs: durationMS, error, ...same } = ended
  return {
    ...same,
    queuedAgoMS: ago(queuedAt, now),
    startAgoMS: ago(startAt, now),
    endAgoMS: now - endAt,
    durationMS,
    errorName: error?.name ?? '',
  }
}

function failureOf({ endAt, error, ...ended }: Ended, number: number, now: InstantMs): TaskFailure {
  return { ...ended, number, agoMS: now - endAt, error: error === undefined ? [] : [error] }
}

/** 0 is for what is not known. */
function ago(then: InstantMs | undefined, now: InstantMs): number {
  return then === undefined ? 0 : Math.max(now - then, Number.EPSILON)
}

// The state of everything, as a monitor of ours is told it once a second. Of many workers and
// clients a message has some, and the next one has the next. docs/protocol.md#monitors

const MAX_FUNCTIONS = 200

/** What the scheduler's own process uses. */
interface OwnUse {
  readonly scheduler: Resource
  readonly rssFree: number
}

/** Costs at most some milliseconds, however much there is. */
export function stateFor(
  state: SchedulerState,
  { scheduler, rssFree }: OwnUse,
  first: FirstRows,
): MonitorState {
  const { workers, objects, graphWork } = state
  const clients = [...state.clients.values()].filter(({ isVisitor }) => !isVisitor)
  const firstWorker = first.firstWorker < workers.size ? first.firstWorker : 0
  const firstClient = first.firstClient < clients.length ? first.firstClient : 0
  let running = 0
  for (const { assigned } of workers.values()) running += assigned.size
  return {
    scheduler,
    rssFree,
    waiting: state.waitingCount + graphWork.ready,
    running,
    ended: [...state.ended].map(([status, tasks]): EndedCount => ({ status, tasks })),
    workers: workers.size,
    firstWorker,
    workerReports: workerRows(
      state,
      [...workers.values()].slice(firstWorker, firstWorker + MAX_ROWS),
    ),
    clients: clients.length,
    firstClient,
    clientReports: clientRows(clients.slice(firstClient, firstClient + MAX_ROWS)),
    functions: state.functions.reports(MAX_FUNCTIONS),
    waitingCounts: waitingCounts(state),
    objects: objects.size,
    objectBytes: objects.bytes,
  }
}

// How much the subscribers of the monitor address are told of tasks. They take everything that
// comes, and of millions of tasks a second there would be nobody to read it: above a rate some
// tasks are told of, each from its beginning to its end, and the others are not.
// docs/protocol.md#monitor

/** Messages per millisecond. */
const RATE = 2

/** So many may come at once after a pause. */
const BURST = 6_000

/** A task that ends as most do is told of so often. */
const STORY = 3

const UNFINISHED: ReadonlySet<TaskStatus> = new Set(['inactive', 'running', 'canceling'])

/** What may still be told. */
export class EventBudget {
  #left = BURST
  #at: InstantMs = 0

  /** Whether so much may be told now; it counts as told. */
  take(count: number, now: InstantMs): boolean {
    this.#left = Math.min(BURST, this.#left + (now - this.#at) * RATE)
    this.#at = now
    if (this.#left < count) return false
    this.#left -= count
    return true
  }

  /** Whether a step of a task is told: of those that were told of, each. */
  takeStep(task: TaskEntry, status: TaskStatus, now: InstantMs): boolean {
    if (task.extra?.isPublished === true) return true
    const isUnfinished = UNFINISHED.has(status)
    if (!this.take(isUnfinished ? STORY : 1, now)) return false
    if (isUnfinished) extraOf(task).isPublished = true
    return true
  }
}
