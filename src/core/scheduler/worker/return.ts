// Workers that reconnect with tasks that they had begun, or whose results they could not deliver:
// these tasks continue there where possible. docs/protocol.md#return

import { assert } from '../../../base/assert.js'
import type { TaskId } from '../../../base/ids.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { TaskPast, WorkerHeartbeat } from '../../../wire/message.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { catchUp } from '../task/extra.js'
import { giveTo, stopAt } from '../task/task.js'

// Tasks of returning workers that this scheduler does not know yet: it may be a new process, to
// which their clients have not reconnected. The worker holds a lease until the task is submitted
// again. docs/protocol.md#return

/** Duration of a lease. Clients reconnect within a second, but resubmit tasks more slowly. */
const LEASE_MS = 5000

/** Maximum number of leases that expire in one turn. */
const MAX_AT_ONCE = 2000

/** The leases of one worker. Invariant: `#holders` maps each id to the worker. */
interface Lease {
  readonly ids: Set<TaskId>
  until: InstantMs
}

/** A task that was submitted, and the worker that holds its lease. */
interface LeasedTask {
  readonly task: TaskEntry
  readonly worker: WorkerEntry
}

/** The leases of all workers. Uses about 100 bytes per id; the caller limits their number. */
export class Leases {
  readonly #state: SchedulerState
  readonly #expiry: Alarm
  readonly #holders = new Map<TaskId, WorkerEntry>()
  /** Of leased tasks that were started more than once. Invariant: each has a holder. */
  readonly #pasts = new Map<TaskId, TaskPast>()
  /** In order of expiry. Invariant: none is empty. */
  readonly #leases = new Map<WorkerEntry, Lease>()
  /** Submitted tasks that are to be assigned to their holders. */
  readonly #due: LeasedTask[] = []

  constructor(state: SchedulerState) {
    this.#state = state
    this.#expiry = state.turn.alarm(() => this.#expire())
  }

  /** The number of leased tasks that have not been submitted. */
  get size(): number {
    return this.#holders.size
  }

  /**
   * Leases an unknown task to a worker. If another one has it as well, the later attempt gets the
   * lease: returns the worker that must stop it.
   */
  add(worker: WorkerEntry, id: TaskId, past: TaskPast | undefined): WorkerEntry | undefined {
    const holder = this.#holders.get(id)
    const isLater = (past?.attempt ?? 0) > (this.#pasts.get(id)?.attempt ?? 0)
    if (holder === worker) return undefined
    if (holder !== undefined && !isLater) return worker
    if (holder !== undefined) this.#remove(holder, id)
    let lease = this.#leases.get(worker)
    if (lease === undefined) {
      lease = { ids: new Set(), until: this.#state.turn.now + LEASE_MS }
      this.#leases.set(worker, lease)
      this.#expiry.setBy(lease.until)
    }
    lease.ids.add(id)
    this.#holders.set(id, worker)
    if (past !== undefined) this.#pasts.set(id, past)
    return holder
  }

  has(id: TaskId): boolean {
    return this.#holders.has(id)
  }

  /** What its holder knows of a leased task; undefined: it was not started before. */
  pastOf(id: TaskId): TaskPast | undefined {
    return this.#pasts.get(id)
  }

  /** Ends the lease of a submitted task, and returns its holder. */
  take(id: TaskId): WorkerEntry | undefined {
    const worker = this.#holders.get(id)
    if (worker !== undefined) this.#remove(worker, id)
    return worker
  }

  /** Adds a queued task that is to be assigned to its holder. */
  put(leased: LeasedTask): void {
    this.#due.push(leased)
  }

  /** The next task that is to be assigned to its holder. */
  next(): LeasedTask | undefined {
    return this.#due.length === 0 ? undefined : this.#due.pop()
  }

  /** Removes a worker that has left. */
  forget(worker: WorkerEntry): void {
    for (const id of this.#leases.get(worker)?.ids ?? []) this.#remove(worker, id)
  }

  /** Throws if the table is inconsistent, or a worker in it has left. */
  checkInvariants(isThere: (worker: WorkerEntry) => boolean): void {
    let count = 0
    for (const [worker, { ids }] of this.#leases) {
      assert(ids.size > 0, 'an empty lease')
      assert(isThere(worker), 'a lease of a worker that has left')
      for (const id of ids) assert(this.#holders.get(id) === worker, 'a lease of two workers')
      count += ids.size
    }
    assert(count === this.#holders.size, 'a lease without a worker')
    for (const id of this.#pasts.keys()) assert(this.#holders.has(id), 'a past without a lease')
    assert(this.#due.length === 0, 'a leased task waits')
  }

  /** Stops leased tasks that were not submitted in time, a slice per turn. */
  #expire(): void {
    let left = MAX_AT_ONCE
    for (const [worker, { ids, until }] of this.#leases) {
      if (until > this.#state.turn.now) return this.#expiry.set(until)
      for (const id of ids) {
        if ((left -= 1) < 0) return this.#expiry.set(until)
        this.#remove(worker, id)
        stopAt(this.#state, worker, id)
      }
    }
  }

  #remove(worker: WorkerEntry, id: TaskId): void {
    const lease = this.#leases.get(worker)
    this.#holders.delete(id)
    this.#pasts.delete(id)
    lease?.ids.delete(id)
    if (lease?.ids.size === 0) this.#leases.delete(worker)
  }
}

/** Maximum number of tasks accepted from a returning worker. Its list is not verified. */
const MAX_TASKS = 100_000

/** A returning worker reports the tasks that it still has. */
export function onReturn(
  state: SchedulerState,
  worker: WorkerEntry,
  { tasks, pasts }: WorkerHeartbeat,
): void {
  state.turn.log('info', 'worker returned with tasks', {
    worker: worker.identity,
    tasks: tasks.length,
  })
  if (tasks.length > MAX_TASKS) {
    const fields = { worker: worker.identity, ignored: tasks.length - MAX_TASKS }
    state.turn.log('warn', 'ignored some tasks of a returning worker', fields)
  }
  const pastOf = new Map(pasts.map((past) => [past.taskId, past]))
  for (const id of tasks.slice(0, MAX_TASKS)) settle(state, worker, id, pastOf.get(id))
}

function settle(
  state: SchedulerState,
  worker: WorkerEntry,
  id: TaskId,
  past: TaskPast | undefined,
): void {
  const task = state.tasks.get(id)
  if (task === undefined) {
    const other = state.leases.add(worker, id, past)
    if (other !== undefined) stopAt(state, other, id)
    return
  }
  const isForIt = isFor(task, worker)
  if (isForIt || task.worker !== worker) catchUp(task, past)
  if (isForIt) {
    forgive(task, worker)
    giveTo(state, task, worker)
  } else if (task.worker !== worker) stopAt(state, worker, id)
}

function isFor(task: TaskEntry, worker: WorkerEntry): boolean {
  const isWaiting = task.state === 'inactive' && task.client?.hasLeft === false
  return isWaiting && task.runtime === worker.runtime
}

/** Uncounts the loss of a worker that has returned: the task was not the cause. */
function forgive(task: TaskEntry, worker: WorkerEntry): void {
  const { extra } = task
  if (extra?.lostWith !== worker.identity) return
  extra.lostWith = undefined
  extra.deaths -= 1
}
