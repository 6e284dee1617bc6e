// Workers of one runtime and their queued tasks: decides which worker gets the next task. Only
// bookkeeping; the scheduler sends messages and changes states.
//
// A worker holds about 20 ms of work, as measured for each function from the durations in results,
// and in addition that of a round trip, if it is far away (load.ts); one that runs several tasks at
// a time holds this for each of its slots.
// Tiny tasks therefore never wait for a round trip. A task that takes longer, or whose function was
// never measured, is assigned only to a free slot: neither it nor another task waits behind a long
// one while a worker idles.

import { assert } from '../../../base/assert.js'
import type { Fifo } from '../../../base/collection/fifo.js'
import { IndexedHeap } from '../../../base/collection/indexed-heap.js'
import type { Alarm, InstantMs, Turn } from '../../../base/machine.js'
import type { ClientEntry, TaskEntry, WorkerEntry } from '../entries.js'
import type { SchedulerAction } from '../events.js'
import { extraOf } from '../task/extra.js'
import { Lanes, type Lane } from './lanes.js'
import { giveUnitsBack, takeUnits } from './capabilities.js'
import { TaskQueue } from '../task/queue.js'
import {
  activeCount,
  addDuration,
  avoidedBy,
  canFinish,
  checkCounts,
  expectedSeconds,
  forgetStay,
  hasFreeSlot,
  heldCount,
  leastSeconds,
  leave,
  type PoolRules,
  ranksBefore,
  roomSeconds,
  shortTask,
  sliceSize,
} from './load.js'
import type { Nearness } from './nearness.js'

/** How long a task waits for a worker other than its parent's, which may all stay busy. */
const PATIENCE_MS = 2000

/** Maximum number of tasks held for workers that did not return which one turn releases. */
const MAX_RELEASES_PER_TURN = 2000

/** The next task and its worker. */
interface Choice {
  readonly task: TaskEntry
  readonly worker: WorkerEntry
  /** Undefined for a plain task. */
  readonly lane?: Lane
}

/** The workers of one runtime. Choosing costs O(log workers) for each lane with waiting tasks. */
export class WorkerPool {
  readonly queue: Lanes
  /** Tasks that are not assigned yet: a worker may return with them (return.ts). */
  readonly held: TaskQueue = new TaskQueue()
  /** Workers that may get tasks; excludes those that are leaving. */
  readonly #workers: IndexedHeap<WorkerEntry>
  readonly #turn: Turn<SchedulerAction>
  readonly #heldUntil: Alarm
  readonly #maxTasks: number
  readonly #rules: PoolRules
  readonly #nearest: (task: TaskEntry, first: WorkerEntry) => WorkerEntry
  /** The number of tasks that these workers have to run. */
  #assignedCount = 0
  /** The first task, if it was denied the worker with room, and since when. */
  #stalled: { readonly task: TaskEntry; readonly since: InstantMs } | undefined
  /** The number of these workers with more tasks than they run at a time. */
  #crowdedCount = 0
  /** The number of tasks chosen, and its value at the last plain task. */
  #turns = 0
  #plainTurn = 0

  constructor(turn: Turn<SchedulerAction>, perWorkerQueueSize: number, nearness: Nearness) {
    this.#turn = turn
    this.#heldUntil = turn.alarm(() => this.#releaseHeld())
    this.#maxTasks = perWorkerQueueSize
    const hasRoom = (worker: WorkerEntry, task: TaskEntry): boolean => this.#hasRoom(worker, task)
    this.#rules = { maxTasks: perWorkerQueueSize, hasRoom }
    this.#nearest = (task, first) => nearness.nearest(task, first, this.#rules)
    this.#workers = new IndexedHeap((a, b) => ranksBefore(a, b, this.#maxTasks))
    this.queue = new Lanes(
      (a, b) => ranksBefore(a, b, this.#maxTasks),
      () => this.#workers.items,
    )
  }

  /** The number of tasks, most of which are queued here, beyond what the workers may hold. */
  get overflow(): number {
    return this.waiting + this.#assignedCount - this.capacity
  }

  /** The number of tasks that all workers together may hold. */
  get capacity(): number {
    return this.#workers.size * this.#maxTasks
  }

  /** The number of workers that may get tasks. */
  get workerCount(): number {
    return this.#workers.size
  }

  /** The number of waiting tasks of a client. */
  waitingOf(client: ClientEntry): number {
    return this.queue.countOf(client) + this.held.countOf(client)
  }

  /** The number of waiting tasks. */
  get waiting(): number {
    return this.queue.size + this.held.size
  }

  /** Whether a worker is idle, with no task queued, while another worker has tasks queued. */
  get isLopsided(): boolean {
    const { first } = this.#workers
    if (this.#crowdedCount === 0 || first === undefined) return false
    return activeCount(first) === 0 && !first.isLate && this.queue.plain.first === undefined
  }

  add(worker: WorkerEntry): void {
    if (worker.isLeaving) return
    this.#workers.add(worker)
    this.queue.onWorker(worker)
  }

  /** Stops assigning tasks to a worker. */
  retire(worker: WorkerEntry): void {
    if (worker.isLeaving) return
    this.#exclude(worker)
    worker.isLeaving = true
  }

  /** A round trip of a worker was measured. */
  setWindow(worker: WorkerEntry, seconds: number): void {
    if (worker.windowSeconds === seconds) return
    worker.windowSeconds = seconds
    if (!worker.isLeaving) this.#update(worker)
  }

  /** Removes a worker. Returns its tasks in order of assignment, for the caller to requeue. */
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

  /** Removes a waiting task. */
  withdraw(task: TaskEntry): void {
    if (this.held.size === 0 || !this.held.discard(task)) this.queue.remove(task)
  }

  /** Removes all waiting tasks of a client that has left. Their `place` is not reset. */
  drop(client: ClientEntry): readonly Fifo<TaskEntry>[] {
    return [...this.queue.drop(client), ...this.held.drop(client)]
  }

  /** Adds a task that a worker may return with until then. */
  hold(task: TaskEntry, until: InstantMs): void {
    this.held.push(task)
    this.#heldUntil.setBy(until)
  }

  /** The next task and its worker; undefined while there is no task or no room. */
  next(): Omit<Choice, 'lane'> | undefined {
    const { plain } = this.queue
    const { first } = plain
    const choice = this.#choice()
    if (choice?.task === first) this.#stalled = undefined
    else if (first !== undefined && first !== this.#stalled?.task && this.#isKept(first)) {
      this.#stalled = { task: first, since: this.#turn.now }
    }
    const best = this.queue.isReady ? this.#bestOf(choice) : choice
    if (best === undefined) return undefined
    const { task, worker, lane } = best
    this.#turns += 1
    if (lane === undefined) this.#plainTurn = this.#turns
    else lane.turn = this.#turns
    const queue = lane?.queue ?? plain
    if (task === queue.first) queue.take()
    else queue.remove(task)
    // Only now: each lane has a worker for its first task, and most of them are not taken.
    return { task, worker: this.#nearest(task, worker) }
  }

  /** How many tasks of an entry a worker gets, once both were chosen. At least one. */
  sliceFor(task: TaskEntry, worker: WorkerEntry): number {
    // The last tasks are shared out.
    const share = (this.queue.size + task.count) / this.#workers.size
    return sliceSize(task, worker, { share, maxTasks: this.#maxTasks })
  }

  /** Whether an idle worker could take a task from the worker that has it. */
  mayMove(task: TaskEntry): boolean {
    return task.requirement === undefined || this.queue.laneOf(task)?.couldTake(task) === true
  }

  /** Records that a task was assigned to a worker. */
  assign(task: TaskEntry, worker: WorkerEntry): void {
    assert(task.place === undefined, 'a task that is elsewhere cannot be assigned')
    // Before any rank changes: the lanes update several workers, one by one.
    if (takeUnits(worker, task)) this.queue.onUnits(worker)
    task.worker = worker
    task.place = worker.assigned.push(task)
    worker.taskCount += task.count
    task.expectedSeconds = expectedSeconds(task, worker) * task.count
    this.#load(worker, task)
  }

  /** A task takes its worker this much longer, for example because others will follow it there. */
  extend(task: TaskEntry, worker: WorkerEntry, seconds: number): void {
    task.expectedSeconds += seconds
    worker.load += seconds
    if (!worker.isLeaving) this.#update(worker)
  }

  /** An entry of a worker was cut: the worker may be full now. */
  onCut(worker: WorkerEntry): void {
    const isFull = heldCount(worker, this.#maxTasks) >= this.#maxTasks
    if (isFull && !worker.isLeaving) this.#update(worker)
  }

  /** Records that a worker lost a task. `since`: since when it works on its other tasks. */
  release(task: TaskEntry, since: InstantMs = this.#turn.now): void {
    const { worker } = task
    assert(worker !== undefined, 'a released task has no worker')
    if (giveUnitsBack(worker, task)) this.queue.onUnits(worker)
    leave(worker, task)
    if (task.extra?.isWaiting === true) {
      worker.waitingCount -= 1
      if (!worker.isLeaving) this.#update(worker)
    } else this.#unload(worker, task, since)
    forgetStay(worker, task)
  }

  /** A task only waits for its child tasks: it takes no capacity until it resumes. */
  suspend(task: TaskEntry): void {
    const { worker } = task
    const extra = extraOf(task)
    assert(worker !== undefined, 'a task waits for others without a worker')
    if (extra.isWaiting) return
    extra.isWaiting = true
    extra.hasWaited = true
    worker.waitingCount += 1
    this.#unload(worker, task, this.#turn.now)
  }

  /** The task resumes, even if its worker received other tasks meanwhile. */
  resume(task: TaskEntry): void {
    const { worker, extra } = task
    if (worker === undefined || extra?.isWaiting !== true) return
    extra.isWaiting = false
    worker.waitingCount -= 1
    this.#load(worker, task)
  }

  /**
   * A task is still running after `seconds`: its function takes at least that long, and its worker
   * has no room until it finishes.
   */
  prolong(task: TaskEntry, seconds: number): void {
    const { worker, function: entry, extra } = task
    if (worker === undefined || extra?.isWaiting === true) return
    const more = Math.max(seconds, worker.windowSeconds) - task.expectedSeconds
    if (more > 0) this.extend(task, worker, more)
    if (entry?.averageSeconds === undefined || extra?.hasWaited === true) return
    entry.averageSeconds = Math.max(entry.averageSeconds, seconds)
  }

  /** Updates the average duration of a function, unless the task has waited for others. */
  measure(task: TaskEntry, seconds: number): void {
    const entry = task.function
    if (entry === undefined || task.extra?.hasWaited === true) return
    if (entry.averageSeconds === undefined) this.queue.onMeasured()
    addDuration(entry, seconds, task.count)
  }

  /** Throws if the pool is inconsistent. `isAssigning`: not all tasks have been assigned yet. */
  checkInvariants(isAssigning: boolean): void {
    this.#workers.checkInvariants()
    this.queue.checkInvariants()
    this.held.checkInvariants()
    if (isAssigning) return
    assert(this.#choice() === undefined, 'a task waits while a worker has room')
    this.queue.checkAssigned()
  }

  /** Throws if the counts disagree with `workers`, all workers of this runtime. */
  checkCounts(workers: Iterable<WorkerEntry>): void {
    const [assigned, crowded] = [this.#assignedCount, this.#crowdedCount]
    checkCounts(workers, { workers: this.#workers.size, assigned, crowded })
  }

  /** Queues some of the held tasks: their worker did not return. */
  #releaseHeld(): void {
    for (let left = MAX_RELEASES_PER_TURN; left > 0; left -= 1) {
      const task = this.held.take()
      if (task === undefined) return
      this.queue.push(task)
    }
    this.#heldUntil.set(this.#turn.now)
  }

  #exclude(worker: WorkerEntry): void {
    const count = activeCount(worker)
    this.#assignedCount -= count
    if (count > worker.slots) this.#crowdedCount -= 1
    this.#workers.remove(worker)
    this.queue.onGone(worker)
  }

  #update(worker: WorkerEntry): void {
    this.#workers.update(worker)
    if (worker.offer !== undefined) this.queue.onMoved(worker)
  }

  /** A worker has one more task to run. */
  #load(worker: WorkerEntry, task: TaskEntry): void {
    const { now } = this.#turn
    worker.load += task.expectedSeconds
    worker.filledAt = now
    worker.movedAt = now
    if (worker.isLeaving) return
    this.#assignedCount += task.count
    const count = activeCount(worker)
    if (count > worker.slots && count - task.count <= worker.slots) this.#crowdedCount += 1
    this.#update(worker)
  }

  /** A worker has one task less to run. */
  #unload(worker: WorkerEntry, task: TaskEntry, since: InstantMs): void {
    const count = activeCount(worker)
    // Without tasks the sum is exactly 0: rounding errors do not accumulate.
    worker.load = count === 0 ? 0 : Math.max(0, worker.load - task.expectedSeconds)
    worker.movedAt = since
    if (worker.isLeaving) return
    this.#assignedCount -= task.count
    if (count <= worker.slots && count + task.count > worker.slots) this.#crowdedCount -= 1
    this.#update(worker)
  }

  #choice(): Choice | undefined {
    const task = this.queue.plain.first
    const worker = task && this.#inTime(task, () => this.#workers.first)
    if (worker === undefined || task === undefined) return undefined
    if (avoidedBy(task) === worker) return this.#choiceBeside(task, worker)
    if (this.#hasRoom(worker, task)) return { task, worker }
    const other = shortTask(this.queue.plain, worker, this.#rules)
    return other === undefined ? undefined : { task: other, worker }
  }

  /** The first worker, once those without the time for the task rank behind other idle ones. */
  #inTime(task: TaskEntry, first: () => WorkerEntry | undefined): WorkerEntry | undefined {
    for (;;) {
      const worker = first()
      if (worker === undefined || worker.isLate) return worker
      if (activeCount(worker) > 0 || canFinish(worker, task, this.#turn.now)) return worker
      worker.isLate = true
      this.#update(worker)
    }
  }

  /**
   * The same if the first task should not share the first worker with its parent. If no other
   * worker has room for it, it waits for a while, and that worker gets the next other task.
   */
  #choiceBeside(task: TaskEntry, avoided: WorkerEntry): Choice | undefined {
    const second = this.#hasWaitedInVain(task) ? undefined : this.#workers.second
    const worker = second ?? avoided
    if (this.#hasRoom(worker, task)) return { task, worker }
    const other = this.queue.plain.find((next) => avoidedBy(next) !== avoided)
    if (other === undefined) return undefined
    return this.#hasRoom(avoided, other) ? { task: other, worker: avoided } : undefined
  }

  /** The best choice, including tasks with requirements: by priority, then lanes in turn. */
  #bestOf(plain: Choice | undefined): Choice | undefined {
    let best = plain
    let turn = this.#plainTurn
    const { ready } = this.queue
    for (let index = ready.length - 1; index >= 0; index -= 1) {
      const lane = ready[index] as Lane
      const { task, worker } = this.#nextIn(lane)
      if (task === undefined || worker === undefined) {
        this.queue.settle(lane)
        continue
      }
      const more = best === undefined ? 1 : task.priority - best.task.priority
      const isLater = best?.lane === undefined ? lane.turn >= turn : lane.turn > turn
      if (more < 0 || (more === 0 && isLater)) continue
      best = { task, worker, lane }
      turn = lane.turn
    }
    return best
  }

  /** The next task of a lane and its worker, as far as there is one. */
  #nextIn(lane: Lane): Partial<Choice> {
    const task = lane.queue.first
    const first = task && this.#inTime(task, () => lane.first)
    if (first === undefined) return {}
    const worker = task && this.#workerIn(lane, task)
    if (task !== undefined && worker !== undefined) return { task, worker }
    const other = shortTask(lane.queue, first, this.#rules)
    return other === undefined ? {} : { task: other, worker: first }
  }

  /** The worker for the next task of a lane, preferably not the worker of its parent. */
  #workerIn(lane: Lane, task: TaskEntry): WorkerEntry | undefined {
    const { first } = lane
    if (first === undefined) return undefined
    const second = avoidedBy(task) === first ? lane.second : undefined
    if (second !== undefined && this.#hasRoom(second, task)) return second
    return this.#hasRoom(first, task) ? first : undefined
  }

  /** Whether the only worker with room is the worker of the task's parent. */
  #isKept(task: TaskEntry): boolean {
    const { first } = this.#workers
    return first !== undefined && avoidedBy(task) === first && this.#hasRoom(first, task)
  }

  #hasWaitedInVain(task: TaskEntry): boolean {
    const stalled = this.#stalled
    return stalled?.task === task && this.#turn.now - stalled.since >= PATIENCE_MS
  }

  /**
   * Tasks of a priority above 0 are children of waiting tasks. Workers that do not report which
   * tasks wait run them nevertheless: a 1.9.9 worker suspends the parent, and one with several
   * slots exceeds them, even if its parents are all that `perWorkerQueueSize` allows.
   */
  #hasRoom(worker: WorkerEntry, task: TaskEntry): boolean {
    if (!canFinish(worker, task, this.#turn.now)) return false
    const count = heldCount(worker, this.#maxTasks)
    if (count === 0) return true
    if (worker.nestedPass && task.priority > 0) return worker.slots > 1 || count < this.#maxTasks
    if (count >= this.#maxTasks) return false
    return hasFreeSlot(worker) || leastSeconds(task, worker) <= roomSeconds(worker)
  }
}
