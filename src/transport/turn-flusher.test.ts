import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnFlusher } from './writer.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('items are flushed at the end of the turn, in order, once', async () => {
  const flusher = new TurnFlusher(() => 0)
  const seen: string[] = []
  flusher.add({ flush: () => seen.push('a') })
  flusher.add({ flush: () => seen.push('b') })
  await Promise.resolve()
  assert.deepEqual(seen, [])
  await turn()
  assert.deepEqual(seen, ['a', 'b'])
  await turn()
  assert.deepEqual(seen, ['a', 'b'])
})

test('items added while flushing are flushed as well', async () => {
  const flusher = new TurnFlusher(() => 0)
  const seen: string[] = []
  flusher.add({
    flush: () => {
      seen.push('a')
      flusher.add({ flush: () => seen.push('b') })
    },
  })
  await turn()
  await turn()
  assert.deepEqual(seen, ['a', 'b'])
})

test('one turn writes for a few milliseconds: the rest is flushed in the next turns, in order', async () => {
  let now = 0
  const flusher = new TurnFlusher(() => now)
  const seen: number[] = []
  for (let item = 0; item < 7; item += 1) {
    flusher.add({
      flush: () => {
        now += 1
        seen.push(item)
      },
    })
  }
  await turn()
  assert.deepEqual(seen, [0, 1, 2])
  flusher.add({ flush: () => seen.push(7) })
  await turn()
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5])
  await turn()
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7])
})
