// Connections that are forgotten while they are idle, and slow ones.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import { TcpProxy } from '../chaos/tcp-proxy.js'
import { until } from './condition.js'

async function proxyFor(t: TestContext, address: string): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(address)
  t.after(() => proxy.close())
  return proxy
}

/** A task with a known result, a small one; with arguments of some bytes. */
const answer = (x: number, text: string): string => `${text} ${x * x}`

test('idle connections dropped by the network lose nothing: work sent later is done', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const proxy = await proxyFor(t, cluster.address)
  // Heartbeats are too rare to keep these connections open.
  const rare = ['--heartbeat-interval', '3', '--death-timeout-seconds', '60']
  const agent = cluster.startAgentInBackground(1, rare, proxy.address)
  await agent.line((line) => String(line['message']).endsWith(' ready'))
  const client = cluster.client({ heartbeatIntervalMs: 3_000, timeoutMs: 60_000 }, proxy.address)
  assert.equal(await client.submit(answer, 2, 'before'), 'before 4')
  proxy.dropIdle(200)
  await until('both are forgotten', () => proxy.links.every((link) => link.isStopped))
  proxy.dropIdle(Infinity)
  assert.equal(
    await client.submit(answer, 3, 'after lunch').result({ timeoutMs: 60_000 }),
    'after lunch 9',
  )
})

test('a slow and a delayed link make things slow, and nothing else', async (t) => {
  const timeouts = ['--worker-timeout-seconds', '1', '--client-timeout-seconds', '1']
  const cluster = await TestCluster.start(t, { agents: [], schedulerArgs: timeouts })
  const proxy = await proxyFor(t, cluster.address)
  const agent = cluster.startAgentInBackground(1, [], proxy.address)
  await agent.line((line) => String(line['message']).endsWith(' ready'))
  const client = cluster.client({}, proxy.address)
  assert.equal(await client.submit(answer, 2, 'before'), 'before 4')
  for (const link of proxy.links) link.disturb({ delayMs: 40, bytesPerSecond: 500_000 })
  // Each takes longer than any allowed silence, and heartbeats wait behind it.
  const bytes = new Uint8Array(1_000_000).fill(5)
  const total = (given: Uint8Array): number => given.reduce((sum, byte) => sum + byte, 0)
  assert.equal(await client.submit(total, bytes), 5_000_000)
  const make = (size: number): Uint8Array => new Uint8Array(size).fill(6)
  assert.deepEqual(await client.submit(make, 1_000_000), make(1_000_000))
  assert.equal(proxy.linkCount, 2, 'the first connections have held')
})
