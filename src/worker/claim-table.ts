// Who has a task that a processor was given: its main thread, which is about to begin it, or its
// agent, which wants it back. Both threads claim it in shared memory, and the first one has it: so
// the guardian can take tasks back while user code never returns to the event loop.
//
// A ring of cells; that of a task is its dispatch number modulo their count, and holds the last
// number that was claimed there and by whom. Numbers in a cell only rise: a task whose cell has
// gone on to a later one cannot be taken back any more. (A ring is much larger than the number of
// tasks that a processor gets ahead of time, so that is rare: a task of low priority may stay
// behind.)

const CELLS = 4_096

/** A mark is twice the number, plus 1 if it was taken back. It wraps; so marks are subtracted. */
const IS_RETRACTED = 1

/** The memory of a claim table; both sides are made from it. `count` is a power of two. */
export function newClaimCells(count: number = CELLS): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT))
  // Each as if the ring had gone round once before.
  for (let at = 0; at < count; at += 1) cells[at] = (at - count) * 2
  return cells
}

/** The side of the processor's main thread, which claims each task once. */
export class ClaimTable {
  readonly #cells: Int32Array
  readonly #mask: number
  /** Tasks that were taken back, are still in the queue, and whose cells have gone on. */
  readonly #passed = new Set<number>()

  constructor(cells: Int32Array) {
    this.#cells = cells
    this.#mask = cells.length - 1
  }

  /** Claims a task, so that it can be begun. Returns false if it was taken back. */
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
    // It is over: the cell may go on.
    Atomics.store(cells, at, mark)
    return false
  }

  /** The cell has gone on from this mark to the one of a later task. */
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
   * Takes a task back, also one that has not even been read. Returns false if it has begun, is
   * over, was taken back before, or cannot be told.
   */
  retract(dispatchNumber: number): boolean {
    const at = dispatchNumber & this.#mask
    const mark = (dispatchNumber * 2) | IS_RETRACTED
    let found = Atomics.load(this.#cells, at)
    // One that was taken back and not yet skipped must not be forgotten.
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
