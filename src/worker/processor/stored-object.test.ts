import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { NO_BYTES } from '../../base/bytes.js'
import { DeserializeError } from '../../base/errors.js'
import { identity, objectId } from '../../base/ids.js'
import { defaultSerializer } from '../../serializer/serializer.js'
import { defaultCodec, serializerContent } from '../../serializer/task-codec.js'
import { fileChunk } from '../../wire/object-content.js'
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

const MIB = 1024 ** 2
const first = objectId('first')

/** A file with this content, and the chunk that names it. */
function fileWith(t: TestContext, content: Uint8Array): { path: string; chunk: Uint8Array } {
  const base = mkdtempSync(join(tmpdir(), 'stored-'))
  t.after(() => rmSync(base, { recursive: true }))
  const directory = join(base, `scaler-ts-${'0'.repeat(32)}`)
  mkdirSync(directory)
  const path = join(directory, '1'.repeat(32))
  writeFileSync(path, content)
  return { path, chunk: fileChunk({ path, byteLength: content.byteLength }) }
}

/** The object with this content, in a file that is removed at once, in a store. */
function inFile(t: TestContext, value: unknown): { store: ObjectStore; object: StoredObject } {
  const { path, chunk } = fileWith(t, defaultSerializer.serialize(value))
  const store = new ObjectStore()
  const lists = { objectIds: [first], objectTypes: ['file'], objectNames: [NO_BYTES] } as const
  store.store({ ...lists, objectBytes: [[chunk]] })
  rmSync(path)
  const object = store.get(first)
  assert(object !== undefined)
  return { store, object }
}

const bytes = new Uint8Array(300_000).map((_, at) => at * 3)

for (const [what, value] of [
  ['a Uint8Array', bytes],
  ['a Buffer', Buffer.from(bytes)],
  ['an ArrayBuffer', bytes.buffer],
  ['a typed array', new Float64Array(10_000).fill(0.25)],
  ['an object with bytes', { name: 'x', bytes }],
  ['an empty Uint8Array', new Uint8Array()],
] as const) {
  test(`${what} in a file is read for each task anew`, (t) => {
    const { store, object } = inFile(t, value)
    const [one, other] = [object.value(defaultCodec), object.value(defaultCodec)]
    assert.deepEqual(one, value)
    assert.deepEqual(other, value)
    if (one instanceof Uint8Array) assert.notEqual(one.buffer, (other as Uint8Array).buffer)
    if (ArrayBuffer.isView(one)) assert.equal(one.buffer.byteLength, one.byteLength)
    store.clear()
  })
}

for (const byteLength of [MIB, 17 * MIB]) {
  test(`each of many tasks may write to the ${byteLength} bytes that it gets from one file`, (t) => {
    const { store, object } = inFile(t, new Uint8Array(byteLength).fill(1))
    for (let task = 0; task < 4; task += 1) {
      const value = object.value(defaultCodec) as Uint8Array
      assert.equal(value.buffer.byteLength, byteLength)
      assert(value.every((byte) => byte === 1))
      value.fill(2)
    }
    object.expect([])
    store.delete([first])
    assert.deepEqual(object.value(defaultCodec), new Uint8Array(byteLength).fill(1))
  })
}

test('many objects of which several tasks have read each are all read', (t) => {
  const values = Array.from({ length: 5 }, (_, at) => new Uint8Array(5 * MIB).fill(at))
  const objects = values.map((value) => inFile(t, value))
  for (let task = 0; task < 3; task += 1) {
    const read = objects.map(({ object }) => object.value(defaultCodec))
    assert.deepEqual(read, values)
  }
  for (const { store } of objects) store.clear()
})

test('a task that has not read an object when it is deleted reads it later', (t) => {
  const { store, object } = inFile(t, bytes)
  const [waiting, done] = [[], []]
  object.expect(waiting)
  object.expect(done)
  object.onRead(done)
  store.delete([first])
  assert.deepEqual(object.value(defaultCodec), bytes)
  assert.deepEqual(object.bytes, Buffer.from(defaultSerializer.serialize(bytes)))
})

test('an object that is deleted when all tasks have read it is gone, and is not empty', (t) => {
  const { store, object } = inFile(t, bytes)
  const reader: unknown[] = []
  object.expect(reader)
  object.onRead(reader)
  store.delete([first])
  assert.throws(() => object.value(defaultCodec), DeserializeError)
})

test('tasks that never read an object do not pile up', (t) => {
  const { store, object } = inFile(t, bytes)
  const openFiles = readdirSync('/proc/self/fd').length
  for (let task = 0; task <= 1_000; task += 1) object.expect([])
  assert.equal(readdirSync('/proc/self/fd').length, openFiles - 1, 'it is in memory')
  assert.deepEqual(object.value(defaultCodec), bytes)
  store.clear()
  assert.deepEqual(object.value(defaultCodec), bytes)
})

test('files of objects are closed, whatever happens to these', (t) => {
  const openFiles = (): number => readdirSync('/proc/self/fd').length
  const before = openFiles()
  const { store, object } = inFile(t, bytes)
  assert.equal(openFiles(), before + 1)
  const { chunk } = fileWith(t, defaultSerializer.serialize(bytes))
  const lists = { objectIds: [first], objectTypes: ['file'], objectNames: [NO_BYTES] } as const
  store.store({ ...lists, objectBytes: [[chunk]] })
  assert.throws(() => object.bytes, DeserializeError)
  assert.equal(openFiles(), before + 1)
  assert.equal(store.get(first)?.bytes.byteLength, bytes.byteLength + 1)
  assert.equal(openFiles(), before, 'its content is in memory')
  store.store({ ...lists, objectBytes: [[chunk]] })
  store.clear()
  assert.equal(openFiles(), before)
})

test('an object whose file is gone, or shorter, is missing or cannot be read', (t) => {
  const { path, chunk } = fileWith(t, defaultSerializer.serialize(bytes))
  const store = new ObjectStore()
  const lists = { objectIds: [first], objectTypes: ['file'], objectNames: [NO_BYTES] } as const
  truncateSync(path, 100)
  store.store({ ...lists, objectBytes: [[chunk]] })
  assert.throws(() => store.get(first)?.value(defaultCodec), DeserializeError)
  store.delete([first])
  rmSync(path)
  store.store({ ...lists, objectBytes: [[chunk]] })
  assert.equal(store.get(first), undefined)
})
