import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IndexedHeap } from './indexed-heap.js'

interface Item {
  heapIndex: number
  rank: number
  readonly serial: number
}

const before = (a: Item, b: Item): boolean =>
  a.rank === b.rank ? a.serial < b.serial : a.rank < b.rank

test('property: the first items are the smallest, whatever was added, changed or removed', () => {
  const operation = fc.record({
    type: fc.constantFrom('add', 'update', 'remove'),
    at: fc.nat(50),
    rank: fc.nat(10),
  })
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 80, size: 'max' }), (operations) => {
      const heap = new IndexedHeap<Item>(before)
      const model: Item[] = []
      for (const [serial, { type, at, rank }] of operations.entries()) {
        if (type === 'add' || model.length === 0) {
          const item = { heapIndex: -1, rank, serial }
          heap.add(item)
          model.push(item)
        } else if (type === 'update') {
          const item = model[at % model.length] as Item
          item.rank = rank
          heap.update(item)
        } else {
          const [item] = model.splice(at % model.length, 1)
          heap.remove(item as Item)
          assert.equal((item as Item).heapIndex, -1)
        }
        heap.checkInvariants()
        assert.equal(heap.size, model.length)
        const sorted = model.toSorted((a, b) => (before(a, b) ? -1 : 1))
        assert.deepEqual([heap.first, heap.second], [sorted[0], sorted[1]])
      }
    }),
  )
})
