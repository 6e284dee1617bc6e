import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { taskId } from '../../base/ids.js'
import { defaultCodec } from '../../serializer/task-codec.js'
import { PackedReader } from '../../serializer/value/packed/reader.js'
import { PackedWriter } from '../../serializer/value/packed/writer.js'
import { layoutOf } from '../../wire/run.js'
import type { TakenResults } from '../link/frames.js'
import { newResultMemory, ResultBoard, ResultTaker } from './result-board.js'

const FIRST = taskId('\0\0middle-bytes\0\0')

/** A board with its writer, and who takes results from it. */
class Setup {
  readonly #memory = newResultMemory()
  readonly board: ResultBoard = new ResultBoard(this.#memory)
  readonly writer: PackedWriter = new PackedWriter(defaultCodec, this.board.memory)
  readonly taken: { readonly from: number; readonly values: readonly unknown[] }[] = []
  readonly #taker = new ResultTaker(this.#memory)
  #count = 0

  open(): void {
    this.#count = 0
    this.board.open(FIRST, 2)
  }

  add(value: unknown): void {
    this.writer.beginEntry()
    assert.equal(this.writer.value(value, Infinity), undefined)
    this.writer.endEntry()
    this.#count += 1
    this.board.add(this.#count, this.writer, this.#count / 4)
  }

  /** Returns how many were taken. */
  take(): number {
    let results: TakenResults | undefined
    this.#taker.take((taken) => (results = taken))
    if (results === undefined) return 0
    const { id, from, attempt, count } = results
    assert.deepEqual([id, attempt], [FIRST, 2])
    const seconds = Buffer.from(results.metadata, 'base64')
    for (let at = 0; at < count; at += 1)
      assert.equal(seconds.readFloatBE(4 * at), (from + at + 1) / 4)
    const packed = Buffer.from(results.packed, 'base64')
    const reader = new PackedReader(packed, layoutOf(packed, count), defaultCodec)
    this.taken.push({ from, values: Array.from({ length: count }, (_, at) => reader.value(at)) })
    return count
  }

  /** Returns the results that were not taken. */
  close(): readonly unknown[] {
    const taken = this.board.close()
    const packed = this.writer.finish()
    const reader = new PackedReader(packed, layoutOf(packed, this.#count), defaultCodec)
    const all = Array.from({ length: this.#count }, (_, at) => reader.value(at))
    return all.slice(taken)
  }
}

test('property: each result is taken or sent, whenever the guardian looks', () => {
  const value = fc.oneof(
    fc.integer(),
    fc.string(),
    fc.record({ a: fc.nat(), b: fc.string() }),
    fc.record({ c: fc.array(fc.nat()) }),
  )
  const step = fc.oneof({ weight: 3, arbitrary: value }, fc.constantFrom('take', 'close'))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const setup = new Setup()
      const added: unknown[] = []
      const arrived: unknown[] = []
      setup.open()
      for (const one of [...steps, 'close']) {
        if (one === 'take') setup.take()
        else if (one === 'close') {
          const before = setup.taken.splice(0)
          for (const { values } of before) arrived.push(...values)
          arrived.push(...setup.close())
          setup.open()
        } else {
          setup.add(one)
          added.push(one)
        }
      }
      assert.deepEqual(arrived, added)
    }),
  )
})

test('what does not fit into the memory is not taken, and nothing behind it', () => {
  const setup = new Setup()
  setup.open()
  setup.add('first')
  setup.add('x'.repeat(20_000))
  setup.add('y'.repeat(25_000))
  setup.add('last')
  assert.equal(setup.take(), 2)
  assert.deepEqual(setup.close(), ['y'.repeat(25_000), 'last'])
  setup.open()
  setup.add('again')
  assert.equal(setup.take(), 1)
  assert.deepEqual(setup.close(), [])
})

test('nothing is taken once results must wait for something else', () => {
  const setup = new Setup()
  setup.open()
  setup.add(1)
  setup.board.stop()
  setup.add(2)
  assert.equal(setup.take(), 1)
  assert.equal(setup.take(), 0)
  assert.deepEqual(setup.close(), [2])
  assert.equal(setup.take(), 0)
})
