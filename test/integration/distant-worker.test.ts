// Workers behind a network that delays everything by 20 ms. What such a worker holds is tested with
// the scheduler's machine (core/scheduler/worker/window.test.ts), and measured by `bench`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import { TcpProxy } from '../chaos/tcp-proxy.js'
import { until } from './condition.js'

const DELAY_MS = 20

const square = (x: number): number => x * x

test('distant workers run a map, before and after the scheduler knows how far away they are', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const proxy = await TcpProxy.start(cluster.address)
  t.after(() => proxy.close())
  proxy.onLink((link) => link.disturb({ delayMs: DELAY_MS }))
  const agent = cluster.startAgentInBackground(2, [], proxy.address)
  await agent.line((line) => String(line['message']).endsWith(' ready'))
  const client = cluster.client()
  const inputs = Array.from({ length: 2_000 }, (_, index) => index)
  const expected = inputs.map(square)
  assert.deepEqual(await client.map(square, inputs), expected)
  await until('the round trips are known', async () => {
    const workers = (await client.info()).hosts.flatMap((host) => host.workers)
    return workers.length === 2 && workers.every(({ lagMs }) => lagMs >= DELAY_MS / 2)
  })
  assert.deepEqual(await client.map(square, inputs), expected)
  const results: number[] = []
  for await (const result of client.map(square, inputs)) results.push(result)
  assert.deepEqual(results, expected)
})
