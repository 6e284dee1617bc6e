// The running tasks of a processor, in memory that its guardian can read while user code keeps the
// main thread busy. Each started task has a slot. The main thread writes, the guardian reads, and
// writes only the peak memory that it has seen while a profiled task ran.
//
//   0 used slots | 1 started | 2 given up | 3 profiled | 4 sampler is awake | slots of 4 numbers:
//   flags (0 = free), dispatch number, start in ms, peak memory in KiB
//
// Number and start wrap: a processor may run for months.

import type { RunStatus } from '../../core/worker/events.js'

// Decides who owns a task that was sent to a processor: its main thread, which is about to start
// it, or its agent, which takes it back. Both threads claim it in shared memory, and the first one
// wins. The guardian can therefore take tasks back even if user code never returns to the event
// loop.
//
// A ring of cells. The cell of a task is its dispatch number modulo their count; it holds the last
// number that was claimed there, and by which thread. Numbers in a cell only rise: a task whose
// cell was reused by a later one cannot be taken back any more. (That is rare, because the ring is
// much larger than the number of tasks that a processor receives ahead of time: only a task of low
// priority may fall behind.)

const CELLS = 16_384

/**
 * A mark is twice the number, plus 1 if taken back. It wraps, so marks are compared by difference.
 */
const IS_RETRACTED = 1

/** The memory of a claim table; both sides are made from it. `count` is a power of two. */
export function newClaimCells(count: number = CELLS): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT))
  // Each cell starts as if the ring had been used once before.
  for (let at = 0; at < count; at += 1) cells[at] = (at - count) * 2
  return cells
}

/** The side of the processor's main thread, which claims each task once. */
export class ClaimTable {
  readonly #cells: Int32Array
  readonly #mask: number
  /** Tasks that were taken back and are still in the queue, and whose cells were reused. */
  readonly #passed = new Set<number>()

  constructor(cells: Int32Array) {
    this.#cells = cells
    this.#mask = cells.length - 1
  }

  /** Claims a task, so that it can be started. Returns false if it was taken back. */
  claim(dispatchNumber: number): boolean {
    const cells = this.#cells
    const at = dispatchNumber & this.#mask
    const mark = (dispatchNumber * 2) | 0
    let found = Atomics.load(cells, at)
    while (isOlder(found, mark)) {
      const before = Atomics.compareExchange(cells, at, found, mark)
      if (before === found) {
        this.#pass(found, dispatchNumber)
        return true
      }
      found = before
    }
    if (found !== (mark | IS_RETRACTED)) return !this.#passed.delete(dispatchNumber)
    // Done with this task: the cell can be reused.
    Atomics.store(cells, at, mark)
    return false
  }

  /** The cell with this mark was reused by a later task. */
  #pass(mark: number, dispatchNumber: number): void {
    if ((mark & IS_RETRACTED) === 0) return
    const distance = ((dispatchNumber * 2 + IS_RETRACTED - mark) | 0) / 2
    this.#passed.add(dispatchNumber - distance)
  }
}

/** The side of the guardian. */
export class ClaimTaker {
  readonly #cells: Int32Array
  readonly #mask: number

  constructor(cells: Int32Array) {
    this.#cells = cells
    this.#mask = cells.length - 1
  }

  /**
   * Takes a task back, even one that has not been read yet. Returns false if it has started or
   * finished, was taken back before, or if that is unknown.
   */
  retract(dispatchNumber: number): boolean {
    const at = dispatchNumber & this.#mask
    const mark = (dispatchNumber * 2) | IS_RETRACTED
    let found = Atomics.load(this.#cells, at)
    // A task that was taken back and not skipped yet must not be overwritten.
    while (isOlder(found, mark) && (found & IS_RETRACTED) === 0) {
      if ((found ^ mark) === IS_RETRACTED) return false
      const before = Atomics.compareExchange(this.#cells, at, found, mark)
      if (before === found) return true
      found = before
    }
    return false
  }
}

function isOlder(mark: number, than: number): boolean {
  return ((than - mark) | 0) > 0
}

const USED = 0
const STARTED = 1
const GIVEN_UP = 2
const PROFILED = 3
const AWAKE = 4

const HEADER_CELLS = 8
const SLOT_CELLS = 4

const IS_STARTED = 1
const IS_LISTENING = 2
const IS_PROFILED = 4
const IS_GIVEN_UP = 8

/** The initial number of slots of a board. */
const FIRST_SLOTS = 1_024

/** The memory of shorter tasks is not sampled. */
const MIN_SAMPLE_MS = 50

const KIB = 1024

/** The position of a task on the board. */
export type BoardSlot = number

/** For the guardian: the new memory of a full board, or undefined to start sampling. */
export type GuardianMessage = Int32Array | undefined

/** The memory of a board; both sides are made from it. */
export function newBoardCells(slots: number = FIRST_SLOTS): Int32Array {
  const bytes = (HEADER_CELLS + slots * SLOT_CELLS) * Int32Array.BYTES_PER_ELEMENT
  return new Int32Array(new SharedArrayBuffer(bytes))
}

/** The writing side: the processor's main thread. */
export class TaskBoard {
  readonly #tellGuardian: (message: GuardianMessage) => void
  #cells: Int32Array
  #slots: number
  readonly #free: BoardSlot[] = []
  #used = 0
  #started = 0
  #givenUp = 0
  #profiled = 0

  constructor(cells: Int32Array, tellGuardian: (message: GuardianMessage) => void) {
    this.#cells = cells
    this.#slots = slotsOf(cells)
    this.#tellGuardian = tellGuardian
  }

  /**
   * A task starts, `startedMs` after the process did; in the future if its time limit does not run
   * yet.
   */
  enter(dispatchNumber: number, startedMs: number, isProfiled: boolean): BoardSlot {
    const slot = this.#free.pop() ?? this.#newSlot()
    this.#started += 1
    Atomics.store(this.#cells, STARTED, this.#started)
    const at = cellOf(slot)
    this.#cells[at + 1] = dispatchNumber
    this.#cells[at + 2] = startedMs
    this.#cells[at + 3] = 0
    Atomics.store(this.#cells, at, isProfiled ? IS_STARTED | IS_PROFILED : IS_STARTED)
    if (isProfiled) this.#countProfiled(1)
    return slot
  }

  /** The task in this slot has finished, and the next one starts there. */
  next(slot: BoardSlot, dispatchNumber: number, startedMs: number): void {
    const at = cellOf(slot)
    // The guardian may see the change a little later, but at the latest with the next claim.
    this.#cells[at + 1] = dispatchNumber
    this.#cells[at + 2] = startedMs
    this.#cells[at + 3] = 0
  }

  /** The peak memory seen so far while the task in this slot runs, in bytes; 0: none. */
  peakOf(slot: BoardSlot): number {
    return (this.#cells[cellOf(slot) + 3] ?? 0) * KIB
  }

  /** The time of the task runs from here on. */
  begin(slot: BoardSlot, startedMs: number): void {
    Atomics.store(this.#cells, cellOf(slot) + 2, startedMs)
  }

  /** The task has asked for its abort signal. */
  listen(slot: BoardSlot): void {
    Atomics.or(this.#cells, cellOf(slot), IS_LISTENING)
  }

  /** The task is abandoned. It still has to leave. */
  giveUp(slot: BoardSlot): void {
    this.#started -= 1
    this.#givenUp += 1
    Atomics.store(this.#cells, STARTED, this.#started)
    Atomics.store(this.#cells, GIVEN_UP, this.#givenUp)
    Atomics.or(this.#cells, cellOf(slot), IS_GIVEN_UP)
  }

  /** The task has finished. Returns the peak memory seen while it ran, in bytes; 0: none. */
  leave(slot: BoardSlot, isGivenUp: boolean): number {
    if (isGivenUp) Atomics.store(this.#cells, GIVEN_UP, (this.#givenUp -= 1))
    else Atomics.store(this.#cells, STARTED, (this.#started -= 1))
    const at = cellOf(slot)
    const flags = Atomics.exchange(this.#cells, at, 0)
    this.#free.push(slot)
    if ((flags & IS_PROFILED) === 0) return 0
    this.#countProfiled(-1)
    return (this.#cells[at + 3] ?? 0) * KIB
  }

  #newSlot(): BoardSlot {
    if (this.#used === this.#slots) this.#grow()
    this.#used += 1
    Atomics.store(this.#cells, USED, this.#used)
    return this.#used - 1
  }

  /** Until the guardian has switched over, it sees the old memory. */
  #grow(): void {
    const cells = newBoardCells(this.#slots * 2)
    cells.set(this.#cells)
    this.#cells = cells
    this.#slots *= 2
    this.#tellGuardian(cells)
  }

  #countProfiled(change: number): void {
    this.#profiled += change
    Atomics.store(this.#cells, PROFILED, this.#profiled)
    if (this.#profiled === 0 || Atomics.exchange(this.#cells, AWAKE, 1) === 1) return
    this.#tellGuardian(undefined)
  }
}

/** The reading side: the guardian. */
export class BoardReader {
  #cells: Int32Array

  constructor(cells: Int32Array) {
    this.#cells = cells
  }

  /** The board has moved here. */
  move(cells: Int32Array): void {
    this.#cells = cells
  }

  /**
   * The status of a task, `nowMs` after the process started; of several tasks, that of the last one
   * that has started.
   */
  statusOf(dispatchNumber: number, nowMs: number, count: number = 1): RunStatus {
    const at = this.#find(dispatchNumber, count)
    const flags = at < 0 ? 0 : Atomics.load(this.#cells, at)
    const distance = at < 0 ? 0 : ((this.#cells[at + 1] ?? 0) - dispatchNumber) | 0
    // An abandoned task is not counted as started any more.
    const ownCount = (flags & IS_GIVEN_UP) === 0 ? 1 : 0
    return {
      dispatchNumber,
      // The cell may have been reused since.
      taskNumber: dispatchNumber + Math.min(Math.max(distance, 0), count - 1),
      isStarted: flags !== 0,
      isListening: (flags & IS_LISTENING) !== 0,
      isAlone: flags !== 0 && Atomics.load(this.#cells, STARTED) <= ownCount,
      hasGivenUp: Atomics.load(this.#cells, GIVEN_UP) > 0,
      runningMs: flags === 0 ? 0 : Math.max(this.#runningMs(at, nowMs), 0),
    }
  }

  /** Whether a task has run for longer than this. */
  hasLongTask(longMs: number, nowMs: number): boolean {
    for (let at = HEADER_CELLS; at < this.#end; at += SLOT_CELLS) {
      if (Atomics.load(this.#cells, at) !== 0 && this.#runningMs(at, nowMs) > longMs) return true
    }
    return false
  }

  /** Records `readRss()`, in bytes, for profiled tasks that have run long enough. */
  samplePeaks(nowMs: number, readRss: () => number): void {
    let rssKib = 0
    for (let at = HEADER_CELLS; at < this.#end; at += SLOT_CELLS) {
      if ((Atomics.load(this.#cells, at) & IS_PROFILED) === 0) continue
      if (this.#runningMs(at, nowMs) < MIN_SAMPLE_MS) continue
      rssKib ||= Math.ceil(readRss() / KIB)
      if (rssKib > (this.#cells[at + 3] ?? 0)) this.#cells[at + 3] = rssKib
    }
  }

  /** Whether a profiled task runs. */
  get isProfiling(): boolean {
    return Atomics.load(this.#cells, PROFILED) > 0
  }

  /** Sleeps until the main thread wakes it. Returns false if a profiled task has just started. */
  fallAsleep(): boolean {
    Atomics.store(this.#cells, AWAKE, 0)
    return !this.isProfiling || Atomics.exchange(this.#cells, AWAKE, 1) === 1
  }

  get #end(): number {
    return HEADER_CELLS + Atomics.load(this.#cells, USED) * SLOT_CELLS
  }

  #runningMs(at: number, nowMs: number): number {
    return (nowMs - (this.#cells[at + 2] ?? 0)) | 0
  }

  /** The slot of the last of these tasks that has started; -1 if none has. */
  #find(dispatchNumber: number, count: number): number {
    let found = -1
    let last = -1
    for (let at = HEADER_CELLS; at < this.#end; at += SLOT_CELLS) {
      const distance = ((this.#cells[at + 1] ?? 0) - dispatchNumber) | 0
      if (distance <= last || distance >= count || Atomics.load(this.#cells, at) === 0) continue
      found = at
      last = distance
    }
    return found
  }
}

function slotsOf(cells: Int32Array): number {
  return (cells.length - HEADER_CELLS) / SLOT_CELLS
}

function cellOf(slot: BoardSlot): number {
  return HEADER_CELLS + slot * SLOT_CELLS
}
