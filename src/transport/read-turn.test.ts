import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReadTurn, type Resumable } from './delivery.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Longer than one turn may take. */
const LONG_MS = 1000

test('a turn is over after some milliseconds; the next loop begins another one', async () => {
  let now = 0
  const turns = new ReadTurn(() => now)
  assert.equal(turns.isOver, false)
  assert.equal(turns.isOver, false)
  now += LONG_MS
  assert.equal(turns.isOver, true)
  await turn()
  assert.equal(turns.isOver, false)
})

test('waiting items are resumed in order, as long as the next turn lasts', async () => {
  let now = 0
  const turns = new ReadTurn(() => now)
  const seen: string[] = []
  const item = (name: string, costMs: number): Resumable => ({
    resume: () => {
      seen.push(name)
      now += costMs
    },
  })
  assert.equal(turns.isOver, false)
  for (const [name, costMs] of [
    ['a', 0],
    ['b', LONG_MS],
    ['c', 0],
  ] as const) {
    turns.wait(item(name, costMs))
  }
  await turn()
  assert.deepEqual(seen, ['a', 'b'])
  // New work in that same turn waits as well: the turn counts everything done in it.
  assert.equal(turns.isOver, true)
  turns.wait(item('d', 0))
  await turn()
  assert.deepEqual(seen, ['a', 'b', 'c', 'd'])
})

test('an item that waits again comes after all others', async () => {
  let now = 0
  const turns = new ReadTurn(() => now)
  const seen: string[] = []
  let left = 3
  const long: Resumable = {
    resume: () => {
      seen.push('long')
      now += LONG_MS
      left -= 1
      if (left > 0) turns.wait(long)
    },
  }
  assert.equal(turns.isOver, false)
  turns.wait(long)
  turns.wait({ resume: () => seen.push('short') })
  while (left > 0) await turn()
  assert.deepEqual(seen, ['long', 'short', 'long', 'long'])
})
