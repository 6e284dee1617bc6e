// The client over a real socket, with a scheduler that runs functions itself.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  asCompleted,
  Client,
  ClientClosedError,
  DisconnectedError,
  TaskCancelledError,
  wait,
} from 'scaler-ts'
import type { ClientOptions, Future } from 'scaler-ts'
import type { FakeSchedulerOptions } from '#src/client/fake-scheduler.test.kit.js'
import { RouterScheduler } from './client-scheduler.js'
import { until } from './condition.js'

interface Setup {
  readonly scheduler: RouterScheduler
  readonly client: Client
}

async function setUp(
  context: TestContext,
  schedulerOptions: FakeSchedulerOptions = {},
  clientOptions: ClientOptions = {},
): Promise<Setup> {
  const scheduler = await RouterScheduler.start(schedulerOptions)
  const client = new Client(scheduler.address, clientOptions)
  context.after(async () => {
    await client.close()
    await scheduler.stop()
  })
  return { scheduler, client }
}

const double = (x: number): number => 2 * x
const repeat = (text: string, times: number): string => text.repeat(times)

for (const id of ['one of ours', '']) {
  const name = id === '' ? 'a 1.9.9 scheduler' : 'one of our schedulers'

  test(`submit, map and starmap work with ${name}`, async (context) => {
    const { scheduler, client } = await setUp(context, { id })
    assert.equal(await client.submit(double, 21), 42)
    const inputs = Array.from({ length: 3_000 }, (_, index) => index)
    assert.deepEqual(await client.map(double, inputs), inputs.map(double))
    assert.deepEqual(await client.starmap(repeat, [['ab', 2]]), ['abab'])
    const pairs: [number, number][] = []
    for await (const pair of client.map(double, [1, 2], { ordered: false })) pairs.push(pair)
    assert.deepEqual(
      pairs.toSorted(([a], [b]) => a - b),
      [
        [0, 2],
        [1, 4],
      ],
    )
    await assert.rejects(
      client.submit(() => {
        throw new RangeError('boom')
      }),
      RangeError,
    )
    assert.deepEqual(scheduler.fake.faults, [])
  })

  test(`large arguments and results work with ${name}`, async (context) => {
    const { scheduler, client } = await setUp(context, { id })
    const large = 'x'.repeat(2 ** 20)
    const futures = [1, 2, 3].map((times) => client.submit(repeat, large, times))
    const lengths = (await Promise.all(futures)).map(({ length }) => length)
    assert.deepEqual(lengths, [2 ** 20, 2 ** 21, 3 * 2 ** 20])
    assert.deepEqual(scheduler.fake.faults, [])
    // The results were deleted, the arguments will be; the function and the serializer stay.
    await until('only function and serializer are stored', () => scheduler.fake.objects.size === 2)
  })
}

test('small values travel inside the messages, large ones once', async (context) => {
  const { scheduler, client } = await setUp(context)
  await client.submit(double, 1)
  assert.deepEqual(scheduler.fake.kinds, ['create', 'create', 'task'])
  const large = 'x'.repeat(100_000)
  await Promise.all([1, 2].map((times) => client.submit(repeat, large, times)))
  const { received } = scheduler.fake
  const contents = received.flatMap((message) =>
    message.kind === 'objectInstruction' ? message.objectContent.objectBytes : [],
  )
  const sizes = contents.map((chunks) => chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  assert.equal(sizes.filter((size) => size > 50_000).length, 1)
})

test('a lost connection loses no future', async (context) => {
  const { scheduler, client } = await setUp(context)
  scheduler.fake.isHolding = true
  const futures = [1, 2, 3].map((x) => client.submit(double, x))
  await until('all are there', () => scheduler.fake.unfinished.size === 3)
  scheduler.dropConnections()
  await until('the client came back', () => scheduler.fake.heartbeats === 2)
  scheduler.fake.release()
  assert.deepEqual(await Promise.all(futures), [2, 4, 6])
  assert.deepEqual(scheduler.fake.faults, [])
})

test('a restarted scheduler loses no future', async (context) => {
  const { scheduler, client } = await setUp(context)
  scheduler.fake.isHolding = true
  const mapped = client.map(double, [10, 20, 30])
  const future = client.submit(repeat, 'y'.repeat(50_000), 1)
  await until('all are there', () => scheduler.fake.unfinished.size === 4)
  await scheduler.stop()
  scheduler.fake.restart('another id')
  const late = client.submit(double, 4)
  scheduler.fake.isHolding = false
  await scheduler.listen()
  assert.deepEqual(await mapped, [20, 40, 60])
  assert.equal((await future).length, 50_000)
  assert.equal(await late, 8)
  assert.deepEqual(scheduler.fake.faults, [])
})

test('results that were being fetched when the scheduler died are computed again', async (context) => {
  const { scheduler, client } = await setUp(context)
  const { fake } = scheduler
  const handle = fake.handle.bind(fake)
  let requests = 0
  fake.handle = (from, message) => {
    if (message.kind !== 'objectRequest' || requests > 0) return handle(from, message)
    requests += 1
    fake.restart('another id')
    scheduler.dropConnections()
  }
  const text = await client.submit(repeat, 'z'.repeat(50_000), 1)
  assert.equal(text.length, 50_000)
  assert.equal(requests, 1)
})

test('a client gives up on a scheduler that does not answer', async (context) => {
  const { scheduler, client } = await setUp(context, {}, { timeoutMs: 300 })
  assert.equal(await client.submit(double, 1), 2)
  scheduler.fake.isMute = true
  scheduler.fake.isHolding = true
  await assert.rejects(client.submit(double, 2), DisconnectedError)
})

test('without reconnect a lost connection fails unfinished work immediately', async (context) => {
  const { scheduler, client } = await setUp(context, {}, { reconnect: false })
  scheduler.fake.isHolding = true
  const future = client.submit(double, 2)
  await until('it is there', () => scheduler.fake.unfinished.size === 1)
  scheduler.dropConnections()
  await assert.rejects(future, DisconnectedError)
  // Nothing may reach the next scheduler through a client that has ended.
  const calls = [
    () => client.submit(double, 2),
    () => client.map(double, []),
    () => client.get({ a: [double, 1] }, ['a']),
    () => Promise.resolve().then(() => client.sendObject(1)),
    () => client.object('name'),
    () => client.clear(),
    () => client.info(),
    () => client.objects(),
    () => client.events().next(),
    () => client.shutdown(),
  ]
  for (const call of calls) {
    const message = /^the client is closed: the connection was lost: [^:]+$/
    await assert.rejects(call(), { constructor: DisconnectedError, message }, String(call))
  }
  await client.close()
  for (const call of calls) await assert.rejects(call(), ClientClosedError, String(call))
})

test('disconnect cancels unfinished work and notifies the scheduler', async (context) => {
  const { scheduler, client } = await setUp(context)
  scheduler.fake.isHolding = true
  const future = client.submit(double, 2)
  const results = client.map(double, [1, 2])
  await until('all are there', () => scheduler.fake.unfinished.size === 3)
  await Promise.all([client.disconnect(), client.disconnect(), client.close()])
  await assert.rejects(future, TaskCancelledError)
  await assert.rejects(results, TaskCancelledError)
  assert.equal(scheduler.fake.kinds.at(-1), 'clientDisconnect')
  await until('the connection is closed', () => scheduler.peerCount === 0)
})

test('a client leaves a 1.9.9 scheduler like a client of version 1.9.9', async (context) => {
  const { scheduler, client } = await setUp(context, { id: '' })
  await client.submit(double, 1)
  scheduler.fake.isHolding = true
  const future = client.submit(double, 2)
  await until('it is there', () => scheduler.fake.unfinished.size === 1)
  await client.disconnect()
  await assert.rejects(future, TaskCancelledError)
  await until('all is deleted', () => scheduler.fake.objects.size === 0)
  assert.deepEqual(scheduler.fake.kinds.slice(-3), ['taskCancel', 'clientDisconnect', 'delete'])
})

test('await using closes a client', async (context) => {
  const { scheduler } = await setUp(context)
  {
    await using client = await Client.connect(scheduler.address)
    assert.equal(await client.submit(double, 1), 2)
    assert.equal(scheduler.peerCount, 2)
  }
  await until('it has left', () => scheduler.peerCount === 1)
})

test('wait and asCompleted work with futures of several clients', async (context) => {
  const { scheduler, client } = await setUp(context)
  const other = new Client(scheduler.address)
  context.after(() => other.close())
  const futures: Future<number>[] = [client.submit(double, 1), other.submit(double, 2)]
  assert.equal((await wait(futures)).done.size, 2)
  const completed = new Set<unknown>()
  for await (const { future } of asCompleted(futures)) completed.add(future)
  assert.deepEqual(completed, new Set(futures))
})
