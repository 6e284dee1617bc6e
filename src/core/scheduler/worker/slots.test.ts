// Workers that run several tasks at a time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { result, task, type TestScheduler, withPeers, workerHeartbeat } from '../scheduler.kit.js'

const LONG_SECONDS = 5

/** How many tasks each of these workers got. */
function counts(scheduler: TestScheduler, ...workers: readonly string[]): readonly number[] {
  const lines = scheduler.lines()
  return workers.map((name) => lines.filter((line) => line.startsWith(`${name} <- task `)).length)
}

/** A scheduler with a client, a worker G with this many slots, and others. */
function withGateway(concurrency: number, workers: readonly string[] = []): TestScheduler {
  const scheduler = withPeers({ clients: ['C'], workers })
  scheduler.receive('G', { ...workerHeartbeat(), concurrency })
  scheduler.actions()
  return scheduler
}

function submit(scheduler: TestScheduler, prefix: string, count: number, priority = 0): void {
  for (let n = 0; n < count; n += 1) scheduler.receive('C', task(`${prefix}${n}`, 'C', priority))
}

test('a worker gets one long task, or one of an unknown function, for each of its slots', () => {
  const scheduler = withGateway(3)
  submit(scheduler, 't', 5)
  assert.deepEqual(counts(scheduler, 'G'), [3])
  scheduler.receive('G', result('t0', 'success', LONG_SECONDS))
  assert.deepEqual(counts(scheduler, 'G'), [1])
})

test('short tasks are sent ahead for each of its slots', () => {
  const scheduler = withGateway(3)
  submit(scheduler, 'first', 1)
  scheduler.receive('G', result('first0', 'success', 0.005))
  scheduler.actions()
  submit(scheduler, 't', 50)
  assert.deepEqual(counts(scheduler, 'G'), [12])
})

test('a worker with a free slot comes before a busy one, and an idle one before that', () => {
  const scheduler = withGateway(3, ['W'])
  submit(scheduler, 'a', 2)
  assert.deepEqual(counts(scheduler, 'G', 'W'), [1, 1])
  submit(scheduler, 'b', 4)
  assert.deepEqual(counts(scheduler, 'G', 'W'), [2, 0])
})

test('a free slot is used, however long the task next to it runs', () => {
  const scheduler = withGateway(2)
  submit(scheduler, 'long', 1)
  scheduler.receive('G', result('long0', 'success', LONG_SECONDS))
  submit(scheduler, 't', 3)
  assert.deepEqual(counts(scheduler, 'G'), [3])
})

test('children pass full slots', () => {
  const scheduler = withGateway(1)
  submit(scheduler, 'parent', 2)
  submit(scheduler, 'child', 1, 1)
  submit(scheduler, 'grandchild', 1, 2)
  assert.deepEqual(counts(scheduler, 'G'), [3])
})

test('children find a place even if parents are all that a worker may hold', () => {
  const scheduler = withPeers({ clients: ['C'], workers: [] }, { perWorkerQueueSize: 3 })
  scheduler.receive('G', { ...workerHeartbeat(), concurrency: 4 })
  scheduler.actions()
  submit(scheduler, 'parent', 4)
  assert.deepEqual(counts(scheduler, 'G'), [3])
  submit(scheduler, 'child', 2, 1)
  assert.deepEqual(counts(scheduler, 'G'), [2])
})

test('the slots of a worker are those of its first heartbeat', () => {
  const scheduler = withGateway(1)
  scheduler.receive('G', { ...workerHeartbeat(), concurrency: 50 })
  scheduler.actions()
  submit(scheduler, 't', 5)
  assert.deepEqual(counts(scheduler, 'G'), [1])
})

test('tasks that wait behind the slots are taken back for an idle worker', () => {
  const scheduler = withGateway(2)
  submit(scheduler, 'first', 1)
  scheduler.receive('G', result('first0', 'success', 0.01))
  submit(scheduler, 't', 4)
  assert.deepEqual(counts(scheduler, 'G'), [5])
  scheduler.receive('W', workerHeartbeat())
  scheduler.moveTo(scheduler.now + 5_000)
  const asked = scheduler.lines().filter((line) => line.startsWith('G <- cancel'))
  assert.ok(asked.length > 0 && asked.length <= 2, `${asked.length}`)
})
