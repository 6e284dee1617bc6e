import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskTimeoutError } from '../../../base/errors.js'
import { taskId } from '../../../base/ids.js'
import { timeLimitOf, timeoutErrorOf } from './task.js'

test('the shorter limit counts, and 0 is none', () => {
  const table: readonly (readonly [own: number, workers: number, ms: number, isOf: boolean])[] = [
    [0, 0, 0, false],
    [100, 0, 100, false],
    [0, 200, 200, true],
    [100, 200, 100, false],
    [300, 200, 200, true],
    [200, 200, 200, false],
  ]
  for (const [own, workers, timeoutMs, isWorkersLimit] of table) {
    assert.deepEqual(timeLimitOf(own, workers), { timeoutMs, isWorkersLimit }, `${own} ${workers}`)
  }
})

test('the error says whose limit it was', () => {
  const own = timeoutErrorOf(taskId('a'), 'price', timeLimitOf(100, 200))
  assert.ok(own instanceof TaskTimeoutError)
  assert.equal(own.message, 'task 61 (price) ran for longer than its 100 ms')
  const workers = timeoutErrorOf(taskId('a'), '', timeLimitOf(300, 200))
  const text = 'task 61 ran for longer than the 200 ms that its worker allows to any task'
  assert.equal(workers.message, text)
})
