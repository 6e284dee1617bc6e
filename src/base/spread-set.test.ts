import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpreadSet } from './spread.js'

test('it has an item, but not another one with the same id', () => {
  const set = new SpreadSet<{ readonly id: string }>()
  const [one, other, third] = [{ id: 'a' }, { id: 'a' }, { id: 'b' }]
  set.add(one)
  set.add(third)
  assert.deepEqual([set.has(one), set.has(other), set.size], [true, false, 2])
  assert.equal(set.delete(other), false)
  assert.deepEqual(new Set(set), new Set([one, third]))
  assert.equal(set.delete(one), true)
  assert.equal(set.delete(one), false)
  assert.deepEqual([...set], [third])
})
