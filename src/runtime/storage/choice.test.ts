import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Choice, chooseServer } from './choice.js'

const far = (name: string, freeBytes: number): Choice => ({ name, isNear: false, freeBytes })
const near = (name: string, freeBytes: number): Choice => ({ name, isNear: true, freeBytes })

/** How often each is chosen, for random numbers that are spread evenly. */
function shares(...choices: readonly Choice[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (let step = 0; step < 100; step += 1) {
    const name = chooseServer(choices, step / 100) ?? 'none'
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

test('servers are chosen in proportion to their free room', () => {
  assert.deepEqual(shares(far('a', 30), far('b', 10), far('c', 60)), { a: 30, b: 10, c: 60 })
})

test('a full server is chosen only if all others are', () => {
  assert.deepEqual(shares(far('full', 1), far('free', 2 ** 40)), { full: 1, free: 99 })
  assert.deepEqual(shares(far('a', 1), far('b', 1)), { a: 50, b: 50 })
})

test('all have the same chance if the free room of one is not known', () => {
  assert.deepEqual(shares(far('a', 0), far('b', 10), far('c', 70), far('d', 1)), {
    a: 25,
    b: 25,
    c: 25,
    d: 25,
  })
})

test('servers on this machine come first, whatever their room', () => {
  assert.deepEqual(shares(far('a', 90), near('b', 5), near('c', 15)), { b: 25, c: 75 })
  assert.deepEqual(shares(far('a', 90), near('b', 0)), { b: 100 })
})

test('something is chosen even if sums are rounded, and nothing of nothing', () => {
  assert.equal(chooseServer([far('a', 0.1), far('b', 0.2)], 1), 'b')
  assert.equal(chooseServer([], 0.5), undefined)
})
