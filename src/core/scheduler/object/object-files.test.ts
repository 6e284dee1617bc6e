// Objects whose content is in a file: each file is removed once, when nobody needs it any more.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, objectId } from '../../../base/ids.js'
import type { ObjectInstruction } from '../../../wire/message.js'
import { fileChunk } from '../../../wire/object-content.js'
import { result, task, type TestScheduler, withPeers } from '../scheduler.kit.js'

const PATIENCE = { clientTimeoutMs: 86_400_000, workerTimeoutMs: 86_400_000 }

function pathOf(name: string): string {
  return `/dev/shm/scaler-ts-${'0'.repeat(32)}/${Buffer.from(name).toString('hex').padStart(32, '0')}`
}

/** C stores an object whose content is in a file with this name. */
function create(id: string, file: string, client = 'C'): ObjectInstruction {
  return {
    kind: 'objectInstruction',
    instructionType: 'create',
    objectUser: identity(client),
    objectContent: {
      objectIds: [objectId(id)],
      objectTypes: ['file'],
      objectNames: [Buffer.from(id)],
      objectBytes: [[fileChunk({ path: pathOf(file), byteLength: 1_000_000 })]],
    },
  }
}

function remove(id: string, client = 'C'): ObjectInstruction {
  const objectContent = {
    objectIds: [objectId(id)],
    objectTypes: [],
    objectNames: [],
    objectBytes: [],
  }
  const objectUser = identity(client)
  return { kind: 'objectInstruction', instructionType: 'delete', objectUser, objectContent }
}

/** The files that are removed now. */
function removed(scheduler: TestScheduler): readonly string[] {
  const paths = scheduler.actions().flatMap((action) => {
    return action.type === 'removeFile' ? [action.path] : []
  })
  scheduler.machine.checkInvariants()
  return paths
}

function twoClients(objectRetentionMs = 0): TestScheduler {
  const options = { ...PATIENCE, workerSilenceMs: 86_400_000, objectRetentionMs }
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] }, options)
  scheduler.actions()
  return scheduler
}

const leave = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

test('a file is removed when its object is deleted', () => {
  const scheduler = twoClients().receive('C', create('o', 'a'))
  assert.deepEqual(removed(scheduler), [])
  assert.deepEqual(removed(scheduler.receive('C', remove('o'))), [pathOf('a')])
  assert.deepEqual(removed(scheduler.receive('C', remove('o'))), [])
})

test('it is counted with its length', () => {
  const scheduler = twoClients()
  const before = scheduler.machine.metrics.objects.bytes
  scheduler.receive('C', create('o', 'a'))
  assert.equal(scheduler.machine.metrics.objects.bytes - before, 1_000_000)
  scheduler.receive('C', remove('o'))
  assert.equal(scheduler.machine.metrics.objects.bytes, before)
})

test('it stays as long as another client uses the object', () => {
  const scheduler = twoClients()
    .receive('C', create('o', 'a'))
    .receive('D', create('o', 'a', 'D'))
  assert.deepEqual(removed(scheduler.receive('C', remove('o'))), [])
  assert.deepEqual(removed(scheduler.receive('D', leave)), [pathOf('a')])
})

test('it stays while its object is retained', () => {
  const scheduler = twoClients(1_000).receive('C', create('o', 'a'))
  assert.deepEqual(removed(scheduler.receive('C', leave)), [])
  assert.deepEqual(removed(scheduler.moveTo(scheduler.now + 1_200)), [pathOf('a')])
})

test('another file for the same object is removed at once: workers may be reading the first', () => {
  const scheduler = twoClients().receive('C', create('o', 'a'))
  assert.deepEqual(removed(scheduler.receive('D', create('o', 'b', 'D'))), [pathOf('b')])
  assert.deepEqual(removed(scheduler.receive('C', remove('o'))), [])
  assert.deepEqual(removed(scheduler.receive('D', remove('o', 'D'))), [pathOf('a')])
})

test('a file is removed when its object gets content of another kind', () => {
  const scheduler = twoClients().receive('C', create('o', 'a'))
  const { objectContent } = create('o', 'a')
  const inMemory = {
    ...objectContent,
    objectTypes: ['object'],
    objectBytes: [[Buffer.from('x')]],
  } as const
  scheduler.receive('C', { ...create('o', 'a'), objectContent: inMemory })
  assert.deepEqual(removed(scheduler), [pathOf('a')])
  assert.deepEqual(removed(scheduler.receive('C', create('o', 'b'))), [])
  assert.deepEqual(removed(scheduler.receive('C', remove('o'))), [pathOf('b')])
})

test('files for an unknown client are removed at once', () => {
  const scheduler = twoClients()
  assert.deepEqual(removed(scheduler.receive('C', create('o', 'a', 'X'))), [pathOf('a')])
})

test('files of all objects of a client that leaves are removed', () => {
  const scheduler = twoClients().receive('C', create('o', 'a')).receive('C', create('p', 'b'))
  assert.deepEqual(removed(scheduler.receive('C', leave)).toSorted(), [pathOf('a'), pathOf('b')])
})

test('a task whose results have no file is not repeated for ever', () => {
  const scheduler = twoClients().receive('C', task('t', 'C'))
  // What the shell makes of a result whose file is missing.
  const lost = { ...result('t', 'canceled'), results: [objectId('r')] }
  const lines: string[] = []
  for (let each = 0; each < 4; each += 1) lines.push(...scheduler.receive('W', lost).lines())
  const attempts = Array.from({ length: 4 }, () => 'W <- task t')
  assert.deepEqual(lines, [...attempts, 'C <- result t workerDied'])
})
