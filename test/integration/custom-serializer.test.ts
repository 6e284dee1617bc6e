// Serializers of users' own, with real workers.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  Client,
  defaultSerializer,
  DeserializeError,
  SchedulerClusterCombo,
  SerializeError,
  type Serializer,
} from 'scaler-ts'

/** Values as JSON and functions as their text: needs nothing from its file. */
const jsonSerializer: Serializer = {
  serialize(value) {
    if (value === 'poison') throw new RangeError('it is poison')
    if (value === 'nothing') return undefined as unknown as Uint8Array
    if (typeof value === 'function') return Buffer.from(`f${String(value)}`)
    return Buffer.from(`j${JSON.stringify(value ?? null)}`)
  },

  deserialize(bytes) {
    const text = Buffer.from(bytes).toString()
    if (text === 'j"unreadable"') throw new RangeError('it is unreadable')
    if (text.startsWith('j')) return JSON.parse(text.slice(1)) as unknown
    return process.getBuiltinModule('node:vm').runInThisContext(`(${text.slice(1)})`) as unknown
  },
}

async function startCluster(t: TestContext): Promise<SchedulerClusterCombo> {
  const cluster = await SchedulerClusterCombo.start({ workers: 1 })
  t.after(() => cluster.shutdown())
  return cluster
}

test('function, arguments and result travel by the serializer of the client', async (t) => {
  const cluster = await startCluster(t)
  await using client = await Client.connect(cluster.address, { serializer: jsonSerializer })
  // JSON has no dates and no undefined: both ways show that it was used.
  const look = (value: unknown): unknown => [typeof value, undefined]
  assert.deepEqual(await client.submit(look, new Date(0)), ['string', null])
  assert.deepEqual(await client.map((x: number) => 2 * x, [1, 2, 3]), [2, 4, 6])
  await using other = await Client.connect(cluster.address)
  assert.equal(await other.submit((value: unknown) => value instanceof Date, new Date(0)), true)
  assert.deepEqual(await client.submit(look, 5), ['number', null])
})

test('its errors on the worker fail only that task', async (t) => {
  const cluster = await startCluster(t)
  await using client = await Client.connect(cluster.address, { serializer: jsonSerializer })
  const returned = (value: unknown): unknown => value
  await assert.rejects(
    client.submit(() => 'poison'),
    (error) => {
      assert.ok(error instanceof SerializeError)
      assert.deepEqual(error.path, ['result'])
      assert.match(
        error.message,
        /^result: the client's serializer failed: RangeError: it is poison/,
      )
      assert.ok(error.cause instanceof RangeError)
      return true
    },
  )
  await assert.rejects(
    client.submit(() => 'nothing'),
    {
      message: "result: the client's serializer returned undefined instead of a Uint8Array",
    },
  )
  await assert.rejects(client.submit(returned, 'unreadable'), (error) => {
    assert.ok(error instanceof DeserializeError)
    assert.match(error.message, /^argument 1 cannot be read: .*it is unreadable/)
    return true
  })
  // It can be written there, but not read here.
  await assert.rejects(
    client.submit(() => 'unreadable'),
    (error) => {
      assert.ok(error instanceof DeserializeError)
      assert.ok(error.cause instanceof RangeError)
      return true
    },
  )
  await assert.rejects(
    client.submit(() => {
      throw new RangeError('thrown', { cause: 'kept by the default serializer' })
    }),
    { name: 'RangeError', message: 'thrown', cause: 'kept by the default serializer' },
  )
  assert.equal(await client.submit(returned, 1), 1)
})

test('a serializer that cannot travel fails every task of its client, and of no other', async (t) => {
  const cluster = await startCluster(t)
  const serializer = new Proxy(defaultSerializer, {})
  await using client = await Client.connect(cluster.address, { serializer })
  for (let round = 0; round < 2; round += 1) {
    await assert.rejects(
      client.submit(() => 1),
      (error) => {
        assert.ok(error instanceof SerializeError)
        assert.equal(error.path[0], 'serializer')
        return true
      },
    )
  }
  await using other = await Client.connect(cluster.address)
  assert.equal(await other.submit(() => 1), 1)
})

test('the example works as it says', async () => {
  const program = fileURLToPath(new URL('../../examples/custom-serializer.js', import.meta.url))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program])
  assert.equal(stderr, '')
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    'an integer takes 5 bytes',
    '3 + 4 = 7',
    '0.5 + -0 = 0.5',
    'a table of 2 columns and 3 rows takes 70 bytes',
    'the result is a table:',
    '  price: 1.5, 2.5, 4',
    '  count: 10, 20, 30',
    '  price * count: 15, 50, 120',
    "totals, computed on a worker: Map(3) { 'price' => 8, 'count' => 60, 'price * count' => 185 }",
  ])
})
