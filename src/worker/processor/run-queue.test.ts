import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RunQueue, type QueuedRun } from './run.js'

interface NumberedRun extends QueuedRun {
  readonly id: number
}

function runOf(id: number, priority: number): NumberedRun {
  return { id, priority, isSkipped: false }
}

test('runs leave by priority, then in order of arrival; skipped ones do not', () => {
  const operation = fc.oneof(
    fc.record({ push: fc.integer({ min: -2, max: 2 }) }),
    fc.record({ skip: fc.nat(40) }),
    fc.constant('shift' as const),
  )
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 80, size: 'max' }), (operations) => {
      const queue = new RunQueue<NumberedRun>()
      let model: NumberedRun[] = []
      let count = 0
      for (const one of operations) {
        if (one === 'shift') {
          const first = [...model].sort((a, b) => b.priority - a.priority)[0]
          assert.equal(queue.first, first)
          if (first !== undefined) queue.drop(first)
          model = model.filter((run) => run !== first)
        } else if ('push' in one) {
          const run = runOf((count += 1), one.push)
          queue.push(run)
          model.push(run)
        } else {
          const expected = model.find(({ id }) => id === one.skip)
          const found = queue.find(({ id }) => id === one.skip)
          assert.equal(found, expected)
          if (found !== undefined) queue.drop(found)
          model = model.filter((run) => run !== expected)
        }
        assert.equal(queue.size, model.length)
      }
    }),
  )
})
