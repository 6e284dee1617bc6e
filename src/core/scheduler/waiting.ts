// Why tasks wait, and for how long that has been the reason: clients are told in echoes, the log
// has a line. docs/protocol.md#waiting

import type { InstantMs } from '../../base/machine.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type { WaitingTasks } from '../../wire/message.js'
import { waitReasonOf } from '../../wire/wait-reason.js'
import type { ClientEntry, Runtime } from './entries.js'
import type { SchedulerCoreOptions } from './options.js'
import type { Output } from './output.js'
import type { WorkerPool } from './worker-pool.js'

/** So long tasks wait for a worker that could run them before the log says so. */
const PATIENCE_MS = 5_000

/** Between two lines of the log about the same. */
const LINE_INTERVAL_MS = 60_000

/** Clients are told once so large a share of what may be held is free, not of each task. */
const FREE_SHARE = 8

const NONE: readonly WaitingTasks[] = []
const MAX_MS = 2 ** 32 - 1

/** What this needs to know of the scheduler. */
interface Circumstances {
  readonly options: SchedulerCoreOptions
  readonly pools: Readonly<Record<Runtime, WorkerPool>>
  readonly output: Output
  readonly now: InstantMs
}

/** How many tasks there is room for before clients that hold tasks back are told. */
export function leastRoom({ options }: Circumstances, pool: WorkerPool): number {
  const capacity = options.maxNumberOfTasksWaiting + pool.capacity
  return Math.max(1, Math.floor(capacity / FREE_SHARE))
}

/** Something that lasts for a while, of which the log tells once. */
class Spell {
  /** Undefined: it is not so. */
  since: InstantMs | undefined
  #isTold = false
  #toldAt: InstantMs | undefined

  /** Whether it is so now. */
  update(isSo: boolean, now: InstantMs): void {
    if (isSo) this.since ??= now
    else {
      this.since = undefined
      this.#isTold = false
    }
  }

  /** Whether a line is due; it counts as written. */
  isDue(now: InstantMs, patienceMs: number): boolean {
    if (this.since === undefined || this.#isTold || now - this.since < patienceMs) return false
    if (this.#toldAt !== undefined && now - this.#toldAt < LINE_INTERVAL_MS) return false
    this.#isTold = true
    this.#toldAt = now
    return true
  }
}

/** What is known of waiting. */
export class Waiting {
  /** Clients that hold tasks back until they are told that there is room, for the longest first. */
  readonly holdingBack: Set<ClientEntry> = new Set()
  readonly #unserved: Readonly<Record<Runtime, Spell>> = {
    javascript: new Spell(),
    python: new Spell(),
  }
  readonly #full: Readonly<Record<Runtime, Spell>> = {
    javascript: new Spell(),
    python: new Spell(),
  }

  /** Something may have changed. Called after each event. */
  update(state: Circumstances): void {
    this.#updateRuntime(state, 'javascript')
    this.#updateRuntime(state, 'python')
  }

  /** There was no room for a task. */
  noteFull(state: Circumstances, runtime: Runtime): void {
    const spell = this.#full[runtime]
    spell.update(true, state.now)
    if (!spell.isDue(state.now, 0)) return
    const { maxNumberOfTasksWaiting: limit } = state.options
    const fields = { reason: 'limit', limit, runtime, tasks: state.pools[runtime].waiting }
    state.output.log('warn', 'the queue is full: no further tasks are taken for now', fields)
  }

  /** Writes to the log what has lasted for too long. Called now and then. */
  tell(state: Circumstances): void {
    for (const runtime of ['javascript', 'python'] as const) {
      const tasks = state.pools[runtime].waiting
      if (tasks === 0 || !this.#unserved[runtime].isDue(state.now, PATIENCE_MS)) continue
      const fields = { reason: reasonFor(state, runtime), runtime, tasks }
      state.output.log('warn', 'tasks wait: no connected worker can run them', fields)
    }
  }

  /** Why tasks of a client wait in the scheduler, if any do, or are held back for want of room. */
  of(state: Circumstances, client: ClientEntry): readonly WaitingTasks[] {
    const { runtime } = client
    const tasks = state.pools[runtime].waitingOf(client)
    if (tasks === 0 && !this.holdingBack.has(client)) return NONE
    const reason = reasonFor(state, runtime)
    if (tasks === 0 && reason === 'all-busy') return NONE
    const since = this.#unserved[runtime].since ?? state.now
    const forMS = Math.min(Math.floor(state.now - since), MAX_MS)
    return [{ reason: waitReasonOf(reason), tasks, forMS }]
  }

  #updateRuntime(state: Circumstances, runtime: Runtime): void {
    const pool = state.pools[runtime]
    const [unserved, full] = [this.#unserved[runtime], this.#full[runtime]]
    if (pool.workerCount === 0 || unserved.since !== undefined) {
      unserved.update(pool.waiting > 0 && pool.workerCount === 0, state.now)
    }
    if (full.since === undefined) return
    const free = state.options.maxNumberOfTasksWaiting - pool.overflow
    if (free >= leastRoom(state, pool)) full.update(false, state.now)
  }
}

/** Why tasks for a runtime wait that wait in the scheduler. */
function reasonFor({ pools }: Circumstances, runtime: Runtime): WaitingReason {
  if (pools[runtime].workerCount > 0) return 'all-busy'
  const other = runtime === 'javascript' ? pools.python : pools.javascript
  return other.workerCount > 0 ? 'no-runtime' : 'no-worker'
}
