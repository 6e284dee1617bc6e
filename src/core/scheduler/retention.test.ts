// Objects that are kept for a while after their last use.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId } from '../../base/ids.js'
import type { ObjectRequest } from '../../wire/message.js'
import {
  clientHeartbeat,
  instruction,
  type TestScheduler,
  withPeers,
  workerHeartbeat,
} from './scheduler.kit.js'

const RETENTION_MS = 1_000
/** Long timeouts: these tests are about objects, not about silent peers. */
const PATIENCE = { clientTimeoutMs: 86_400_000, workerTimeoutMs: 86_400_000 }

function request(...ids: readonly string[]): ObjectRequest {
  return { kind: 'objectRequest', requestType: 'get', objectIds: ids.map(objectId) }
}

/** A scheduler with client C, which has stored o, and worker W. */
function withObject(objectRetentionMs = RETENTION_MS): TestScheduler {
  const options = { ...PATIENCE, workerSilenceMs: 86_400_000, objectRetentionMs }
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, options)
  scheduler.receive('C', instruction('create', 'C', ['o'])).actions()
  return scheduler
}

/** Whether W gets o when it requests it. */
function isFetched(scheduler: TestScheduler, id = 'o'): boolean {
  scheduler.actions()
  const actions = scheduler.receive('W', request(id)).actions()
  return actions.some(({ type, ...rest }) => {
    const { message } = rest as { message?: { kind: string; responseType?: string } }
    return type === 'send' && message?.responseType === 'content'
  })
}

const objects = ({ machine }: TestScheduler): number => machine.counts.objects

/** A client leaves, so that its objects become unused. */
const leave = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

test('without retention an object is deleted with its last user', () => {
  const scheduler = withObject(0)
  scheduler.receive('C', leave)
  assert.equal(objects(scheduler), 0)
  assert.equal(isFetched(scheduler), false)
})

test('an object that its owner deletes is removed immediately, whatever the retention', () => {
  const scheduler = withObject()
  const before = objects(scheduler)
  assert.equal(isFetched(scheduler), true)
  scheduler.receive('C', instruction('delete', 'C', ['o']))
  assert.equal(objects(scheduler), before - 1)
  assert.ok(scheduler.lines().includes('W <- delete o'), 'the worker that has it is notified')
  assert.equal(isFetched(scheduler), false)
  scheduler.receive('C', instruction('create', 'C', ['o']))
  assert.equal(isFetched(scheduler), true)
})

test('it stays while other clients use it, and for the retention after that', () => {
  const scheduler = withObject()
  scheduler.receive('D', clientHeartbeat()).receive('D', instruction('create', 'D', ['o']))
  scheduler.receive('C', instruction('delete', 'C', ['o']))
  assert.equal(isFetched(scheduler), true)
  scheduler.receive('D', leave)
  assert.equal(isFetched(scheduler), true)
  scheduler.moveTo(scheduler.now + RETENTION_MS + 200)
  assert.equal(isFetched(scheduler), false)
})

test('an unused object can be fetched until it expires', () => {
  const scheduler = withObject()
  const before = objects(scheduler)
  scheduler.receive('C', leave)
  scheduler.moveTo(scheduler.now + RETENTION_MS - 1)
  assert.equal(objects(scheduler), before)
  assert.equal(isFetched(scheduler), true)
})

test('after that it is freed, and the workers that have it are notified', () => {
  const scheduler = withObject()
  assert.equal(isFetched(scheduler), true)
  scheduler.receive('C', leave).actions()
  scheduler.moveTo(scheduler.now + RETENTION_MS - 1)
  assert.deepEqual(scheduler.lines(), [], 'W may keep it')
  scheduler.moveTo(scheduler.now + 200)
  assert.equal(objects(scheduler), 0)
  assert.deepEqual(scheduler.lines(), ['W <- delete o'])
  assert.equal(isFetched(scheduler), false)
})

test('a request restarts its retention', () => {
  const scheduler = withObject()
  scheduler.receive('C', leave)
  for (let i = 0; i < 5; i += 1) {
    scheduler.moveTo(scheduler.now + RETENTION_MS - 100)
    assert.equal(isFetched(scheduler), true)
  }
  scheduler.moveTo(scheduler.now + RETENTION_MS + 200)
  assert.equal(isFetched(scheduler), false)
})

test('a client that stores it again keeps it while it needs it', () => {
  const scheduler = withObject()
  scheduler.receive('C', leave)
  scheduler.moveTo(scheduler.now + 500)
  scheduler.receive('D', clientHeartbeat()).receive('D', instruction('create', 'D', ['o']))
  scheduler.moveTo(scheduler.now + 10 * RETENTION_MS)
  assert.equal(isFetched(scheduler), true)
  scheduler.receive('D', leave)
  assert.equal(isFetched(scheduler), true)
  scheduler.moveTo(scheduler.now + RETENTION_MS + 200)
  assert.equal(isFetched(scheduler), false)
})

test('the objects of a client that left are retained, and then the tables are empty', () => {
  const scheduler = withObject()
  scheduler.receive('C', leave)
  scheduler.moveTo(scheduler.now + RETENTION_MS - 100)
  assert.ok(objects(scheduler) > 0)
  scheduler.moveTo(scheduler.now + 300)
  assert.equal(objects(scheduler), 0)
})

test('very many objects are freed in several short turns', () => {
  const scheduler = withObject()
  const ids = Array.from({ length: 10_000 }, (_, index) => `x${index}`)
  scheduler.receive('C', instruction('create', 'C', ids))
  scheduler.receive('C', leave)
  // They are released in several turns as well.
  const isDue = (): boolean => (scheduler.machine.deadline ?? Infinity) <= scheduler.now
  while (isDue()) scheduler.handle({ type: 'tick' })
  const until = scheduler.now + RETENTION_MS + 100
  scheduler.receive('W', workerHeartbeat())
  let turns = 0
  let left = objects(scheduler)
  assert.ok(left > ids.length)
  scheduler.now = until
  while (objects(scheduler) > 0) {
    scheduler.handle({ type: 'tick' })
    assert.ok(left - objects(scheduler) <= 2_000, 'not all in one turn')
    assert.ok(objects(scheduler) < left, 'each turn makes progress')
    left = objects(scheduler)
    turns += 1
    if (left > 0) assert.ok((scheduler.machine.deadline ?? Infinity) <= scheduler.now)
  }
  assert.ok(turns >= 5)
})
