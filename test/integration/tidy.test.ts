// Idle processors release the memory that their tasks have left.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { Client, Cluster, Scheduler } from 'scaler-ts'
import type { ClusterOptions } from 'scaler-ts'
import { until } from './condition.js'
import { LineLogger } from './worker-agent-setup.js'

const MIB = 2 ** 20

/** The amount of memory that a task leaves behind. */
const GARBAGE_BYTES = 256 * MIB

interface Setup {
  readonly client: Client
  readonly log: LineLogger
}

async function setUp(context: TestContext, options: ClusterOptions): Promise<Setup> {
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  const log = new LineLogger()
  const cluster = await Cluster.start({ address, workers: 1, logger: log, ...options })
  const client = await Client.connect(address)
  context.after(async () => {
    await client.close()
    await cluster.shutdown()
    await scheduler.close()
  })
  return { client, log }
}

/** How often the processor has collected garbage. */
function collections({ log }: Setup): number {
  return log.lines.filter(({ text }) => text === 'collected garbage').length
}

/**
 * Leaves garbage behind that Node has no reason to collect: nothing follows. Resolves with the
 * processor's resident memory at the end.
 */
function waste({ client }: Setup): PromiseLike<number> {
  return client.submit((bytes: number) => {
    let arrays: number[][] = []
    const length = 100_000
    for (let made = 0; made < bytes; made += 8 * length) {
      arrays.push(new Array<number>(length).fill(1.5))
    }
    const bytesHeld = process.memoryUsage.rss()
    arrays = []
    return bytesHeld
  }, GARBAGE_BYTES)
}

/** The id of its process. */
async function processorOf({ client }: Setup): Promise<number> {
  return client.submit(() => process.pid)
}

function residentBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(text)?.[1]) * 1024
}

test('an idle processor releases the memory that its tasks have left', async (context) => {
  const setup = await setUp(context, { garbageCollectIntervalMs: 1, trimMemoryThresholdBytes: 0 })
  const pid = await processorOf(setup)
  await until('it has collected the garbage of its start', () => collections(setup) === 1)
  const most = await waste(setup)
  assert.ok(most > GARBAGE_BYTES, `${most}`)
  await until('the memory is given back', () => residentBytes(pid) < most - GARBAGE_BYTES / 2)
  await until('that is told', () => collections(setup) === 2)
  const { fields } = setup.log.lines.findLast(({ text }) => text === 'collected garbage') ?? {}
  assert.ok(Number(fields?.['freedBytes']) > GARBAGE_BYTES / 2, JSON.stringify(fields))
  assert.equal(fields?.['processorId'], pid)
})

test('a processor above its memory limit releases memory without waiting for the interval', async (context) => {
  const setup = await setUp(context, {
    garbageCollectIntervalMs: 0,
    trimMemoryThresholdBytes: 200 * MIB,
  })
  const pid = await processorOf(setup)
  await waste(setup)
  await until('it is below the threshold', () => residentBytes(pid) < 200 * MIB)
  await until('that is told', () => collections(setup) === 1)
})

test('user code notices nothing of it', async (context) => {
  const setup = await setUp(context, { garbageCollectIntervalMs: 1, trimMemoryThresholdBytes: 0 })
  const look = async (): Promise<string> => {
    const { runInNewContext } = await import('node:vm')
    return `${typeof globalThis.gc} ${runInNewContext('typeof gc')}`
  }
  const before = await setup.client.submit(look)
  await until('it has collected garbage', () => collections(setup) === 1)
  assert.equal(await setup.client.submit(look), before)
  assert.equal(before, 'undefined undefined')
})
