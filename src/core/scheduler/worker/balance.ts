// Takes tasks back from workers that are stuck with them while others idle. A worker holds little
// work (pool.ts), but tasks may take longer than expected, a parent may resume after others were
// assigned in its place, and 1.9.9 workers hold many nested tasks. docs/protocol.md#balance
//
// A worker is asked, never forced: tasks that have begun stay. The function that it runs counts as
// long from then on: no task goes back to that worker, and further tasks of the function go one by
// one to idle workers. A task therefore moves again only if another worker gets stuck. A worker is
// asked again for a refused task a few intervals later, and only if it has nothing else to give:
// its processor may have exited since, and the task may be queued again.

import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { Runtime, TaskEntry, TaskExtra, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { extraOf } from '../task/extra.js'
import { idsOf } from '../task/run.js'
import { activeCount } from './load.js'

/** Maximum number of tasks recalled in one turn. */
const MAX_AT_ONCE = 1000

/** Maximum number of tasks of a worker that are checked, beyond those that are recalled. */
const MAX_LOOKS = 1000

/** Default number of intervals after which a worker is asked again for a refused task. */
const DEFAULT_TRIGGER_TIMES = 2

/** After a successful check, the next one follows after this fraction of the interval. */
const EAGERNESS = 10

/** The result of one check of the workers of a runtime. */
interface Survey {
  /** Workers that may get tasks. */
  count: number
  idleCount: number
  /** Tasks that are not the first of their worker, and were not recalled. */
  queuedCount: number
  /** Workers with too many tasks, in order of registration. */
  readonly givers: WorkerEntry[]
  /** When the next worker will have too many; Infinity: not while nothing changes. */
  nextAt: InstantMs
}

/** Decides when to check for stuck workers: not at each event, but without needless delay. */
export class Balancer {
  readonly #state: SchedulerState
  readonly #alarm: Alarm
  #isDue = false
  #notBefore: InstantMs = -Infinity

  constructor(state: SchedulerState) {
    this.#state = state
    this.#alarm = state.turn.alarm(() => (this.#isDue = true))
  }

  /** Call after each event, once all possible tasks are assigned. */
  update(): void {
    const { options, pools, turn } = this.#state
    if (this.#isDue) this.#look()
    else if (!this.#alarm.isSet && options.loadBalanceMs > 0) {
      const isLopsided = pools.javascript.isLopsided || pools.python.isLopsided
      if (isLopsided) this.#alarm.set(Math.max(turn.now, this.#notBefore))
    }
  }

  #look(): void {
    const { options, pools, turn } = this.#state
    const { loadBalanceMs } = options
    this.#isDue = false
    let asked = 0
    for (const runtime of ['javascript', 'python'] as const) {
      if (!pools[runtime].isLopsided) continue
      const survey = surveyOf(this.#state, runtime)
      asked += askBack(this.#state, survey)
      // Givers that gave nothing may be asked again.
      if (survey.givers.length > 0) this.#alarm.setBy(turn.now + loadBalanceMs)
      this.#alarm.setBy(survey.nextAt)
    }
    this.#notBefore = turn.now + (asked > 0 ? loadBalanceMs / EAGERNESS : loadBalanceMs)
    if (asked > 0) this.#alarm.set(this.#notBefore)
  }
}

/** Records that a worker refused to give back a task because it has begun. */
export function keepRecalled({ worker, extra, count }: TaskEntry, now: InstantMs): void {
  if (worker === undefined || extra?.recall !== 'asked') return
  worker.recalledCount -= count
  extra.recall = 'refused'
  extra.refusedAt = now
}

/** Checks each worker without iterating over its tasks. */
function surveyOf(state: SchedulerState, runtime: Runtime): Survey {
  const survey: Survey = {
    count: 0,
    idleCount: 0,
    queuedCount: 0,
    givers: [],
    nextAt: Infinity,
  }
  for (const worker of state.workers.values()) {
    if (worker.runtime !== runtime || worker.isLeaving) continue
    const active = activeCount(worker)
    survey.count += 1
    if (active === 0) survey.idleCount += 1
    if (active <= worker.slots) continue
    survey.queuedCount += Math.max(0, active - worker.slots - worker.recalledCount)
    // Until it has answered, its tasks are uncertain.
    if (worker.recalledCount > 0) continue
    const dueAt = dueAtOf(state, worker)
    if (dueAt <= state.turn.now) survey.givers.push(worker)
    else survey.nextAt = Math.min(survey.nextAt, dueAt)
  }
  return survey
}

/**
 * When a worker has too many tasks: immediately if it has much work, otherwise once none of its
 * tasks has finished for an interval.
 */
function dueAtOf({ options }: SchedulerState, worker: WorkerEntry): InstantMs {
  const { loadBalanceMs } = options
  const holdsMuch = worker.load * 1000 >= 2 * loadBalanceMs
  return holdsMuch ? worker.filledAt : worker.filledAt + loadBalanceMs
}

/** Recalls enough tasks to even out the workers. Returns how many. */
function askBack(state: SchedulerState, { givers, ...all }: Survey): number {
  let asked = 0
  for (const worker of givers) prolongFirst(state, worker)
  const queuedCounts = givers.map((worker) => activeCount(worker) - worker.slots)
  const shares = sharesOf(
    queuedCounts.map((count) => count + 1),
    all,
  )
  for (const [index, worker] of givers.entries()) {
    asked += askOne(state, worker, Math.min(shares[index] as number, MAX_AT_ONCE - asked))
  }
  // If some workers cannot give tasks, because all have begun, others may.
  for (const worker of givers) {
    if (worker.recalledCount > 0) continue
    asked += askOne(state, worker, Math.min(all.idleCount, MAX_AT_ONCE) - asked)
  }
  return asked
}

/** Recalls at most `wanted` tasks from one worker. Returns how many. */
function askOne(state: SchedulerState, worker: WorkerEntry, wanted: number): number {
  if (wanted <= 0) return 0
  const fresh = youngestOf(state, worker, wanted, (extra) => extra?.recall === 'refused')
  const tasks = fresh.length > 0 ? fresh : askedBefore(state, worker, wanted)
  if (tasks.length > 0) recall(state, worker, tasks)
  return tasks.reduce((sum, task) => sum + task.count, 0)
}

/**
 * How many tasks each worker with `counts` should give: all above the average, and together at
 * least one for each idle worker, if they have them. The first task of a worker is never counted.
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

/** Refused tasks for which a worker may be asked again. */
function askedBefore(
  state: SchedulerState,
  worker: WorkerEntry,
  wanted: number,
): readonly TaskEntry[] {
  const { loadBalanceMs, loadBalanceTriggerTimes = DEFAULT_TRIGGER_TIMES } = state.options
  const since = state.turn.now - loadBalanceTriggerTimes * loadBalanceMs
  return youngestOf(state, worker, wanted, (extra) => {
    return extra?.recall === 'refused' && extra.refusedAt > since
  })
}

/** Prolongs the oldest task of a worker, which has run at least since its last progress. */
function prolongFirst({ turn, pools }: SchedulerState, worker: WorkerEntry): void {
  let looks = MAX_LOOKS
  for (const task of worker.assigned) {
    if ((looks -= 1) < 0) return
    if (task.extra?.isWaiting === true) continue
    pools[worker.runtime].prolong(task, (turn.now - worker.movedAt) / 1000)
    return
  }
}

/**
 * The newest tasks of a worker that have not begun, as far as is known. The oldest is assumed to
 * have begun, unless another one is known to have: that had its objects sooner, or a higher
 * priority. A worker reports tasks that run for a while. `isRefused`: it answered that a task has
 * begun. Excludes tasks that no other worker can run.
 */
function youngestOf(
  state: SchedulerState,
  worker: WorkerEntry,
  wanted: number,
  isRefused: (extra: TaskExtra | undefined) => boolean,
): readonly TaskEntry[] {
  const tasks: TaskEntry[] = []
  const pool = state.pools[worker.runtime]
  const count = activeCount(worker)
  let left = wanted
  let seen = 0
  let isOneBegun = false
  let looks = MAX_LOOKS + wanted
  for (const task of worker.assigned.backwards()) {
    if (left <= 0 || (looks -= 1) < 0) break
    if (task.extra?.isWaiting === true) continue
    seen += task.count
    const { hasWaited = false, isBegun: isReported = false } = task.extra ?? {}
    const isBegun = hasWaited || isReported || isRefused(task.extra)
    isOneBegun ||= isBegun
    const isFirst = seen === count && !isOneBegun
    const free = isBegun || task.state !== 'running' ? 0 : task.count - (isFirst ? 1 : 0)
    if (free === 0 || !pool.mayMove(task)) continue
    const taken = Math.min(free, left)
    left -= taken
    tasks.push(taken === task.count ? task : state.tasks.cut(task, task.count - taken))
  }
  return tasks
}

function recall(state: SchedulerState, worker: WorkerEntry, tasks: readonly TaskEntry[]): void {
  const { output, turn } = state
  const workerId = worker.identity
  const count = tasks.reduce((sum, task) => sum + task.count, 0)
  turn.log('debug', 'asked a worker for tasks', { worker: workerId, tasks: count })
  if (output.hasSubscribers) {
    const taskIds = tasks.flatMap((task) => idsOf(task))
    output.publish({ kind: 'stateBalanceAdvice', workerId, taskIds })
  }
  const flags = { force: false, retrieveTaskObject: false }
  for (const task of tasks) {
    const extra = extraOf(task)
    extra.recall = 'asked'
    extra.unanswered += 1
    worker.recalledCount += task.count
    output.send(workerId, { kind: 'taskCancel', taskId: task.id, count: task.count, flags })
  }
}
