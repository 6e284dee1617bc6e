import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES } from '../../base/bytes.js'
import { DeserializeError } from '../../base/errors.js'
import { identity, objectId } from '../../base/ids.js'
import { defaultSerializer } from '../../serializer/serializer.js'
import { defaultCodec, serializerContent } from '../../serializer/task-codec.js'
import { newResultId, serializerIdOf } from '../object-ids.js'
import { ObjectStore, StoredObject } from './objects.js'

test('ids depend on the identity of the client', () => {
  const client = identity('12345|Client|00112233445566778899aabbccddeeff')
  const hex = (id: string): string => Buffer.from(id, 'latin1').toString('hex')
  assert.equal(hex(serializerIdOf(client)), '23ad880e034845a784f6fb7cd5cd53b5679489a29396448f')
  const results = [newResultId(client), newResultId(client)]
  assert.ok(results.every((id) => id.length === 24 && hex(id).startsWith('23ad880e034845a7')))
  assert.notEqual(results[0], results[1])
})

test('objects have memory of their own, and tasks keep deleted objects', () => {
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

test('serializers are distinguished by their content', () => {
  const ours = new StoredObject([Buffer.from('scaler-ts/'), Buffer.from('default')])
  assert.equal(ours.codec(), defaultCodec)
  assert.equal(ours.clientSerializer(), defaultSerializer)
  assert.equal(ours.isPickle, false)
  const python = new StoredObject([Buffer.from('8005953d', 'hex')])
  assert.throws(() => python.codec(), { name: 'DeserializeError' })
  assert.equal(python.isPickle, true)
  assert.equal(new StoredObject([]).isPickle, false)
})

test('a client’s own serializer is read once, and so is the reason why it cannot be read', () => {
  const serializer = { serialize: () => new Uint8Array(1), deserialize: () => 'read' }
  const object = new StoredObject([serializerContent(serializer)])
  const codec = object.codec()
  assert.equal(object.codec(), codec)
  assert.notEqual(codec, defaultCodec)
  assert.equal(codec.deserialize(NO_BYTES), 'read')
  const copy = object.clientSerializer()
  assert.equal(copy.deserialize(NO_BYTES), 'read')
  assert.equal(object.clientSerializer(), copy)
  const garbage = new StoredObject([Buffer.from([0xff])])
  const failures = [1, 2].map(() => {
    try {
      return garbage.codec()
    } catch (error) {
      return error
    }
  })
  assert.ok(failures[0] instanceof DeserializeError)
  assert.match(failures[0].message, /^the client's serializer cannot be read: /)
  assert.equal(failures[1], failures[0])
})
