// The tasks that wait for the workers of one runtime, with a queue for each requirement: a task
// that fits no worker does not delay others. A lane keeps the workers that could ever run its
// tasks, in the order in which they get the next one.

import { assert } from '../../../base/assert.js'
import type { Fifo } from '../../../base/collection/fifo.js'
import { IndexedHeap, type HeapItem } from '../../../base/collection/indexed-heap.js'
import type { ClientEntry, Take, TaskEntry, WorkerEntry } from '../entries.js'
import {
  deadlockOf,
  haveUnits,
  isBlocked,
  offers,
  takesOf,
  type Deadlock,
  type Requirement,
} from './capabilities.js'
import { activeCount } from './load.js'
import { TaskQueue } from '../task/queue.js'

/** When there are this many lanes, empty ones are removed. */
const MAX_LANES = 256

/** Maximum number of tasks of a lane that are checked for why none of them runs. */
const MAX_LOOKS = 20

/** A worker in a lane. */
interface Seat extends HeapItem {
  readonly worker: WorkerEntry
  readonly lane: Lane
  /** The units of its agent that a task of the lane takes. */
  readonly takes: readonly Take[]
  /** Its agent has too few free units. */
  isShort: boolean
}

const NO_SEATS: readonly Seat[] = []

/** Whether worker `a` gets the next task before worker `b`. */
type Ranking = (a: WorkerEntry, b: WorkerEntry) => boolean

/** Tasks with one requirement. */
export class Lane {
  readonly requirement: Requirement
  readonly queue: TaskQueue = new TaskQueue()
  /** The number of its last turn; increases with each turn of any lane. */
  turn = 0
  /** Whether one of its tasks may now fit a worker. */
  isReady = false
  readonly #seats: IndexedHeap<Seat>

  constructor(requirement: Requirement, ranksBefore: Ranking) {
    this.requirement = requirement
    this.#seats = new IndexedHeap((a, b) => {
      return a.isShort === b.isShort ? ranksBefore(a.worker, b.worker) : b.isShort
    })
  }

  /** Whether any worker could ever run its tasks. */
  get isServed(): boolean {
    return this.#seats.size > 0
  }

  /**
   * Whether the next tasks can never run, although there are workers that fit. `deadlock`: returns
   * the tasks in a deadlock.
   */
  isBlocked(deadlock: () => Deadlock): boolean {
    const { first, isServed, requirement } = this
    if (!isServed || first !== undefined || !requirement.isCounted) return false
    if (this.queue.size === 0) return false
    const workers = this.#seats.items.map(({ worker }) => worker)
    const found = deadlock()
    return this.queue.find((task) => !isBlocked(task, workers, found), MAX_LOOKS) === undefined
  }

  /** The worker that gets the next task, if it has room. */
  get first(): WorkerEntry | undefined {
    return workerOn(this.#seats.first)
  }

  /** The worker after that. */
  get second(): WorkerEntry | undefined {
    return workerOn(this.#seats.second)
  }

  /**
   * Whether an idle worker could take a task of this lane, with its units, from the worker that has
   * it.
   */
  couldTake({ worker: from }: TaskEntry): boolean {
    const seat = this.#seats.first
    if (seat === undefined || seat.worker === from) return false
    const isNear = seat.worker.offer?.supply === from?.offer?.supply
    return (!seat.isShort || isNear) && seat.worker.assigned.size === seat.worker.waitingCount
  }

  /** Adds a worker, if it could ever run tasks of the lane. */
  offer(worker: WorkerEntry): Seat | undefined {
    if (!offers(worker, this.requirement)) return undefined
    const takes = takesOf(worker, this.requirement)
    for (const { stock, units } of takes) stock.largest = Math.max(stock.largest, units)
    const seat: Seat = { worker, lane: this, takes, isShort: !haveUnits(takes), heapIndex: -1 }
    this.#seats.add(seat)
    return seat
  }

  /** Updates the rank of a worker. */
  update(seat: Seat): void {
    seat.isShort = !haveUnits(seat.takes)
    this.#seats.update(seat)
  }

  /** Removes a worker. */
  remove(seat: Seat): void {
    this.#seats.remove(seat)
  }

  /** Throws if the lane is inconsistent. */
  checkInvariants(): void {
    this.queue.checkInvariants()
    this.#seats.checkInvariants()
  }
}

/** All waiting tasks. Has the methods of `TaskQueue` that add tasks. */
export class Lanes {
  /** Tasks without requirements. */
  readonly plain: TaskQueue = new TaskQueue()
  readonly #byKey = new Map<string, Lane>()
  /** The lane that was found last: the next task usually belongs to the same. */
  #last: Lane | undefined
  /** The seats of each worker. Invariant: none is empty. */
  readonly #seats = new Map<WorkerEntry, Seat[]>()
  /** Invariant: the lanes that are ready. */
  readonly #ready: Lane[] = []
  readonly #parked = new Set<ClientEntry>()
  readonly #ranksBefore: Ranking
  /** The workers that may get tasks. */
  readonly #workers: () => Iterable<WorkerEntry>

  constructor(ranksBefore: Ranking, workers: () => Iterable<WorkerEntry>) {
    this.#ranksBefore = ranksBefore
    this.#workers = workers
  }

  get size(): number {
    let size = this.plain.size
    if (this.#byKey.size === 0) return size
    for (const { queue } of this.#byKey.values()) size += queue.size
    return size
  }

  /** All lanes in which tasks wait or have waited. */
  get all(): Iterable<Lane> {
    return this.#byKey.values()
  }

  /** The tasks that are deadlocked. */
  deadlock(): Deadlock {
    return deadlockOf([...this.#workers()])
  }

  /**
   * Lanes with a task that may now fit a worker. Call `settle` if none fits; that moves the last
   * lane to its place.
   */
  get ready(): readonly Lane[] {
    return this.#ready
  }

  /** Whether any lane needs to be checked, besides the plain tasks. */
  get isReady(): boolean {
    return this.#ready.length > 0
  }

  countOf(client: ClientEntry): number {
    let count = this.plain.countOf(client)
    for (const { queue } of this.#byKey.values()) count += queue.countOf(client)
    return count
  }

  push(task: TaskEntry): void {
    this.#queueFor(task).push(task)
  }

  putBack(task: TaskEntry): void {
    this.#queueFor(task).putBack(task)
  }

  pushBefore(task: TaskEntry, other: TaskEntry): void {
    const queue = this.#queueFor(task)
    if (task.requirement?.key === other.requirement?.key) queue.pushBefore(task, other)
    else queue.putBack(task)
  }

  pushBehind(task: TaskEntry, other: TaskEntry): void {
    const queue = this.#queueFor(task)
    if (task.requirement?.key === other.requirement?.key) queue.pushBehind(task, other)
    else queue.push(task)
  }

  remove(task: TaskEntry): void {
    this.#queueFor(task).remove(task)
  }

  park(client: ClientEntry): void {
    this.#parked.add(client)
    this.plain.park(client)
    for (const { queue } of this.#byKey.values()) queue.park(client)
  }

  unpark(client: ClientEntry): void {
    if (!this.#parked.delete(client)) return
    this.plain.unpark(client)
    for (const lane of this.#byKey.values()) {
      lane.queue.unpark(client)
      this.#note(lane)
    }
  }

  drop(client: ClientEntry): readonly Fifo<TaskEntry>[] {
    this.#parked.delete(client)
    const lanes = [...this.#byKey.values()].flatMap(({ queue }) => queue.drop(client))
    return [...this.plain.drop(client), ...lanes]
  }

  /** The lane of a task; undefined for a plain one. */
  laneOf(task: TaskEntry): Lane | undefined {
    const requirement = task.requirement
    return requirement === undefined ? undefined : this.#find(requirement)
  }

  /** Adds a worker that may get tasks. */
  onWorker(worker: WorkerEntry): void {
    if (worker.offer === undefined) return
    for (const lane of this.#byKey.values()) {
      this.#seat(lane, worker)
      this.#note(lane)
    }
  }

  /** The load of a worker has changed. */
  onMoved(worker: WorkerEntry): void {
    for (const seat of this.#seatsOf(worker)) {
      seat.lane.update(seat)
      this.#note(seat.lane)
    }
  }

  /** The free units of a worker's agent have changed. */
  onUnits({ offer }: WorkerEntry): void {
    for (const worker of offer?.supply.workers ?? []) {
      for (const seat of this.#seatsOf(worker)) {
        if (seat.isShort === !haveUnits(seat.takes)) continue
        seat.lane.update(seat)
        this.#note(seat.lane)
      }
    }
  }

  /** Removes a worker. */
  onGone(worker: WorkerEntry): void {
    for (const seat of this.#seatsOf(worker)) seat.lane.remove(seat)
    this.#seats.delete(worker)
  }

  /** A function was measured for the first time: more workers may have room. */
  onMeasured(): void {
    for (const lane of this.#byKey.values()) this.#note(lane)
  }

  /** Records that no worker has room for the next task of a lane until something changes. */
  settle(lane: Lane): void {
    if (!lane.isReady) return
    lane.isReady = false
    const last = this.#ready.pop()
    if (last !== undefined && last !== lane) this.#ready[this.#ready.indexOf(lane)] = last
  }

  /** Throws if a task waits that could be assigned. */
  checkAssigned(): void {
    for (const { first, queue } of this.all) {
      const isFree = first !== undefined && activeCount(first) === 0 && !first.isLate
      assert(queue.first === undefined || !isFree, 'a task waits, a worker that fits is idle')
    }
  }

  /** Throws if a lane is inconsistent, or has outdated units. */
  checkInvariants(): void {
    this.plain.checkInvariants()
    for (const lane of this.#byKey.values()) {
      lane.checkInvariants()
      assert(lane.isReady === this.#ready.includes(lane), 'a lane is ready and not listed')
    }
    for (const worker of this.#workers()) {
      for (const seat of this.#seatsOf(worker)) {
        const isKnown = seat.isShort === !haveUnits(seat.takes)
        assert(isKnown, 'a lane has outdated units')
      }
    }
  }

  #seat(lane: Lane, worker: WorkerEntry): void {
    const seat = lane.offer(worker)
    if (seat === undefined) return
    const seats = this.#seats.get(worker)
    if (seats === undefined) this.#seats.set(worker, [seat])
    else seats.push(seat)
  }

  #seatsOf(worker: WorkerEntry): readonly Seat[] {
    return (this.#seats.size === 0 ? undefined : this.#seats.get(worker)) ?? NO_SEATS
  }

  #note(lane: Lane): void {
    if (lane.queue.size > 0) this.#setReady(lane)
  }

  #setReady(lane: Lane): void {
    if (lane.isReady) return
    lane.isReady = true
    this.#ready.push(lane)
  }

  #find(requirement: Requirement): Lane | undefined {
    if (this.#last?.requirement === requirement) return this.#last
    const lane = this.#byKey.get(requirement.key)
    // A lane may have been made for an equal requirement.
    if (lane?.requirement === requirement) this.#last = lane
    return lane
  }

  #queueFor(task: TaskEntry): TaskQueue {
    const requirement = task.requirement
    if (requirement === undefined) return this.plain
    const lane = this.#find(requirement) ?? this.#addLane(requirement)
    this.#setReady(lane)
    return lane.queue
  }

  #addLane(requirement: Requirement): Lane {
    if (this.#byKey.size >= MAX_LANES) this.#removeEmpty()
    const lane = new Lane(requirement, this.#ranksBefore)
    for (const client of this.#parked) lane.queue.park(client)
    for (const worker of this.#workers()) this.#seat(lane, worker)
    this.#byKey.set(requirement.key, lane)
    return lane
  }

  #removeEmpty(): void {
    const empty = new Set([...this.#byKey.values()].filter(({ queue }) => queue.size === 0))
    this.#last = undefined
    for (const lane of empty) {
      this.#byKey.delete(lane.requirement.key)
      this.settle(lane)
    }
    for (const [worker, seats] of this.#seats) {
      const left = seats.filter(({ lane }) => !empty.has(lane))
      if (left.length > 0) this.#seats.set(worker, left)
      else this.#seats.delete(worker)
    }
  }
}

function workerOn(seat: Seat | undefined): WorkerEntry | undefined {
  return seat === undefined || seat.isShort ? undefined : seat.worker
}
