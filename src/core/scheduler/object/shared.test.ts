// Objects that clients find by a name: how long they stay, and who waits for them after a restart.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_SHARED, OUR_FEATURES } from '../../../base/features.js'
import { identity, objectId } from '../../../base/ids.js'
import type { Message } from '../../../wire/message.js'
import type { StorageLimits } from './room.js'
import {
  clientHeartbeat,
  instruction,
  OURS,
  PYTHON,
  shared,
  type TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const RETENTION_MS = 1_000

function newScheduler(storage?: StorageLimits): TestScheduler {
  const patience = { clientTimeoutMs: 86_400_000, workerTimeoutMs: 86_400_000 }
  const limits = storage === undefined ? {} : { storage }
  const options = { ...patience, workerSilenceMs: 86_400_000, sharedRetentionMs: RETENTION_MS }
  return withPeers({ clients: ['C', 'D'], workers: ['W'] }, { ...options, ...limits })
}

/** C shares an object by a name. */
function share(scheduler: TestScheduler, id: string, name: string): void {
  scheduler.receive('C', instruction('create', 'C', [id])).receive('C', shared('publish', name, id))
}

function leave(scheduler: TestScheduler, client: string): void {
  scheduler.receive(client, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
}

function request(id: string): Message {
  return { kind: 'objectRequest', requestType: 'get', objectIds: [objectId(id)] }
}

/** What D gets when it asks for a name. */
function find(scheduler: TestScheduler, name: string): readonly string[] {
  scheduler.actions()
  return scheduler.receive('D', shared('find', name)).lines()
}

test('another client finds an object by its name, with its size', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'model')
  scheduler.actions()
  const [answer] = scheduler.receive('D', shared('find', 'model')).actions()
  assert(answer?.type === 'send' && answer.message.kind === 'sharedObject')
  assert.equal(scheduler.describe(answer), 'D <- found model o')
  assert.equal(answer.message.sizeBytes, 'content of o'.length)
  assert.deepEqual(find(scheduler, 'other'), ['D <- missing other'])
})

test('who has found it keeps it, as if it had created it', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'model')
  find(scheduler, 'model')
  leave(scheduler, 'C')
  scheduler.moveTo(10 * RETENTION_MS).actions()
  assert.deepEqual(scheduler.receive('W', request('o')).lines(), ['W <- content o'])
  assert.deepEqual(find(scheduler, 'model'), ['D <- found model o'])
})

for (const [what, end] of [
  ['left', (scheduler: TestScheduler) => leave(scheduler, 'C')],
  [
    'deleted it',
    (scheduler: TestScheduler) => scheduler.receive('C', instruction('delete', 'C', ['o'])),
  ],
] as const) {
  test(`an object with a name stays for a while after its last user has ${what}`, () => {
    const scheduler = newScheduler()
    share(scheduler, 'o', 'model')
    end(scheduler)
    scheduler.moveTo(RETENTION_MS - 100)
    assert.deepEqual(find(scheduler, 'model'), ['D <- found model o'])
    scheduler.receive('D', instruction('delete', 'D', ['o']))
    scheduler.moveTo(scheduler.now + RETENTION_MS + 100)
    assert.deepEqual(find(scheduler, 'model'), ['D <- missing model'])
  })
}

test('the name goes to the last object that was published by it', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'model')
  find(scheduler, 'model')
  scheduler.receive('C', instruction('create', 'C', ['p']))
  const lines = scheduler.receive('C', shared('publish', 'model', 'p')).lines()
  assert.deepEqual(lines, [
    'C <- withdrawn model o',
    'D <- withdrawn model o',
    'C <- published model p',
  ])
  assert.deepEqual(find(scheduler, 'model'), ['D <- found model p'])
  // The first one has users, and stays.
  assert.deepEqual(scheduler.receive('W', request('o')).lines(), ['W <- content o'])
  scheduler
    .receive('D', instruction('delete', 'D', ['o']))
    .receive('C', instruction('delete', 'C', ['o']))
  assert.deepEqual(scheduler.lines(), ['W <- delete o'])
})

test('but not on a later connection: a newer object keeps it', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'model')
  scheduler.receive('D', instruction('create', 'D', ['p'])).actions()
  assert.deepEqual(scheduler.receive('D', shared('restore', 'model', 'p')).lines(), [
    'D <- withdrawn model p',
  ])
  assert.deepEqual(find(scheduler, 'model'), ['D <- found model o'])
})

test('a name that was removed stands for nothing, and its object is like any other', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'model')
  find(scheduler, 'model')
  const lines = scheduler.receive('D', shared('remove', 'model')).lines()
  assert.deepEqual(lines, [
    'C <- withdrawn model o',
    'D <- withdrawn model o',
    'D <- removed model',
  ])
  assert.deepEqual(scheduler.receive('D', shared('remove', 'model')).lines(), [
    'D <- missing model',
  ])
  leave(scheduler, 'C')
  leave(scheduler, 'D')
  assert.equal(scheduler.machine.counts.objects, 0)
})

test('the same for an object without users, and one with two names', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'one')
  scheduler.receive('C', shared('publish', 'two', 'o'))
  leave(scheduler, 'C')
  scheduler.receive('D', shared('remove', 'one'))
  assert.deepEqual(find(scheduler, 'two'), ['D <- found two o'])
  scheduler.receive('D', instruction('delete', 'D', ['o'])).receive('D', shared('remove', 'two'))
  assert.deepEqual(find(scheduler, 'two'), ['D <- missing two'])
})

test('unused objects with names make way for others', () => {
  const storage = { memoryBytes: 35, diskBytes: 0, quotaBytes: Infinity }
  const scheduler = newScheduler(storage)
  share(scheduler, 'o', 'model')
  leave(scheduler, 'C')
  const large = instruction('create', 'D', ['large'])
  scheduler.receive('D', large)
  assert.deepEqual(find(scheduler, 'model'), ['D <- missing model'])
})

test('an object is not given back a name that it has lost, unless it is published again', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'model')
  // C does not learn it.
  scheduler.handle({ type: 'peerDisconnected', peer: identity('C') })
  scheduler.receive('D', shared('remove', 'model')).actions()
  scheduler
    .receive('C', clientHeartbeat())
    .receive('C', instruction('create', 'C', ['o']))
    .actions()
  const again = scheduler.receive('C', shared('restore', 'model', 'o')).lines()
  assert.deepEqual(again, ['C <- withdrawn model o'])
  assert.deepEqual(find(scheduler, 'model'), ['D <- missing model'])
  scheduler.receive('C', shared('publish', 'model', 'o'))
  assert.deepEqual(find(scheduler, 'model'), ['D <- found model o'])
  scheduler.actions()
  const last = scheduler.receive('C', shared('restore', 'model', 'o')).lines()
  assert.deepEqual(last, ['C <- published model o'])
})

test('an object that is not stored gets no name, and does not take it from another one', () => {
  const storage = { memoryBytes: 40, diskBytes: 0, quotaBytes: Infinity }
  const scheduler = newScheduler(storage)
  share(scheduler, 'o', 'model')
  scheduler.receive('D', instruction('create', 'D', ['too large'])).actions()
  const lines = scheduler.receive('D', shared('publish', 'model', 'too large')).lines()
  assert.deepEqual(lines, ['D <- unstored model too large'])
  assert.deepEqual(find(scheduler, 'model'), ['D <- found model o'])
})

test('the names of all objects are limited', () => {
  const scheduler = newScheduler()
  scheduler.receive('C', instruction('create', 'C', ['o'])).actions()
  for (let number = 0; number < 16_778; number += 1) {
    scheduler.receive('C', shared('publish', `${number}`.padEnd(1_000), 'o'))
  }
  const isPublished = scheduler.lines().map((answer) => answer.startsWith('C <- published'))
  assert.equal(isPublished.indexOf(false), 16_777)
  scheduler.receive('C', instruction('delete', 'C', ['o'])).moveTo(2 * RETENTION_MS)
  share(scheduler, 'p', 'model')
  assert.deepEqual(find(scheduler, 'model'), ['D <- found model p'])
})

test('what cannot have a name gets none', () => {
  const scheduler = newScheduler()
  scheduler.receive('C', shared('publish', 'missing', 'o'))
  scheduler.receive('C', instruction('create', 'C', ['o']))
  // It is another client's.
  scheduler.receive('D', shared('publish', 'foreign', 'o'))
  scheduler.receive('C', shared('publish', '', 'o'))
  scheduler.receive('C', shared('publish', 'x'.repeat(1_001), 'o'))
  for (const name of ['missing', 'foreign', '', 'x'.repeat(1_001)]) {
    assert.deepEqual(find(scheduler, name), [`D <- missing ${name}`.trimEnd()])
  }
})

test('clients that cannot read the notice get none', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'model')
  const features = OUR_FEATURES & ~FEATURE_SHARED
  scheduler.receive('C', { ...clientHeartbeat({ ...OURS, features }) }).actions()
  assert.deepEqual(scheduler.receive('D', shared('remove', 'model')).lines(), [
    'D <- removed model',
  ])
})

test('workers are told what to fetch in advance, also those that join later', () => {
  const scheduler = newScheduler()
  scheduler.receive('C', instruction('create', 'C', ['o', 'p'])).actions()
  assert.deepEqual(scheduler.receive('C', shared('replicate', '', 'o')).lines(), [
    'W <- replicate  o',
  ])
  // Not stored, and another client's.
  assert.deepEqual(scheduler.receive('C', shared('replicate', '', 'q')).lines(), [])
  assert.deepEqual(scheduler.receive('D', shared('replicate', '', 'p')).lines(), [])
  assert.deepEqual(scheduler.receive('V', workerHeartbeat()).lines(), [
    'V <- echo S',
    'V <- replicate  o',
  ])
  assert.deepEqual(scheduler.receive('V', workerHeartbeat()).lines(), ['V <- echo S'])
  for (const kind of [PYTHON, { ...OURS, features: OUR_FEATURES & ~FEATURE_SHARED }]) {
    const name = `U${kind.features}`
    const lines = scheduler.receive(name, workerHeartbeat(kind)).lines()
    assert.equal(lines.filter((line) => line.includes('replicate')).length, 0)
  }
  scheduler.receive('C', instruction('delete', 'C', ['o'])).actions()
  assert.deepEqual(scheduler.receive('X', workerHeartbeat()).lines(), ['X <- echo S'])
})

test('after a restart, requests wait until the client that has the object is back', () => {
  const scheduler = newScheduler()
  scheduler.receive('D', shared('hold', '', 'o'))
  assert.deepEqual(scheduler.receive('W', request('o')).lines(), [])
  scheduler.receive('C', instruction('create', 'C', ['o']))
  assert.deepEqual(scheduler.lines(), ['W <- content o'])
  // Who holds it is a user.
  leave(scheduler, 'C')
  assert.deepEqual(scheduler.receive('W', request('o')).lines(), ['W <- content o'])
})

test('but not for ever', () => {
  const scheduler = newScheduler()
  scheduler.receive('D', shared('hold', '', 'o'))
  assert.deepEqual(scheduler.receive('W', request('o')).lines(), [])
  assert.deepEqual(scheduler.moveTo(59_999).lines(), [])
  assert.deepEqual(scheduler.moveTo(60_000).lines(), ['W <- objectNotExist o'])
  assert.deepEqual(scheduler.receive('W', request('o')).lines(), ['W <- objectNotExist o'])
})

test('who has held it is a user even if it comes later, unless it has let go of it', () => {
  const scheduler = newScheduler()
  scheduler.receive('D', shared('hold', '', 'o')).receive('D', shared('hold', '', 'p'))
  scheduler.moveTo(100_000).receive('D', instruction('delete', 'D', ['p']))
  scheduler.receive('C', instruction('create', 'C', ['o', 'p']))
  scheduler.receive('C', instruction('delete', 'C', ['o', 'p'])).actions()
  assert.deepEqual(scheduler.receive('W', request('o')).lines(), ['W <- content o'])
  assert.deepEqual(scheduler.receive('W', request('p')).lines(), ['W <- objectNotExist p'])
})

test('requests do not wait for what nobody holds any more', () => {
  for (const end of ['delete', 'leave']) {
    const scheduler = newScheduler()
    scheduler
      .receive('D', shared('hold', '', 'o'))
      .receive('W', request('o'))
      .actions()
    if (end === 'leave') leave(scheduler, 'D')
    else scheduler.receive('D', instruction('delete', 'D', ['o']))
    assert.deepEqual(scheduler.lines(), ['W <- objectNotExist o'])
  }
})

test('a client can hold only so many objects that are not stored', () => {
  const scheduler = newScheduler()
  for (let number = 0; number <= 10_000; number += 1) {
    scheduler.receive('D', shared('hold', '', `o${number}`))
  }
  scheduler.receive('C', shared('hold', '', 'p'))
  const answers = ['o9999', 'o10000', 'p'].map((id) => scheduler.receive('W', request(id)).lines())
  assert.deepEqual(answers, [[], ['W <- objectNotExist o10000'], []])
})

test('a client that holds what is stored is one of its users', () => {
  const scheduler = newScheduler()
  share(scheduler, 'o', 'model')
  scheduler.receive('D', shared('hold', '', 'o')).receive('D', shared('remove', 'model'))
  leave(scheduler, 'C')
  scheduler.actions()
  assert.deepEqual(scheduler.receive('W', request('o')).lines(), ['W <- content o'])
})
