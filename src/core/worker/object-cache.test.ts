// How a worker's objects are bounded.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId } from '../../base/ids.js'
import type { ObjectResponse } from '../../wire/message.js'
import { SERIALIZER_SUFFIX } from '../../wire/object-content.js'
import { WorkerObjectTable } from './objects.js'
import { SERIALIZER, ScriptedWorker, deletionOf, resultOf, taskOf } from './scripted-worker.test.js'

const LIMIT = 100_000

/** Objects of 20,000 bytes each. */
function largeObjects(...ids: string[]): ObjectResponse {
  return {
    kind: 'objectResponse',
    responseType: 'content',
    objectContent: {
      objectIds: ids.map(objectId),
      objectTypes: ids.map(() => 'object' as const),
      objectNames: ids.map(() => Buffer.alloc(0)),
      objectBytes: ids.map(() => [Buffer.alloc(10_000), Buffer.alloc(10_000)]),
    },
  }
}

/** Runs a task that needs one object, which has to be fetched or is there. */
function use(worker: ScriptedWorker, id: string, object: string): string[] {
  const lines = worker.receive(taskOf(id, { objects: [object] }))
  if (lines.includes(`send request ${object}`)) lines.push(...worker.receive(largeObjects(object)))
  lines.push(...worker.answer(resultOf(id)))
  return lines
}

function readyWorker(): ScriptedWorker {
  const worker = ScriptedWorker.ready({ objectCacheBytes: LIMIT })
  worker.run('first')
  worker.answer(resultOf('first'))
  return worker
}

test('the objects that were not used for longest are forgotten, and fetched again', () => {
  const worker = readyWorker()
  for (const id of ['a', 'b', 'c', 'd']) use(worker, id, `object ${id}`)
  use(worker, 'again', 'object a')
  const lines = use(worker, 'e', 'object e')
  const deleted = lines.filter((line) => line.startsWith('tell delete'))
  assert.deepEqual(deleted, ['tell delete object b'])
  assert.deepEqual(use(worker, 'f', 'object a'), ['dispatch f', 'send f success'])
  assert.equal(use(worker, 'g', 'object b')[0], 'send request object b')
})

test('an object that is fetched in advance is there for the first task, and makes way for others', () => {
  const worker = readyWorker()
  const replicate = {
    kind: 'sharedObject',
    type: 'replicate',
    name: '',
    objectId: objectId('object a'),
    sizeBytes: 0,
  } as const
  assert.deepEqual(worker.receive({ ...replicate, type: 'found' }), [])
  assert.deepEqual(worker.receive(replicate), ['send request object a'])
  assert.deepEqual(worker.receive(replicate), [])
  assert.deepEqual(worker.receive(largeObjects('object a')), ['tell objects object a'])
  assert.deepEqual(use(worker, 'first use', 'object a'), [
    'dispatch first use',
    'send first use success',
  ])
  for (const id of ['b', 'c', 'd']) use(worker, id, `object ${id}`)
  assert(use(worker, 'e', 'object e').includes('tell delete object a'))
  // A task may need it before it has arrived.
  worker.receive({ ...replicate, objectId: objectId('object f') })
  assert.deepEqual(worker.receive(taskOf('f', { objects: ['object f'] })), [])
  assert.deepEqual(worker.receive(largeObjects('object f')).slice(-1), ['dispatch f'])
})

test('what a task of the worker needs stays, and goes once none needs it', () => {
  const worker = readyWorker()
  worker.receive(taskOf('busy'))
  const ids = Array.from({ length: 8 }, (_, index) => `object ${index}`)
  worker.receive(taskOf('needy', { objects: ids }))
  const told = [`tell objects ${ids.join()}`, 'dispatch needy']
  assert.deepEqual(worker.receive(largeObjects(...ids)), told)
  assert.deepEqual(worker.answer(resultOf('busy')), ['send busy success'])
  assert.deepEqual(worker.pass(500), [])
  assert.deepEqual(worker.answer(resultOf('needy')), ['send needy success'])
  const [line = ''] = worker.pass(200)
  assert.match(line, /^tell delete .*object 0,/)
  assert.deepEqual(worker.pass(1000), [])
})

test('a result that is kept is there for the next task, and counts', () => {
  const worker = readyWorker()
  worker.receive(taskOf('a'))
  const chunks = [Buffer.alloc(20_000)]
  const lines = worker.answer(resultOf('a', { chunks, keptAs: 'kept' }))
  assert.deepEqual(lines, ['send create kept', 'send a success kept'])
  assert.deepEqual(worker.receive(taskOf('b', { objects: ['kept'] })), ['dispatch b'])
  worker.answer(resultOf('b'))
  assert.deepEqual(worker.receive(deletionOf('kept')), ['tell delete kept'])
  const [request] = worker.receive(taskOf('c', { objects: ['kept'] }))
  assert.equal(request, 'send request kept')
})

test('a result that is kept for nothing is forgotten', () => {
  const worker = readyWorker()
  for (const [id, chunks] of [
    ['small', [Buffer.alloc(10)]],
    ['cancelled', [Buffer.alloc(20_000)]],
  ] as const) {
    worker.receive(taskOf(id))
    if (id === 'cancelled') worker.show({ type: 'disconnected', reason: 'reset' })
    const lines = worker.answer(resultOf(id, { chunks: [...chunks], keptAs: 'kept' }))
    assert.deepEqual(lines.slice(-1), ['tell delete kept'])
  }
})

test('serializers stay, whatever there is', () => {
  const table = new WorkerObjectTable()
  const serializer = objectId(`12345678${SERIALIZER_SUFFIX}`)
  table.keep(serializer, 50, () => {})
  table.keep(objectId('object'), 50, () => {})
  assert.deepEqual(
    table.evict(0, () => false),
    ['object'],
  )
  assert.ok(table.bytes > 50)
  table.checkInvariants(new Set())
  assert.notEqual(SERIALIZER, serializer)
})

test('a processor that is being ended is not asked to make room, and nobody waits for that', () => {
  const worker = readyWorker()
  worker.receive(taskOf('busy'))
  const ids = Array.from({ length: 8 }, (_, index) => `object ${index}`)
  worker.receive(taskOf('needy', { objects: ids }))
  worker.receive(largeObjects(...ids))
  // Too much, and all of it needed, when it is killed for having answered nonsense.
  assert.deepEqual(worker.answer(resultOf('unknown')), ['killProcessor'])
  worker.now += 200
  assert.deepEqual(worker.show({ type: 'tick' }), [])
})
