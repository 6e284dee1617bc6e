// The limits of the object storage: what moves to disk, what is not stored, and who is told.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, objectId } from '../../../base/ids.js'
import type { ObjectContent, ObjectInstruction, ObjectResponse } from '../../../wire/message.js'
import { fileChunk, fileOf, storedChunk } from '../../../wire/object-content.js'
import { refusalFrom, refusalText } from '../../../wire/storage-refusal.js'
import type { SchedulerAction } from '../events.js'
import {
  clientHeartbeat,
  instruction,
  PYTHON,
  result,
  task,
  TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'
import { DISK_PAUSE_MS, type StorageLimits } from './room.js'

const KIB = 1024
/** The size of all large objects. */
const SIZE = 100 * KIB
const PATIENCE = {
  clientTimeoutMs: 86_400_000,
  workerTimeoutMs: 86_400_000,
  workerSilenceMs: 86_400_000,
}

type Move = Extract<SchedulerAction, { readonly type: 'moveToDisk' }>

/** What small objects take up, such as functions. */
const SMALL = 10_000

/** Memory for three objects, and a disk for two more. */
const LIMITS: StorageLimits = {
  memoryBytes: 3 * SIZE + SMALL,
  diskBytes: 2 * SIZE,
  quotaBytes: Infinity,
}

function newScheduler(limits: Partial<StorageLimits> = {}, objectRetentionMs = 0): TestScheduler {
  const options = { ...PATIENCE, storage: { ...LIMITS, ...limits }, objectRetentionMs }
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] }, options)
  scheduler.actions()
  return scheduler
}

function create(id: string, user = 'C', bytes = SIZE): ObjectInstruction {
  const message = instruction('create', user, [id])
  const objectContent = { ...message.objectContent, objectBytes: [[Buffer.alloc(bytes, id)]] }
  return { ...message, objectContent }
}

function request(...ids: readonly string[]): Parameters<TestScheduler['receive']>[1] {
  return { kind: 'objectRequest', requestType: 'get', objectIds: ids.map(objectId) }
}

function pathOf(move: number): string {
  return `/disk/scaler-ts-${'0'.repeat(32)}/${String(move).padStart(32, '0')}`
}

/** The moves that begin now. */
function moves(scheduler: TestScheduler): readonly Move[] {
  return scheduler.actions().filter((action) => action.type === 'moveToDisk')
}

/** Which objects these are. */
function names(some: readonly Move[]): readonly string[] {
  return some.map(({ chunks }) => String.fromCharCode(chunks[0]?.[0] ?? 0))
}

function finish(scheduler: TestScheduler, { move }: Move): TestScheduler {
  const file = { path: pathOf(move), byteLength: SIZE }
  return scheduler.handle({ type: 'movedToDisk', move, file })
}

/** The contents of all responses to a peer. */
function responses(scheduler: TestScheduler, to: string): readonly ObjectResponse[] {
  return scheduler.actions().flatMap((action) => {
    if (action.type !== 'send' || action.to !== identity(to)) return []
    return action.message.kind === 'objectResponse' ? [action.message] : []
  })
}

function only(scheduler: TestScheduler, to: string): ObjectContent {
  const [first, ...more] = responses(scheduler, to)
  assert(first !== undefined && more.length === 0)
  return first.objectContent
}

function fill(scheduler: TestScheduler, ids: string): TestScheduler {
  for (const id of ids) scheduler.receive('C', create(id))
  return scheduler
}

test('beyond the limit in memory, the least recently used object moves to disk', () => {
  const scheduler = fill(newScheduler(), 'abc')
  assert.deepEqual(moves(scheduler), [])
  scheduler.receive('W', request('a'))
  scheduler.actions()
  const [move, ...more] = moves(fill(scheduler, 'd'))
  assert(move !== undefined && more.length === 0)
  assert.deepEqual(names([move]), ['b'])
  assert.deepEqual(scheduler.machine.metrics.objects.diskBytes, 0)
  finish(scheduler, move)
  assert.deepEqual(scheduler.machine.metrics.objects.diskBytes, SIZE)
  const { objectTypes, objectBytes } = only(scheduler.receive('W', request('b')), 'W')
  assert.deepEqual(objectTypes, ['file'])
  assert.equal(fileOf(objectBytes[0] ?? [])?.path, pathOf(move.move))
})

test('memory can be kept below its limit, which still is how much can be stored', () => {
  const scheduler = fill(newScheduler({ keptBytes: SIZE + SMALL }), 'abcde')
  const all = moves(scheduler)
  assert.deepEqual(names(all), ['a', 'b'])
  for (const move of all) finish(scheduler, move)
  assert.deepEqual(scheduler.machine.metrics.objects.diskBytes, 2 * SIZE)
  assert.deepEqual(responses(scheduler, 'C'), [], 'three are in memory')
})

test('until it is on disk, its content is sent from memory', () => {
  const scheduler = fill(newScheduler(), 'abcd')
  scheduler.actions()
  const { objectTypes, objectBytes } = only(scheduler.receive('W', request('a')), 'W')
  assert.deepEqual([objectTypes, objectBytes[0]?.[0]?.byteLength], [['object'], SIZE])
})

test('an object that is deleted while it is moved leaves no file', () => {
  const scheduler = fill(newScheduler(), 'abcd')
  const [move] = moves(scheduler)
  assert(move !== undefined)
  scheduler.receive('C', instruction('delete', 'C', ['a']))
  scheduler.actions()
  const removal = { type: 'removeFile', path: pathOf(move.move) }
  assert.deepEqual(finish(scheduler, move).actions(), [removal])
})

test('the file on disk is removed with its object', () => {
  const scheduler = fill(newScheduler(), 'abcd')
  const [move] = moves(scheduler)
  assert(move !== undefined)
  finish(scheduler, move).receive('C', instruction('delete', 'C', ['a']))
  const removal = { type: 'removeFile', path: pathOf(move.move) }
  assert.deepEqual(scheduler.actions(), [removal])
})

test('what is in a file in memory leaves that for the one on disk', () => {
  const path = `/dev/shm/scaler-ts-${'0'.repeat(32)}/${'a'.repeat(32)}`
  const scheduler = newScheduler()
  const message = create('a')
  const objectBytes = [[fileChunk({ path, byteLength: SIZE })]]
  const objectContent = { ...message.objectContent, objectTypes: ['file'], objectBytes } as const
  fill(scheduler.receive('C', { ...message, objectContent }), 'bcd')
  const [move] = moves(scheduler)
  assert(move !== undefined)
  assert.equal(move.objectType, 'file')
  const removal = { type: 'removeFile', path }
  assert.deepEqual(finish(scheduler, move).actions(), [removal])
  assert.equal(scheduler.machine.metrics.objects.fileBytes, SIZE)
})

test('an object for which there is no room is not stored: its owner and workers are told', () => {
  const scheduler = fill(newScheduler(), 'abcde')
  scheduler.actions()
  const { objects } = scheduler.machine.counts
  scheduler.receive('D', create('z', 'D'))
  const told = only(scheduler, 'D')
  assert.deepEqual([told.objectIds, told.objectTypes], [[objectId('z')], ['refused']])
  assert.equal(scheduler.machine.counts.objects, objects)
  const { objectTypes, objectBytes } = only(scheduler.receive('W', request('z')), 'W')
  assert.deepEqual(objectTypes, ['refused'])
  const refusal = refusalFrom(objectBytes[0] ?? [])
  const { sizeBytes, limit, limitBytes, diskError, owners } = refusal
  assert.deepEqual(
    [sizeBytes, limit, limitBytes, diskError],
    [SIZE, 'storage', 5 * SIZE + SMALL, ''],
  )
  const [first] = owners
  assert.deepEqual([first?.client, (first?.bytes ?? 0) >= 5 * SIZE], ['C', true])
})

test('what is on servers counts for its owners, and the reason says so', () => {
  const scheduler = newScheduler()
  const place = { byteLength: 50 * SIZE, address: 'tcp://server:1', id: objectId('.'.repeat(24)) }
  const message = create('s', 'D')
  const stored = { objectTypes: ['stored'], objectBytes: [[storedChunk(place)]] } as const
  const objectContent = { ...message.objectContent, ...stored }
  fill(scheduler.receive('D', { ...message, objectContent }), 'abcde').actions()
  const refusal = refusalFrom(only(scheduler.receive('C', create('z')), 'C').objectBytes[0] ?? [])
  assert.equal(refusal.serverBytes, 50 * SIZE)
  assert.ok(refusal.storedBytes <= refusal.limitBytes)
  assert.deepEqual(
    refusal.owners.map(({ client }) => client),
    ['D', 'C'],
  )
  const large = { ...refusal, sizeBytes: refusal.limitBytes + 1 }
  assert.match(refusalText(large), /is full .* on object storage servers/)
  const quota = { ...large, limit: 'quota', serverBytes: 0 } as const
  assert.match(refusalText(quota), /is larger than what one client may store/)
  assert.match(
    refusalText(refusal),
    /5\.1 MB on object storage servers; the client D uses most, 5\.1 MB/,
  )
})

test('once there is room, it can be sent again, and workers forget the refusal', () => {
  const scheduler = fill(newScheduler(), 'abcdez')
  scheduler.receive('W', request('z')).actions()
  scheduler.receive('C', instruction('delete', 'C', ['a'])).actions()
  const actions = scheduler.receive('C', create('z')).actions()
  const notices = actions.flatMap((action) =>
    action.type === 'send' && action.message.kind === 'objectInstruction'
      ? [action.to, ...action.message.objectContent.objectIds]
      : [],
  )
  assert.deepEqual(notices, ['W', 'z'])
  assert.deepEqual(only(scheduler.receive('W', request('z')), 'W').objectTypes, ['object'])
})

test('without a disk, the limit is that of memory; small objects have a little more room', () => {
  const scheduler = fill(newScheduler({ diskBytes: 0 }), 'abcd')
  assert.deepEqual(only(scheduler, 'C').objectIds, ['d'])
  scheduler.receive('C', create('e', 'C', 10 * KIB))
  assert.deepEqual(scheduler.actions(), [])
  for (const id of 'ghijklm') scheduler.receive('C', create(id, 'C', 10 * KIB))
  assert.notDeepEqual(scheduler.actions(), [])
})

test('a client may not exceed its quota; others may use the rest', () => {
  const scheduler = newScheduler({ quotaBytes: 2.5 * SIZE })
  fill(scheduler, 'abc')
  const { objectIds, objectBytes } = only(scheduler, 'C')
  assert.deepEqual(objectIds, ['c'])
  const { limit, limitBytes } = refusalFrom(objectBytes[0] ?? [])
  assert.deepEqual([limit, limitBytes], ['quota', 2.5 * SIZE])
  scheduler.receive('D', create('d', 'D'))
  assert.deepEqual(responses(scheduler, 'D'), [])
})

test('objects that nobody uses make way', () => {
  const scheduler = newScheduler({ diskBytes: 0 }, 60_000)
  fill(scheduler, 'abc')
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  scheduler.actions()
  scheduler.receive('D', create('d', 'D'))
  assert.deepEqual(responses(scheduler, 'D'), [])
  assert(scheduler.machine.metrics.objects.bytes < 3 * SIZE + SMALL)
})

test('a disk that fails gets a pause; its error is part of refusals, and nothing is lost', () => {
  const scheduler = fill(newScheduler(), 'abcd')
  const [move] = moves(scheduler)
  assert(move !== undefined)
  scheduler.handle({ type: 'moveFailed', move: move.move, error: 'no space left' })
  const [line, ...more] = scheduler.logs()
  assert.match(line ?? '', /cannot move objects to disk/)
  assert.deepEqual(more, [])
  fill(scheduler, 'e')
  const { objectBytes } = only(scheduler, 'C')
  assert.equal(refusalFrom(objectBytes[0] ?? []).diskError, 'no space left')
  assert.deepEqual(only(scheduler.receive('W', request('a')), 'W').objectTypes, ['object'])
  scheduler.moveTo(scheduler.now + DISK_PAUSE_MS)
  assert.deepEqual(names(moves(scheduler)), ['b'])
})

test('content that cannot be read any more is not moved again, and stops no other', () => {
  const scheduler = fill(newScheduler(), 'abcd')
  const [move] = moves(scheduler)
  assert(move !== undefined)
  scheduler.handle({ type: 'moveFailed', move: move.move, error: '' })
  assert.deepEqual(names(moves(fill(scheduler, 'e'))), ['b', 'c'])
})

test('a client without the feature gets nothing but what it knows', () => {
  const scheduler = new TestScheduler({ ...PATIENCE, storage: { ...LIMITS, diskBytes: 0 } })
    .receive('P', clientHeartbeat(PYTHON))
    .receive('V', workerHeartbeat(PYTHON))
  scheduler.actions()
  for (const id of 'abcd') scheduler.receive('P', create(id, 'P'))
  assert.deepEqual(scheduler.actions(), [])
  const { objectIds, objectTypes, objectBytes } = only(scheduler.receive('V', request('d')), 'V')
  assert.deepEqual([objectIds, objectTypes, objectBytes], [['d'], ['object'], [[]]])
})

test('a warning says when most of the room is taken, once', () => {
  const scheduler = fill(newScheduler({ diskBytes: 0 }), 'abcabc')
  const lines = scheduler.logs().filter((line) => line.includes('80 %'))
  assert.equal(lines.length, 1)
})

test('small objects do not fill memory: an eighth of it is always theirs, and the rest if it is free', () => {
  const scheduler = newScheduler({ memoryBytes: 100 * KIB, diskBytes: 10_000 * KIB })
  let count = 0
  for (; count < 1_000; count += 1) {
    scheduler.receive('C', create(`s${count}`, 'C', 1_000))
    if (responses(scheduler, 'C').length > 0) break
  }
  assert(count > 40 && count < 100, String(count))
})

test('what is stored stays when the same object is sent again and there is no room', () => {
  const scheduler = fill(newScheduler({ diskBytes: 0 }), 'abc')
  scheduler.receive('C', create('a', 'C', 2 * SIZE))
  assert.deepEqual(responses(scheduler, 'C'), [])
  const { objectTypes, objectBytes } = only(scheduler.receive('W', request('a')), 'W')
  assert.deepEqual([objectTypes, objectBytes[0]?.[0]?.byteLength], [['object'], SIZE])
})

test('an object that does not fit on the disk does not stop others from moving', () => {
  const scheduler = newScheduler({ memoryBytes: 6 * SIZE, diskBytes: 2 * SIZE })
  scheduler.receive('C', create('l', 'C', 4 * SIZE))
  assert.deepEqual(names(moves(fill(scheduler, 'abc'))), ['a', 'b'])
})

test('what is stored already can be used by all, and counts for the quota of each', () => {
  const scheduler = newScheduler({ quotaBytes: 1.5 * SIZE })
  scheduler.receive('C', create('a')).receive('D', create('b', 'D'))
  scheduler.actions()
  scheduler.receive('D', create('a', 'D'))
  assert.deepEqual(responses(scheduler, 'D'), [])
  scheduler.receive('D', create('e', 'D', 100))
  assert.deepEqual(only(scheduler, 'D').objectIds, ['e'])
})

test('an object that fits nowhere does not drive out those that are retained', () => {
  const scheduler = newScheduler({ diskBytes: 0 }, 60_000)
  fill(scheduler, 'ab').receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  scheduler.actions()
  scheduler.receive('D', create('d', 'D', 10 * SIZE))
  assert.deepEqual(only(scheduler, 'D').objectIds, ['d'])
  assert.deepEqual(only(scheduler.receive('W', request('a')), 'W').objectTypes, ['object'])
})

test('thousands of objects in one message are refused together', () => {
  const ids = Array.from({ length: 20_000 }, (_, number) => `n${number}`)
  const message = instruction('create', 'C', ids)
  const objectBytes = ids.map(() => [Buffer.alloc(10_000)])
  const scheduler = newScheduler({ memoryBytes: SIZE, diskBytes: 0 })
  scheduler.receive('C', { ...message, objectContent: { ...message.objectContent, objectBytes } })
  const refused = responses(scheduler, 'C').flatMap(({ objectContent }) => objectContent.objectIds)
  assert(refused.length > 19_000)
})

test('a result that was not stored is a failure of its task; for a 1.9.9 client, a cancelled one', () => {
  for (const [client, status] of [
    ['C', 'failed'],
    ['P', 'canceled'],
  ] as const) {
    const scheduler = newScheduler({ diskBytes: 0, memoryBytes: 4 * SIZE })
    scheduler.receive('P', clientHeartbeat(PYTHON)).receive('V', workerHeartbeat(PYTHON))
    const worker = client === 'P' ? 'V' : 'W'
    scheduler.receive(client, task('t', client)).actions()
    scheduler.receive(worker, create('r', client, 5 * SIZE)).actions()
    const results = [objectId('r')]
    scheduler.receive(worker, { ...result('t'), results, inlineResults: [] })
    const told = scheduler.actions().flatMap((action) => {
      const message = action.type === 'send' ? action.message : undefined
      return message?.kind === 'taskResult' ? [[message.status, message.error[0]?.name]] : []
    })
    assert.deepEqual(told, [[status, status === 'failed' ? 'StorageFullError' : undefined]])
  }
})

test('the warning comes again after there was room, also without a disk', () => {
  const scheduler = fill(newScheduler({ diskBytes: 0 }), 'abc')
  scheduler.receive('C', instruction('delete', 'C', ['a', 'b']))
  fill(scheduler, 'ab')
  assert.equal(scheduler.logs().filter((line) => line.includes('80 %')).length, 2)
})

test('after a success, everything moves that had to wait for the disk', () => {
  const scheduler = fill(newScheduler({ diskBytes: 9 * SIZE }), 'abcdef')
  const first = moves(scheduler)
  assert.equal(first.length, 3)
  for (const { move } of first) scheduler.handle({ type: 'moveFailed', move, error: 'full' })
  scheduler.actions()
  const [probe, ...more] = moves(scheduler.moveTo(scheduler.now + DISK_PAUSE_MS))
  assert(probe !== undefined && more.length === 0)
  assert.equal(moves(finish(scheduler, probe)).length, 2)
})
