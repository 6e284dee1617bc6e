// All tables of the scheduler. The handlers (client/peer.ts, worker/peer.ts, task/task.ts,
// object/object.ts) change them; the machine (scheduler-machine.ts) calls the handlers.

import { assert } from '../../base/assert.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { Histogram } from '../../base/histogram.js'
import { Lifecycle } from '../../base/lifecycle.js'
import type { LogFields } from '../../base/logger.js'
import { type InstantMs, Turn } from '../../base/machine.js'
import { Recurrence } from '../../base/recurrence.js'
import type { Message, TaskStatus } from '../../wire/message.js'
import { Leases } from './worker/return.js'
import type { ClientEntry, GraphFact, Runtime, TaskEntry, WorkerEntry } from './entries.js'
import { EarlyResults } from './graph/outcome.js'
import { EventBudget } from './publication.js'
import { Allocators } from './monitor/allocators.js'
import { Monitors } from './monitor/monitors.js'
import { Losses } from './monitor/losses.js'
import { Operators } from './monitor/operators.js'
import { checkFamily, OwnerlessTasks } from './task/family.js'
import { checkLinks } from './task/links.js'
import { taskDurations } from '../function-tally.js'
import { TaskTable } from '../task-table.js'
import { FunctionTable, TaskRates } from './monitor/report.js'
import { GraphWork } from './graph/work.js'
import { largestOwners } from './object/refusal.js'
import { SharedObjects } from './object/shared.js'
import { NO_LIMITS } from './object/room.js'
import { ObjectTable } from './object/table.js'
import type { Act, SchedulerAction, SchedulerCoreOptions } from './events.js'
import { Output } from './output.js'
import { Nearness } from './worker/nearness.js'
import { Requirements, Supplies } from './worker/capabilities.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './task/state.js'
import { cutTask } from './task/run.js'
import { cancelOwnerless } from './task/task.js'
import { Waiting } from './monitor/waiting.js'
import { checkLoad } from './worker/load.js'
import { WorkerPool } from './worker/pool.js'

/** Minimum interval between log lines about one kind of wrong messages. */
const FAULT_INTERVAL_MS = 60_000

/**
 * How long after its start a scheduler waits for workers to return with their tasks. They try to
 * reconnect once a second, and may be late on a busy machine.
 */
const NEW_MS = 1500

/** A scheduler that did nothing for this long may find that peers have closed their connections. */
const STANDSTILL_MS = 4000

/** The whole state of one scheduler. */
export class SchedulerState {
  readonly options: SchedulerCoreOptions
  /** Alarms that are due at the same time ring in the order in which the parts are created. */
  readonly turn: Turn<SchedulerAction> = new Turn()
  readonly output: Output = new Output(this.turn)
  readonly lifecycle: Lifecycle<TaskState, TaskCause> = new Lifecycle(TASK_TRANSITIONS)
  readonly clients: Map<Identity, ClientEntry> = new Map()
  /** In order of registration. */
  readonly workers: Map<Identity, WorkerEntry> = new Map()
  readonly tasks: TaskTable<TaskEntry> = new TaskTable((task, count) => this.#cut(task, count))
  readonly ownerless: OwnerlessTasks
  readonly graphWork: GraphWork
  readonly earlyResults: EarlyResults
  readonly leases: Leases
  readonly objects: ObjectTable
  /** New objects that were lost; they may be results that no worker has reported yet. */
  readonly lostEarly: Set<ObjectId> = new Set()
  readonly shared: SharedObjects
  readonly pools: Readonly<Record<Runtime, WorkerPool>>
  /** Empty between events. */
  readonly graphFacts: GraphFact[] = []
  readonly waiting: Waiting
  readonly monitors: Monitors
  readonly operators: Operators
  readonly allocators: Allocators
  readonly losses: Losses = new Losses(this)
  /** Limits the task events that are sent to subscribers. */
  readonly eventBudget: EventBudget = new EventBudget(this.turn)
  readonly requirements: Requirements = new Requirements()
  readonly supplies: Supplies = new Supplies()
  readonly nearness: Nearness = new Nearness()
  readonly functions: FunctionTable = new FunctionTable()
  readonly rates: TaskRates = new TaskRates()
  /** Messages per kind since the start. */
  readonly received: Map<Message['kind'], number> = new Map()
  /** Tasks that ended, per status, since the start. */
  readonly ended: Map<TaskStatus, number> = new Map()
  /** How long tasks were queued before each assignment to a worker, in milliseconds. */
  readonly queueTimes: Histogram = taskDurations()
  /** What clients of 1.9.9 that were given up waited for; the last of them comes last. */
  readonly givenUp: Map<Identity, readonly TaskId[]> = new Map()
  nextWorkerSequence = 0
  /** The JavaScript workers that could not read a run. */
  readonly runless: Set<WorkerEntry> = new Set()
  /** By the text of the log. */
  readonly #faults = new Map<string, Recurrence>()
  #startedAt: InstantMs | undefined
  #returnsUntil: InstantMs = -Infinity

  constructor(options: SchedulerCoreOptions) {
    const { turn } = this
    const { perWorkerQueueSize } = options
    this.options = options
    this.ownerless = new OwnerlessTasks(turn, (child) => cancelOwnerless(this, child))
    this.graphWork = new GraphWork(turn, options.schedulerId, options.graphStepsPerTurn)
    this.earlyResults = new EarlyResults(this)
    this.leases = new Leases(this)
    this.objects = new ObjectTable(turn, {
      retentionMs: options.objectRetentionMs ?? 0,
      sharedRetentionMs: options.sharedRetentionMs ?? 0,
      limits: options.storage ?? NO_LIMITS,
      owners: () => largestOwners(this.clients.values()),
    })
    this.shared = new SharedObjects(this)
    this.pools = {
      javascript: new WorkerPool(turn, perWorkerQueueSize, this.nearness),
      python: new WorkerPool(turn, perWorkerQueueSize, this.nearness),
    }
    this.waiting = new Waiting(this)
    this.monitors = new Monitors(this)
    this.operators = new Operators(this)
    this.allocators = new Allocators(this)
  }

  /** How many tasks wait for a worker. */
  get waitingCount(): number {
    return this.pools.javascript.waiting + this.pools.python.waiting
  }

  /** For how long the scheduler has run. */
  get uptimeMs(): number {
    return this.turn.now - (this.#startedAt ?? this.turn.now)
  }

  /** When the workers of the previous scheduler, if there was one, should have reconnected. */
  get settledAt(): InstantMs {
    return (this.#startedAt ?? this.turn.now) + NEW_MS
  }

  /**
   * When workers should have reconnected that closed their connections because this scheduler stood
   * still; undefined if it did not, or that time is over.
   */
  get returnsUntil(): InstantMs | undefined {
    return this.#returnsUntil > this.turn.now ? this.#returnsUntil : undefined
  }

  /** Something is handled `latenessMs` after it was due. */
  noteLateness(latenessMs: number): void {
    if (latenessMs >= STANDSTILL_MS) this.#returnsUntil = this.turn.now + NEW_MS
  }

  /** Begins an event; the first one is the start of the scheduler. */
  begin(now: InstantMs, act: Act): void {
    this.turn.begin(now, act)
    this.#startedAt ??= now
  }

  /** A peer has sent what none should: each kind is logged at once, then once a minute. */
  blame(text: string, fields: LogFields): void {
    const known = this.#faults.get(text)
    const recurrence = known ?? new Recurrence(FAULT_INTERVAL_MS)
    if (known === undefined) this.#faults.set(text, recurrence)
    const messages = recurrence.note(this.turn.now)
    if (messages === 0) return
    this.turn.log('warn', text, messages === 1 ? fields : { ...fields, messages })
  }

  #cut(task: TaskEntry, count: number): TaskEntry {
    const rest = cutTask(task, count)
    if (task.worker !== undefined) this.pools[task.runtime].onCut(task.worker)
    return rest
  }

  /** Throws if the tables disagree. `isAssigning`: not all tasks have been assigned yet. */
  checkInvariants(isAssigning: boolean): void {
    this.turn.checkInvariants()
    assert(this.graphFacts.length === 0, 'a graph was not notified')
    this.pools.javascript.checkInvariants(isAssigning)
    this.pools.python.checkInvariants(isAssigning)
    this.objects.checkInvariants()
    this.shared.checkInvariants()
    this.leases.checkInvariants((worker) => this.workers.get(worker.identity) === worker)
    this.graphWork.checkInvariants()
    this.supplies.checkInvariants()
    this.nearness.checkInvariants((worker) => this.workers.get(worker.identity) === worker)
    this.tasks.checkInvariants()
    let inactive = 0
    const unfinished = new Map<ClientEntry, number>()
    for (const task of this.tasks.values()) {
      if (task.state === 'inactive' && task.client?.hasLeft !== true) inactive += task.count
      assert(task.place !== undefined, 'a task is in no queue')
      assert((task.state === 'inactive') === (task.worker === undefined), 'state without worker')
      if (task.worker !== undefined)
        assert(task.place.queue === task.worker.assigned, 'a worker forgot a task')
      checkFamily(task, this.tasks)
      const { client } = task
      if (client === undefined) assert(task.state === 'canceling', 'a task without a client')
      else unfinished.set(client, (unfinished.get(client) ?? 0) + task.count)
    }
    assert(inactive === this.waitingCount, 'the queues and the task table differ')
    for (const client of this.clients.values()) {
      assert(client.taskCount === (unfinished.get(client) ?? 0), 'a client miscounts its tasks')
      const { host, allowance } = client
      const isHoldingBack = this.waiting.holdingBack.has(client)
      assert((allowance === 0) === isHoldingBack, 'a client that waits for room is not listed')
      assert(
        host === undefined || host.nestedClients?.has(client) === true,
        'a nested client without its host',
      )
    }
    for (const client of this.waiting.holdingBack) {
      assert(this.clients.get(client.identity) === client, 'a client that has left waits for room')
    }
    const workers = [...this.workers.values()]
    for (const runtime of ['javascript', 'python'] as const) {
      this.pools[runtime].checkCounts(workers.filter((worker) => worker.runtime === runtime))
    }
    for (const worker of workers) {
      for (const task of worker.assigned) assert(task.worker === worker, 'a task of two workers')
      checkLoad(worker)
      checkLinks(worker)
      for (const client of worker.nestedClients ?? []) {
        assert(client.host === worker, 'a nested client of two hosts')
        assert(this.clients.get(client.identity) === client, 'a nested client that has left')
      }
    }
  }
}

/** The runtime for a heartbeat's `runtime` text; peers that send none are Python. */
export function runtimeFamily(runtime: string): Runtime {
  return runtime === '' ? 'python' : 'javascript'
}
