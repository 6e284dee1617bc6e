import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, idToHex } from '../base/ids.js'
import { mayBeginRun, nthTaskId } from '../wire/run.js'
import { ObjectIds, TaskIds } from './ids.js'

test('object ids begin with the digest of the owner', () => {
  const ids = new ObjectIds(identity('12345|Client|00112233445566778899aabbccddeeff'))
  const serializer = '23ad880e034845a784f6fb7cd5cd53b5679489a29396448f'
  assert.equal(idToHex(ids.serializer), serializer)
  assert.match(idToHex(ids.of(Buffer.from('x'))), /^23ad880e034845a7[0-9a-f]{32}$/)
})

test('the same content has the same object id, other content another', () => {
  const ids = new ObjectIds(identity('me'))
  assert.equal(ids.of(Buffer.from('x')), ids.of(Uint8Array.of(0x78)))
  assert.notEqual(ids.of(Buffer.from('x')), ids.of(Buffer.from('y')))
  assert.notEqual(ids.of(Buffer.from('x')), new ObjectIds(identity('you')).of(Buffer.from('x')))
})

test('task ids have 16 bytes and do not repeat, even across blocks', () => {
  const ids = new TaskIds()
  const seen = new Set<string>()
  const count = 2 ** 17 + 10
  for (let i = 0; i < count; i += 1) {
    const id = ids.next()
    if (id.length !== 16) assert.fail(`${id.length} bytes`)
    seen.add(id)
  }
  assert.equal(seen.size, count)
})

test('a run of ids is in one block, and none is used twice', () => {
  const ids = new TaskIds()
  const seen = new Set<string>()
  for (const count of [5, 4096, 1, 4000, 96, 1, 4095, 2000, 2500]) {
    const first = ids.takeRun(count)
    assert.ok(mayBeginRun(first, count))
    for (let n = 0; n < count; n += 1) {
      const id = nthTaskId(first, n)
      assert.ok(!seen.has(id))
      seen.add(id)
    }
    seen.add(ids.next())
  }
})

test('the task ids of one client differ in the part that people read', () => {
  const ids = new TaskIds()
  const seen = new Set(Array.from({ length: 1_000 }, () => idToHex(ids.next()).slice(0, 8)))
  assert.equal(seen.size, 1_000)
})

test('the task ids of two clients have nothing in common', () => {
  assert.notEqual(new TaskIds().next().slice(0, 10), new TaskIds().next().slice(0, 10))
})
