// Objects whose content is on object storage servers: the scheduler only knows where it is.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_LOSSES, isStorageServer, OUR_FEATURES } from '../../../base/features.js'
import { objectId } from '../../../base/ids.js'
import { Turn } from '../../../base/machine.js'
import type { ObjectInstruction } from '../../../wire/message.js'
import { storedChunk } from '../../../wire/object-content.js'
import {
  clientHeartbeat,
  instruction,
  OURS,
  shared,
  task,
  TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'
import type { SchedulerEvent } from '../events.js'
import { ContentPlaces } from './places.js'
import type { StorageLimits } from './room.js'

const PATIENCE = {
  clientTimeoutMs: 86_400_000,
  workerTimeoutMs: 86_400_000,
  workerSilenceMs: 86_400_000,
}

const [ONE, TWO] = ['tcp://one:1', 'tcp://two:2']

function idOf(name: string): string {
  return name.padStart(24, '.')
}

/** A client stores an object with 1 MB of content, which is on a server under an id of its own. */
function create(id: string, { at = ONE, as = id, client = 'C' } = {}): ObjectInstruction {
  const message = instruction('create', client, [id])
  const content = { byteLength: 1_000_000, address: at, id: objectId(idOf(as)) }
  return {
    ...message,
    objectContent: {
      ...message.objectContent,
      objectTypes: ['stored'],
      objectBytes: [[storedChunk(content)]],
    },
  }
}

/** The content of an object is not there. */
function lost(id: string, address = ONE): SchedulerEvent {
  const content = { byteLength: 0, address, id: objectId(idOf(id)) }
  return { type: 'contentLost', objectId: objectId(id), content }
}

function get(...ids: readonly string[]): Parameters<TestScheduler['receive']>[1] {
  return { kind: 'objectRequest', requestType: 'get', objectIds: ids.map(objectId) }
}

function twoClients(storage?: StorageLimits, objectRetentionMs = 0): TestScheduler {
  const options = { ...PATIENCE, objectRetentionMs }
  const limits = storage === undefined ? options : { ...options, storage }
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] }, limits)
  scheduler.actions()
  return scheduler
}

/** The lines about content that is removed from servers. */
function removed(scheduler: TestScheduler): readonly string[] {
  return scheduler.lines().filter((line) => line.startsWith('remove '))
}

test('peers get the name of content on a server; it is removed with its object', () => {
  const scheduler = twoClients().receive('C', create('o')).receive('W', get('o'))
  const [response] = scheduler.actions().flatMap((action) => {
    return action.type === 'send' && action.message.kind === 'objectResponse'
      ? [action.message.objectContent]
      : []
  })
  assert.deepEqual(response?.objectTypes, ['stored'])
  assert.deepEqual(removed(scheduler.receive('C', instruction('delete', 'C', ['o']))), [
    `remove ${idOf('o')} at ${ONE}`,
  ])
})

test('content that comes twice, or for an unknown client, is removed at once', () => {
  const scheduler = twoClients().receive('C', create('o'))
  const again = create('o', { as: 'o2', client: 'D' })
  assert.deepEqual(removed(scheduler.receive('D', again)), [`remove ${idOf('o2')} at ${ONE}`])
  const unknown = create('p', { client: 'X' })
  assert.deepEqual(removed(scheduler.receive('C', unknown)), [`remove ${idOf('p')} at ${ONE}`])
})

test('it takes no memory of the scheduler, but counts for the quota of its client', () => {
  const scheduler = twoClients({ memoryBytes: 1_000, diskBytes: 0, quotaBytes: 1_500_000 })
  scheduler.receive('C', create('o'))
  assert.deepEqual(removed(scheduler), [])
  assert.equal(scheduler.machine.metrics.objects.serverBytes, 1_000_000)
  assert.equal(scheduler.machine.metrics.objects.bytes < 1_000, true)
  assert.deepEqual(removed(scheduler.receive('C', create('p'))), [`remove ${idOf('p')} at ${ONE}`])
  scheduler.receive('D', create('q', { client: 'D' }))
  assert.deepEqual(removed(scheduler), [])
})

test('content that was moved to another server is found there, and lost with it', () => {
  const scheduler = twoClients()
  scheduler.receive('C', create('o')).receive('D', create('p', { client: 'D' }))
  const from = { address: ONE, id: objectId(idOf('o')), byteLength: 0 }
  scheduler.actions()
  scheduler.handle({ type: 'contentMoved', objectId: objectId('o'), from, address: TWO })
  assert.deepEqual(removed(scheduler), [`remove ${idOf('o')} at ${ONE}`])
  assert.equal(scheduler.machine.metrics.objects.serverBytes, 2_000_000)
  scheduler.handle({ type: 'serverLost', address: ONE })
  assert.equal(scheduler.machine.metrics.objects.serverBytes, 1_000_000)
})

test('content that several objects share is moved for all, also if its first object is gone', () => {
  const scheduler = twoClients()
    .receive('C', create('o'))
    .receive('C', create('p', { as: 'o' }))
  scheduler.receive('C', instruction('delete', 'C', ['o']))
  scheduler.actions()
  const from = { address: ONE, id: objectId(idOf('o')), byteLength: 0 }
  scheduler.handle({ type: 'contentMoved', objectId: objectId('o'), from, address: TWO })
  assert.deepEqual(removed(scheduler), [`remove ${idOf('o')} at ${ONE}`])
  const last = removed(scheduler.receive('C', instruction('delete', 'C', ['p'])))
  assert.deepEqual(last, [`remove ${idOf('o')} at ${TWO}`])
})

test('with a server that is lost, older clients of its objects must begin anew, and no others', () => {
  const older = { ...OURS, features: OUR_FEATURES & ~FEATURE_LOSSES }
  const scheduler = twoClients()
    .receive('C', clientHeartbeat(older))
    .receive('C', create('o'))
    .receive('D', create('p', { at: TWO, client: 'D' }))
    .receive('C', {
      ...task('t', 'C'),
      functionArgs: [{ type: 'objectID', data: Buffer.from('o') }],
    })
  scheduler.actions()
  scheduler.handle({ type: 'serverLost', address: ONE })
  assert.match(scheduler.logs().join('\n'), /objects are lost/)
  const lines = scheduler.lines()
  assert.equal(lines.includes('disconnect C'), true)
  assert.equal(lines.includes('disconnect D'), false)
  assert.equal(
    lines.some((line) => line.startsWith('W <- cancel t')),
    true,
    lines.join('\n'),
  )
  // The function of D and its object.
  assert.equal(scheduler.machine.counts.objects, 2)
  scheduler.receive('C', clientHeartbeat()).receive('C', create('o', { at: TWO, as: 'new' }))
  scheduler.receive('W', get('o'))
  assert.equal(
    scheduler.lines().some((line) => line.startsWith('W <- content o')),
    true,
  )
})

test('all clients that use a lost object must begin anew, also those that have found it', () => {
  const scheduler = twoClients().receive('C', create('o'))
  scheduler.receive('C', shared('publish', 'name', 'o')).receive('D', shared('find', 'name'))
  scheduler.actions()
  scheduler.handle(lost('unknown'))
  scheduler.handle(lost('o', TWO)).moveTo(scheduler.now)
  assert.deepEqual(scheduler.lines(), [])
  scheduler.handle(lost('o')).moveTo(scheduler.now)
  const lines = scheduler.lines()
  assert.deepEqual(
    lines.filter((line) => line.startsWith('disconnect')),
    ['disconnect C', 'disconnect D'],
  )
})

test('content that is lost without users is deleted, and nobody begins anew', () => {
  const scheduler = twoClients(undefined, 60_000).receive('C', create('o'))
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  scheduler.actions()
  const before = scheduler.machine.counts.objects
  scheduler.handle({ type: 'serverLost', address: ONE })
  assert.equal(scheduler.machine.counts.objects, before - 1)
  assert.deepEqual(
    scheduler.lines().filter((line) => line.startsWith('disconnect')),
    [],
  )
})

test('content in memory or in a file is not lost by a late report', () => {
  const scheduler = twoClients().receive('C', instruction('create', 'C', ['o']))
  const before = scheduler.machine.counts.objects
  scheduler.handle(lost('o')).moveTo(scheduler.now)
  assert.equal(scheduler.machine.counts.objects, before)
})

test('a server confirms what is stored; a claim leaves one user', () => {
  const scheduler = twoClients().receive('C', instruction('create', 'C', ['o']))
  scheduler.receive('C', shared('confirm', '', 'o')).receive('C', shared('confirm', '', 'p'))
  assert.deepEqual(scheduler.lines(), ['C <- published  o', 'C <- unstored  p'])
  scheduler.receive('D', shared('claim', '', 'o'))
  const { objects } = scheduler.machine.counts
  scheduler.receive('C', instruction('delete', 'C', ['o']))
  assert.equal(scheduler.machine.counts.objects, objects)
  scheduler.receive('D', instruction('delete', 'D', ['o']))
  assert.equal(scheduler.machine.counts.objects, objects - 1)
})

test('an object storage server says what it is, and takes no workers and no tasks', () => {
  const scheduler = new TestScheduler({ isStorage: true })
  const echoes = scheduler
    .receive('C', clientHeartbeat())
    .receive('W', workerHeartbeat())
    .actions()
    .flatMap((action) => (action.type === 'send' ? [action.message] : []))
  assert.deepEqual(
    echoes.map((message) => 'features' in message && isStorageServer(message)),
    [true, true],
  )
  scheduler.receive('C', task('t', 'C'))
  assert.deepEqual(scheduler.lines(), ['disconnect C'])
  assert.equal(scheduler.machine.counts.tasks, 0)
  assert.equal(scheduler.machine.metrics.workers.idle, 0)
})

test('content in memory, which may be longer than a string can be, is no place', () => {
  const places = new ContentPlaces(new Turn())
  const chunks = [new Uint8Array(2 ** 29 - 1)]
  assert.equal(places.keep('object', chunks), 0)
  places.drop('object', chunks)
  places.leave('object', chunks)
})
