import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import {
  ClientClosedError,
  ConfigError,
  MissingObjectError,
  SerializeError,
} from '../../base/errors.js'
import { untilCollected } from '../../base/finalization.test.kit.js'
import { defaultCodec, type TaskCodec } from '../../serializer/task-codec.js'
import { testClient, turn, until, type TestClient } from '../memory-link.test.kit.js'
import type { ObjectReference } from './objects.js'

const MIB = 1024 ** 2

const codecMethods: TaskCodec = {
  serialize: (value) => defaultCodec.serialize(value),
  deserialize: (bytes) => defaultCodec.deserialize(bytes),
  serializeFunction: (fn) => defaultCodec.serializeFunction(fn),
  deserializeFunction: (bytes, attachments) => defaultCodec.deserializeFunction(bytes, attachments),
  attachmentCount: (bytes) => defaultCodec.attachmentCount(bytes),
  isNamed: (object) => defaultCodec.isNamed?.(object) ?? false,
}
const lengthOf = (value: string): number => value.length

function send<T>(client: TestClient, value: T, name?: string): ObjectReference<T> {
  const options = name === undefined ? {} : { name }
  return client.parts.references.send(value, options) as ObjectReference<T>
}

function hasObject({ scheduler }: TestClient, reference: ObjectReference<unknown>): boolean {
  const id = Buffer.from(reference.id, 'hex').toString('latin1')
  return [...scheduler.objects.keys()].some((known) => known === id)
}

test('a reference replaces a value as an argument', async () => {
  const client = testClient()
  const words = send(client, 'abc', 'words')
  const { submitter } = client
  assert.equal(await submitter.submit(lengthOf, [words]), 3)
  assert.deepEqual(await submitter.map(lengthOf, [words, 'ab', words], {}, false), [3, 2, 3])
  assert.deepEqual(await submitter.map(lengthOf, [[words], ['a']], {}, true), [3, 1])
  assert.deepEqual(client.scheduler.faults, [])
})

test('a reference describes its object', () => {
  const client = testClient()
  const words = send(client, 'abc', 'words')
  assert.match(words.id, /^[0-9a-f]{48}$/)
  assert.equal(words.name, 'words')
  assert.equal(words.sizeBytes, client.connection.serializer.codec.serialize('abc').byteLength)
  assert.equal(String(words), `ObjectReference { words, ${words.sizeBytes} bytes }`)
  assert.equal(inspect(words), String(words))
  const nameless = send(client, 'abc')
  assert.equal(nameless.id, words.id)
  assert.equal(nameless.name, '')
  assert.match(String(nameless), new RegExp(`^ObjectReference { ${words.id}, `))
})

test('the value is sent once, as it was at that moment, before it is used', async () => {
  const client = testClient()
  const value = { text: 'x'.repeat(MIB) }
  const reference = send(client, value)
  value.text = ''
  const textOf = ({ text }: { text: string }): number => text.length
  const futures = Array.from({ length: 20 }, () => client.submitter.submit(textOf, [reference]))
  assert.deepEqual(await Promise.all(futures), Array(20).fill(MIB))
  const { uploadedBytes } = client.scheduler
  assert(uploadedBytes > MIB && uploadedBytes < 1.1 * MIB, `${uploadedBytes} bytes`)
})

test('a large argument that many tasks use is uploaded once', async () => {
  const client = testClient()
  const text = 'x'.repeat(MIB)
  const futures = Array.from({ length: 20 }, () => client.submitter.submit(lengthOf, [text]))
  assert.deepEqual(await Promise.all(futures), Array(20).fill(MIB))
  const { uploadedBytes } = client.scheduler
  assert(uploadedBytes > MIB && uploadedBytes < 1.1 * MIB, `${uploadedBytes} bytes`)
})

test('large bytes that are sent again and have not changed are uploaded once', async () => {
  const client = testClient()
  const bytes = new Uint8Array(MIB)
  const lastOf = (given: Uint8Array): number => given.at(-1) ?? -1
  const sumOf = (given: Uint8Array, more: number): number => (given.at(-1) ?? 0) + more
  const { submitter } = client
  assert.deepEqual(await submitter.map(lastOf, Array(20).fill(bytes), {}, false), Array(20).fill(0))
  assert.deepEqual(
    await submitter.map(sumOf, [1, 2].map((x) => [bytes, x]) as never, {}, true),
    [1, 2],
  )
  const reference = send(client, bytes)
  assert.equal(await submitter.submit(lastOf, [reference]), 0)
  const { uploadedBytes } = client.scheduler
  assert(uploadedBytes > MIB && uploadedBytes < 1.1 * MIB, `${uploadedBytes} bytes`)
})

test('large arrays that alternate are uploaded once each', async () => {
  const client = testClient()
  const arrays = Array.from({ length: 12 }, (_, index) => new Float64Array(20_000).fill(index))
  const firstOf = (given: Float64Array): number => given[0] ?? -1
  for (let round = 0; round < 3; round += 1) {
    // Copies have the same content.
    const inputs = round === 1 ? arrays.map((array) => array.slice()) : arrays
    const results = await client.submitter.map(firstOf, inputs, {}, false)
    assert.deepEqual(results, [...arrays.keys()])
  }
  const { uploadedBytes } = client.scheduler
  assert(uploadedBytes > 12 * 160_000 && uploadedBytes < 12.5 * 160_000, `${uploadedBytes} bytes`)
})

test('a large argument is serialized once', async () => {
  const sizes: number[] = []
  const codec: TaskCodec = {
    ...codecMethods,
    serialize: (value) => {
      const bytes = defaultCodec.serialize(value)
      sizes.push(bytes.byteLength)
      return bytes
    },
  }
  const client = testClient({ clientCodec: codec })
  const list = Array.from({ length: 100_000 }, (_, index) => index)
  const nested = { list, text: 'x'.repeat(50_000) }
  const lengthOfNested = (given: typeof nested, text: string): number =>
    given.list.length + text.length
  const result = client.submitter.submit(lengthOfNested, [nested, 'y'.repeat(20_000)])
  assert.equal(await result, 120_000)
  const countLarge = (): number => sizes.splice(0).filter((size) => size > 10_000).length
  assert.equal(countLarge(), 2)
  const inputs = [nested, { ...nested }]
  const lengthsOf = ({ list: { length } }: typeof nested): number => length
  assert.deepEqual(await client.submitter.map(lengthsOf, inputs, {}, false), [100_000, 100_000])
  assert.equal(countLarge(), 2)
  const pairs = inputs.map((input): [typeof nested, string] => [input, 'z'])
  const results = await client.submitter.map(lengthOfNested, pairs, {}, true)
  assert.deepEqual(results, [100_001, 100_001])
  assert.equal(countLarge(), 2)
})

test('many large arrays that look alike are uploaded once each', async () => {
  const client = testClient()
  const arrays = Array.from({ length: 7 }, (_, index) => {
    const bytes = new Uint8Array(100_000)
    bytes[100] = index
    return bytes
  })
  const kindOf = (given: Uint8Array): number => given[100] ?? -1
  for (let round = 0; round < 3; round += 1) {
    const results = await client.submitter.map(kindOf, arrays, {}, false)
    assert.deepEqual(results, [...arrays.keys()])
  }
  const { uploadedBytes } = client.scheduler
  assert(uploadedBytes > 700_000 && uploadedBytes < 750_000, `${uploadedBytes} bytes`)
})

test('each task has large bytes as they were at its submit, whatever their last byte or type', async () => {
  const client = testClient()
  const bytes = new Uint8Array(MIB)
  const kindOf = (given: ArrayBufferView | ArrayBuffer): string =>
    `${given.constructor.name} ${new Uint8Array('buffer' in given ? given.buffer : given).at(-1)}`
  const { submitter } = client
  const futures = [0, 1, 0, 2].map((last) => {
    bytes[MIB - 1] = last
    return submitter.submit(kindOf, [bytes])
  })
  futures.push(submitter.submit(kindOf, [bytes.buffer]))
  const expected = [0, 1, 0, 2].map((last) => `Uint8Array ${last}`)
  assert.deepEqual(await Promise.all(futures), [...expected, 'ArrayBuffer 2'])
  assert.deepEqual(client.scheduler.faults, [])
})

test('an unused object is stored until it is released', async () => {
  const client = testClient()
  const reference = send(client, 'abc')
  await until(() => hasObject(client, reference))
  reference.release()
  reference.release()
  await until(() => !hasObject(client, reference))
})

test('equal values share an object, which stays until the last reference is released', async () => {
  const client = testClient()
  const one = send(client, 'abc')
  const other = send(client, 'abc')
  await until(() => hasObject(client, one))
  one.release()
  assert.equal(await client.submitter.submit(lengthOf, [other]), 3)
  assert.equal(hasObject(client, other), true)
  other[Symbol.dispose]()
  await turn()
})

test('a released reference cannot be used any more, but tasks that have it keep it', async () => {
  const client = testClient()
  const reference = send(client, 'abc')
  const before = client.submitter.submit(lengthOf, [reference])
  reference.release()
  const after = client.submitter.submit(lengthOf, [reference])
  await assert.rejects(after, (error) => {
    assert(error instanceof MissingObjectError)
    assert.match(error.message, /was released or cleared: ObjectReference/)
    return true
  })
  assert.equal(await before, 3)
  assert.deepEqual(client.scheduler.faults, [])
})

/** Several: a register or a compiler may keep one of them for any time. */
function sendMany(client: TestClient): { references: unknown[]; readonly ids: readonly string[] } {
  const references = Array.from({ length: 8 }, (_, number) => send(client, `abc ${number}`))
  return { references, ids: references.map(({ id }) => id) }
}

test('a garbage-collected reference releases its object', async () => {
  const client = testClient()
  const holder = sendMany(client)
  const there = (): number => {
    const isThere = (id: string): boolean => hasObject(client, { id } as ObjectReference<unknown>)
    return holder.ids.filter(isThere).length
  }
  await until(() => there() === 8)
  holder.references = []
  await untilCollected(() => there() <= 1)
})

test('clearing the client makes references invalid, and later ones are valid', async () => {
  const client = testClient()
  const old = send(client, 'abc')
  await until(() => hasObject(client, old))
  client.parts.references.clear()
  await client.connection.clear()
  await until(() => !hasObject(client, old))
  await assert.rejects(client.submitter.submit(lengthOf, [old]), MissingObjectError)
  const young = send(client, 'abc')
  old.release()
  assert.equal(await client.submitter.submit(lengthOf, [young]), 3)
  assert.equal(hasObject(client, young), true)
})

test('a reference of another client is refused, through the future', async () => {
  const reference = send(testClient(), 'abc')
  const future = testClient().submitter.submit(lengthOf, [reference])
  await assert.rejects(future, (error) => {
    assert(error instanceof SerializeError)
    assert.deepEqual(error.path, ['argument 1'])
    assert.match(error.message, /another client/)
    return true
  })
})

test('a value that cannot travel is refused immediately', () => {
  const client = testClient()
  assert.throws(
    () => send(client, { inner: new WeakMap() }),
    (error) => {
      assert(error instanceof SerializeError)
      assert.deepEqual(error.path.slice(0, 2), ['object', 'inner'])
      return true
    },
  )
})

test('bad options, and all calls after the client was closed, are refused immediately', async () => {
  const client = testClient()
  const { references } = client.parts
  assert.throws(() => references.send(1, { name: 5 as never }), ConfigError)
  assert.throws(() => references.send(1, { name: 'x'.repeat(1_001) }), ConfigError)
  assert.throws(() => references.send(1, { size: 5 } as never), /unknown sendObject option size/)
  for (const wrong of [null, 5, []]) {
    assert.throws(
      () => references.send(1, wrong as never),
      /sendObject options: expected an object/,
    )
  }
  await client.connection.close()
  assert.throws(() => references.send(1, {}), ClientClosedError)
})

test('an object survives a restart of the scheduler', async () => {
  const client = testClient()
  const reference = send(client, 'abc')
  await until(() => hasObject(client, reference))
  client.link.lose()
  client.scheduler.restart('scheduler-id-002')
  client.link.connect()
  assert.equal(await client.submitter.submit(lengthOf, [reference]), 3)
  assert.deepEqual(client.scheduler.faults, [])
})
