import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId, taskId } from '../../../base/ids.js'
import type { TaskResult } from '../../../wire/message.js'
import { fileChunk } from '../../../wire/object-content.js'
import { nthTaskId } from '../../../wire/run.js'
import { KeptResults } from './kept-results.js'
import { resultOf, taskOf } from '../scripted-worker.test.js'
import { workerTaskOf, type WorkerTask } from './task.js'

const MIB = 1024 ** 2

function newTask(id: string): WorkerTask {
  return workerTaskOf(taskOf(id), {
    order: 0,
    serializerId: objectId('serializer'),
    workersTimeoutMs: 0,
  })
}

function keep(kept: KeptResults, id: string, bytes = 10): void {
  kept.keep(resultOf(id, { chunks: [Buffer.alloc(bytes)] }), newTask(id))
  kept.checkInvariants()
}

function idsIn(kept: KeptResults): readonly string[] {
  return [...kept.pasts()].map((past) => past.taskId)
}

test('of too many results the oldest are forgotten', () => {
  const kept = new KeptResults()
  for (let index = 0; index < 10_001; index += 1) keep(kept, String(index))
  assert.ok(kept.size <= 10_000)
  const ids = idsIn(kept)
  assert.ok(!ids.includes('0'))
  assert.ok(ids.includes('10000'))
  assert.ok(ids.length > 8_000)
})

test('of too large ones, too; what is too large alone is not kept at all', () => {
  const kept = new KeptResults()
  for (const id of ['a', 'b', 'c', 'd', 'e']) keep(kept, id, 15 * MIB)
  const ids = idsIn(kept)
  assert.deepEqual(ids.at(-1), 'e')
  assert.ok(!ids.includes('a'))
  keep(kept, 'f', 65 * MIB)
  assert.deepEqual(idsIn(kept), ids)
})

test('a result does not hold the buffer that it was read from', () => {
  const kept = new KeptResults()
  const buffer = Buffer.alloc(64 * 1024, 1)
  kept.keep(resultOf('a', { chunks: [buffer.subarray(0, 10)] }), newTask('a'))
  const [chunk] = kept.take(newTask('a').id)?.result.inlineResults ?? []
  assert.deepEqual(chunk, buffer.subarray(0, 10))
  assert.notEqual(chunk?.buffer, buffer.buffer)
})

test('more echoes than heartbeats confirm nothing that was sent later', () => {
  const kept = new KeptResults()
  kept.onHeartbeat()
  kept.onEcho()
  kept.onEcho()
  kept.onSent(resultOf('a'), newTask('a'), 100)
  kept.onHeartbeat()
  kept.onDisconnected()
  assert.deepEqual(idsIn(kept), ['a'])
})

/** Sent on this connection, with a heartbeat after it; `after` is called between them. */
function sent(kept: KeptResults, id: string, after: () => void = () => {}): void {
  kept.onSent(resultOf(id), newTask(id), 100)
  after()
  kept.onHeartbeat()
}

/** The results that would be kept if the connection ended now. */
function keptOf(kept: KeptResults): readonly string[] {
  kept.checkInvariants()
  kept.onDisconnected()
  kept.checkInvariants()
  return idsIn(kept)
}

test('the echo of a heartbeat that has overtaken a result does not confirm it', () => {
  const kept = new KeptResults()
  sent(kept, 'before')
  sent(kept, 'large', () => kept.onHeld({ taskId: taskId('large'), count: 1 }, true))
  sent(kept, 'after')
  for (let count = 0; count < 3; count += 1) kept.onEcho()
  assert.deepEqual(keptOf(kept), ['large'])
})

test('once it is released, the echo of the next heartbeat confirms it', () => {
  const large = { taskId: taskId('large'), count: 1 }
  for (const [echoes, left] of [
    [1, ['large']],
    [2, []],
  ] as const) {
    const kept = new KeptResults()
    sent(kept, 'large', () => kept.onHeld(large, true))
    kept.onHeld(large, false)
    kept.onHeartbeat()
    for (let count = 0; count < echoes; count += 1) kept.onEcho()
    assert.deepEqual(keptOf(kept), left)
  }
})

test('a result that is sent again waits until the last one is released', () => {
  const kept = new KeptResults()
  const large = { taskId: taskId('large'), count: 1 }
  for (let count = 0; count < 2; count += 1) sent(kept, 'large', () => kept.onHeld(large, true))
  kept.onHeld(large, false)
  kept.onHeartbeat()
  for (let count = 0; count < 3; count += 1) kept.onEcho()
  assert.deepEqual(keptOf(kept), ['large'])
})

test('the results of a run are held and released together', () => {
  const kept = new KeptResults()
  const first = taskId('block 000000000a')
  const run = { taskId: first, count: 3 }
  const ids = [0, 1, 2].map((n) => nthTaskId(first, n))
  kept.onHeld(run, true)
  for (const id of ids) sent(kept, id)
  for (let count = 0; count < 3; count += 1) kept.onEcho()
  kept.onHeld(run, false)
  const others = new KeptResults()
  for (const id of ids) sent(others, id, () => others.onHeld({ taskId: id, count: 1 }, true))
  others.onHeld(run, false)
  others.onHeartbeat()
  for (let count = 0; count < 4; count += 1) others.onEcho()
  assert.deepEqual([keptOf(kept), keptOf(others)], [ids, []])
})

test('what is held on one connection is not held on the next', () => {
  const kept = new KeptResults()
  const large = { taskId: taskId('large'), count: 1 }
  sent(kept, 'large', () => kept.onHeld(large, true))
  assert.deepEqual(keptOf(kept), ['large'])
  assert.ok(kept.take(large.taskId))
  sent(kept, 'large')
  kept.onEcho()
  assert.deepEqual(keptOf(kept), [])
})

test('held results have no room of their own', () => {
  const kept = new KeptResults()
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    kept.onSent(resultOf(id, { chunks: [Buffer.alloc(15 * MIB)] }), newTask(id), 100)
    kept.onHeld({ taskId: taskId(id), count: 1 }, true)
  }
  kept.onHeld({ taskId: taskId('a'), count: 1 }, false)
  const ids = keptOf(kept)
  assert.equal(ids.at(-1), 'e')
  assert.ok(!ids.includes('a'))
})

test('it is told which files belong to kept results, and from when on they do not', () => {
  const told: string[] = []
  const kept = new KeptResults(({ path }, isKept) =>
    told.push(`${isKept ? '+' : '-'}${path.at(-1)}`),
  )
  const inFile = (id: string): TaskResult => {
    const path = `/x/scaler-ts-${'0'.repeat(32)}/${id.padStart(32, '0')}`
    const chunks = [fileChunk({ path, byteLength: 40 * MIB })]
    return { ...resultOf(id, { chunks: [] }), inlineResults: chunks, isInFile: true }
  }
  kept.keep(inFile('a'), newTask('a'))
  // Both do not fit into 64 MiB.
  kept.keep(inFile('b'), newTask('b'))
  kept.checkInvariants()
  assert.deepEqual(told.splice(0), ['+a', '+b', '-a'])
  const taken = kept.take(newTask('b').id)
  assert.equal(taken?.result.isInFile, true)
  assert.deepEqual(told.splice(0), ['-b'])
  kept.onSent(inFile('c'), newTask('c'), 1_000)
  kept.clear()
  assert.deepEqual(told, ['+c', '-c'])
})
