import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TwoSides } from '../two-sides.kit.js'

function ship<F>(sides: TwoSides, fn: F & ((...parameters: never[]) => unknown)): Shipped<F> {
  const { bytes, attachments } = sides.here.serializer.serializeFunction(fn)
  const there = sides.there.serializer
  assert.equal(there.attachmentCount(bytes), attachments.length)
  const stored = attachments.map((one) => ({ bytes: one, token: one }))
  return { bytes, attachments, copy: there.deserializeFunction(bytes, stored).value as F }
}

interface Shipped<F> {
  readonly bytes: Uint8Array
  readonly attachments: readonly Uint8Array[]
  readonly copy: F
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index / 7)

test('small captured values travel inside', () => {
  const sides = new TwoSides()
  const list = numbers(1_000)
  const { attachments, copy } = ship(sides, () => list.length)
  assert.equal(attachments.length, 0)
  assert.equal(copy(), 1_000)
})

test('large captured values are messages of their own, the same as long as they are', () => {
  const sides = new TwoSides()
  const table = numbers(20_000)
  const bytes = new Uint8Array(100_000).fill(7)
  const text = 'x'.repeat(100_000)
  const config = { deep: { list: numbers(20_000) } }
  const sum = (): number =>
    (table[7] ?? 0) + (bytes[9] ?? 0) + text.length + config.deep.list.length
  const first = ship(sides, sum)
  assert.equal(first.attachments.length, 4)
  assert.ok(first.bytes.byteLength < 2_000)
  assert.equal(first.copy(), 1 + 7 + 100_000 + 20_000)
  const second = ship(sides, sum)
  assert.equal(second.bytes, first.bytes)
  assert.deepEqual(
    second.attachments.map((one, index) => one === first.attachments[index]),
    [true, true, true, true],
  )
  table[7] = 100
  const third = ship(sides, sum)
  assert.equal(third.bytes, first.bytes)
  assert.equal(third.attachments.filter((one) => first.attachments.includes(one)).length, 3)
  assert.equal(third.copy(), 100 + 7 + 100_000 + 20_000)
})

test('two functions with the same large value have the same attachment', () => {
  const sides = new TwoSides()
  const table = numbers(20_000)
  const first = ship(sides, () => table.length)
  const second = ship(sides, () => table[0])
  assert.equal(first.attachments[0], second.attachments[0])
})

test('a large value that shares something with the rest travels inside', () => {
  const sides = new TwoSides()
  const shared = { hits: 0 }
  const table = Object.assign(numbers(20_000), { shared })
  const count = (): boolean => {
    shared.hits += 1
    return table.shared === shared
  }
  const { attachments, copy } = ship(sides, count)
  assert.equal(attachments.length, 0)
  assert.equal(copy(), true)
  const memory = new ArrayBuffer(200_000)
  const [low, high] = [new Uint8Array(memory, 0, 150_000), new Uint8Array(memory, 0, 150_000)]
  const views = ship(sides, () => {
    low[0] = 9
    return high[0]
  })
  assert.equal(views.copy(), 9)
})

test('a value that becomes large becomes an attachment, and one that shrinks none', () => {
  const sides = new TwoSides()
  const list: number[] = []
  const fn = (): number => list.length
  assert.equal(ship(sides, fn).attachments.length, 0)
  list.push(...numbers(20_000))
  assert.deepEqual([ship(sides, fn).attachments.length, ship(sides, fn).copy()], [1, 20_000])
  list.length = 5
  assert.deepEqual([ship(sides, fn).attachments.length, ship(sides, fn).copy()], [0, 5])
})

test('large values of user classes are attachments, and the class is one', () => {
  const sides = new TwoSides()
  class Point {
    readonly x: number
    constructor(x: number) {
      this.x = x
    }
  }
  const points = numbers(20_000).map((x) => new Point(x))
  const check = (): boolean => points.every((point) => point instanceof Point)
  const { attachments, copy } = ship(sides, check)
  assert.equal(attachments.length, 1)
  assert.equal(copy(), true)
})

test('functions inside large values stay with the function', () => {
  const sides = new TwoSides()
  let calls = 0
  const call = (): number => (calls += 1)
  const table = Object.assign(numbers(20_000), { call })
  const { copy } = ship(sides, () => table.call() + call() + calls)
  assert.equal(copy(), 1 + 2 + 2)
})

test('serialize gives one message that needs nothing else', () => {
  const sides = new TwoSides()
  const table = numbers(20_000)
  const fn = (): number => table.length
  const bytes = sides.here.serializer.serialize(fn)
  assert.equal(sides.there.serializer.attachmentCount(bytes), 0)
  assert.equal((sides.there.serializer.deserialize(bytes) as typeof fn)(), 20_000)
  assert.equal(sides.here.serializer.serialize(fn), bytes)
})

test('an attachment that does not come along is a DeserializeError', () => {
  const sides = new TwoSides()
  const table = numbers(20_000)
  const { bytes } = ship(sides, () => table.length)
  assert.throws(() => sides.there.serializer.deserialize(bytes), { name: 'DeserializeError' })
  assert.throws(() => sides.there.serializer.attachmentCount(bytes.subarray(0, 1)), {
    name: 'DeserializeError',
  })
  assert.equal(sides.there.serializer.attachmentCount(Uint8Array.of(1)), 0)
})
