import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MapSlots } from './results.js'

test('results can be taken from the front, when they are there', () => {
  const slots = new MapSlots()
  slots.fill(1, ['b'])
  assert.equal(slots.isFrontFilled, false)
  slots.fill(0, [undefined])
  assert.equal(slots.isFrontFilled, true, 'undefined is a result')
  assert.equal(slots.take(), undefined)
  assert.equal(slots.take(), 'b')
  assert.equal(slots.isFrontFilled, false)
  assert.deepEqual(slots.entries(), [])
  slots.fill(2, ['c'])
  assert.deepEqual(slots.entries(), [[2, 'c']])
})

test('a slot is filled once', () => {
  const slots = new MapSlots()
  slots.fill(0, ['a'])
  assert.throws(() => slots.fill(0, ['b']), /a second result for input 0/)
  slots.fill(2, ['c'])
  assert.throws(() => slots.fill(1, ['b', 'd']), /a second result for input 2/)
})

test('property: in any order, the same values come out as went in', () => {
  const lag = fc.integer({ min: 1, max: 3_000 })
  fc.assert(
    fc.property(lag, lag, fc.integer({ min: 1, max: 6_000 }), (window, part, count) => {
      const slots = new MapSlots()
      let taken = 0
      // Windows of inputs whose results come backwards.
      for (let start = 0; start < count; start += window) {
        const end = Math.min(start + window, count)
        for (let i = end; i > start;) {
          assert.equal(slots.isFrontFilled, false)
          const first = Math.max(start, i - part)
          slots.fill(
            first,
            Array.from({ length: i - first }, (_, at) => first + at),
          )
          i = first
        }
        for (; slots.isFrontFilled; taken += 1) assert.equal(slots.take(), taken)
      }
      assert.equal(taken, count)
    }),
    { numRuns: 30 },
  )
})
