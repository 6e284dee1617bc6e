// The main use, for real: clients, a scheduler, an agent and processors as processes, over TCP.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asCompleted, Client, ProcessorDiedError, SchedulerClusterCombo, wait } from 'scaler-ts'

describe('a local cluster', () => {
  let cluster: SchedulerClusterCombo
  let client: Client

  before(async () => {
    cluster = await SchedulerClusterCombo.start({ workers: 2 })
    client = await Client.connect(cluster.address)
  })

  after(async () => {
    await client.close()
    await cluster.shutdown()
  })

  test('runs a function with its arguments and returns its result', async () => {
    assert.equal(await client.submit((a: number, b: number) => a * b, 6, 7), 42)
    assert.equal(await client.submit(async (text: string) => text.toUpperCase(), 'shout'), 'SHOUT')
    assert.equal(await client.submit(Math.sqrt, 16), 4)
  })

  test('runs a function that imports what it needs', async () => {
    const digest = await client.submit(async (text: string) => {
      const { createHash } = await import('node:crypto')
      return createHash('sha256').update(text).digest('hex')
    }, 'abc')
    assert.equal(digest, 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })

  test('maps in order, over any size of input', async () => {
    const inputs = Array.from({ length: 5000 }, (_, index) => index)
    const squares = await client.map((x: number) => x * x, inputs)
    assert.deepEqual(
      squares,
      inputs.map((x) => x * x),
    )
    assert.deepEqual(await client.map((x: number) => x, []), [])
    const sums = await client.starmap(
      (a: number, b: number) => a + b,
      [
        [1, 2],
        [3, 4],
      ],
    )
    assert.deepEqual(sums, [3, 7])
  })

  test('returns errors with their class, message and stack', async () => {
    const failure = client.submit(() => {
      throw Object.assign(new RangeError('too far'), { distance: 12 })
    })
    await assert.rejects(failure, (error) => {
      assert.ok(error instanceof RangeError)
      assert.equal(error.message, 'too far')
      assert.equal((error as RangeError & { distance: number }).distance, 12)
      return true
    })
    await assert.rejects(
      client.map(
        (x: number) => {
          if (x === 3) throw new TypeError('three')
          return x
        },
        [1, 2, 3, 4],
      ),
      TypeError,
    )
    assert.equal(await client.submit(() => 'still here'), 'still here')
  })

  test('accepts every value that can be cloned', async () => {
    const value = {
      map: new Map([[{ key: 1 }, new Set(['x'])]]),
      date: new Date(0),
      big: 2n ** 70n,
      bytes: new Uint8Array([1, 2, 3]),
      nothing: undefined,
      nan: Number.NaN,
      zero: -0,
    }
    assert.deepEqual(await client.submit((same: typeof value) => same, value), value)
  })

  for (const size of [0, 1, 8191, 8192, 8193, 65_536, 64 * 1024 ** 2]) {
    test(`an argument and a result of ${size} bytes arrive whole`, async () => {
      const bytes = new Uint8Array(size).fill(7)
      if (size > 2) bytes[size - 2] = 9
      const same = await client.submit((input: Uint8Array) => input, bytes)
      assert.equal(same.byteLength, size)
      assert.ok(Buffer.from(same).equals(bytes))
    })
  }

  test('a task that ends its process fails with the reason, and the next one runs', async () => {
    const crash = client.submit(() => {
      console.error('these are my last words')
      process.exit(3)
    })
    await assert.rejects(crash, (error) => {
      assert.ok(error instanceof ProcessorDiedError)
      assert.equal(error.exitCode, 3)
      assert.match(error.stderr, /these are my last words/)
      return true
    })
    const killed = client.submit(() => process.kill(process.pid, 'SIGKILL'))
    await assert.rejects(killed, (error) => {
      assert.ok(error instanceof ProcessorDiedError)
      assert.equal(error.signal, 'SIGKILL')
      return true
    })
    assert.equal(await client.submit(() => 1 + 1), 2)
  })

  test('a task that is cancelled while it is in a busy loop frees its worker', async () => {
    const loops = [1, 2].map(() =>
      client.submit(() => {
        for (;;);
      }),
    )
    for (const loop of loops) assert.equal(loop.cancel(), true)
    for (const loop of loops) await assert.rejects(loop, { name: 'TaskCancelledError' })
    assert.equal(await client.submit(() => 'free'), 'free')
  })

  test('futures can be consumed as they complete, and awaited together', async () => {
    const futures = [1, 2, 3].map((x) => client.submit((y: number) => y * 10, x))
    const ended = new Set<unknown>()
    for await (const record of asCompleted(futures)) {
      assert.equal(record.future, futures[record.index])
      if (record.status === 'fulfilled') ended.add(record.value)
    }
    assert.deepEqual(ended, new Set<unknown>([10, 20, 30]))
    assert.deepEqual(await Promise.all(futures), [10, 20, 30])
    const { done, pending } = await wait(futures)
    assert.deepEqual([done.size, pending.size], [3, 0])
  })
})

test('a client starts its own cluster and stops it when it closes', async () => {
  const client = await Client.local({ workers: 1 })
  assert.equal(await client.submit((x: number) => x + 1, 1), 2)
  await client.close()
})

const GIB_OPTIONS = {
  timeout: 900_000,
  skip: process.env['TEST_SHORT'] === '1' && 'npm test -- --all',
}

test('an argument and a result of 1 GiB arrive whole', GIB_OPTIONS, async () => {
  await using client = await Client.local({ workers: 1 })
  const bytes = new Uint8Array(1024 ** 3)
  bytes[1024 ** 3 - 1] = 5
  bytes[12345] = 6
  const same = await client.submit((input: Uint8Array) => input, bytes)
  assert.equal(same.byteLength, bytes.byteLength)
  assert.ok(Buffer.from(same.buffer).equals(Buffer.from(bytes.buffer)))
})
