import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fifo, type FifoNode } from './fifo.js'

test('a queue gives items in order of arrival, and what was put at the front first', () => {
  const queue = new Fifo<string>()
  queue.push('b')
  queue.push('c')
  queue.unshift('a')
  assert.equal(queue.first, 'a')
  assert.deepEqual(
    [queue.shift(), queue.shift(), queue.shift(), queue.shift()],
    ['a', 'b', 'c', undefined],
  )
  assert.equal(queue.size, 0)
})

test('an item leaves once: removing it again changes nothing', () => {
  const queue = new Fifo<number>()
  const node = queue.push(1)
  assert.equal(queue.remove(node), true)
  assert.equal(queue.remove(node), false)
  assert.equal(queue.size, 0)
  const other = new Fifo<number>()
  const foreign = other.push(2)
  assert.equal(queue.remove(foreign), false)
  assert.equal(other.size, 1)
})

test('items may be removed while the queue is iterated', () => {
  const queue = new Fifo<number>()
  const nodes = [1, 2, 3, 4].map((item) => queue.push(item))
  const seen: number[] = []
  for (const item of queue) {
    seen.push(item)
    queue.remove(nodes[item - 1] as FifoNode<number>)
  }
  assert.deepEqual(seen, [1, 2, 3, 4])
  assert.equal(queue.size, 0)
})

test('a queue can be iterated from its newest item, which may be removed meanwhile', () => {
  const queue = new Fifo<number>()
  const nodes = [1, 2, 3].map((item) => queue.push(item))
  const seen: number[] = []
  for (const item of queue.backwards()) {
    seen.push(item)
    queue.remove(nodes[item - 1] as FifoNode<number>)
  }
  assert.deepEqual(seen, [3, 2, 1])
  assert.deepEqual([...queue.backwards()], [])
})

test('property: a queue behaves like an array', () => {
  const operation = fc.oneof(
    fc.record({ type: fc.constant('push' as const) }),
    fc.record({ type: fc.constant('unshift' as const) }),
    fc.record({ type: fc.constant('shift' as const) }),
    fc.record({ type: fc.constant('remove' as const), at: fc.nat(20) }),
  )
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60, size: 'max' }), (operations) => {
      const queue = new Fifo<number>()
      const model: number[] = []
      const nodes = new Map<number, FifoNode<number>>()
      let next = 0
      for (const step of operations) {
        if (step.type === 'push' || step.type === 'unshift') {
          nodes.set(next, queue[step.type](next))
          model[step.type](next)
          next += 1
        } else if (step.type === 'shift') {
          assert.equal(queue.shift(), model.shift())
        } else if (model.length > 0) {
          const [item] = model.splice(step.at % model.length, 1)
          assert.equal(queue.remove(nodes.get(item as number) as FifoNode<number>), true)
        }
        assert.deepEqual([...queue], model)
        assert.equal(queue.size, model.length)
        assert.equal(queue.first, model[0])
      }
    }),
  )
})
