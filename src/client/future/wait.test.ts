import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ConfigError } from '../../base/errors.js'
import { asCompleted, type CompletedFuture, wait } from './wait.js'
import type { Future } from './future.js'
import { testClient, until, type TestClient } from '../memory-link.test.kit.js'

const identity = (x: unknown): unknown => x

const held: TestClient[] = []
// Unsettled futures keep a process alive.
after(() => Promise.all(held.map(({ connection }) => connection.close())))

/** A client whose tasks end when the test says so, by their order. */
function heldClient(): TestClient & { readonly end: (index: number) => void } {
  const client = testClient()
  held.push(client)
  client.scheduler.isHolding = true
  const end = (index: number): void => {
    const task = client.scheduler.tasks[index]
    const argument = task?.functionArgs[0]?.data
    assert(task !== undefined && argument !== undefined)
    client.scheduler.finish(task, 'success', argument)
  }
  return { ...client, end }
}

async function submitThree(client: TestClient): Promise<Future<unknown>[]> {
  const futures = [0, 1, 2].map((x) => client.submitter.submit(identity, [x]))
  await until(() => client.scheduler.unfinished.size === 3)
  return futures
}

test('wait() waits for all by default', async () => {
  const client = testClient()
  const futures = [1, 2, 3].map((x) => client.submitter.submit(identity, [x]))
  const { done, pending } = await wait(futures)
  assert.deepEqual([...done], futures)
  assert.equal(pending.size, 0)
})

test('wait() refuses anything but futures, and unknown options', async () => {
  for (const wrong of [undefined, null, '', 5, [1], {}]) {
    await assert.rejects(wait(wrong as never), TypeError)
  }
  for (const wrong of [null, 5, [], { timeout: 5 }, { until: 'some' }, { timeoutMs: -1 }]) {
    await assert.rejects(wait([], wrong as never), ConfigError)
  }
})

test('wait() for the first', async () => {
  const client = heldClient()
  const futures = await submitThree(client)
  const waiting = wait(futures, { until: 'first' })
  client.end(1)
  const { done, pending } = await waiting
  assert.deepEqual([...done], [futures[1]])
  assert.deepEqual([...pending], [futures[0], futures[2]])
})

test('wait() for the first error: a success does not count, a cancelled future does', async () => {
  const client = heldClient()
  const futures = await submitThree(client)
  const waiting = wait(futures, { until: 'firstError' })
  client.end(0)
  await until(() => futures[0]?.state === 'done')
  futures[2]?.cancel()
  const { done } = await waiting
  assert.deepEqual([...done], [futures[0], futures[2]])
})

test('wait() for an error that does not come ends when all have settled', async () => {
  const client = testClient()
  const futures = [1, 2].map((x) => client.submitter.submit(identity, [x]))
  const { done } = await wait(futures, { until: 'firstError' })
  assert.equal(done.size, 2)
})

test('wait() returns when the time is up', async () => {
  const client = heldClient()
  const futures = await submitThree(client)
  const { done, pending } = await wait(futures, { timeoutMs: 5 })
  assert.equal(done.size, 0)
  assert.equal(pending.size, 3)
  assert.equal(futures[0]?.state, 'queued')
})

test('wait() for nothing, or for settled futures, does not wait', async () => {
  const client = testClient()
  assert.deepEqual(await wait([]), { done: new Set(), pending: new Set() })
  const future = client.submitter.submit(identity, [1])
  await future
  assert.equal((await wait([future, future], { until: 'first' })).done.size, 1)
})

test('wait() refuses bad options and anything but futures', async () => {
  await assert.rejects(wait([], { timeoutMs: -1 }), ConfigError)
  await assert.rejects(wait([], { until: 'any' as 'all' }), ConfigError)
  await assert.rejects(wait([Promise.resolve(1) as unknown as Future<number>]), TypeError)
})

test('waiting again and again for the same future leaves nothing behind in it', async () => {
  const client = heldClient()
  const [future] = await submitThree(client)
  assert(future !== undefined)
  for (let i = 0; i < 3; i += 1) await wait([future], { timeoutMs: 0 })
  client.end(0)
  assert.equal(await future, 0)
})

test('asCompleted() gives records in the order in which futures settle', async () => {
  const client = heldClient()
  const futures = await submitThree(client)
  const records: unknown[] = []
  const reading = (async () => {
    for await (const record of asCompleted(futures)) records.push(record)
  })()
  for (const value of [2, 0, 1]) {
    client.end(value)
    await until(() => futures[value]?.state === 'done')
  }
  await reading
  assert.deepEqual(
    records,
    [2, 0, 1].map((index) => ({
      future: futures[index],
      index,
      status: 'fulfilled',
      value: index,
    })),
  )
})

test('asCompleted() gives each future once, settled ones first, whatever their outcome', async () => {
  const client = testClient()
  const good = client.submitter.submit(identity, [1])
  const bad = client.submitter.submit((): never => {
    throw new Error('bad')
  }, [])
  await wait([good, bad])
  client.scheduler.isHolding = true
  const gone = client.submitter.submit(identity, [2])
  gone.cancel('not needed')
  const seen: unknown[] = []
  for await (const record of asCompleted([gone, good, bad, good])) {
    const what = record.status === 'fulfilled' ? record.value : (record.reason as Error).name
    seen.push([record.index, record.future.state, record.status, what])
  }
  const expected = [
    [0, 'cancelled', 'rejected', 'TaskCancelledError'],
    [1, 'done', 'fulfilled', 1],
    [2, 'failed', 'rejected', 'Error'],
  ]
  assert.deepEqual(new Set(seen), new Set(expected))
})

test('asCompleted() accepts iterables that can be iterated over only once', async () => {
  const client = testClient()
  const submitted = (function* () {
    for (const x of [10, 20]) yield client.submitter.submit(identity, [x])
  })()
  const values: unknown[] = []
  for await (const record of asCompleted(submitted)) {
    if (record.status === 'fulfilled') values[record.index] = record.value
  }
  assert.deepEqual(values, [10, 20])
})

test('failures that asCompleted() has yielded count as observed', async (context) => {
  const client = testClient()
  const warn = context.mock.method(process, 'emitWarning', () => {})
  const bad = client.submitter.submit((): never => {
    throw new RangeError('bad')
  }, [])
  for await (const record of asCompleted([bad])) assert.equal(record.status, 'rejected')
  client.parts.failures.warn()
  assert.equal(warn.mock.callCount(), 0)
})

test('asCompleted() of nothing ends at once, and can be left early', async () => {
  for await (const record of asCompleted([])) assert.fail(`nothing, but ${record.index}`)
  const client = heldClient()
  const futures = await submitThree(client)
  client.end(0)
  await until(() => futures[0]?.state === 'done')
  for await (const { future } of asCompleted(futures)) {
    assert.equal(future, futures[0])
    break
  }
  assert.ok(!['done', 'cancelled'].includes(String(futures[1]?.state)))
})

test('records of asCompleted() can be requested in advance, and again', async () => {
  const client = heldClient()
  const futures = await submitThree(client)
  const completed = asCompleted(futures)
  const iterator = completed[Symbol.asyncIterator]() as AsyncIterableIterator<
    CompletedFuture<number>
  >
  assert.equal(iterator[Symbol.asyncIterator](), iterator)
  const asked = [iterator.next(), iterator.next(), iterator.next(), iterator.next()]
  for (const value of [1, 2, 0]) client.end(value)
  const results = await Promise.all(asked)
  assert.deepEqual(
    results.map(({ done, value }) => (done === true ? 'done' : value.index)),
    [1, 2, 0, 'done'],
  )
  let count = 0
  for await (const { status } of completed) count += status === 'fulfilled' ? 1 : 0
  assert.equal(count, 3)
})

test('asCompleted() refuses anything but futures', () => {
  for (const wrong of [undefined, null, '', 5, [1], {}]) {
    assert.throws(() => asCompleted(wrong as never), TypeError)
  }
})
