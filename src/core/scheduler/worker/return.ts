// Workers that come back after a lost connection with tasks that they have begun, or whose results
// they could not deliver: what can go on there does. docs/protocol.md#return

import { assert } from '../../../base/assert.js'
import type { TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { giveTo, stopAt } from '../task/task.js'

// Tasks that workers have brought along from before a lost connection, and that this scheduler does
// not know (yet): it may be a new process, whose clients are still on their way.
// docs/protocol.md#return

/** How long a claim is kept. Clients are back within a second; their tasks take a while. */
const CLAIM_MS = 5000

/** What one worker claims. Invariant: each id leads back to the worker. */
interface Claim {
  readonly ids: Set<TaskId>
  until: InstantMs
}

/** A task that has come, and the worker that has claimed it. */
interface Claimed {
  readonly task: TaskEntry
  readonly worker: WorkerEntry
}

/** Who claims what. Memory: some 100 bytes for each id, of which the caller bounds the number. */
export class Claims {
  readonly #claimants = new Map<TaskId, WorkerEntry>()
  /** In the order in which they end. Invariant: none is empty. */
  readonly #claims = new Map<WorkerEntry, Claim>()
  /** Tasks that were claimed and are to be given to their claimants. */
  readonly #due: Claimed[] = []

  /** How many tasks are claimed that have not come. */
  get size(): number {
    return this.#claimants.size
  }

  /** When `expire` must be called next. */
  get deadline(): InstantMs | undefined {
    if (this.#claims.size === 0) return undefined
    const [claim] = this.#claims.values()
    return claim?.until
  }

  /** Notes that a worker has a task that nobody knows. False: another claims the same. */
  add(worker: WorkerEntry, id: TaskId, now: InstantMs): boolean {
    const claimant = this.#claimants.get(id)
    if (claimant !== undefined) return claimant === worker
    let claim = this.#claims.get(worker)
    if (claim === undefined) {
      claim = { ids: new Set(), until: now + CLAIM_MS }
      this.#claims.set(worker, claim)
    }
    claim.ids.add(id)
    this.#claimants.set(id, worker)
    return true
  }

  has(id: TaskId): boolean {
    return this.#claimants.has(id)
  }

  /** A task has come: the worker that claims it claims it no longer. */
  take(id: TaskId): WorkerEntry | undefined {
    const worker = this.#claimants.get(id)
    if (worker !== undefined) this.#remove(worker, id)
    return worker
  }

  /** A task that was claimed is in the queue: it is to be given to its claimant. */
  put(claimed: Claimed): void {
    this.#due.push(claimed)
  }

  /** The next task that is to be given to its claimant. */
  next(): Claimed | undefined {
    return this.#due.length === 0 ? undefined : this.#due.pop()
  }

  /** A worker has gone. */
  forget(worker: WorkerEntry): void {
    for (const id of this.#claims.get(worker)?.ids ?? []) this.#claimants.delete(id)
    this.#claims.delete(worker)
  }

  /** Takes up to `most` claims that have lasted too long, and hands them to `end`. */
  expire(now: InstantMs, most: number, end: (worker: WorkerEntry, id: TaskId) => void): void {
    let left = most
    for (const [worker, { ids, until }] of this.#claims) {
      if (until > now) return
      for (const id of ids) {
        if ((left -= 1) < 0) return
        this.#remove(worker, id)
        end(worker, id)
      }
    }
  }

  /** Throws if the table disagrees with itself, or a worker in it has gone. */
  checkInvariants(isThere: (worker: WorkerEntry) => boolean): void {
    let count = 0
    for (const [worker, { ids }] of this.#claims) {
      assert(ids.size > 0, 'an empty claim')
      assert(isThere(worker), 'a claim of a worker that has gone')
      for (const id of ids) assert(this.#claimants.get(id) === worker, 'a claim of two workers')
      count += ids.size
    }
    assert(count === this.#claimants.size, 'a claim without a worker')
    assert(this.#due.length === 0, 'a claimed task waits')
  }

  #remove(worker: WorkerEntry, id: TaskId): void {
    const claim = this.#claims.get(worker)
    this.#claimants.delete(id)
    claim?.ids.delete(id)
    if (claim?.ids.size === 0) this.#claims.delete(worker)
  }
}

/** So many tasks a worker may bring along: it is only believed, not checked. */
const MAX_TASKS = 100_000

/** Most claims that end in one turn. */
const MAX_AT_ONCE = 2000

/** A worker says what it still has. */
export function onReturn(
  state: SchedulerState,
  worker: WorkerEntry,
  tasks: readonly TaskId[],
): void {
  state.output.log('info', 'worker came back with tasks', {
    worker: worker.identity,
    tasks: tasks.length,
  })
  if (tasks.length > MAX_TASKS) {
    const fields = { worker: worker.identity, ignored: tasks.length - MAX_TASKS }
    state.output.log('warn', 'ignored some of the tasks that a worker came back with', fields)
  }
  for (const id of tasks.slice(0, MAX_TASKS)) settle(state, worker, id)
}

/** What nobody has come for ends, a part of it at a time. */
export function expireClaims(state: SchedulerState): void {
  state.claims.expire(state.now, MAX_AT_ONCE, (worker, id) => stopAt(state, worker, id))
}

function settle(state: SchedulerState, worker: WorkerEntry, id: TaskId): void {
  const task = state.tasks.get(id)
  if (task === undefined) {
    if (!state.claims.add(worker, id, state.now)) stopAt(state, worker, id)
  } else if (isFor(task, worker)) {
    forgive(task, worker)
    giveTo(state, task, worker)
  } else if (task.worker !== worker) stopAt(state, worker, id)
}

function isFor(task: TaskEntry, worker: WorkerEntry): boolean {
  const isWaiting = task.state === 'inactive' && task.client?.hasLeft === false
  return isWaiting && task.runtime === worker.runtime
}

/** The worker that was lost with the task was not lost because of it. */
function forgive(task: TaskEntry, worker: WorkerEntry): void {
  const { extra } = task
  if (extra?.lostWith !== worker.identity) return
  extra.lostWith = undefined
  extra.deaths -= 1
}
