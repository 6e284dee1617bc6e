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
  // The first ones are sent before it is known how the results are used; a busy machine makes more.
  assert(tasksOf(client).length <= 5)
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
  const results = client.submitter.map(identityOf, range(500), { concurrency: Infinity }, false)
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
  const results = client.submitter.map(identityOf, range(300), { concurrency: Infinity }, false)
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

test('a loop over short tasks sends its inputs in runs, too', async () => {
  const client = testClient()
  client.scheduler.workers = 2
  client.scheduler.durationMs = 0.001
  let count = 0
  for await (const result of client.submitter.map(identityOf, range(5_000), {}, false)) {
    assert.equal(result, count)
    count += 1
  }
  assert.equal(count, 5_000)
  assert.ok(tasksOf(client).length <= 100, `${tasksOf(client).length} messages`)
  assert.deepEqual(client.scheduler.faults, [])
})

test('a loop that is left after ten results of slow tasks has not run more than the workers have', async () => {
  const client = testClient()
  client.scheduler.workers = 2
  client.scheduler.durationMs = 1_000
  let count = 0
  for await (const result of client.submitter.map(identityOf, range(5_000), {}, false)) {
    assert.equal(result, count)
    count += 1
    await turn()
    if (count === 10) break
  }
  const sent = tasksOf(client).reduce((sum, task) => sum + countOf(task), 0)
  // Four were assumed to be there before the first echo.
  assert.ok(sent <= 10 + 16, `${sent} tasks`)
})

test('a map requests the number of workers, but not with the first heartbeat', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  client.scheduler.workers = 50
  const results = client.submitter.map(identityOf, range(1_000), {}, false)
  await until(() => client.scheduler.heartbeats > 0)
  assert.equal(client.scheduler.heartbeat?.wantsReport, false)
  await until(() => client.scheduler.unfinished.size === 200)
  assert.equal(client.scheduler.heartbeats, 2)
  client.scheduler.release()
  assert.deepEqual(await results, range(1_000))
})

test('a scheduler that does not report it gets all inputs of an awaited map', async () => {
  const client = testClient({ id: '' })
  client.scheduler.isHolding = true
  const results = client.submitter.map(identityOf, range(1_000), {}, false)
  await until(() => client.scheduler.heartbeat !== undefined)
  assert.equal(client.scheduler.heartbeat?.wantsReport, false)
  await until(() => client.scheduler.unfinished.size === 1_000)
  client.scheduler.release()
  assert.deepEqual(await results, range(1_000))
})

test('a loop keeps workers busy while it waits for a slow task', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  client.scheduler.workers = 1
  const results = client.submitter.map(identityOf, range(40), {}, false)
  const iterator = results[Symbol.asyncIterator]()
  const first = iterator.next()
  await until(() => client.scheduler.unfinished.size > 0)
  const [slow] = client.scheduler.unfinished.values()
  let finished = 0
  await until(() => {
    for (const task of client.scheduler.unfinished.values()) {
      if (task === slow) continue
      finished += 1
      client.scheduler.finish(task, 'success', task.functionArgs[0]?.data ?? Buffer.alloc(0))
    }
    return finished === 39
  })
  client.scheduler.release()
  assert.deepEqual(await first, { done: false, value: 0 })
  await iterator.return?.()
})

test('a slow synchronous iterator lets the process have turns', async () => {
  const client = testClient()
  let turns = 0
  const timer = setInterval(() => (turns += 1), 0)
  function* slow(): Generator<number, void, undefined> {
    for (const index of range(30)) {
      const end = performance.now() + 5
      while (performance.now() < end);
      yield index
    }
  }
  assert.equal((await client.submitter.map(identityOf, slow(), {}, false)).length, 30)
  clearInterval(timer)
  assert.ok(turns >= 10, `${turns} turns`)
})
