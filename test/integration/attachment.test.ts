// Large values that functions capture, with real workers and with a scheduler that counts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'scaler-ts'
import { RouterScheduler } from './client-scheduler.js'

const MIB = 1024 ** 2

test('a large captured value has its current state at each submit', async () => {
  await using client = await Client.local({ workers: 2 })
  const table = new Float64Array(MIB).fill(1)
  const sum = (from: number): number => table.subarray(from).reduce((a, b) => a + b, 0)
  assert.equal(await client.submit(sum, 0), MIB)
  assert.deepEqual(await client.map(sum, [0, 1, 2]), [MIB, MIB - 1, MIB - 2])
  table[MIB - 1] = 5
  assert.equal(await client.submit(sum, 0), MIB + 4)
  table[MIB - 1] = 1
  assert.equal(await client.submit(sum, 0), MIB)
})

test('changes by a task stay in its processor, and nothing is sent again', async () => {
  await using client = await Client.local({ workers: 1 })
  const list = Array.from({ length: 300_000 }, (_, index) => index / 2)
  const last = (): number | undefined => list.at(-1)
  const results = await Promise.all(Array.from({ length: 100 }, () => client.submit(last)))
  assert.deepEqual(new Set(results), new Set([149_999.5]))
})

test('a large captured value is sent once for a thousand tasks', async (t) => {
  const scheduler = await RouterScheduler.start()
  const client = new Client(scheduler.address)
  t.after(async () => {
    await client.close()
    await scheduler.stop()
  })
  const table = new Uint8Array(3 * MIB)
  const at = (index: number): number | undefined => table[index]
  const inputs = Array.from({ length: 1_000 }, (_, index) => index)
  await client.map(at, inputs)
  await client.submit(at, 1)
  const bytes = scheduler.fake.received.flatMap((message) =>
    message.kind === 'objectInstruction' ? message.objectContent.objectBytes.flat() : [],
  )
  const total = bytes.reduce((sum, chunk) => sum + chunk.byteLength, 0)
  assert.ok(total >= 3 * MIB && total < 3.1 * MIB, `${total} bytes were sent`)
  assert.deepEqual(scheduler.fake.faults, [])
})
