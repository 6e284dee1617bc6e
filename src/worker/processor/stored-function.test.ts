import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeserializeError } from '../../base/errors.js'
import type { ReadShipment } from '../../serializer/value/message.js'
import { PendingImport } from '../../serializer/module/policy.js'
import { StoredFunction, type StoredBytes } from './objects.js'
import { TableCodec } from '../table-codec.test.kit.js'

function stored(name: string): StoredBytes {
  return { bytes: Buffer.from(name), token: {} }
}

/** A codec that makes a new function each time, and counts. */
class CountingCodec extends TableCodec {
  count = 0

  override deserializeFunction(
    bytes: Uint8Array,
    attachments: readonly StoredBytes[],
  ): ReadShipment {
    this.count += 1
    const { value, isSteady } = super.deserializeFunction(bytes, attachments)
    return { value: typeof value === 'function' ? () => value : value, isSteady }
  }
}

function codecWith(values: Readonly<Record<string, unknown>>): CountingCodec {
  const codec = new CountingCodec()
  for (const [name, value] of Object.entries(values)) codec.values.set(name, value)
  return codec
}

test('an immutable function is deserialized once', () => {
  const codec = codecWith({ f: () => 1 })
  const cache = new StoredFunction(stored('f'))
  const fn = cache.of(codec, [])
  assert.equal(cache.of(codec, []), fn)
  assert.equal(codec.count, 1)
})

test('the reason why a function cannot be deserialized is found once', () => {
  const codec = codecWith({ number: 5 })
  for (const name of ['number', 'garbage']) {
    codec.count = 0
    const cache = new StoredFunction(stored(name))
    const failures: unknown[] = []
    for (let round = 0; round < 2; round += 1) {
      assert.throws(
        () => cache.of(codec, []),
        (error) => failures.push(error) > 0,
      )
    }
    assert.ok(failures[0] instanceof DeserializeError)
    assert.equal(failures[1], failures[0])
    assert.equal(codec.count, 1)
  }
})

test('each codec gets a function of its own', () => {
  const [one, other] = [codecWith({ f: () => 1 }), codecWith({ f: () => 2 })]
  const cache = new StoredFunction(stored('f'))
  const fn = cache.of(one, [])
  assert.notEqual(cache.of(other, []), fn)
  assert.deepEqual([one.count, other.count], [1, 1])
})

test('other attachments, or the same ones stored again, lead to a new function', () => {
  const codec = codecWith({ f: () => 1 })
  const cache = new StoredFunction(stored('f'))
  const [a, b] = [stored('a'), stored('b')]
  const fn = cache.of(codec, [a, b])
  assert.deepEqual(codec.lastAttachments, ['a', 'b'])
  assert.equal(cache.of(codec, [a, b]), fn)
  assert.notEqual(cache.of(codec, [b, a]), fn)
  assert.deepEqual(codec.lastAttachments, ['b', 'a'])
  assert.notEqual(cache.of(codec, [stored('a'), b]), fn)
  cache.of(codec, [a])
  cache.of(codec, [])
  assert.equal(codec.count, 5)
})

test('any other function is deserialized again for each task', () => {
  const codec = codecWith({ f: () => 1 })
  codec.isSteady = false
  const cache = new StoredFunction(stored('f'))
  assert.notEqual(cache.of(codec, []), cache.of(codec, []))
  assert.equal(codec.count, 2)
})

test('a pending import is not a failure: the next reading may succeed', () => {
  const codec = codecWith({ f: () => 1 })
  const cache = new StoredFunction(stored('f'))
  const pending = new PendingImport('x', Promise.resolve())
  codec.onRead = () => {
    throw new Error('wrapped by a serializer', { cause: pending })
  }
  assert.throws(
    () => cache.of(codec, []),
    (error) => error === pending,
  )
  codec.onRead = () => {}
  assert.equal(typeof cache.of(codec, []), 'function')
})

test('attachments are counted once for each codec', () => {
  const [one, other] = [new TableCodec(), new TableCodec()]
  one.counts.set('f', 2)
  const cache = new StoredFunction(stored('f'))
  assert.equal(cache.attachmentCount(one), 2)
  one.counts.set('f', 3)
  assert.equal(cache.attachmentCount(one), 2)
  assert.equal(cache.attachmentCount(other), 0)
})
