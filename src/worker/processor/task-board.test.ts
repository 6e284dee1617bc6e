import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoardReader, newBoardCells, TaskBoard } from './shared-memory.js'

const MIB = 1024 ** 2

class Setup {
  readonly cells: Int32Array
  readonly board: TaskBoard
  readonly reader: BoardReader
  wakes = 0

  constructor(slots?: number) {
    this.cells = newBoardCells(slots)
    this.reader = new BoardReader(this.cells)
    this.board = new TaskBoard(this.cells, (larger) => {
      if (larger === undefined) this.wakes += 1
      else this.reader.move(larger)
    })
  }
}

test('the guardian sees which tasks have started, since when, and which listen', () => {
  const { board, reader } = new Setup()
  const nothing = { isStarted: false, isListening: false, isAlone: false, hasGivenUp: false }
  assert.deepEqual(reader.statusOf(0, 50), {
    dispatchNumber: 0,
    taskNumber: 0,
    ...nothing,
    runningMs: 0,
  })
  const first = board.enter(0, 100.7, false)
  const alone = { isStarted: true, isListening: false, isAlone: true, hasGivenUp: false }
  assert.deepEqual(reader.statusOf(0, 150), {
    dispatchNumber: 0,
    taskNumber: 0,
    ...alone,
    runningMs: 50,
  })
  const second = board.enter(7, 120, false)
  board.listen(second)
  const { isAlone, isListening } = reader.statusOf(7, 120)
  assert.deepEqual({ isAlone, isListening }, { isAlone: false, isListening: true })
  board.giveUp(first)
  assert.equal(reader.statusOf(7, 0).isAlone, true)
  assert.equal(reader.statusOf(0, 0).isAlone, false, 'another task would be killed with it')
  assert.equal(reader.statusOf(7, 0).runningMs, 0)
  assert.equal(reader.statusOf(7, 0).hasGivenUp, true)
  assert.equal(board.leave(first, true), 0)
  assert.equal(reader.statusOf(0, 0).isStarted, false)
  assert.equal(reader.statusOf(7, 0).hasGivenUp, false)
  board.leave(second, false)
  assert.equal(reader.statusOf(7, 0).isStarted, false)
})

test('a reused slot shows nothing of the previous task', () => {
  const { board, reader } = new Setup()
  const slot = board.enter(0, 0, true)
  board.listen(slot)
  board.leave(slot, false)
  assert.equal(board.enter(1, 5, false), slot)
  assert.equal(reader.statusOf(0, 10).isStarted, false)
  assert.equal(reader.statusOf(1, 10).isListening, false)
})

test('a full board moves to a larger memory', () => {
  const { board, reader } = new Setup(2)
  const slots = Array.from({ length: 9 }, (_, number) => board.enter(number, number, false))
  assert.equal(new Set(slots).size, 9)
  for (let number = 0; number < 9; number += 1) {
    assert.equal(reader.statusOf(number, 10).runningMs, 10 - number)
  }
  for (const slot of slots) board.leave(slot, false)
  assert.equal(reader.statusOf(3, 10).isStarted, false)
})

test('memory is sampled for profiled tasks that run long enough', () => {
  const { board, reader } = new Setup()
  let reads = 0
  const sampleAt = (nowMs: number, bytes: number): void => {
    reader.samplePeaks(nowMs, () => {
      reads += 1
      return bytes
    })
  }
  const plain = board.enter(0, 0, false)
  sampleAt(1000, 9 * MIB)
  const profiled = board.enter(1, 1000, true)
  sampleAt(1040, 9 * MIB)
  assert.equal(reads, 0)
  for (const [nowMs, bytes] of [
    [1050, 5 * MIB],
    [1100, 8 * MIB],
    [1150, 6 * MIB],
  ] as const) {
    sampleAt(nowMs, bytes)
  }
  assert.equal(reads, 3)
  assert.equal(board.leave(plain, false), 0)
  assert.equal(board.leave(profiled, false), 8 * MIB)
})

test('the sampler is woken once until it sleeps again', () => {
  const setup = new Setup()
  const { board, reader } = setup
  const short = (): void => void board.leave(board.enter(0, 0, true), false)
  short()
  short()
  assert.equal(setup.wakes, 1)
  assert.equal(reader.isProfiling, false)
  assert.equal(reader.fallAsleep(), true)
  short()
  assert.equal(setup.wakes, 2)
  board.enter(1, 0, true)
  assert.equal(reader.isProfiling, true)
  assert.equal(reader.fallAsleep(), false)
})
