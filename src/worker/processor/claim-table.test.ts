import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ClaimTable, ClaimTaker, newClaimCells } from './shared-memory.js'

function setUp(count?: number): { readonly table: ClaimTable; readonly taker: ClaimTaker } {
  const cells = newClaimCells(count)
  return { table: new ClaimTable(cells), taker: new ClaimTaker(cells) }
}

test('the first claim of a task wins', () => {
  const { table, taker } = setUp()
  assert.equal(table.claim(0), true)
  assert.equal(taker.retract(0), false)
  assert.equal(taker.retract(1), true)
  assert.equal(table.claim(1), false)
  assert.equal(taker.retract(1), false)
  assert.equal(table.claim(2), true)
})

test('a task that was taken back does not run, however many have started since', () => {
  const { table, taker } = setUp(4)
  assert.equal(taker.retract(1), true)
  for (const number of [0, 2, 3, 4, 5, 6, 9]) assert.equal(table.claim(number), true)
  assert.equal(table.claim(1), false)
  assert.equal(table.claim(13), true)
})

test('a task whose cell was reused starts, and cannot be taken back', () => {
  const { table, taker } = setUp(4)
  for (const number of [4, 5]) assert.equal(table.claim(number), true)
  assert.equal(taker.retract(6), true)
  for (const number of [0, 1, 2]) assert.equal(taker.retract(number), false)
  for (const number of [0, 1, 2]) assert.equal(table.claim(number), true)
  assert.equal(taker.retract(4), false)
  assert.equal(table.claim(6), false)
})

test('a task that was taken back and is not skipped yet keeps its cell', () => {
  const { table, taker } = setUp(4)
  assert.equal(taker.retract(1), true)
  assert.equal(taker.retract(5), false)
  assert.equal(table.claim(1), false)
  assert.equal(taker.retract(5), true)
})

test('numbers beyond 32 bits wrap without loss', () => {
  const { table, taker } = setUp(8)
  for (let first = 0; first < 2 ** 40; first += 2 ** 29) {
    for (let number = first; number < first + 16; number += 2) {
      assert.equal(table.claim(number), true)
      assert.equal(taker.retract(number), false)
      assert.equal(taker.retract(number + 1), true)
      assert.equal(table.claim(number + 1), false)
    }
  }
})

test('in any order each task runs or is taken back, never both', () => {
  const step = fc.record({ number: fc.nat(40), isRetract: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { table, taker } = setUp(8)
      const retracted = new Set<number>()
      const begun = new Map<number, boolean>()
      const claim = (number: number): void => void begun.set(number, table.claim(number))
      for (const { number, isRetract } of steps) {
        if (!isRetract) {
          if (!begun.has(number)) claim(number)
        } else if (taker.retract(number)) {
          assert.ok(!begun.has(number) && !retracted.has(number))
          retracted.add(number)
        }
      }
      for (let number = 0; number <= 40; number += 1) if (!begun.has(number)) claim(number)
      for (const [number, hasBegun] of begun) assert.equal(hasBegun, !retracted.has(number))
    }),
  )
})
