// Large objects over connections that break, and the memory that a scheduler retains afterwards.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import { isIdle } from '../chaos/monitor.js'
import { TcpProxy } from '../chaos/tcp-proxy.js'

const MEBIBYTE = 2 ** 20

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Between processes on one machine, large objects are in files otherwise. */
const IN_MESSAGES = { schedulerArgs: ['--object-directory', ''] }

test('an upload interrupted in the middle is repeated, and its task succeeds', async (t) => {
  const cluster = await TestCluster.start(t, IN_MESSAGES)
  const proxy = await TcpProxy.start(cluster.address)
  t.after(() => proxy.close())
  const cuts = [MEBIBYTE, 3 * MEBIBYTE, 7 * MEBIBYTE]
  let links = 0
  proxy.onLink((link, index) => {
    links += 1
    const cutAtByte = cuts[index]
    if (cutAtByte !== undefined) link.disturb({ cutAtByte }, 'up')
  })
  const bytes = new Uint8Array(8 * MEBIBYTE).map((_, index) => index * 7)
  const client = cluster.client({}, proxy.address)
  const digest = async (input: Uint8Array): Promise<string> => {
    const { createHash: newHash } = await import('node:crypto')
    return newHash('sha256').update(input).digest('hex')
  }
  assert.equal(await client.submit(digest, bytes), digestOf(bytes))
  assert(links > cuts.length, 'every cut has happened')
  await client.disconnect()
  await cluster.monitor.until('empty tables', isIdle)
})

test('after many objects and clear(), a scheduler uses as little memory as before', async (t) => {
  const cluster = await TestCluster.start(t, IN_MESSAGES)
  const client = cluster.client()
  const length = (input: Uint8Array): number => input.byteLength
  const rounds = 8
  const sizeOf = async (): Promise<number> => (await cluster.monitor.next()).scheduler.rss
  const before = await sizeOf()
  for (let round = 0; round < rounds; round += 1) {
    const references = Array.from({ length: 4 }, (_, index) =>
      client.sendObject(new Uint8Array(16 * MEBIBYTE).fill(round + index)),
    )
    const results = await Promise.all(references.map((each) => client.submit(length, each)))
    assert.deepEqual(new Set(results), new Set([16 * MEBIBYTE]))
    await client.clear()
  }
  // Half a gibibyte has passed through it: a third of that would be a leak.
  const moved = rounds * 4 * 16 * MEBIBYTE
  await cluster.monitor.until(
    'nothing but the serializer of the client, and the memory it had before',
    ({ objectManager, scheduler }) =>
      objectManager.numberOfObjects <= 1 && scheduler.rss < before + moved / 3,
  )
})

test('objects of every size arrive unchanged: empty, one byte, and around every limit', async (t) => {
  const cluster = await TestCluster.start(t)
  const client = cluster.client()
  const last = (input: Uint8Array): Uint8Array => input.slice(-1)
  const same = (input: Uint8Array): Uint8Array => input
  const limits = [8, 8_192, 65_536, MEBIBYTE, 16 * MEBIBYTE]
  const sizes = [0, 1, ...limits.flatMap((limit) => [limit - 1, limit, limit + 1])]
  for (const size of sizes) {
    const bytes = new Uint8Array(size).fill(size % 251)
    const stored = client.sendObject(bytes)
    const [end, back, fromStored] = await Promise.all([
      client.submit(last, bytes),
      client.submit(same, bytes),
      client.submit(same, stored),
    ])
    assert.deepEqual(end, bytes.slice(-1))
    for (const each of [back, fromStored]) assert.equal(Buffer.compare(each, bytes), 0, `${size}`)
  }
})
