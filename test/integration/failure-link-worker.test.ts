// The connections of workers, cut at every byte of an exchange, or in their greeting; and dead
// ones.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { TestCluster } from '../chaos/cluster.js'
import { TcpProxy } from '../chaos/tcp-proxy.js'
import { sized } from '#src/base/short-run.kit.js'
import { until } from './condition.js'

async function proxyFor(t: TestContext, address: string): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(address)
  t.after(() => proxy.close())
  return proxy
}

/** Every byte only in a complete run. */
const STEP = sized(1, 13)

/** A task with a known result, a small one; with arguments of some bytes. */
const answer = (x: number, text: string): string => `${text} ${x * x}`

function upTo(end: number, step = 1): number[] {
  return Array.from({ length: Math.ceil(end / step) }, (_, index) => index * step)
}

for (const side of ['up', 'down'] as const) {
  const from = side === 'up' ? 'from' : 'to'
  test(`a cut at every byte ${from} a worker costs no result`, async (t) => {
    const cluster = await TestCluster.start(t, { agents: [] })
    const proxy = await proxyFor(t, cluster.address)
    const agent = cluster.startAgentInBackground(4, [], proxy.address)
    await agent.line((line) => String(line['message']).endsWith(' ready'))
    const client = cluster.client().with({ maxWorkerDeaths: 1_000_000 })
    await client.submit(answer, 1, 'warm')
    const before = proxy.links.map((link) => link.passed(side))
    const count = 4
    await Promise.all(upTo(count).map((x) => client.submit(answer, x, 'so much is')))
    const passed = proxy.links.map((link, index) => link.passed(side) - (before[index] ?? 0))
    const length = Math.max(200, ...passed)
    // Each connection is cut some bytes further on; each reconnection at the next position.
    let next = 0
    while (next < length) {
      for (const link of proxy.links) {
        link.disturb({ cutAtByte: link.passed(side) + next }, side)
        next += STEP
      }
      const futures = upTo(count).map((x) => client.submit(answer, x, 'so much is'))
      const results = await Promise.all(
        futures.map((future) => future.result({ timeoutMs: 60_000 })),
      )
      assert.deepEqual(
        results,
        upTo(count).map((x) => `so much is ${x * x}`),
        `before byte ${next}`,
      )
    }
    proxy.heal()
    t.diagnostic(`${next} positions, ${proxy.linkCount} connections`)
    await until('all workers are back', () => proxy.links.length === 4)
  })
}

test('a cut in the greeting of workers costs no worker', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const proxy = await proxyFor(t, cluster.address)
  proxy.onLink((link, index) => {
    if (index < 120 / STEP)
      link.disturb({ cutAtByte: index * 3 * STEP }, index % 2 === 0 ? 'up' : 'down')
  })
  const agent = cluster.startAgentInBackground(4, [], proxy.address)
  await agent.line((line) => String(line['message']).endsWith(' ready'))
  // Each cut of a worker's connection returns its tasks, and counts as its death.
  const client = cluster.client().with({ maxWorkerDeaths: 1_000 })
  assert.equal(await client.submit(answer, 2, 'at last'), 'at last 4')
})

test('a worker whose link goes dead is given up, comes back, and costs no result', async (t) => {
  const cluster = await TestCluster.start(t, {
    agents: [],
    schedulerArgs: ['--worker-timeout-seconds', '1'],
  })
  const proxy = await proxyFor(t, cluster.address)
  const agent = cluster.startAgentInBackground(2, ['--death-timeout-seconds', '20'], proxy.address)
  await agent.line((line) => String(line['message']).endsWith(' ready'))
  const client = cluster.client()
  const slow = async (x: number): Promise<number> => {
    await delay(5)
    return x + 1
  }
  const futures = upTo(100).map((x) => client.submit(slow, x))
  await futures[20]
  proxy.stop()
  await cluster.monitor.until('both are given up', ({ workerManager }) => {
    return workerManager.workers.length === 0
  })
  // The old connections stay dead; new ones would work.
  const dead = proxy.links
  proxy.admit()
  assert.deepEqual(
    await Promise.all(futures),
    upTo(100).map((x) => x + 1),
  )
  assert.ok(dead.every((link) => link.isStopped))
})
