// The scheduler's report about itself for a client that requests it (docs/protocol.md#report), and
// what it counts for this and for monitors.

import { identity, type Identity, type TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type {
  ClientHeartbeat,
  ClientReport,
  EndedCount,
  FunctionReport,
  MonitorState,
  PeerInfo,
  Resource,
  RunningTask,
  StorageServerStatus,
  TaskStatus,
  WorkerReport,
} from '../../../wire/message.js'
import { spokenName } from '../../../wire/object-content.js'
import {
  countTask,
  countTasks,
  emptyTally,
  functionReports,
  type RunCosts,
  type TaskCost,
} from '../../function-tally.js'
import type {
  ClientEntry,
  FunctionCounts,
  FunctionTotals,
  ObjectEntry,
  Runtime,
  TaskEntry,
  WorkerEntry,
} from '../entries.js'
import type { CoreReport } from '../events.js'
import { unfinishedOf } from '../graph/work.js'
import { binderStatus, workerStatus } from '../publication.js'
import type { SchedulerState } from '../state.js'
import { titleOf } from '../task/extra.js'
import type { FirstRows } from './monitors.js'
import { isPythonScaler, presumedRunning } from './python-worker.js'
import { waitingCounts } from './waiting.js'

/** Maximum number of workers, and of clients, listed one by one. */
export const MAX_ROWS = 1_000
/** The same for one state of a monitor, so that it costs a few milliseconds. */
const STATE_ROWS = 250

/** Limits for data from peers, which must not make a report too long. Ours send less. */
const MOST = { characters: 256, capabilities: 64, running: 32 } as const

/** 32 bits. */
const MAX_MS = 2 ** 32 - 1

const NO_PEER: Identity = identity('')

/** The report for a client. */
export function reportFor(
  state: SchedulerState,
  runtime: Runtime,
  { wantsPeers }: Pick<ClientHeartbeat, 'wantsPeers'>,
): CoreReport {
  const workers = [...state.workers.values()]
  const suitable = workers.filter((worker) => worker.runtime === runtime && !worker.isLeaving)
  const idle = suitable.filter((worker) => worker.assigned.size === 0)
  const clients = [...state.clients.values()].filter(({ isVisitor }) => !isVisitor)
  const rows = wantsPeers ? MAX_ROWS : 0
  return {
    workers: workers.length,
    suitable: suitable.length,
    idle: idle.length,
    clients: clients.length,
    workerReports: workerRows(state, workers.slice(0, rows)),
    clientReports: clientRows(clients.slice(0, rows)),
    waiting: wantsPeers ? waitingCounts(state) : [],
    freeBytes: state.options.isStorage === true ? freeBytesOf(state) : 0,
  }
}

/** 0 would mean that it is not known. */
function freeBytesOf({ objects }: SchedulerState): number {
  const bytes = objects.limitBytes - objects.bytes
  return Math.min(Math.max(1, bytes), Number.MAX_SAFE_INTEGER)
}

/** The reports about workers; the shell adds their addresses. */
export function workerRows(
  state: SchedulerState,
  workers: readonly WorkerEntry[],
): readonly WorkerReport[] {
  return workers.map((worker) => workerReport(state, worker))
}

/** The reports about clients. */
export function clientRows(clients: readonly ClientEntry[]): readonly ClientReport[] {
  return clients.map(clientReport)
}

function workerReport(state: SchedulerState, worker: WorkerEntry): WorkerReport {
  const { heartbeat, info, isLeaving } = worker
  const { runtime, agentId, capabilities } = heartbeat
  return {
    worker: workerStatus(state, worker),
    runtime: clipped(runtime),
    agentId: clipped(agentId),
    capabilities: capabilities.slice(0, MOST.capabilities).map(({ name, value }) => {
      return { name: clipped(name), value }
    }),
    isLeaving,
    info: info === undefined ? [] : [info],
    running: runningOf(state, worker),
    address: '',
  }
}

/** The running tasks from its last heartbeat that have not finished since. */
function runningOf(state: SchedulerState, worker: WorkerEntry): readonly RunningTask[] {
  const { turn, tasks } = state
  if (isPythonScaler(worker)) {
    const running = presumedRunning(worker).slice(0, MOST.running)
    return running.map((task) => runningTask(task, turn.now - task.changedAt))
  }
  const sinceMs = turn.now - worker.lastHeartbeat
  return worker.heartbeat.running.slice(0, MOST.running).flatMap(({ taskId, forMS }) => {
    const task = tasks.peek(taskId)
    return task?.worker === worker ? [runningTask(task, forMS + sinceMs, taskId)] : []
  })
}

function runningTask(task: TaskEntry, forMs: number, taskId: TaskId = task.id): RunningTask {
  const fn = clipped(titleOf('', task.function))
  const name = clipped(task.extra?.name || fn)
  return { taskId, forMS: Math.min(Math.floor(forMs), MAX_MS), name, function: fn }
}

function clientReport({ identity: client, ...entry }: ClientEntry): ClientReport {
  return {
    client,
    runtime: clipped(entry.runtimeText),
    info: entry.info === undefined ? [] : [entry.info],
    tasks: unfinishedOf(entry),
    worker: entry.host?.identity ?? NO_PEER,
    objectBytes: entry.objectBytes,
  }
}

/** The part of a peer's information that is kept; undefined if it sends none. */
export function keptInfo([info]: readonly PeerInfo[]): PeerInfo | undefined {
  if (info === undefined) return undefined
  const { name, host, machineId, version, allocation } = info
  return {
    ...info,
    name: clipped(name),
    host: clipped(host),
    machineId: clipped(machineId),
    version: clipped(version),
    allocation: clipped(allocation),
  }
}

function clipped(text: string): string {
  return text.slice(0, MOST.characters)
}

// Counters by function name: shown by monitors, and used to count waiting tasks.

/** Maximum number of names that are counted separately. */
const MAX_NAMES = 1_000

/** The name for all others: no function can have it. */
const OTHERS = '(others)'

// Metrics list functions on their own until the scheduler ends: neither their counters nor the one
// for all others ever decrease. The first functions are listed immediately. A later one is listed
// once it is busy; what it counted before stays with the others.

/** The number of functions that are listed immediately. */
const FIRST_LISTED = 50

/** Maximum number of functions that are listed. */
const MAX_LISTED = 200

/** A busy function has this many times the tasks of the 50th busiest one that is listed. */
const BUSY_FACTOR = 2

/** The minimum of finished tasks of a busy function. */
const BUSY_TASKS = 100

/** Longer names are truncated. */
const MAX_NAME_BYTES = 256

/** The functions of all tasks since the start. */
export class FunctionTable {
  readonly #byName = new Map<string, FunctionCounts>()
  readonly #listed: FunctionCounts[] = []
  /** Functions with more finished tasks than this may be busy; it can only be too low. */
  #leastBusy = BUSY_TASKS

  /** The counters for a function. */
  of(fn: ObjectEntry | undefined): FunctionCounts {
    if (fn === undefined) return this.#named('')
    return (fn.counts ??= this.#named(spokenName(fn.name, MAX_NAME_BYTES)))
  }

  /** Counts a finished task. `cost`: its profile, if its worker measured it. */
  count(fn: ObjectEntry | undefined, status: TaskStatus, cost: TaskCost | undefined): void {
    const counts = this.of(fn)
    countTask(counts, status, cost)
    this.#listIfBusy(counts)
  }

  /** Counts `tasks` finished tasks. `costs`: their profiles, likewise. */
  countAll(
    fn: ObjectEntry | undefined,
    status: TaskStatus,
    tasks: number,
    costs: RunCosts | undefined,
  ): void {
    const counts = this.of(fn)
    countTasks(counts, status, tasks, costs)
    this.#listIfBusy(counts)
  }

  /** At most `most` functions, those with the most finished tasks first. */
  reports(most: number): readonly FunctionReport[] {
    return functionReports(this.#byName.values(), most)
  }

  /** All functions, in the order in which they were first used. */
  all(): Iterable<FunctionCounts> {
    return this.#byName.values()
  }

  #named(name: string): FunctionCounts {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    if (this.#byName.size >= MAX_NAMES && name !== OTHERS) return this.#named(OTHERS)
    const counts: FunctionCounts = { ...emptyTally(name), before: undefined }
    this.#byName.set(name, counts)
    if (this.#listed.length < FIRST_LISTED) this.#list(counts)
    return counts
  }

  #listIfBusy(counts: FunctionCounts): void {
    if (counts.before !== undefined || counts.ended <= this.#leastBusy) return
    if (counts.name === OTHERS || this.#listed.length >= MAX_LISTED) return
    const most = this.#listed.map(({ ended }) => ended).toSorted((a, b) => b - a)
    this.#leastBusy = Math.max(BUSY_TASKS, BUSY_FACTOR * (most[FIRST_LISTED - 1] ?? 0))
    if (counts.ended > this.#leastBusy) this.#list(counts)
  }

  #list(counts: FunctionCounts): void {
    counts.before = totalsOf(counts)
    this.#listed.push(counts)
  }
}

/** The totals of a function so far. */
export function totalsOf({ ended, failed, durations }: FunctionCounts): FunctionTotals {
  return { ended, failed, measured: durations?.count ?? 0, totalMs: durations?.sum ?? 0 }
}

// The state of everything, sent to monitors of this version once a second. If there are many
// workers and clients, each message lists some of them in turn. docs/protocol.md#monitors

const MAX_FUNCTIONS = 200
const MAX_SERVERS = 100

/** The resource usage of the scheduler process. */
interface OwnUse {
  readonly scheduler: Resource
  readonly rssFree: number
  readonly turnP99Ms: number
  readonly storageServers?: readonly StorageServerStatus[]
}

/** How many tasks there have been. */
interface Totals {
  readonly submitted: number
  readonly ended: number
  readonly failed: number
}

/** How fast tasks come and go, per second. Sampled once a second. */
export class TaskRates {
  #at: InstantMs | undefined
  #totals: Totals = { submitted: 0, ended: 0, failed: 0 }
  #perSecond: Totals = { submitted: 0, ended: 0, failed: 0 }

  /** Between the last two samples; 0 before the second. */
  get perSecond(): Totals {
    return this.#perSecond
  }

  /** Counts are derived from the tables, so that no task costs anything. */
  sample(state: SchedulerState): void {
    const totals = taskTotalsOf(state)
    const seconds = this.#at === undefined ? 0 : (state.turn.now - this.#at) / 1_000
    const before = this.#totals
    const rate = (key: keyof Totals): number => {
      return seconds === 0 ? 0 : Math.max(0, totals[key] - before[key]) / seconds
    }
    this.#perSecond = { submitted: rate('submitted'), ended: rate('ended'), failed: rate('failed') }
    this.#at = state.turn.now
    this.#totals = totals
  }
}

function taskTotalsOf({ ended, tasks, graphWork }: SchedulerState): Totals {
  let allEnded = 0
  for (const count of ended.values()) allEnded += count
  const failed = (ended.get('failed') ?? 0) + (ended.get('workerDied') ?? 0)
  return { submitted: allEnded + tasks.size + graphWork.unstarted, ended: allEnded, failed }
}

/** The state for a monitor. Takes at most a few milliseconds, whatever its size. */
export function stateFor(
  state: SchedulerState,
  { scheduler, rssFree, turnP99Ms, storageServers = [] }: OwnUse,
  first: FirstRows,
): MonitorState {
  const { workers, objects, graphWork } = state
  const clients = [...state.clients.values()].filter(({ isVisitor }) => !isVisitor)
  const firstWorker = first.firstWorker < workers.size ? first.firstWorker : 0
  const firstClient = first.firstClient < clients.length ? first.firstClient : 0
  let running = 0
  for (const { taskCount } of workers.values()) running += taskCount
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
      [...workers.values()].slice(firstWorker, firstWorker + STATE_ROWS),
    ),
    clients: clients.length,
    firstClient,
    clientReports: clientRows(clients.slice(firstClient, firstClient + STATE_ROWS)),
    functions: state.functions.reports(MAX_FUNCTIONS),
    waitingCounts: waitingCounts(state),
    objects: objects.count,
    objectBytes: objects.bytes,
    objectLimitBytes: objects.limitBytes === Infinity ? 0 : objects.limitBytes,
    objectDiskBytes: objects.diskBytes,
    objectsRefused: Math.min(objects.refusedCount, 2 ** 32 - 1),
    diskError: objects.diskError,
    uptimeMS: state.uptimeMs,
    submittedPerS: state.rates.perSecond.submitted,
    endedPerS: state.rates.perSecond.ended,
    failedPerS: state.rates.perSecond.failed,
    turnP99MS: turnP99Ms,
    binder: binderStatus(state),
    ...state.losses.report(),
    graphCount: graphWork.graphs.size,
    graphs: [],
    allocators: state.allocators.all,
    storageServers: storageServers.slice(0, MAX_SERVERS),
  }
}
