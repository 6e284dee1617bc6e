import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkerCount } from './window.js'

class Counted {
  requests = 0
  nowMs = 0
  readonly workers: WorkerCount = new WorkerCount(
    () => (this.requests += 1),
    () => this.nowMs,
  )
}

test('the number is requested when it is first needed, and when it is old', () => {
  const counted = new Counted()
  const { workers } = counted
  workers.onOpen(true)
  assert.equal(counted.requests, 0)
  workers.begin()
  assert.equal(counted.requests, 1)
  assert.equal(workers.onCount(2), true)
  assert.equal(workers.onCount(2), false)
  workers.end()
  counted.nowMs += 1_999
  workers.begin()
  assert.deepEqual([counted.requests, workers.count], [1, 2])
  workers.end()
  counted.nowMs += 1
  workers.begin()
  assert.equal(counted.requests, 2)
})

test('heartbeats request it as long as it is needed', () => {
  const { workers } = new Counted()
  assert.equal(workers.isWanted, false)
  workers.begin()
  workers.begin()
  workers.end()
  assert.equal(workers.isWanted, true)
  workers.end()
  assert.equal(workers.isWanted, false)
})

test('a new connection requests it again, where it is needed', () => {
  const counted = new Counted()
  const { workers } = counted
  workers.begin()
  workers.onCount(5)
  workers.onOpen(true)
  assert.deepEqual([counted.requests, workers.count], [2, 5])
  workers.end()
  workers.onOpen(true)
  assert.equal(counted.requests, 2)
})

test('a scheduler that never reports it is not asked', () => {
  const counted = new Counted()
  const { workers } = counted
  workers.onOpen(false)
  workers.begin()
  assert.deepEqual([counted.requests, workers.isKnowable], [0, false])
})
