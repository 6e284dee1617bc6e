import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnFlusher } from './writer.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('items are flushed at the end of the turn, in order, once', async () => {
  const flusher = new TurnFlusher()
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
  const flusher = new TurnFlusher()
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
