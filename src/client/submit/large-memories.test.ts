// Large buffers and typed arrays: what is sent again, what is not, and what is written into files.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { identity } from '../../base/ids.js'
import type { FiledContent } from '../../core/client/events.js'
import { ObjectFiles } from '../../runtime/object-files.js'
import { defaultSerializer } from '../../serializer/serializer.js'
import { defaultCodec } from '../../serializer/task-codec.js'
import { fileOf } from '../../wire/object-content.js'
import { ObjectIds } from '../ids.js'
import { LargeMemories } from './objects.js'

const MIB = 2 ** 20

interface Place {
  readonly ids: ObjectIds
  readonly files: ObjectFiles
  readonly memories: LargeMemories
  /** The files in the directory. */
  readonly names: () => readonly string[]
}

/** Memories with a directory for files, as a scheduler would share it. */
function withFiles(t: TestContext): Place {
  const base = mkdtempSync(join(tmpdir(), 'memories-'))
  const directory = join(base, `scaler-ts-${'0'.repeat(32)}`)
  mkdirSync(directory, { mode: 0o700 })
  writeFileSync(join(directory, 'key'), Buffer.alloc(32, 1))
  const files = new ObjectFiles()
  t.after(() => {
    files.close()
    rmSync(base, { recursive: true })
  })
  assert.equal(files.accept(directory).byteLength, 32)
  const ids = new ObjectIds(identity('C'))
  const names = (): readonly string[] => readdirSync(directory).filter((name) => name !== 'key')
  return { ids, files, memories: new LargeMemories(ids, files), names }
}

/** The value in a file. */
function filed({ memories }: Place, value: unknown): FiledContent {
  const content = memories.serialize(value, defaultCodec)
  assert(!(content instanceof Uint8Array), 'it is in memory')
  return content
}

function valueIn({ files }: Place, { chunk, byteLength }: FiledContent): unknown {
  const bytes = files.read([chunk])
  assert.equal(bytes?.byteLength, byteLength)
  return defaultSerializer.deserialize(bytes)
}

const bytesOf = (length: number): Uint8Array => new Uint8Array(length).map((_, at) => at * 5)

test('a large memory is a file, which has the bytes that would be sent otherwise', (t) => {
  const place = withFiles(t)
  const bytes = bytesOf(MIB)
  for (const value of [
    bytes,
    Buffer.from(bytes),
    bytes.buffer,
    new Float64Array(MIB / 8).fill(0.5),
  ]) {
    const content = filed(place, value)
    assert.deepEqual(valueIn(place, content), value)
    assert.deepEqual(place.files.read([content.chunk]), Buffer.from(defaultCodec.serialize(value)))
  }
  assert.equal(place.names().length, 4)
})

test('an equal one is the same object, a changed one is not', (t) => {
  const place = withFiles(t)
  for (const length of [MIB, 20 * MIB]) {
    const bytes = bytesOf(length)
    const first = filed(place, bytes)
    assert.equal(filed(place, bytes), first)
    assert.equal(filed(place, bytes.slice()), first)
    assert.equal(place.ids.givenTo(first), place.ids.givenTo(filed(place, bytes)))
    // No places that are looked at first.
    for (const changedAt of [1_001, length - 1_001]) {
      const changed = bytes.slice()
      changed[changedAt] = 7
      const second = filed(place, changed)
      assert.notEqual(second, first)
      assert.notEqual(place.ids.givenTo(second), place.ids.givenTo(first))
      assert.deepEqual(valueIn(place, second), changed)
      assert.equal(filed(place, changed), second)
    }
    assert.equal(filed(place, bytesOf(length)), first)
  }
})

test('what was released is written again, also in the same turn', async (t) => {
  const place = withFiles(t)
  const bytes = bytesOf(MIB)
  const first = filed(place, bytes)
  place.files.release(fileOf([first.chunk])?.path ?? '')
  const second = filed(place, bytes)
  assert.notEqual(second, first)
  await setImmediate()
  assert.equal(place.files.heldCount, 1)
  assert.deepEqual(valueIn(place, second), bytes)
  assert.equal(filed(place, bytes), second)
})

test('a file that is removed can be read as long as it is held', (t) => {
  const place = withFiles(t)
  const bytes = bytesOf(MIB)
  const content = filed(place, bytes)
  rmSync(fileOf([content.chunk])?.path ?? '')
  assert.deepEqual(valueIn(place, content), bytes)
  assert.equal(filed(place, bytes), content)
})

test('what has nowhere to go is in memory', (t) => {
  const place = withFiles(t)
  place.files.use('')
  const large = bytesOf(MIB)
  const content = place.memories.serialize(large, defaultCodec)
  assert.deepEqual(content, defaultCodec.serialize(large))
  assert.equal(place.memories.serialize(large, defaultCodec), content)
  assert.deepEqual(place.names(), [])
})

test('values that are more than memory are serialized as always', (t) => {
  const place = withFiles(t)
  const value = Object.assign(bytesOf(MIB), { name: 'more' })
  for (const each of [value, { bytes: bytesOf(MIB) }]) {
    const content = place.memories.serialize(each, defaultCodec)
    assert(content instanceof Uint8Array)
    assert.deepEqual(defaultSerializer.deserialize(content), each)
  }
  assert.deepEqual(place.names(), [])
})

test('however many differ at their beginning, none is hashed', (t) => {
  const { files, ids, memories } = withFiles(t)
  files.use('')
  const kept: unknown[] = []
  for (let value = 0; value < 10; value += 1) {
    const bytes = bytesOf(100_000)
    bytes[5] = value
    const content = memories.serialize(bytes, defaultCodec)
    assert(content instanceof Uint8Array)
    assert.notEqual(ids.of(content), new ObjectIds(identity('C')).of(content))
    kept.push(content)
  }
})
