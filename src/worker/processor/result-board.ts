// Results of a slice that are complete, but not sent yet, in memory that the guardian can read: if
// a later task of the slice keeps the main thread busy, the guardian sends them.
//
//   0 lock | 1 complete | 2 taken | 3 attempt | 4 head length | id of the first task | ends |
//   seconds | head (wire/run.ts) | entries
//
// The main thread appends, and never changes what is complete until it closes the slice. Each
// result is sent once: whoever has the lock decides up to which one it has been taken.

import { latin1Slice, latin1Write } from '../../base/bytes.js'
import { taskId, type TaskId } from '../../base/ids.js'
import { MAX_RUN_TASKS } from '../../wire/run.js'
import type { TakenResults } from '../link/frames.js'

const LOCK = 0
const COMPLETE = 1
const TAKEN = 2
const ATTEMPT = 3
const HEAD_LENGTH = 4
const HEADER_CELLS = 5

/** The values of the lock. */
const FREE = 0
const IS_CLOSING = 1
const IS_TAKING = 2

/** How long the main thread waits for a copy before it looks again, in milliseconds. */
const WAIT_MS = 10

const ID_BYTES = 16
const CELL_BYTES = 4
const ID_AT: number = HEADER_CELLS * CELL_BYTES
const ENDS_AT: number = ID_AT + ID_BYTES
const SECONDS_AT: number = ENDS_AT + MAX_RUN_TASKS * CELL_BYTES
const HEAD_AT: number = SECONDS_AT + MAX_RUN_TASKS * CELL_BYTES
const MAX_HEAD_BYTES = 4_096
const ENTRIES_AT: number = HEAD_AT + MAX_HEAD_BYTES
const MAX_ENTRY_BYTES: number = 80 * 1024

/** The memory of a result board. */
export function newResultMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(ENTRIES_AT + MAX_ENTRY_BYTES)
}

class BoardMemory {
  readonly cells: Int32Array
  readonly ends: Int32Array
  readonly seconds: Float32Array
  readonly bytes: Buffer

  constructor(memory: SharedArrayBuffer) {
    this.cells = new Int32Array(memory, 0, HEADER_CELLS)
    this.ends = new Int32Array(memory, ENDS_AT, MAX_RUN_TASKS)
    this.seconds = new Float32Array(memory, SECONDS_AT, MAX_RUN_TASKS)
    this.bytes = Buffer.from(memory)
  }
}

/** What writes the results (serializer/value/packed/writer.ts), into `ResultBoard.memory`. */
interface BoardWriter {
  /** The size of the complete entries. */
  readonly byteLength: number
  readonly headBytes: number
  /** Whether it still writes into the memory that it was given. */
  readonly isInPlace: boolean
  writeHead(target: Buffer, at: number): void
}

/** The side of the main thread. */
export class ResultBoard {
  /** Where the entries are written. */
  readonly memory: Buffer
  readonly #board: BoardMemory
  #headBytes = 0
  /** Whether all results so far are on the board. */
  #isComplete = false

  constructor(memory: SharedArrayBuffer) {
    this.#board = new BoardMemory(memory)
    this.memory = Buffer.from(memory, ENTRIES_AT, MAX_ENTRY_BYTES)
  }

  /** Results follow, from that of the task with this id on. */
  open(id: TaskId, attempt: number): void {
    const { cells, bytes } = this.#board
    latin1Write(bytes, id, ID_AT)
    cells[ATTEMPT] = attempt
    cells[TAKEN] = 0
    this.#headBytes = -1
    this.#isComplete = id.length === ID_BYTES
  }

  /** One more result is complete; `count`: how many there are. */
  add(count: number, writer: BoardWriter, seconds: number): void {
    if (!this.#isComplete) return
    const { cells, ends, seconds: durations, bytes } = this.#board
    if (writer.headBytes !== this.#headBytes && !this.#writeHead(writer, bytes)) return this.stop()
    if (!writer.isInPlace) return this.stop()
    ends[count - 1] = writer.byteLength
    durations[count - 1] = seconds
    Atomics.store(cells, COMPLETE, count)
  }

  /** The results from here on are not to be taken. */
  stop(): void {
    this.#isComplete = false
  }

  /** Nothing is taken any more. Returns how many results were. */
  close(): number {
    const { cells } = this.#board
    if ((cells[COMPLETE] ?? 0) === 0) return 0
    while (Atomics.compareExchange(cells, LOCK, FREE, IS_CLOSING) !== FREE) {
      Atomics.wait(cells, LOCK, IS_TAKING, WAIT_MS)
    }
    const taken = cells[TAKEN] ?? 0
    Atomics.store(cells, COMPLETE, 0)
    Atomics.store(cells, LOCK, FREE)
    return taken
  }

  #writeHead(writer: BoardWriter, bytes: Buffer): boolean {
    this.#headBytes = writer.headBytes
    if (writer.headBytes > MAX_HEAD_BYTES) return false
    writer.writeHead(bytes, HEAD_AT)
    this.#board.cells[HEAD_LENGTH] = writer.headBytes
    return true
  }
}

/** The side of the guardian. */
export class ResultTaker {
  readonly #board: BoardMemory

  constructor(memory: SharedArrayBuffer) {
    this.#board = new BoardMemory(memory)
  }

  /**
   * Sends the results that are complete, unless they are being sent. Meanwhile, the main thread
   * cannot exit: its exit handlers close the board.
   */
  take(send: (results: TakenResults) => void): void {
    const { cells } = this.#board
    if (Atomics.load(cells, COMPLETE) === 0) return
    if (Atomics.compareExchange(cells, LOCK, FREE, IS_TAKING) !== FREE) return
    const from = cells[TAKEN] ?? 0
    const complete = Atomics.load(cells, COMPLETE)
    if (complete > from) send(this.#copy(from, complete))
    cells[TAKEN] = Math.max(from, complete)
    Atomics.store(cells, LOCK, FREE)
    Atomics.notify(cells, LOCK)
  }

  #copy(from: number, to: number): TakenResults {
    const { cells, ends, seconds, bytes } = this.#board
    const count = to - from
    const headBytes = cells[HEAD_LENGTH] ?? 0
    const begin = from === 0 ? 0 : (ends[from - 1] ?? 0)
    const end = ends[to - 1] ?? 0
    const front = Buffer.alloc(CELL_BYTES + headBytes + CELL_BYTES * (count + 1))
    front.writeUInt32LE(headBytes, 0)
    bytes.copy(front, CELL_BYTES, HEAD_AT, HEAD_AT + headBytes)
    const metadata = Buffer.alloc(CELL_BYTES * count)
    for (let at = 0; at < count; at += 1) {
      const offset = (ends[from + at] ?? 0) - begin
      front.writeUInt32LE(offset, CELL_BYTES + headBytes + CELL_BYTES * (at + 1))
      metadata.writeFloatBE(seconds[from + at] ?? 0, CELL_BYTES * at)
    }
    const entries = bytes.subarray(ENTRIES_AT + begin, ENTRIES_AT + end)
    return {
      id: taskId(latin1Slice(bytes, ID_AT, ID_AT + ID_BYTES)),
      from,
      attempt: cells[ATTEMPT] ?? 0,
      count,
      packed: Buffer.concat([front, entries]).toString('base64'),
      metadata: metadata.toString('base64'),
    }
  }
}
