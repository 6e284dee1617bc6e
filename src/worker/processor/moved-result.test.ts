// Results that are large memory: written into a file from where they are, or sent like all others.

import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { test } from 'node:test'
import { identity } from '../../base/ids.js'
import { defaultCodec, type TaskCodec } from '../../serializer/task-codec.js'
import type { Outbox } from '../link/outbox.js'
import { RunReports } from './reports.js'
import { newResultMemory, ResultBoard } from './result-board.js'
import { FakeOutbox } from './runner.kit.js'

const MIB = 1024 ** 2
const INLINE_BYTES = 8 * 1024

/** Reports that write into memory, if that has room. */
function reportsTo(pieces: (readonly Uint8Array[])[], hasRoom: boolean = true): RunReports {
  const reports = new RunReports({
    outbox: new FakeOutbox() as unknown as Outbox,
    outside: new AsyncResource('test'),
    keep: () => assert.fail('it is not kept'),
    moveOut: (given) => {
      pieces.push(given)
      return hasRoom ? Buffer.from('file') : undefined
    },
    results: new ResultBoard(newResultMemory()),
  })
  reports.setWorker(identity('W'), INLINE_BYTES)
  return reports
}

const call = { codec: defaultCodec }
const bytes = new Uint8Array(MIB).map((_, at) => at * 3)

for (const value of [bytes, Buffer.from(bytes), bytes.buffer, new Float64Array(bytes.buffer)]) {
  test(`a large ${value.constructor.name} is written from where it is`, () => {
    const pieces: (readonly Uint8Array[])[] = []
    const moved = reportsTo(pieces).moveOut(call, value, false)
    const written = Buffer.concat(pieces[0] ?? [])
    assert.deepEqual(moved, { chunk: Buffer.from('file'), byteLength: written.byteLength })
    assert.deepEqual(written, Buffer.from(defaultCodec.serialize(value)))
    const memory = value instanceof ArrayBuffer ? value : value.buffer
    assert(pieces[0]?.some((piece) => piece.buffer === memory))
  })
}

test('what is small, is no memory, or must be kept in the processor, is not', () => {
  const reports = reportsTo([])
  for (const value of [new Uint8Array(8_000), 'x'.repeat(MIB), { bytes }, null, undefined]) {
    assert.equal(reports.moveOut(call, value, false), undefined)
  }
  assert.equal(reports.moveOut(call, bytes, true), undefined)
  reports.setWorker(identity('W'), 2 * MIB)
  assert.equal(reports.moveOut(call, bytes, false), undefined)
})

test('without room for a file, or with a serializer of its own, it is in memory', () => {
  const expected = defaultCodec.serialize(bytes)
  assert.deepEqual(reportsTo([], false).moveOut(call, bytes, false), expected)
  const codec: TaskCodec = {
    serialize: () => Buffer.from('own'),
    deserialize: () => assert.fail(),
    serializeFunction: () => assert.fail(),
    deserializeFunction: () => assert.fail(),
    attachmentCount: () => 0,
  }
  assert.deepEqual(reportsTo([]).moveOut({ codec }, bytes, false), Buffer.from('own'))
})
