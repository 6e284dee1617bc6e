import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeserializeError, SerializeError } from '../base/errors.js'
import { defaultSerializer, type Serializer } from './serializer.js'
import {
  codecFrom,
  codecOf,
  DEFAULT_SERIALIZER_CONTENT,
  defaultCodec,
  isSerializer,
  serializerContent,
} from './task-codec.js'

/** A serializer that returns, or throws, the value that a test sets. */
function fake(serialize: () => unknown, deserialize: (bytes: Uint8Array) => unknown): Serializer {
  return { serialize: serialize as () => Uint8Array, deserialize }
}

const never = (): never => assert.fail('not called')

test('the default serializer goes by name, in both directions', () => {
  const content = serializerContent(defaultSerializer)
  assert.equal(Buffer.from(content).toString(), DEFAULT_SERIALIZER_CONTENT)
  assert.equal(codecFrom(content), defaultCodec)
  assert.equal(codecOf(defaultSerializer), defaultCodec)
})

test('a serializer of the user’s own travels as a value', () => {
  const reversing = {
    serialize: (value: unknown) => Buffer.from(String(value)).reverse(),
    deserialize: (bytes: Uint8Array) => Buffer.from(bytes).reverse().toString(),
  }
  const codec = codecFrom(serializerContent(reversing))
  assert.notEqual(codec, defaultCodec)
  assert.equal(Buffer.from(codec.serialize('abc')).toString(), 'cba')
  assert.equal(codec.deserialize(Buffer.from('xyz')), 'zyx')
})

test('functions of the default serializer also work and travel alone', () => {
  // oxlint-disable-next-line typescript/unbound-method -- functions without their object are meant
  const { serialize } = defaultSerializer
  const upper = {
    ...defaultSerializer,
    serialize: (value: unknown) => serialize(String(value).toUpperCase()),
  }
  const codec = codecFrom(serializerContent(upper))
  assert.equal(codec.deserialize(codec.serialize('abc')), 'ABC')
})

test('one that cannot travel is refused by a path that begins with the serializer', () => {
  const serializer = { ...fake(never, never), pending: Promise.resolve() }
  assert.throws(
    () => serializerContent(serializer),
    (error) => {
      assert.ok(error instanceof SerializeError)
      assert.deepEqual(error.path, ['serializer', 'pending'])
      assert.match(error.message, /^serializer -> pending: .*client's serializer/)
      return true
    },
  )
})

test('the received value is a serializer, or an error that describes it', () => {
  for (const value of [5, 'text', null, {}, { serialize: () => 1 }, [1]]) {
    const content = defaultSerializer.serialize(value)
    assert.throws(() => codecFrom(content), {
      name: 'DeserializeError',
      message: /^the client's serializer arrived as (an? )?\w+ without its two methods$/,
    })
  }
  assert.throws(() => codecFrom(Buffer.from([0xff, 0])), { name: 'DeserializeError' })
  assert.throws(() => codecFrom(new Uint8Array(0)), { name: 'DeserializeError' })
})

test('objects and classes with both functions are serializers', () => {
  class Static {
    static serialize(): void {}
    static deserialize(): void {}
  }
  for (const good of [Static, defaultSerializer, fake(never, never)]) {
    assert.equal(isSerializer(good), true)
  }
  for (const bad of [undefined, null, 1, 'x', {}, JSON, () => {}]) {
    assert.equal(isSerializer(bad), false)
  }
})

test('any result of a user’s serializer that is not bytes is an error that describes it', () => {
  const returned = [
    ['text', 'a string'],
    [undefined, 'undefined'],
    [null, 'null'],
    [new ArrayBuffer(4), 'an ArrayBuffer'],
    [new Uint16Array(4), 'a Uint16Array'],
    [Promise.resolve(), 'a Promise'],
    [[1, 2], 'an Array'],
  ] as const
  for (const [value, what] of returned) {
    const codec = codecOf(fake(() => value, never))
    const message = `the client's serializer returned ${what} instead of a Uint8Array`
    assert.throws(() => codec.serialize(1), { name: 'SerializeError', message })
    assert.throws(() => codec.serializeFunction(() => 1), { name: 'SerializeError', message })
  }
  const bytes = Buffer.from('bytes')
  const kept = codecOf(fake(() => bytes, never)).serialize(1)
  bytes.fill(0)
  assert.equal(Buffer.from(kept).toString(), 'bytes')
})

test('errors of a user’s serializer are the cause of an error of ours; errors of ours pass', () => {
  const mine = new RangeError('mine')
  const throwing = (error: unknown) => (): never => {
    throw error
  }
  const codec = codecOf(fake(throwing(mine), throwing(mine)))
  const message = "the client's serializer failed: RangeError: mine"
  assert.throws(() => codec.serialize(1), { name: 'SerializeError', message, cause: mine })
  const bytes = new Uint8Array(1)
  const readError = { name: 'DeserializeError', message, cause: mine }
  assert.throws(() => codec.deserialize(bytes), readError)
  assert.throws(() => codec.deserializeFunction(bytes, []), readError)
  const refusal = new SerializeError('x: no', { path: ['x'] })
  const garbage = new DeserializeError('garbage')
  const passing = codecOf(fake(throwing(refusal), throwing(garbage)))
  assert.throws(
    () => passing.serialize(1),
    (error) => error === refusal,
  )
  assert.throws(
    () => passing.deserialize(bytes),
    (error) => error === garbage,
  )
})

test('a user’s serializer reads a copy: views that it keeps reach no other task', () => {
  const codec = codecOf(fake(never, (bytes) => new Uint32Array(bytes.buffer, bytes.byteOffset)))
  const bytes = Buffer.from('....12345678', 'latin1').subarray(4)
  const value = codec.deserialize(bytes) as Uint32Array
  value.fill(0)
  assert.equal(value.length, 2)
  assert.equal(bytes.toString(), '12345678')
})

test('the methods of a serializer are called as methods', () => {
  const serializer = {
    key: 7,
    serialize(): Uint8Array {
      return Uint8Array.of(this.key)
    },
    deserialize(bytes: Uint8Array): unknown {
      return (bytes[0] ?? 0) + this.key
    },
  }
  const codec = codecOf(serializer)
  assert.deepEqual(codec.serialize('any'), Uint8Array.of(7))
  assert.equal(codec.deserialize(Uint8Array.of(1)), 8)
})
