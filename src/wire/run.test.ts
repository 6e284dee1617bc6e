import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtocolError } from '../base/errors.js'
import { taskId } from '../base/ids.js'
import {
  blockNameOf,
  isBlockId,
  isInBlock,
  layoutOf,
  MAX_RUN_TASKS,
  mayBeginRun,
  nthTaskId,
  placeInBlock,
  sliceProfiles,
  slicePacked,
} from './run.js'
import { pack, unpack } from './run.kit.js'

/** The first of its block. */
const FIRST = taskId('\x10\0middle-bytes\x10\0')

function texts(entries: readonly Uint8Array[]): readonly string[] {
  return entries.map((entry) => Buffer.from(entry).toString())
}

test('the ids of a run count up at both ends', () => {
  const id = nthTaskId(FIRST, 259)
  assert.equal(id, '\x11\x03middle-bytes\x11\x03')
  assert.equal(placeInBlock(id), 259)
  assert.equal(blockNameOf(id), blockNameOf(FIRST))
  assert.ok(isInBlock(id, blockNameOf(FIRST)))
  assert.equal(isInBlock(nthTaskId(FIRST, MAX_RUN_TASKS), blockNameOf(FIRST)), false)
  assert.equal(isInBlock(taskId('\x10\0middle_bytes\x10\0'), blockNameOf(FIRST)), false)
})

test('a run does not leave its block, and needs a suitable id', () => {
  assert.ok(mayBeginRun(FIRST, 4096))
  assert.equal(mayBeginRun(FIRST, 4097), false)
  assert.equal(mayBeginRun(nthTaskId(FIRST, 4000), 97), false)
  assert.equal(isBlockId(taskId('short')), false)
  assert.equal(isBlockId(taskId('abcdefghijklmnop')), false)
})

test('parts of packed entries are packed entries', () => {
  const entries = ['a', '', 'ccc', 'dd', 'e'].map((text) => Buffer.from(text))
  const packed = pack(entries, Buffer.from('head'))
  assert.deepEqual(texts(unpack(packed, 5)), ['a', '', 'ccc', 'dd', 'e'])
  const middle = slicePacked(packed, 5, 1, 4)
  assert.deepEqual(texts(unpack(middle, 3)), ['', 'ccc', 'dd'])
  assert.deepEqual(texts(unpack(slicePacked(middle, 3, 1, 2), 1)), ['ccc'])
  const { headAt, headEnd } = layoutOf(middle, 3)
  assert.equal(middle.subarray(headAt, headEnd).toString(), 'head')
})

test('packed bytes that disagree with themselves or their count are refused', () => {
  const packed = pack([Buffer.from('ab'), Buffer.from('c')])
  const wrong = [
    () => layoutOf(packed, 1),
    () => layoutOf(packed, 3),
    () => layoutOf(packed.subarray(0, -1), 2),
    () => layoutOf(Buffer.concat([packed, Buffer.from('x')]), 2),
    () => layoutOf(Buffer.alloc(3), 0),
    () => layoutOf(Buffer.from('ffffffff', 'hex'), 1),
    () => {
      const decreasing = Buffer.from(packed)
      decreasing.writeUInt32LE(5, 8)
      return layoutOf(decreasing, 2)
    },
  ]
  for (const read of wrong) assert.throws(read, ProtocolError)
})

test('parts of profiles', () => {
  const profiles = Buffer.from('aaaabbbbcccc')
  assert.equal(Buffer.from(sliceProfiles(profiles, 3, 1, 3)).toString(), 'bbbbcccc')
  assert.equal(sliceProfiles(Buffer.alloc(0), 3, 1, 3).byteLength, 0)
})
