// Workers behind a network that delays everything by 20 ms. What such a worker holds is tested with
// the scheduler's machine (core/scheduler/worker/window.test.ts), and measured by `bench`.

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import type { ProxyLink } from '../chaos/proxy-link.js'
import { TcpProxy } from '../chaos/tcp-proxy.js'
import { until } from './condition.js'

const DELAY_MS = 20

const square = (x: number): number => x * x

test('the workers of an agent on another machine fetch a large object once', async (t) => {
  const cluster = await TestCluster.start(t, {
    agents: [],
    // As from another machine: nobody sees the scheduler's files.
    schedulerArgs: ['--object-directory', ''],
  })
  const folder = mkdtempSync(join(tmpdir(), 'sc-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const proxy = await TcpProxy.start(cluster.address)
  t.after(() => proxy.close())
  const links: ProxyLink[] = []
  proxy.onLink((link) => links.push(link))
  const args = ['--object-directory', folder]
  const agent = cluster.startAgentInBackground(4, args, proxy.address)
  await agent.line((line) => String(line['message']).endsWith(' ready'))
  const client = cluster.client()
  const bytes = 4 * 1024 ** 2
  const reference = client.sendObject(new Uint8Array(bytes).fill(7))
  // Each waits until all four have begun, so that no worker gets two.
  const look = async (given: Uint8Array, place: string, name: string): Promise<number> => {
    const { mkdirSync: make, readdirSync: list } = await import('node:fs')
    make(`${place}/begun-${name}`)
    while (list(place).filter((each) => each.startsWith('begun-')).length < 4) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return given.reduce((sum, value) => sum + value, 0)
  }
  const futures = ['a', 'b', 'c', 'd'].map((name) => client.submit(look, reference, folder, name))
  assert.deepEqual(await Promise.all(futures), Array(4).fill(7 * bytes))
  const received = links.reduce((sum, link) => sum + link.passed('down'), 0)
  assert(received > bytes && received < 1.5 * bytes, `${received} bytes for ${bytes}`)
  const files = (): number =>
    readdirSync(folder, { recursive: true }).filter((name) => /[\da-f]{32}$/.test(String(name)))
      .length
  // The directory, and one file in it.
  assert.equal(files(), 2)
  reference.release()
  await until('the file is removed', () => files() === 1)
  const [killed = ''] = readdirSync(folder).filter((name) => name.startsWith('scaler-ts-'))
  await agent.kill()
  const next = cluster.startAgentInBackground(1, args, proxy.address)
  await until('the next agent has removed what is left', () => !existsSync(join(folder, killed)))
  await next.line((line) => String(line['message']).endsWith(' ready'))
  next.signal('SIGTERM')
  await until('the directory is removed', () => files() === 0)
})

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
