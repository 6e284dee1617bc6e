import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SerializeError } from '../../base/errors.js'
import type { Task } from '../../wire/message.js'
import { countOf } from '../../wire/run.js'
import { testClient, type TestClient, turn, until } from '../memory-link.test.kit.js'

const identityOf = (value: unknown): unknown => value

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

function tasksOf(client: TestClient): readonly Task[] {
  return client.scheduler.received.filter((message) => message.kind === 'task')
}

test('the inputs of a map travel in runs', async () => {
  const client = testClient()
  assert.deepEqual(await client.submitter.map(identityOf, range(3_000), {}, false), range(3_000))
  const counts = tasksOf(client).map((task) => countOf(task))
  // At least 64 are read before the clock is looked at.
  assert.ok(counts.length <= 50, `${counts.length} messages`)
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    3_000,
  )
  assert.deepEqual(client.scheduler.faults, [])
})

test('runs have a limited size', async () => {
  const client = testClient()
  const inputs = range(100).map((index) => `${index} ${'x'.repeat(2_000)}`)
  assert.deepEqual(await client.submitter.map(identityOf, inputs, {}, false), inputs)
  for (const { packed } of tasksOf(client)) assert.ok(packed.byteLength < 70_000)
})

test('inputs that cannot be packed go alone, in order', async () => {
  const client = testClient()
  const future = client.submitter.submit(identityOf, ['of a future'])
  const large = 'x'.repeat(20_000)
  const inputs = [1, 2, future, 3, large, new Date(4), new Map([[5, 6]]), 7]
  const results = await client.submitter.map(identityOf, inputs, {}, false)
  assert.deepEqual(results, [1, 2, 'of a future', 3, large, new Date(4), new Map([[5, 6]]), 7])
  assert.deepEqual(client.scheduler.faults, [])
})

test('an input that cannot be serialized fails with its index, and the others are done', async () => {
  const client = testClient()
  const outcomes = await client.submitter
    .map(identityOf, [1, new WeakMap(), 3], {}, false)
    .allSettled()
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  const [, failed] = outcomes
  assert(failed?.status === 'rejected' && failed.reason instanceof SerializeError)
  assert.equal(failed.reason.path[0], 'input 1')
})

test('the tuples of a starmap travel in runs', async () => {
  const client = testClient()
  const add = (a: number, b: { c: number }): number => a + b.c
  const inputs = range(50).map((index) => [index, { c: index }])
  const results = await client.submitter.map(add, inputs, {}, true)
  assert.deepEqual(
    results,
    range(50).map((index) => 2 * index),
  )
  assert.equal(tasksOf(client).length, 1)
})

test('inputs of an asynchronous source that come in one turn are one run', async () => {
  const client = testClient()
  async function* source(): AsyncGenerator<number, void, undefined> {
    for (let index = 0; index < 100; index += 1) {
      if (index === 50) await turn()
      yield index
    }
  }
  assert.deepEqual(await client.submitter.map(identityOf, source(), {}, false), range(100))
  assert.ok(tasksOf(client).length <= 3)
})

test('a cancelled map drops the inputs that were not sent, and cancels its runs at once', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const results = client.submitter.map(identityOf, range(500), {}, false)
  await until(() => client.scheduler.unfinished.size === 500)
  results.cancel()
  await assert.rejects(Promise.resolve(results), { name: 'TaskCancelledError' })
  assert.equal(client.connection.unfinishedTasks, 0)
  await until(() => client.scheduler.unfinished.size === 0)
  const cancels = client.scheduler.received.filter(({ kind }) => kind === 'taskCancel')
  assert.equal(cancels.length, tasksOf(client).length)
})

test('a scheduler without runs gets single tasks', async () => {
  const client = testClient({ takesRuns: false })
  assert.deepEqual(await client.submitter.map(identityOf, range(50), {}, false), range(50))
  assert.equal(tasksOf(client).length, 50)
  assert.deepEqual(client.scheduler.faults, [])
})

test('the user limits the tasks in flight, also in runs', async () => {
  const client = testClient({ client: { maxUnfinishedTasks: 100 } })
  await client.submitter.map(identityOf, range(1_000), {}, false)
  assert.ok(client.scheduler.maxUnfinished <= 100)
  const other = testClient()
  await other.submitter.map(identityOf, range(1_000), { concurrency: 7 }, false)
  assert.ok(other.scheduler.maxUnfinished <= 7)
})

test('a failure in a run names its input', async () => {
  const client = testClient()
  const fail = (value: number): number => {
    if (value === 30) throw new RangeError(`no ${value}`)
    return value
  }
  const results = client.submitter.map(fail, range(100), {}, false)
  await assert.rejects(Promise.resolve(results), { name: 'RangeError', message: 'no 30' })
  const outcomes = await client.submitter.map(fail, range(100), {}, false).allSettled()
  assert.equal(
    outcomes.findIndex(({ status }) => status === 'rejected'),
    30,
  )
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 99)
})

test('a lost connection in the middle of a map changes nothing', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const results = client.submitter.map(identityOf, range(300), {}, false)
  await until(() => client.scheduler.unfinished.size === 300)
  const [first] = client.scheduler.unfinished.values()
  assert(first !== undefined)
  client.scheduler.finish(first, 'success', first.functionArgs[0]?.data ?? Buffer.alloc(0))
  await turn()
  await turn()
  client.link.lose()
  client.scheduler.restart('another-one-0001')
  client.scheduler.isHolding = false
  client.link.connect()
  assert.deepEqual(await results, range(300))
})
