// The tasks that wait for the workers of one runtime, a queue for each requirement: a task that
// fits nobody holds up nobody. A lane knows the workers that could ever run its tasks, in the order
// in which they get the next one.

import { assert } from '../../../base/assert.js'
import type { Fifo } from '../../../base/fifo.js'
import { IndexedHeap, type HeapItem } from '../../../base/indexed-heap.js'
import type { ClientEntry, Take, TaskEntry, WorkerEntry } from '../entries.js'
import {
  deadlockOf,
  haveUnits,
  isBlocked,
  offers,
  takesOf,
  type Deadlock,
  type Requirement,
} from './placement.js'
import { TaskQueue } from '../task/queue.js'

/** So many lanes are kept; of more, those in which nothing waits are not. */
const MAX_LANES = 256

/** So many tasks of a lane are looked at to see why nothing of it runs. */
const MAX_LOOKS = 20

/** The place of a worker in a lane. */
export interface Seat extends HeapItem {
  readonly worker: WorkerEntry
  readonly lane: Lane
  /** What a task of the lane takes of the units of its agent. */
  readonly takes: readonly Take[]
  /** Its agent has too few units left. */
  isShort: boolean
}

const NO_SEATS: readonly Seat[] = []

/** Which of two workers gets the next task. */
type Ranking = (a: WorkerEntry, b: WorkerEntry) => boolean

/** Tasks with one requirement. */
export class Lane {
  readonly requirement: Requirement
  readonly queue: TaskQueue = new TaskQueue()
  /** When it had a turn last, as a number that grows. */
  turn = 0
  readonly #seats: IndexedHeap<Seat>

  constructor(requirement: Requirement, ranksBefore: Ranking) {
    this.requirement = requirement
    this.#seats = new IndexedHeap((a, b) => {
      return a.isShort === b.isShort ? ranksBefore(a.worker, b.worker) : b.isShort
    })
  }

  /** Whether a worker is there that could ever run its tasks. */
  get isServed(): boolean {
    return this.#seats.size > 0
  }

  /**
   * Whether what comes next can never run as things are, although workers are there for it.
   * `deadlock`: what is in one.
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

  /** The same without that one. */
  get second(): WorkerEntry | undefined {
    return workerOn(this.#seats.second)
  }

  /**
   * Whether a worker that has nothing to do could take a task of this lane from the worker that has
   * it, units included.
   */
  couldTake({ worker: from }: TaskEntry): boolean {
    const seat = this.#seats.first
    if (seat === undefined || seat.worker === from) return false
    const isNear = seat.worker.offer?.supply === from?.offer?.supply
    return (!seat.isShort || isNear) && seat.worker.assigned.size === seat.worker.waitingCount
  }

  /** A worker that may get tasks has come. */
  offer(worker: WorkerEntry): Seat | undefined {
    if (!offers(worker, this.requirement)) return undefined
    const takes = takesOf(worker, this.requirement)
    for (const { stock, units } of takes) stock.largest = Math.max(stock.largest, units)
    const seat: Seat = { worker, lane: this, takes, isShort: !haveUnits(takes), heapIndex: -1 }
    this.#seats.add(seat)
    return seat
  }

  /** The rank of a worker has changed. */
  update(seat: Seat): void {
    seat.isShort = !haveUnits(seat.takes)
    this.#seats.update(seat)
  }

  /** A worker gets nothing more. */
  remove(seat: Seat): void {
    this.#seats.remove(seat)
  }

  /** Throws if the lane disagrees with itself. */
  checkInvariants(): void {
    this.queue.checkInvariants()
    this.#seats.checkInvariants()
  }
}

/** All that waits. As a `TaskQueue` for whoever only puts something in. */
export class Lanes {
  /** What needs nothing. */
  readonly plain: TaskQueue = new TaskQueue()
  readonly #byKey = new Map<string, Lane>()
  /** The places of workers. Invariant: none is empty. */
  readonly #seats = new Map<WorkerEntry, Seat[]>()
  /** Lanes in which a task may have found a worker. */
  readonly #ready = new Set<Lane>()
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

  /** All lanes in which something waits, or has waited. */
  get all(): Iterable<Lane> {
    return this.#byKey.values()
  }

  /** The tasks that keep units that they wait for. */
  deadlock(): Deadlock {
    return deadlockOf([...this.#workers()])
  }

  /** Those in which a task may have found a worker. Who finds none says so with `settle`. */
  get ready(): Iterable<Lane> {
    return this.#ready
  }

  /** Whether anything but the plain tasks has to be looked at. */
  get isReady(): boolean {
    return this.#ready.size > 0
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

  /** The lane of a task that is known to have one. */
  laneOf(task: TaskEntry): Lane | undefined {
    const requirement = task.requirement
    return requirement === undefined ? undefined : this.#byKey.get(requirement.key)
  }

  /** A worker has come that may get tasks. */
  onWorker(worker: WorkerEntry): void {
    if (worker.offer === undefined) return
    for (const lane of this.#byKey.values()) {
      this.#seat(lane, worker)
      this.#note(lane)
    }
  }

  /** A worker has more to do, or less. */
  onMoved(worker: WorkerEntry): void {
    for (const seat of this.#seatsOf(worker)) {
      seat.lane.update(seat)
      this.#note(seat.lane)
    }
  }

  /** The agent of a worker has more units left, or fewer. */
  onUnits({ offer }: WorkerEntry): void {
    for (const worker of offer?.supply.workers ?? []) {
      for (const seat of this.#seatsOf(worker)) {
        if (seat.isShort === !haveUnits(seat.takes)) continue
        seat.lane.update(seat)
        this.#note(seat.lane)
      }
    }
  }

  /** A worker gets nothing more. */
  onGone(worker: WorkerEntry): void {
    for (const seat of this.#seatsOf(worker)) seat.lane.remove(seat)
    this.#seats.delete(worker)
  }

  /** Durations were unknown, and are known: more may have room. */
  onMeasured(): void {
    for (const lane of this.#byKey.values()) this.#note(lane)
  }

  /** Nobody has room for the next task of a lane, until something changes. */
  settle(lane: Lane): void {
    this.#ready.delete(lane)
  }

  /** Throws if a lane disagrees with itself, or is not looked at though it should be. */
  checkInvariants(): void {
    this.plain.checkInvariants()
    for (const lane of this.#byKey.values()) lane.checkInvariants()
    for (const worker of this.#workers()) {
      for (const seat of this.#seatsOf(worker)) {
        const isKnown = seat.isShort === !haveUnits(seat.takes)
        assert(isKnown, 'a lane does not know the units that are left')
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
    if (lane.queue.size > 0) this.#ready.add(lane)
  }

  #queueFor(task: TaskEntry): TaskQueue {
    const requirement = task.requirement
    if (requirement === undefined) return this.plain
    const lane = this.#byKey.get(requirement.key) ?? this.#addLane(requirement)
    this.#ready.add(lane)
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
    for (const lane of empty) {
      this.#byKey.delete(lane.requirement.key)
      this.#ready.delete(lane)
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
