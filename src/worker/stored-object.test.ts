import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeserializeError } from '../base/errors.js'
import { identity, objectId, taskId } from '../base/ids.js'
import type { Serializer } from '../serializer/serializer.js'
import { decodeExitNote, encodeExitNote } from './exit-note.js'
import { newResultId, serializerIdOf } from './object-id.js'
import { ObjectStore, StoredObject } from './stored-object.js'

test('ids follow the identity of the client', () => {
  const client = identity('12345|Client|00112233445566778899aabbccddeeff')
  const hex = (id: string): string => Buffer.from(id, 'latin1').toString('hex')
  assert.equal(hex(serializerIdOf(client)), '23ad880e034845a784f6fb7cd5cd53b5679489a29396448f')
  const results = [newResultId(client), newResultId(client)]
  assert.ok(results.every((id) => id.length === 24 && hex(id).startsWith('23ad880e034845a7')))
  assert.notEqual(results[0], results[1])
})

test('objects are kept in memory of their own, and tasks keep what is deleted', () => {
  const store = new ObjectStore()
  const read = Buffer.from('helloworld')
  const [first, second] = [objectId('first'), objectId('second')]
  store.store({
    objectIds: [first, second],
    objectTypes: ['object', 'object'],
    objectNames: [],
    objectBytes: [[read.subarray(0, 5), read.subarray(5)], []],
  })
  read.fill(0)
  const object = store.get(first)
  store.delete([first, objectId('unknown')])
  assert.equal(store.get(first), undefined)
  assert.equal(String(object?.bytes), 'helloworld')
  assert.equal(store.get(second)?.bytes.byteLength, 0)
  store.clear()
  assert.equal(store.size, 0)
})

test('a function is made once, and so is the reason why it cannot be made', () => {
  let calls = 0
  const serializer: Serializer = {
    serialize: () => assert.fail(),
    deserialize(bytes) {
      calls += 1
      if (String(bytes) === 'number') return 5
      if (String(bytes) === 'garbage') throw new DeserializeError('garbage')
      return () => 1
    },
  }
  const good = new StoredObject([Buffer.from('function')])
  assert.equal(good.function(serializer), good.function(serializer))
  assert.equal(calls, 1)
  for (const content of ['number', 'garbage']) {
    calls = 0
    const bad = new StoredObject([Buffer.from(content)])
    for (let round = 0; round < 2; round += 1) {
      assert.throws(() => bad.function(serializer), { name: 'DeserializeError' })
    }
    assert.equal(calls, 1)
  }
})

test('serializers are told apart by their content', () => {
  const ours = new StoredObject([Buffer.from('scaler-ts/'), Buffer.from('default')])
  assert.equal(ours.isOurSerializer, true)
  assert.equal(ours.isPickle, false)
  const python = new StoredObject([Buffer.from('8005953d', 'hex')])
  assert.equal(python.isOurSerializer, false)
  assert.equal(python.isPickle, true)
  assert.equal(new StoredObject([]).isPickle, false)
})

test('an exit note says what ran', () => {
  const read = (bytes: Uint8Array): unknown => decodeExitNote(Buffer.from(bytes))
  assert.equal(read(encodeExitNote(undefined)), 'nothing')
  const id = taskId('\0\xff16 bytes of id')
  assert.deepEqual(read(encodeExitNote(id)), { taskId: id })
  assert.deepEqual(read(encodeExitNote(taskId(''))), { taskId: '' })
  assert.equal(read(Buffer.alloc(0)), 'unknown')
  assert.equal(read(Buffer.of(9)), 'unknown')
})
