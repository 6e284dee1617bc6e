// The connection of a client, cut or dead at every byte of an exchange.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, TaskCancelledError } from 'scaler-ts'
import { TestCluster } from '../chaos/cluster.js'
import { isIdle } from '../chaos/monitor.js'
import { until } from './condition.js'
import { sized } from '#src/base/short-run.kit.js'
import { TcpProxy, type Direction, type LinkFaults } from '../chaos/tcp-proxy.js'

/** Every byte in a complete run; every 29th in a short one. */
const STEP = sized(1, 29)

/** A task with a known result, a small one; with arguments of some bytes. */
const answer = (x: number, text: string): string => `${text} ${x * x}`

/** One client, whose first connection has the faults, and its one task. */
async function exchange(
  address: string,
  x: number,
  faults: Partial<LinkFaults> | undefined,
  side: Direction,
): Promise<number> {
  const proxy = await TcpProxy.start(address)
  let bytes = 0
  proxy.onLink((link, index) => {
    if (index === 0 && faults !== undefined) link.disturb(faults, side)
  })
  const client = new Client(proxy.address, { timeoutMs: 60_000, heartbeatIntervalMs: 150 })
  try {
    const future = client.submit(answer, x, 'so much is')
    assert.equal(await future.result({ timeoutMs: 60_000 }), `so much is ${x * x}`)
    bytes = proxy.links.at(-1)?.passed(side) ?? 0
  } finally {
    await client.disconnect()
    await proxy.close()
  }
  return bytes
}

/** Runs `one` for each of the positions, several at the same time. */
async function forEach(
  positions: readonly number[],
  width: number,
  one: (position: number) => Promise<unknown>,
): Promise<void> {
  const queue = [...positions]
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      try {
        await one(next)
      } catch (error) {
        throw new Error(`at byte ${next}: ${String(error)}`, { cause: error })
      }
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
}

function upTo(end: number, step = 1): number[] {
  return Array.from({ length: Math.ceil(end / step) }, (_, index) => index * step)
}

for (const side of ['up', 'down'] as const) {
  const from = side === 'up' ? 'from' : 'to'
  test(`a cut at every byte ${from} a client costs no result`, async (t) => {
    const cluster = await TestCluster.start(t, { agents: [2] })
    const length = await exchange(cluster.address, 3, undefined, side)
    await forEach(upTo(length + 2, STEP), 16, (cutAtByte) =>
      exchange(cluster.address, cutAtByte, { cutAtByte }, side),
    )
    t.diagnostic(`${length + 2} positions`)
    await cluster.monitor.until('empty tables', isIdle)
  })

  test(`an end of the stream at any byte ${from} a client costs no result`, async (t) => {
    const cluster = await TestCluster.start(t, { agents: [2] })
    const length = await exchange(cluster.address, 3, undefined, side)
    await forEach(upTo(length, 7 * STEP), 16, (cutAtByte) =>
      exchange(cluster.address, cutAtByte, { cutAtByte, cutKind: 'end' }, side),
    )
  })

  test(`a link that goes dead at any byte ${from} a client costs no result`, async (t) => {
    const cluster = await TestCluster.start(t, { agents: [2] })
    const length = await exchange(cluster.address, 3, undefined, side)
    await forEach(upTo(length, 31 * Math.ceil(STEP / 4)), 24, (stopAtByte) =>
      exchange(cluster.address, stopAtByte, { stopAtByte }, side),
    )
  })
}

test('an object that was released just before a link broke is deleted all the same', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const proxy = await TcpProxy.start(cluster.address)
  const watcher = new Client(cluster.address)
  const client = new Client(proxy.address, { heartbeatIntervalMs: 150 })
  const stored = async (): Promise<number> => {
    const objects = await watcher.objects()
    return objects.filter(({ sizeBytes }) => sizeBytes >= 100_000).length
  }
  try {
    for (let round = 0; round < 5; round += 1) {
      const object = client.sendObject(new Uint8Array(100_000).fill(round))
      assert.equal(await client.submit((bytes: Uint8Array) => bytes[0], object), round)
      assert.equal(await stored(), 1)
      // What the client sends from now on is lost.
      proxy.stop()
      object.release()
      await delay(20)
      proxy.admit()
      proxy.cut()
      assert.equal(await client.submit((x: number) => x, round), round)
      const deadline = performance.now() + 10_000
      while ((await stored()) > 0) {
        assert.ok(performance.now() < deadline, 'the object is still stored')
        await delay(20)
      }
    }
  } finally {
    await client.disconnect()
    await watcher.disconnect()
    await proxy.close()
  }
  await cluster.monitor.until('empty tables', isIdle)
})

test('a task that was cancelled just before a link broke is stopped all the same', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const proxy = await TcpProxy.start(cluster.address)
  const client = new Client(proxy.address, { heartbeatIntervalMs: 150 })
  try {
    for (let round = 0; round < 5; round += 1) {
      const endless = client.submit(() => new Promise<never>(() => setInterval(() => {}, 1_000)))
      await until('it runs', () => endless.state === 'running')
      // What the client sends from now on is lost.
      proxy.stop()
      assert.ok(endless.cancel())
      await assert.rejects(endless, TaskCancelledError)
      proxy.admit()
      proxy.cut()
      // The only worker has to be free for it.
      const next = client.submit((x: number) => x, round)
      assert.equal(await next.result({ timeoutMs: 30_000 }), round)
    }
  } finally {
    await client.disconnect()
    await proxy.close()
  }
  await cluster.monitor.until('empty tables', isIdle)
})
