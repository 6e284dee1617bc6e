// Objects that clients find by a name, over real sockets, and with a scheduler that is killed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, MissingObjectError } from 'scaler-ts'
import { TestCluster } from '../chaos/cluster.js'
import { until } from './condition.js'

const SIZE = 300_000
const sumOf = (bytes: Uint8Array, more: number): number => (bytes[0] ?? 0) * bytes.length + more

test('clients share objects by name, also beyond the client that sent them', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2] })
  const [one, other] = [cluster.client(), cluster.client()]
  const sent = one.sendObject(new Uint8Array(SIZE).fill(2), { name: 'table', shared: true })
  const own = await one.object<Uint8Array>('table')
  assert.equal(own.id, sent.id)
  const found = await other.object<Uint8Array>('table')
  assert.deepEqual([found.id, found.name, found.sizeBytes], [sent.id, 'table', sent.sizeBytes])
  assert.equal(await other.submit(sumOf, found, 1), 2 * SIZE + 1)
  const inputs = [1, 2, 3].map((more) => [found, more] as const)
  assert.deepEqual(
    await other.starmap(sumOf, inputs),
    [1, 2, 3].map((more) => 2 * SIZE + more),
  )
  const graph = { table: found, length: [(bytes: Uint8Array) => bytes.length, 'table'] } as const
  const { table, length } = await other.get(graph, ['table', 'length'])
  assert.deepEqual([table.length, length], [SIZE, SIZE])
  await one.disconnect()
  const last = await other.object<Uint8Array>('table')
  found.release()
  assert.equal(await other.submit(sumOf, last, 0), 2 * SIZE)
  assert.equal(await other.deleteObject('table'), true)
  assert.equal(await other.deleteObject('table'), false)
  await assert.rejects(other.object('table'), MissingObjectError)
  // Who has a reference is not affected.
  assert.equal(await other.submit(sumOf, last, 0), 2 * SIZE)
  last.release()
  await until('it is deleted', async () => {
    const objects = await other.objects()
    return objects.every(({ id }) => id !== sent.id)
  })
})

test('a scheduler that is killed costs no shared object, whoever is back first', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2] })
  const other = cluster.client()
  const one = cluster.client()
  const sent = one.sendObject(new Uint8Array(SIZE).fill(3), { name: 'table', shared: true })
  await one.object('table')
  const found = await other.object<Uint8Array>('table')
  for (let round = 0; round < 3; round += 1) {
    await cluster.scheduler.kill()
    const futures = Array.from({ length: 20 }, (_, more) => other.submit(sumOf, found, more))
    await cluster.restartScheduler()
    const results = await Promise.all(futures)
    assert.deepEqual(
      results,
      [...futures.keys()].map((more) => 3 * SIZE + more),
    )
  }
  // Its name is back, too: it follows the object.
  assert.equal((await cluster.client().object('table')).id, sent.id)
})

test('a client can share an object and leave immediately', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  for (const [name, size] of Object.entries({ small: 10, large: SIZE })) {
    await using publisher = await Client.connect(cluster.address)
    using reference = publisher.sendObject(new Uint8Array(size).fill(4), { name, shared: true })
    assert.equal(reference.name, name)
  }
  for (const [name, size] of Object.entries({ small: 10, large: SIZE })) {
    assert.equal(await client.submit(sumOf, await client.object<Uint8Array>(name), 0), 4 * size)
  }
})
