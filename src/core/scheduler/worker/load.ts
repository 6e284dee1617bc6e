// What a worker has: the number of its tasks, their expected duration, and the limits of both.

import { assert } from '../../../base/assert.js'
import type { InstantMs } from '../../../base/machine.js'
import { MAX_RUN_TASKS } from '../../../wire/run.js'
import type { ObjectEntry, TaskEntry, WorkerEntry } from '../entries.js'
import type { TaskQueue } from '../task/queue.js'

/** The number of tasks that a worker has to run, without those that wait for others. */
export function activeCount(worker: WorkerEntry): number {
  return worker.taskCount - worker.waitingCount
}

/** With a limit of at least this many tasks, a part of a run counts as one. */
const LARGE_LIMIT = 1_000

/** How many tasks count towards the limit of `maxTasks` for a worker. */
export function heldCount(worker: WorkerEntry, maxTasks: number): number {
  const held = maxTasks < LARGE_LIMIT ? worker.taskCount : worker.assigned.size
  return held - worker.waitingCount
}

/** Throws if a worker's counts and load disagree with its tasks. */
export function checkLoad(worker: WorkerEntry): void {
  let taskCount = 0
  let waitingCount = 0
  let recalledCount = 0
  let load = 0
  for (const task of worker.assigned) {
    taskCount += task.count
    if (task.extra?.recall === 'asked') recalledCount += task.count
    if (task.extra?.isWaiting === true) waitingCount += task.count
    else load += task.expectedSeconds
  }
  assert(taskCount === worker.taskCount, 'a worker miscounts its tasks')
  assert(waitingCount === worker.waitingCount, 'a worker miscounts its waiting tasks')
  assert(recalledCount === worker.recalledCount, 'a worker miscounts its recalled tasks')
  assert(Math.abs(load - worker.load) < 1e-6, 'a worker has the wrong load')
}

/** What a pool counts of its workers. */
interface PoolCounts {
  readonly workers: number
  readonly assigned: number
  readonly crowded: number
}

/** Throws if the counts of a pool disagree with its workers, those that are leaving among them. */
export function checkCounts(workers: Iterable<WorkerEntry>, counted: PoolCounts): void {
  const candidates = [...workers].filter((worker) => !worker.isLeaving)
  const assigned = candidates.reduce((sum, worker) => sum + activeCount(worker), 0)
  assert(candidates.length === counted.workers, 'a pool has the wrong workers')
  assert(assigned === counted.assigned, 'a pool miscounts its tasks')
  const crowded = candidates.filter((worker) => activeCount(worker) > worker.slots).length
  assert(crowded === counted.crowded, 'a pool miscounts its crowded workers')
}

/** Removes a task from its worker. */
export function leave(worker: WorkerEntry, task: TaskEntry): void {
  const wasThere = task.place !== undefined && worker.assigned.remove(task.place)
  assert(wasThere, 'a worker forgot a task')
  worker.taskCount -= task.count
  task.worker = undefined
  task.place = undefined
}

/** Resets the state of a task that applies only to the worker it had. */
export function forgetStay(worker: WorkerEntry, { extra, count }: TaskEntry): void {
  if (extra === undefined) return
  if (extra.recall === 'asked') worker.recalledCount -= count
  extra.recall = 'no'
  extra.unanswered = 0
  extra.isWaiting = false
  extra.hasWaited = false
}

// The window of a worker: the measured work that it holds. While its results travel to the
// scheduler and the next tasks travel back, it works on what it has: a worker far away holds more.

/** The work that a worker holds beyond that of a round trip, in seconds: for busy processes. */
const BASE_SECONDS = 0.02
/** The longest round trip that counts, in seconds: a process that was suspended reports any. */
const MAX_TRIP_SECONDS = 0.5
const US_PER_MS = 1_000

/**
 * The window in seconds. `latencyUs`: half of the last round trip; 0: there was none. It counts in
 * whole milliseconds, so that neighbours on one network have the same window.
 */
export function windowSeconds(latencyUs: number): number {
  const tripMs = Math.floor((2 * latencyUs) / US_PER_MS)
  return BASE_SECONDS + Math.min(tripMs / 1_000, MAX_TRIP_SECONDS)
}

/** Minimum for one task, in seconds: the sum of thousands must not round to zero. */
const MIN_TASK_SECONDS = 1e-6

/**
 * The worker of a parent that lost its process before while other tasks ran there, probably because
 * of its children. If possible, they run elsewhere, so that the parent sees how they end.
 */
export function avoidedBy({ extra, node }: TaskEntry): WorkerEntry | undefined {
  const parent = node === undefined ? extra?.parent : node.graph.parent
  return parent?.extra?.isFragile === true ? parent.worker : undefined
}

/** Whether a worker runs fewer tasks than it can at a time. */
export function hasFreeSlot(worker: WorkerEntry): boolean {
  return activeCount(worker) < worker.slots
}

/** How much more work fits into the windows of a worker's slots, in seconds. */
export function roomSeconds({ windowSeconds: seconds, slots, load }: WorkerEntry): number {
  return seconds * slots - load
}

/** The largest input of a task; undefined: none is large. */
export function inputOf({ node, extra }: TaskEntry): ObjectEntry | undefined {
  return node?.input ?? extra?.input
}

/** How long one task of an entry is expected to take on a worker. */
export function expectedSeconds(task: TaskEntry, worker: WorkerEntry): number {
  const seconds = callSeconds(task.function, worker)
  const input = inputOf(task)
  if (input === undefined || input.holders.has(worker)) return seconds
  const share = Math.min(MAX_INPUT_SHARE, input.bytes / MAX_WINDOW_BYTES)
  return Math.max(seconds, worker.windowSeconds * share)
}

/**
 * The inputs of the tasks in a window, and as much of their results, in bytes: they wait on the
 * worker's machine, in addition to what the limits of storage allow.
 */
const MAX_WINDOW_BYTES = 32 * 1024 ** 2

/** The part of a window that one input takes at most: another one is fetched meanwhile. */
const MAX_INPUT_SHARE = 0.5

/** What the window of a worker is filled with by one call. */
type CallCost = Partial<Pick<ObjectEntry, 'averageSeconds' | 'resultBytes'>>

/**
 * Of one call on a worker, at least the part of the window that its result takes. A function that
 * was never measured is assumed to fill its window.
 */
export function callSeconds(
  { averageSeconds, resultBytes = 0 }: CallCost = {},
  { windowSeconds: window }: Pick<WorkerEntry, 'windowSeconds'>,
): number {
  const share = Math.min(1, resultBytes / MAX_WINDOW_BYTES)
  return Math.max(averageSeconds ?? window, window * share, MIN_TASK_SECONDS)
}

/**
 * Whether a worker can finish a task before its time limit, as far as its function was measured.
 */
export function canFinish(worker: WorkerEntry, task: TaskEntry, now: InstantMs): boolean {
  if (worker.endsAt === Infinity) return true
  const seconds = worker.load + (task.function?.averageSeconds ?? 0)
  return now + seconds * 1_000 <= worker.endsAt
}

/** The measured work of one part of a run that a worker gets at a time, in seconds. */
const SLICE_SECONDS = 0.001
/**
 * The same for a new function. Its first tasks take longer than later ones, because their code is
 * not compiled yet, and so does whatever handles a part: fewer and larger ones cost less.
 */
const NEW_SLICE_SECONDS = 0.004
/** After this number of measured tasks, a function is no longer new. */
const NEW_TASKS = 4_096

/**
 * The work for which a worker must have room to get some of an entry: one task, or of shorter ones
 * as many as fill a slice, so that a full window does not get them one by one.
 */
export function leastSeconds(task: TaskEntry, worker: WorkerEntry): number {
  const each = expectedSeconds(task, worker)
  return Math.max(each, Math.min(each * task.count, SLICE_SECONDS))
}

/** How many short tasks of a function this number of workers gets in a moment. */
export function runLimit(fn: ObjectEntry | undefined, workers: number): number {
  if (fn?.averageSeconds === undefined) return 1
  const seconds = fn.measuredTasks < NEW_TASKS ? NEW_SLICE_SECONDS : SLICE_SECONDS
  const most = (workers * seconds) / Math.max(fn.averageSeconds, MIN_TASK_SECONDS)
  return Math.max(1, Math.min(MAX_RUN_TASKS, Math.floor(most)))
}

/** The least work that is worth a message of its own, in seconds. */
const MIN_SLICE_SECONDS = 0.000_25

/** What limits the part of a run that a worker gets. */
interface SliceLimits {
  /** How many tasks there are for each worker. */
  readonly share: number
  readonly maxTasks: number
}

/** How many tasks of an entry a worker gets. */
export function sliceSize(task: TaskEntry, worker: WorkerEntry, limits: SliceLimits): number {
  if (task.count === 1 || task.requirement?.isCounted === true) return 1
  const { share, maxTasks } = limits
  const each = expectedSeconds(task, worker)
  const room = maxTasks < LARGE_LIMIT ? maxTasks - activeCount(worker) : MAX_RUN_TASKS
  const isNew = task.function === undefined || task.function.measuredTasks < NEW_TASKS
  const seconds = isNew ? NEW_SLICE_SECONDS : SLICE_SECONDS
  const most = Math.min(roomSeconds(worker), seconds) / each
  const least = Math.max(Math.ceil(share), Math.floor(MIN_SLICE_SECONDS / each))
  return Math.max(1, Math.min(task.count, Math.floor(most), least, room))
}

/** Maximum for one task, in seconds: sums stay exact, whatever workers report. */
const MAX_TASK_SECONDS = 1e6

/** Weight of the newest duration in the moving average. */
const NEWEST_WEIGHT = 0.2
/** The same for a shorter one among the first: they became faster as their code was compiled. */
const FIRST_WEIGHT = 0.5
const FIRST_TASKS = 32
/** A longer one counts as this many times the average at most: its process may have had to wait. */
const MOST_TIMES = 4

/** Adds to the average of a function the duration of `count` more tasks: `seconds` for each. */
export function addDuration(
  fn: Pick<ObjectEntry, 'averageSeconds' | 'measuredTasks'>,
  seconds: number,
  count: number,
): void {
  const { averageSeconds: average, measuredTasks } = fn
  fn.measuredTasks = Math.min(NEW_TASKS, measuredTasks + count)
  if (average === undefined) {
    fn.averageSeconds = Math.min(seconds, MAX_TASK_SECONDS)
    return
  }
  const newest = Math.min(seconds, MOST_TIMES * Math.max(average, MIN_TASK_SECONDS))
  const isWarmingUp = measuredTasks < FIRST_TASKS && newest < average
  const each = isWarmingUp ? FIRST_WEIGHT : NEWEST_WEIGHT
  const weight = count === 1 ? each : 1 - (1 - each) ** count
  fn.averageSeconds = Math.min(average + weight * (newest - average), MAX_TASK_SECONDS)
}

/** Notes how long a result of a function is. Rises at once. */
export function addResultBytes(fn: Pick<ObjectEntry, 'resultBytes'>, bytes: number): void {
  const less = Math.max(0, fn.resultBytes - bytes)
  fn.resultBytes = bytes + less * (1 - NEWEST_WEIGHT)
}

/**
 * Whether a worker comes before another one. Full workers are last; then those with a free slot
 * come first; then most room in the window, fewest tasks, most time until a limit that was too
 * short for a task, fewest waiting tasks (a task that runs beside those may end their process), and
 * order of registration.
 */
export function ranksBefore(a: WorkerEntry, b: WorkerEntry, maxTasks: number): boolean {
  const countA = activeCount(a)
  const countB = activeCount(b)
  const isAFull = heldCount(a, maxTasks) >= maxTasks
  const isBFull = heldCount(b, maxTasks) >= maxTasks
  if (isAFull !== isBFull) return isBFull
  const isAFree = hasFreeSlot(a)
  if (isAFree !== hasFreeSlot(b)) return isAFree
  if (!isAFree) {
    const roomA = roomSeconds(a)
    const roomB = roomSeconds(b)
    if (roomA !== roomB) return roomA > roomB
  }
  if (countA !== countB) return countA < countB
  // Workers whose time is nearly over are for tasks that no other idle worker can take.
  if (a.isLate !== b.isLate) return b.isLate
  if (a.isLate && a.endsAt !== b.endsAt) return a.endsAt > b.endsAt
  if (a.waitingCount !== b.waitingCount) return a.waitingCount < b.waitingCount
  return a.sequence < b.sequence
}

/** The rules of a pool for its workers. */
export interface PoolRules {
  readonly maxTasks: number
  readonly hasRoom: (worker: WorkerEntry, task: TaskEntry) => boolean
}

/** Maximum number of tasks among which a short one is looked for. */
const MAX_SHORT_LOOKS = 100

/** For an idle worker without the time for the first task: another one that it can finish. */
export function shortTask(
  queue: TaskQueue,
  worker: WorkerEntry,
  { hasRoom }: PoolRules,
): TaskEntry | undefined {
  if (!worker.isLate || activeCount(worker) > 0) return undefined
  return queue.find((task) => hasRoom(worker, task), MAX_SHORT_LOOKS)
}
