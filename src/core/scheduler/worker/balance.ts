// Takes tasks back from workers that are stuck with them while others idle. A worker holds little
// (pool.ts), but what was thought to be short may be long, a parent may go on where others
// had come in its place, and 1.9.9 workers hold many nested tasks. docs/protocol.md#balance
//
// A worker is asked, never forced: what it has begun stays. What it runs counts as long from then
// on: nothing goes back to it, and more of the same goes one by one to workers that have nothing.
// So a task moves again only when a worker is found stuck anew. What a worker did not give back it
// is asked for again some times later, and only when it has nothing else to give: its processor may
// have ended since, and what had begun waits again.

import { earliest, type InstantMs } from '../../../base/machine.js'
import type { Runtime, TaskEntry, TaskExtra, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { extraOf } from '../task/extra.js'
import { activeCount } from './load.js'
import type { WorkerPool } from './pool.js'

/** Most tasks that are asked for in one turn. */
const MAX_AT_ONCE = 1000

/** At most so many tasks of a worker are looked at, beyond those that are asked for. */
const MAX_LOOKS = 1000

/** A task that was not given back is asked for again after so many of the usual times. */
const DEFAULT_TRIGGER_TIMES = 2

/** Where a look has led to something, the next one is due after this part of the usual time. */
const EAGERNESS = 10

/** What one look at the workers of a runtime has found. */
export interface Survey {
  /** Workers that may get tasks. */
  count: number
  idleCount: number
  /** Tasks that are not the first of their worker, and were not asked for. */
  queuedCount: number
  /** Those that have too many, in order of registration. */
  readonly givers: WorkerEntry[]
  /** When the next one will have. */
  nextAt: InstantMs | undefined
}

/** Decides when to look for stuck workers: not at each event, but without delay where it counts. */
export class Balancer {
  #lookAt: InstantMs | undefined
  #notBefore: InstantMs = -Infinity

  /** When the next event must have come. */
  get deadline(): InstantMs | undefined {
    return this.#lookAt
  }

  /** To be called after each event, once all that can be given out was. */
  update(state: SchedulerState): void {
    const { now, options, pools } = state
    const { loadBalanceMs } = options
    if (this.#lookAt !== undefined && now >= this.#lookAt) this.#look(state, loadBalanceMs)
    else if (this.#lookAt === undefined && loadBalanceMs > 0) {
      const isLopsided = pools.javascript.isLopsided || pools.python.isLopsided
      if (isLopsided) this.#lookAt = Math.max(now, this.#notBefore)
    }
  }

  #look(state: SchedulerState, loadBalanceMs: number): void {
    const { now } = state
    let asked = 0
    let nextAt: InstantMs | undefined
    for (const runtime of ['javascript', 'python'] as const) {
      if (!state.pools[runtime].isLopsided) continue
      const survey = surveyOf(state, runtime)
      asked += askBack(state, survey)
      // What those have that gave nothing, they may be asked for again.
      const againAt = survey.givers.length > 0 ? now + loadBalanceMs : undefined
      nextAt = earliest(nextAt, earliest(survey.nextAt, againAt))
    }
    this.#notBefore = now + (asked > 0 ? loadBalanceMs / EAGERNESS : loadBalanceMs)
    this.#lookAt = asked > 0 ? this.#notBefore : nextAt
  }
}

/** The worker of a task that was asked for has begun it. */
export function keepRecalled({ worker, extra }: TaskEntry, now: InstantMs): void {
  if (worker === undefined || extra?.recall !== 'asked') return
  worker.recalledCount -= 1
  extra.recall = 'refused'
  extra.refusedAt = now
}

/** Looks at each worker, and at none of its tasks. */
function surveyOf(state: SchedulerState, runtime: Runtime): Survey {
  const survey: Survey = {
    count: 0,
    idleCount: 0,
    queuedCount: 0,
    givers: [],
    nextAt: undefined,
  }
  for (const worker of state.workers.values()) {
    if (worker.runtime !== runtime || worker.isLeaving) continue
    const active = activeCount(worker)
    survey.count += 1
    if (active === 0) survey.idleCount += 1
    if (active < 2) continue
    survey.queuedCount += Math.max(0, active - 1 - worker.recalledCount)
    // While it has not answered, who knows what it has.
    if (worker.recalledCount > 0) continue
    const dueAt = dueAtOf(state, worker)
    if (dueAt <= state.now) survey.givers.push(worker)
    else survey.nextAt = earliest(survey.nextAt, dueAt)
  }
  return survey
}

/**
 * When a worker has too many: it was given much work, or what was little has not ended for long.
 */
function dueAtOf({ options }: SchedulerState, worker: WorkerEntry): InstantMs {
  const { loadBalanceMs } = options
  const holdsMuch = worker.load * 1000 >= 2 * loadBalanceMs
  return holdsMuch ? worker.filledAt : worker.filledAt + loadBalanceMs
}

/** Asks for tasks, so many that the workers come to hold alike. Returns how many. */
function askBack(state: SchedulerState, { givers, ...all }: Survey): number {
  let asked = 0
  for (const worker of givers) prolongFirst(state, worker)
  const shares = sharesOf(givers.map(activeCount), all)
  for (const [index, worker] of givers.entries()) {
    asked += askOne(state, worker, Math.min(shares[index] as number, MAX_AT_ONCE - asked))
  }
  // What some cannot give, because they have begun all that they have, others may.
  for (const worker of givers) {
    if (worker.recalledCount > 0) continue
    asked += askOne(state, worker, Math.min(all.idleCount, MAX_AT_ONCE) - asked)
  }
  return asked
}

/** Asks one worker for so many tasks, as far as it has them. Returns how many that are. */
function askOne(state: SchedulerState, worker: WorkerEntry, wanted: number): number {
  if (wanted <= 0) return 0
  const pool = state.pools[worker.runtime]
  const fresh = youngestOf(pool, worker, wanted, (extra) => extra?.recall === 'refused')
  const tasks = fresh.length > 0 ? fresh : askedBefore(state, worker, wanted)
  if (tasks.length > 0) recall(state, worker, tasks)
  return tasks.length
}

/**
 * How many tasks each of some workers shall give, which have `counts`: what each has above the
 * average of all, and together at least one for each that idles, as far as they have them. The
 * first task of a worker is left out everywhere.
 */
export function sharesOf(
  counts: readonly number[],
  all: Pick<Survey, 'count' | 'idleCount' | 'queuedCount'>,
): readonly number[] {
  const average = Math.ceil(all.queuedCount / all.count)
  const shares = counts.map((count) => Math.max(0, count - 1 - average))
  let missing = all.idleCount - shares.reduce((sum, share) => sum + share, 0)
  for (const [index, count] of counts.entries()) {
    const share = shares[index] as number
    const more = Math.max(0, Math.min(count - 1 - share, missing))
    shares[index] = share + more
    missing -= more
  }
  return shares
}

/** What a worker did not give back, and may be asked for again. */
function askedBefore(
  { now, options, pools }: SchedulerState,
  worker: WorkerEntry,
  wanted: number,
): readonly TaskEntry[] {
  const { loadBalanceMs, loadBalanceTriggerTimes = DEFAULT_TRIGGER_TIMES } = options
  const since = now - loadBalanceTriggerTimes * loadBalanceMs
  return youngestOf(pools[worker.runtime], worker, wanted, (extra) => {
    return extra?.recall === 'refused' && extra.refusedAt > since
  })
}

/** What a worker has had for longest runs at least since something last happened there. */
function prolongFirst({ now, pools }: SchedulerState, worker: WorkerEntry): void {
  let looks = MAX_LOOKS
  for (const task of worker.assigned) {
    if ((looks -= 1) < 0) return
    if (task.extra?.isWaiting === true) continue
    pools[worker.runtime].prolong(task, (now - worker.movedAt) / 1000)
    return
  }
}

/**
 * The tasks that a worker got last and, as far as is known, has not begun. The first of all is
 * taken for begun, unless another one is known to be: that had its objects sooner, or was more
 * urgent. `isRefused`: it has said so, and is believed. What no other worker could run stays.
 */
function youngestOf(
  pool: WorkerPool,
  worker: WorkerEntry,
  wanted: number,
  isRefused: (extra: TaskExtra | undefined) => boolean,
): readonly TaskEntry[] {
  const tasks: TaskEntry[] = []
  const count = activeCount(worker)
  let seen = 0
  let isOneBegun = false
  let looks = MAX_LOOKS + wanted
  for (const task of worker.assigned.backwards()) {
    if (tasks.length >= wanted || (looks -= 1) < 0) break
    if (task.extra?.isWaiting === true) continue
    seen += 1
    const isBegun = task.extra?.hasWaited === true || isRefused(task.extra)
    isOneBegun ||= isBegun
    const isFirst = seen === count && !isOneBegun
    const isFree = !isBegun && !isFirst && task.state === 'running'
    if (isFree && pool.mayMove(task)) tasks.push(task)
  }
  return tasks
}

function recall(state: SchedulerState, worker: WorkerEntry, tasks: readonly TaskEntry[]): void {
  const { output } = state
  const workerId = worker.identity
  const taskIds = tasks.map((task) => task.id)
  output.log('debug', 'asked a worker for tasks', { worker: workerId, tasks: tasks.length })
  if (output.hasSubscribers) output.publish({ kind: 'stateBalanceAdvice', workerId, taskIds })
  const flags = { force: false, retrieveTaskObject: false }
  for (const task of tasks) {
    const extra = extraOf(task)
    extra.recall = 'asked'
    extra.unanswered += 1
    worker.recalledCount += 1
    output.send(workerId, { kind: 'taskCancel', taskId: task.id, flags })
  }
}
