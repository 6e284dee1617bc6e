// Workers of one runtime and the tasks that wait for them: which worker gets the next task. Pure
// bookkeeping; sending and state changes are the scheduler's.
//
// A worker holds some 20 ms of work, as measured for each function from the durations in results.
// Tiny tasks so never wait for a round trip. A task that takes longer, or whose function was never
// measured, goes only to a worker that has nothing: it is not stuck behind another, nor is another
// stuck behind it, while a worker idles.

import { assert } from '../../../base/assert.js'
import type { Fifo } from '../../../base/fifo.js'
import { IndexedHeap } from '../../../base/indexed-heap.js'
import type { InstantMs } from '../../../base/machine.js'
import type { ClientEntry, TaskEntry, WorkerEntry } from '../entries.js'
import { extraOf } from '../task/extra.js'
import { Lanes, type Lane } from './lanes.js'
import { fits, giveUnitsBack, takeUnits } from './placement.js'
import { TaskQueue } from '../task/queue.js'
import { activeCount, forgetStay, leave } from './load.js'

/** How much measured work a worker holds, in seconds. */
const WINDOW_SECONDS = 0.02

/** No task counts for less, in seconds: rounding must not make thousands of them nothing. */
const MIN_TASK_SECONDS = 1e-6

/** No task counts for more, in seconds: sums stay exact, whatever a worker says. */
const MAX_TASK_SECONDS = 1e6

/** Among how many workers that have an object the best is looked for. */
const MAX_HOLDERS = 16

/** So long a task waits for another worker than its parent's: those may be busy for ever. */
const PATIENCE_MS = 2000

/** Weight of the newest duration in the moving average. */
const NEWEST_WEIGHT = 0.2

/** The next task, and who shall have it. */
interface Choice {
  readonly task: TaskEntry
  readonly worker: WorkerEntry
  /** Undefined for a plain task. */
  readonly lane?: Lane
}

/** The workers of one runtime. Choosing costs O(log workers). */
export class WorkerPool {
  readonly queue: Lanes
  /** Tasks that are not for anybody yet: a worker may come back that has them (return.ts). */
  readonly held: TaskQueue = new TaskQueue()
  /** Those that may get tasks: not those that leave. */
  readonly #workers: IndexedHeap<WorkerEntry>
  readonly #maxTasks: number
  readonly #nestedPass: boolean
  /** How many tasks they have to run. */
  #assignedCount = 0
  #now: InstantMs = 0
  /** The first task, if it has not got the worker that had room, and since when. */
  #stalled: { readonly task: TaskEntry; readonly since: InstantMs } | undefined
  /** How many of them have two or more. */
  #crowdedCount = 0
  /** How often a task was chosen, and when that was a plain one last. */
  #turns = 0
  #plainTurn = 0

  /**
   * `nestedPass`: tasks of a priority above 0 are children of tasks that wait for them, and are not
   * held up by the window, which their parents may fill. So it is with 1.9.9 workers, which suspend
   * a parent for its children; how many they hold is bounded by `perWorkerQueueSize` alone.
   */
  constructor(perWorkerQueueSize: number, nestedPass: boolean) {
    this.#maxTasks = perWorkerQueueSize
    this.#nestedPass = nestedPass
    this.#workers = new IndexedHeap((a, b) => this.#ranksBefore(a, b))
    this.queue = new Lanes(
      (a, b) => this.#ranksBefore(a, b),
      () => this.#workers.items,
    )
  }

  /**
   * How many tasks there are beyond what the workers may hold; below 0 while they may hold more.
   * (Tasks that a worker may hold mostly wait here, until it is their turn to be sent.)
   */
  get overflow(): number {
    return this.waiting + this.#assignedCount - this.capacity
  }

  /** How many tasks the workers may hold together. */
  get capacity(): number {
    return this.#workers.size * this.#maxTasks
  }

  /** How many workers may get tasks. */
  get workerCount(): number {
    return this.#workers.size
  }

  /** How many tasks of a client wait for a worker. */
  waitingOf(client: ClientEntry): number {
    return this.queue.countOf(client) + this.held.countOf(client)
  }

  /** How many tasks wait for a worker. */
  get waiting(): number {
    return this.queue.size + this.held.size
  }

  /** Whether a worker has nothing to do, nor anything to come, while another has several tasks. */
  get isLopsided(): boolean {
    const { first } = this.#workers
    if (this.#crowdedCount === 0 || first === undefined) return false
    return activeCount(first) === 0 && this.queue.plain.first === undefined
  }

  add(worker: WorkerEntry): void {
    if (worker.isLeaving) return
    this.#workers.add(worker)
    this.queue.onWorker(worker)
  }

  /** A worker gets nothing new from now on. */
  retire(worker: WorkerEntry): void {
    if (worker.isLeaving) return
    this.#exclude(worker)
    worker.isLeaving = true
  }

  /** Takes a worker out. What it had, in order of assignment, is the caller's to put back. */
  remove(worker: WorkerEntry): readonly TaskEntry[] {
    if (!worker.isLeaving) this.#exclude(worker)
    const tasks = [...worker.assigned]
    for (const task of tasks) {
      if (giveUnitsBack(worker, task)) this.queue.onUnits(worker)
      leave(worker, task)
      forgetStay(worker, task)
    }
    return tasks
  }

  /** Takes a task out of those that wait. */
  withdraw(task: TaskEntry): void {
    if (this.held.size === 0 || !this.held.discard(task)) this.queue.remove(task)
  }

  /** Takes out all that waits of a client that has left, at once. The tasks do not learn of it. */
  drop(client: ClientEntry): readonly Fifo<TaskEntry>[] {
    return [...this.queue.drop(client), ...this.held.drop(client)]
  }

  /** Nobody has come for some of the tasks that were held: they wait like others from now on. */
  letGo(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      const task = this.held.take()
      if (task === undefined) return
      this.queue.push(task)
    }
  }

  /** The next task and who shall have it; undefined while there is no task or no room. */
  next(now: InstantMs): Choice | undefined {
    const { plain } = this.queue
    const { first } = plain
    this.#now = now
    const choice = this.#choice()
    if (choice?.task === first) this.#stalled = undefined
    else if (first !== undefined && first !== this.#stalled?.task && this.#isKept(first)) {
      this.#stalled = { task: first, since: now }
    }
    const best = this.queue.isReady ? this.#bestOf(choice) : choice
    if (best === undefined) return undefined
    const { task, lane } = best
    this.#turns += 1
    if (lane === undefined) this.#plainTurn = this.#turns
    else lane.turn = this.#turns
    const queue = lane?.queue ?? plain
    if (task === queue.first) queue.take()
    else queue.remove(task)
    return best
  }

  /** Whether a worker that has nothing to do could take a task from the one that has it. */
  mayMove(task: TaskEntry): boolean {
    return task.requirement === undefined || this.queue.laneOf(task)?.couldTake(task) === true
  }

  /** Notes that a worker has got a task. */
  assign(task: TaskEntry, worker: WorkerEntry, now: InstantMs): void {
    // While all ranks are as the lanes have them: these move several workers, one by one.
    if (takeUnits(worker, task)) this.queue.onUnits(worker)
    task.worker = worker
    task.place = worker.assigned.push(task)
    task.expectedSeconds = expectedSeconds(task)
    this.#load(worker, task, now)
  }

  /** Notes that a worker no longer has its task. `now`: since when it goes on with others. */
  release(task: TaskEntry, now: InstantMs): void {
    const { worker } = task
    assert(worker !== undefined, 'a task is not with its worker')
    if (giveUnitsBack(worker, task)) this.queue.onUnits(worker)
    leave(worker, task)
    if (task.extra?.isWaiting === true) {
      worker.waitingCount -= 1
      if (!worker.isLeaving) this.#update(worker)
    } else this.#unload(worker, task, now)
    forgetStay(worker, task)
  }

  /** A task only waits for tasks of its own: it counts for nothing until it is resumed. */
  suspend(task: TaskEntry, now: InstantMs): void {
    const { worker } = task
    const extra = extraOf(task)
    assert(worker !== undefined, 'a task waits for others without a worker')
    if (extra.isWaiting) return
    extra.isWaiting = true
    extra.hasWaited = true
    worker.waitingCount += 1
    this.#unload(worker, task, now)
  }

  /** The task goes on, even where its worker has got others meanwhile. */
  resume(task: TaskEntry, now: InstantMs): void {
    const { worker, extra } = task
    if (worker === undefined || extra?.isWaiting !== true) return
    extra.isWaiting = false
    worker.waitingCount -= 1
    this.#load(worker, task, now)
  }

  /**
   * A task has not ended although it has taken so long, in seconds: so long at least its function
   * takes, and its worker has no room until it has ended.
   */
  prolong(task: TaskEntry, seconds: number): void {
    const { worker, function: entry, extra } = task
    if (worker === undefined || extra?.isWaiting === true) return
    const more = Math.max(seconds, WINDOW_SECONDS) - task.expectedSeconds
    if (more > 0) {
      task.expectedSeconds += more
      worker.load += more
      if (!worker.isLeaving) this.#update(worker)
    }
    if (entry?.averageSeconds === undefined || extra?.hasWaited === true) return
    entry.averageSeconds = Math.max(entry.averageSeconds, seconds)
  }

  /**
   * Follows the durations of a function's tasks, in seconds. Those of tasks that have waited for
   * others say nothing of the function.
   */
  measure(task: TaskEntry, seconds: number): void {
    const entry = task.function
    if (entry === undefined || task.extra?.hasWaited === true) return
    const newest = Math.min(seconds, MAX_TASK_SECONDS)
    const average = entry.averageSeconds ?? newest
    if (entry.averageSeconds === undefined) this.queue.onMeasured()
    entry.averageSeconds = average + NEWEST_WEIGHT * (newest - average)
  }

  /** Throws if the pool disagrees with itself. */
  checkInvariants(): void {
    this.#workers.checkInvariants()
    this.queue.checkInvariants()
    this.held.checkInvariants()
    assert(this.#choice() === undefined, 'a task waits while a worker has room')
    for (const lane of this.queue.all) {
      const isStuck = lane.queue.first !== undefined && lane.first !== undefined
      const isIdle = lane.first !== undefined && activeCount(lane.first) === 0
      assert(!isStuck || !isIdle, 'a task waits while a worker that fits has nothing to do')
    }
  }

  /** Throws if `workers`, which are all of this runtime, are not what the pool counts. */
  checkCounts(workers: Iterable<WorkerEntry>): void {
    const candidates = [...workers].filter((worker) => !worker.isLeaving)
    const counts = candidates.map(activeCount)
    const assigned = counts.reduce((sum, count) => sum + count, 0)
    assert(candidates.length === this.#workers.size, 'a pool has other workers')
    assert(assigned === this.#assignedCount, 'a pool miscounts its tasks')
    const crowded = counts.filter((count) => count >= 2).length
    assert(crowded === this.#crowdedCount, 'a pool miscounts its crowded workers')
  }

  #exclude(worker: WorkerEntry): void {
    const count = activeCount(worker)
    this.#assignedCount -= count
    if (count >= 2) this.#crowdedCount -= 1
    this.#workers.remove(worker)
    this.queue.onGone(worker)
  }

  #update(worker: WorkerEntry): void {
    this.#workers.update(worker)
    if (worker.offer !== undefined) this.queue.onMoved(worker)
  }

  /** A worker has one more task to run. */
  #load(worker: WorkerEntry, task: TaskEntry, now: InstantMs): void {
    worker.load += task.expectedSeconds
    worker.filledAt = now
    worker.movedAt = now
    if (worker.isLeaving) return
    this.#assignedCount += 1
    if (activeCount(worker) === 2) this.#crowdedCount += 1
    this.#update(worker)
  }

  /** A worker has one task less to run. */
  #unload(worker: WorkerEntry, task: TaskEntry, now: InstantMs): void {
    const count = activeCount(worker)
    // An empty sum is none: rounding errors do not stay.
    worker.load = count === 0 ? 0 : Math.max(0, worker.load - task.expectedSeconds)
    worker.movedAt = now
    if (worker.isLeaving) return
    this.#assignedCount -= 1
    if (count === 1) this.#crowdedCount -= 1
    this.#update(worker)
  }

  #choice(): Choice | undefined {
    const worker = this.#workers.first
    const task = this.queue.plain.first
    if (worker === undefined || task === undefined) return undefined
    if (avoidedBy(task) === worker) return this.#choiceBeside(task, worker)
    return this.#hasRoom(worker, task) ? { task, worker: this.#nearest(task, worker) } : undefined
  }

  /**
   * The same where the first task shall not share the first worker with its parent. If nobody else
   * has room for it, it waits for a while, and others do not: that worker gets what comes next.
   */
  #choiceBeside(task: TaskEntry, avoided: WorkerEntry): Choice | undefined {
    const second = this.#hasWaitedInVain(task) ? undefined : this.#workers.second
    const worker = second ?? avoided
    if (this.#hasRoom(worker, task)) return { task, worker: this.#nearest(task, worker) }
    const other = this.queue.plain.find((next) => avoidedBy(next) !== avoided)
    if (other === undefined) return undefined
    return this.#hasRoom(avoided, other) ? { task: other, worker: avoided } : undefined
  }

  /** The same among the tasks that need something, too: by priority, then one of each in turn. */
  #bestOf(plain: Choice | undefined): Choice | undefined {
    let best = plain
    let turn = this.#plainTurn
    for (const lane of this.queue.ready) {
      const task = lane.queue.first
      const worker = task && this.#workerIn(lane, task)
      if (task === undefined || worker === undefined) {
        this.queue.settle(lane)
        continue
      }
      const more = best === undefined ? 1 : task.priority - best.task.priority
      if (more < 0 || (more === 0 && lane.turn >= turn)) continue
      best = { task, worker, lane }
      turn = lane.turn
    }
    return best
  }

  /** Who shall have the next task of a lane: rather not the worker of its parent. */
  #workerIn(lane: Lane, task: TaskEntry): WorkerEntry | undefined {
    const { first } = lane
    if (first === undefined) return undefined
    const second = avoidedBy(task) === first ? lane.second : undefined
    if (second !== undefined && this.#hasRoom(second, task)) return this.#nearest(task, second)
    return this.#hasRoom(first, task) ? this.#nearest(task, first) : undefined
  }

  /** Whether the worker that would have room is that of its parent. */
  #isKept(task: TaskEntry): boolean {
    const { first } = this.#workers
    return first !== undefined && avoidedBy(task) === first && this.#hasRoom(first, task)
  }

  #hasWaitedInVain(task: TaskEntry): boolean {
    const stalled = this.#stalled
    return stalled?.task === task && this.#now - stalled.since >= PATIENCE_MS
  }

  /**
   * For a node of a graph: a worker that has the largest of its objects, if that has room, too, and
   * nobody idles for it. `first` is the one that ranks first.
   */
  #nearest(task: TaskEntry, first: WorkerEntry): WorkerEntry {
    const input = task.node?.input
    if (input === undefined) return first
    const isAnyoneIdle = activeCount(first) === 0
    let nearest: WorkerEntry | undefined
    let looks = MAX_HOLDERS
    for (const holder of input.holders) {
      if ((looks -= 1) < 0) break
      if (holder.runtime !== task.runtime || holder.isLeaving) continue
      if (!this.#hasRoom(holder, task) || !fits(holder, task)) continue
      if (holder !== first && avoidedBy(task) === holder) continue
      if (isAnyoneIdle && activeCount(holder) > 0) continue
      if (nearest === undefined || this.#ranksBefore(holder, nearest)) nearest = holder
    }
    return nearest ?? first
  }

  #hasRoom(worker: WorkerEntry, task: TaskEntry): boolean {
    const count = activeCount(worker)
    if (count === 0) return true
    if (count >= this.#maxTasks) return false
    if (this.#nestedPass && task.priority > 0) return true
    return worker.load + expectedSeconds(task) <= WINDOW_SECONDS
  }

  /**
   * Those that are full last; then least work, fewest tasks, fewest that wait for their own (what
   * runs beside those may end their process), order of registration.
   */
  #ranksBefore(a: WorkerEntry, b: WorkerEntry): boolean {
    const countA = activeCount(a)
    const countB = activeCount(b)
    const isAFull = countA >= this.#maxTasks
    const isBFull = countB >= this.#maxTasks
    if (isAFull !== isBFull) return isBFull
    if (a.load !== b.load) return a.load < b.load
    if (countA !== countB) return countA < countB
    if (a.waitingCount !== b.waitingCount) return a.waitingCount < b.waitingCount
    return a.sequence < b.sequence
  }
}

/**
 * The worker of a parent that has lost its process before while others ran there: most likely to
 * what it submits. If there is another, that runs elsewhere, so that the parent sees how it ends.
 */
function avoidedBy({ extra, node }: TaskEntry): WorkerEntry | undefined {
  const parent = node === undefined ? extra?.parent : node.graph.parent
  return parent?.extra?.isFragile === true ? parent.worker : undefined
}

/** A function that was never measured is taken to fill a window. */
function expectedSeconds(task: TaskEntry): number {
  return Math.max(task.function?.averageSeconds ?? WINDOW_SECONDS, MIN_TASK_SECONDS)
}
