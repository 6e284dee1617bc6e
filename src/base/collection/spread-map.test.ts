import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { partOf, partToSplit, SpreadMap } from './spread.js'

test('property: it behaves like a Map', () => {
  const key = fc.oneof(
    fc.nat(30).map((number) => `${number}`),
    fc.string({ maxLength: 3 }),
  )
  const move = fc.tuple(fc.constantFrom('set', 'set', 'delete'), key, fc.nat())
  fc.assert(
    fc.property(fc.array(move), (moves) => {
      const map = new SpreadMap<string, number>()
      const model = new Map<string, number>()
      for (const [what, id, value] of moves) {
        if (what === 'delete') assert.equal(map.delete(id), model.delete(id))
        else {
          map.set(id, value)
          model.set(id, value)
        }
        assert.equal(map.size, model.size)
        assert.equal(map.get(id), model.get(id))
        assert.equal(map.has(id), model.has(id))
      }
      const inOrder = (values: Iterable<number>): number[] => [...values].sort((a, b) => a - b)
      assert.deepEqual(inOrder(map.values()), inOrder(model.values()))
    }),
  )
})

test('a hundred thousand entries are found while it grows and while it shrinks', () => {
  const map = new SpreadMap<string, number>()
  const count = 100_000
  for (let number = 0; number < count; number += 1) {
    map.set(`a task ${number}`, number)
    assert.equal(map.get(`a task ${number >> 1}`), number >> 1)
  }
  assert.equal(new Set(map.values()).size, count)
  for (let number = 0; number < count; number += 2) assert.ok(map.delete(`a task ${number}`))
  assert.equal(map.size, count / 2)
  for (let number = 0; number < count; number += 1) {
    assert.equal(map.get(`a task ${number}`), number % 2 === 0 ? undefined : number)
  }
})

test('adding a part moves entries only from the part that is split', () => {
  for (let count = 1; count < 70; count += 1) {
    for (let hash = 0; hash < 256; hash += 1) {
      const before = partOf(hash, count)
      const after = partOf(hash, count + 1)
      assert.ok(before < count)
      assert.ok(after === before || (after === count && before === partToSplit(count)))
    }
    const parts = new Set(Array.from({ length: 256 }, (_, hash) => partOf(hash, count)))
    assert.equal(parts.size, count, 'each part has entries')
  }
})
