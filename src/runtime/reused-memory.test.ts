// Memory that is used for one content after the other.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReusedMemory } from './object-files.js'

test('memory is lent to one at a time, and used again', () => {
  const memory = new ReusedMemory()
  const first = memory.lend(1_000) as Buffer
  assert.equal(first.byteLength, 1_000)
  assert.equal(memory.lend(10), undefined)
  memory.takeBack([])
  memory.takeBack([Buffer.allocUnsafeSlow(1_000)])
  assert.equal(memory.lend(10), undefined)
  memory.takeBack([first.subarray(10, 20), first.subarray(20)])
  const second = memory.lend(500) as Buffer
  assert.deepEqual([second.byteLength, second.buffer], [500, first.buffer])
  memory.takeBack([second])
  const larger = memory.lend(2_000) as Buffer
  assert.equal(larger.byteLength, 2_000)
  // Of what is not lent any more.
  memory.takeBack([first])
  assert.equal(memory.lend(10), undefined)
  memory.takeBack([larger])
  assert.equal(memory.lend(2 ** 30), undefined)
})
