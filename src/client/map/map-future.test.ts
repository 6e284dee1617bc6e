import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ClientClosedError,
  ConfigError,
  SerializeError,
  TaskCancelledError,
} from '../../base/errors.js'
import type { MapFuture, MapOptions } from './future.js'
import { testClient, turn, until, type TestClient } from '../memory-link.test.kit.js'

const double = (x: number): number => 2 * x
const oddFails = (x: number): number => {
  if (x % 2 === 1) throw new RangeError(`odd ${x}`)
  return x
}

function map(
  client: TestClient,
  fn: (x: never) => unknown,
  inputs: unknown,
  options: MapOptions = {},
): MapFuture<unknown> {
  return client.submitter.map(fn, inputs, options, false)
}

/** Infinite inputs, which record how far they were pulled and whether they were closed. */
class Endless implements Iterable<number> {
  pulled = 0
  isClosed = false;

  *[Symbol.iterator](): Generator<number, void, undefined> {
    try {
      for (;;) {
        this.pulled += 1
        yield this.pulled - 1
      }
    } finally {
      this.isClosed = true
    }
  }
}

async function* slowly<T>(inputs: Iterable<T>): AsyncGenerator<T, void, undefined> {
  for (const input of inputs) {
    await turn()
    yield input
  }
}

async function gather<T>(results: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const result of results) all.push(result)
  return all
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

test('a map resolves with all results in input order', async () => {
  const client = testClient()
  assert.deepEqual(await map(client, double, range(5_000)), range(5_000).map(double))
  assert.deepEqual(client.scheduler.faults, [])
})

test('the function is stored once, however many inputs there are', async () => {
  const client = testClient()
  await map(client, double, range(10))
  assert.equal(client.scheduler.kinds.filter((kind) => kind === 'create').length, 2)
})

test('a map over nothing is an empty list', async () => {
  assert.deepEqual(await map(testClient(), double, []), [])
  assert.deepEqual(await map(testClient(), double, slowly([])), [])
  assert.deepEqual(await gather(map(testClient(), double, [])), [])
  assert.deepEqual(await map(testClient(), double, []).allSettled(), [])
})

test('inputs may be any iterable, asynchronous ones included', async () => {
  const client = testClient()
  assert.deepEqual(await map(client, double, new Set([1, 2])), [2, 4])
  assert.deepEqual(await map(client, (s: string) => s + s, 'ab'), ['aa', 'bb'])
  assert.deepEqual(await map(client, double, slowly([1, 2, 3])), [2, 4, 6])
})

test('each input of a starmap is a list of arguments', async () => {
  const client = testClient()
  const add = (a: number, b: number): number => a + b
  const inputs = [
    [1, 2],
    [3, 4],
  ]
  assert.deepEqual(await client.submitter.map(add, inputs, {}, true), [3, 7])
  await assert.rejects(client.submitter.map(add, [1], {}, true), TypeError)
  const notIterable = /^starmap: expected an iterable, got number$/
  assert.throws(() => client.submitter.map(add, 5, {}, true), { message: notIterable })
})

test('inputs that are at hand travel as they are when map is called', async () => {
  const client = testClient({ isConnected: false })
  const input = { x: 1 }
  const results = map(client, (value: { x: number }) => value.x, [input])
  input.x = 2
  client.link.connect()
  assert.deepEqual(await results, [1])
})

test('iterating gives results in input order', async () => {
  assert.deepEqual(await gather(map(testClient(), double, range(100))), range(100).map(double))
})

test('iterating without order gives pairs of index and result as they finish', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const pairs = map(client, double, [10, 20, 30], { ordered: false }) as AsyncIterable<unknown>
  const iterator = pairs[Symbol.asyncIterator]()
  await until(() => client.scheduler.unfinished.size === 3)
  const tasks = [...client.scheduler.unfinished.values()]
  for (const index of [2, 0, 1]) {
    const task = tasks[index]
    const argument = task?.functionArgs[0]?.data
    assert(task !== undefined && argument !== undefined)
    client.scheduler.finish(task, 'success', argument)
    const value = [index, [10, 20, 30][index]]
    assert.deepEqual(await iterator.next(), { done: false, value })
  }
  assert.deepEqual(await iterator.next(), { done: true, value: undefined })
})

test('the first failure rejects the map, cancels the rest, and leaves the client usable', async () => {
  const client = testClient()
  const inputs = new Endless()
  const results = map(client, oddFails, inputs)
  await assert.rejects(results, { name: 'RangeError', message: 'odd 1' })
  assert.equal(inputs.isClosed, true)
  assert.equal(client.connection.unfinishedTasks, 0)
  await until(() => client.scheduler.unfinished.size === 0)
  assert.deepEqual(await map(client, double, [1]), [2])
})

test('the error of a map leads to the call of map', async () => {
  const error = await map(testClient(), oddFails, [1]).catch((reason: unknown) => reason)
  assert.match((error as Error).stack ?? '', /^RangeError: odd 1\n {4}at .*map-future\.test/)
})

test('while iterating, results that arrived before a failure come first, then the error, then nothing', async () => {
  const client = testClient()
  const failsAtThree = (x: number): number => {
    if (x === 3) throw new Error('three')
    return x
  }
  const iterator = map(client, failsAtThree, range(10))[Symbol.asyncIterator]()
  await until(() => client.connection.unfinishedTasks === 0)
  for (const value of [0, 1, 2]) assert.deepEqual(await iterator.next(), { done: false, value })
  await assert.rejects(iterator.next(), { message: 'three' })
  assert.deepEqual(await iterator.next(), { done: true, value: undefined })
})

test('allSettled gives all outcomes in input order and cancels nothing', async () => {
  const client = testClient()
  const outcomes = await map(client, oddFails, range(4)).allSettled()
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  assert.deepEqual(outcomes[2], { status: 'fulfilled', value: 2 })
  const [, second] = outcomes
  assert(second?.status === 'rejected' && second.reason instanceof RangeError)
})

test('allSettled counts an input that cannot travel as a failure like others', async () => {
  const outcomes = await map(testClient(), double, [1, new WeakMap(), 3]).allSettled()
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

test('allSettled after a failure reports the tasks that it has cancelled', async () => {
  const client = testClient()
  const results = map(client, oddFails, [1, 2, 3])
  await assert.rejects(results, RangeError)
  const outcomes = await results.allSettled()
  assert.equal(outcomes.length, 3)
  for (const outcome of outcomes) assert.equal(outcome.status, 'rejected')
})

test('allSettled of a cancelled map has the reason as the cause of each outcome', async () => {
  const results = map(testClient(), double, range(3))
  const settled = results.allSettled()
  const reason = new Error('enough')
  results.cancel(reason)
  const outcomes = await settled
  for (const outcome of outcomes) {
    assert(outcome.status === 'rejected')
    assert(outcome.reason instanceof TaskCancelledError)
    assert.equal(outcome.reason.cause, reason)
  }
  assert.equal(outcomes.length, 3)
})

test('an iterator that cancels its own map is not asked for more', async () => {
  let pulled = 0
  let cancel = (): unknown => undefined
  function* inputs(): Generator<number> {
    for (; ; pulled += 1) {
      if (pulled === 20) cancel()
      yield pulled
    }
  }
  const results = map(testClient(), double, inputs(), { concurrency: 10 })
  cancel = () => results.cancel()
  await assert.rejects(results, TaskCancelledError)
  assert.equal(pulled, 20)
})

test('an awaited map whose failures are settled rejects with the first one', async () => {
  const results = map(testClient(), oddFails, range(4))
  const settled = results.allSettled()
  await assert.rejects(results, { message: 'odd 1' })
  assert.equal((await settled).length, 4)
})

test('an input that cannot travel rejects the map and is named', async () => {
  await assert.rejects(map(testClient(), double, [1, { w: new WeakMap() }]), (error) => {
    assert(error instanceof SerializeError)
    assert.equal(error.path[0], 'input 1')
    return true
  })
})

test('a function that cannot travel rejects the map, and no input is pulled', async () => {
  const inputs = new Endless()
  await assert.rejects(map(testClient(), new Proxy(double, {}), inputs), SerializeError)
  assert.equal(inputs.pulled, 0)
})

test('an input that throws rejects the map with its error', async () => {
  function* broken(): Generator<number> {
    yield 1
    throw new Error('broken input')
  }
  await assert.rejects(map(testClient(), double, broken()), { message: 'broken input' })
  await assert.rejects(map(testClient(), double, broken()).allSettled(), {
    message: 'broken input',
  })
  async function* brokenLater(): AsyncGenerator<number> {
    yield* broken()
    await turn()
  }
  await assert.rejects(map(testClient(), double, brokenLater()), { message: 'broken input' })
})

test('an iterator that breaks the rules rejects the map', async () => {
  const inputs = { [Symbol.iterator]: () => ({ next: () => undefined }) }
  await assert.rejects(map(testClient(), double, inputs), TypeError)
  const asyncInputs = { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve(3) }) }
  await assert.rejects(map(testClient(), double, asyncInputs), TypeError)
  const unopened = {
    [Symbol.iterator]: (): never => {
      throw new Error('no')
    },
  }
  await assert.rejects(map(testClient(), double, unopened), { message: 'no' })
  const message = /^map: the iterator of the inputs has no method next$/
  for (const iterator of [{}, 5, null, { next: 1 }]) {
    for (const method of [Symbol.iterator, Symbol.asyncIterator]) {
      const noIterator = { [method]: () => iterator } as unknown as Iterable<number>
      await assert.rejects(map(testClient(), double, noIterator), { name: 'TypeError', message })
    }
  }
})

test('arguments that cannot be mapped are refused immediately', () => {
  const { submitter } = testClient()
  assert.throws(() => submitter.map('f' as never, [], {}, false), TypeError)
  for (const inputs of [1, undefined, null, {}]) {
    assert.throws(() => submitter.map(double, inputs, {}, false), TypeError)
  }
})

test('bad options are refused immediately', () => {
  const { submitter } = testClient()
  for (const concurrency of [0, -1, 1.5, NaN, '3', null]) {
    assert.throws(
      () => submitter.map(double, [], { concurrency } as MapOptions, false),
      ConfigError,
    )
  }
  assert.throws(
    () => submitter.map(double, [], { ordered: 1 } as unknown as MapOptions, false),
    ConfigError,
  )
  assert.throws(() => submitter.map(double, [], { order: false } as MapOptions, false), ConfigError)
  assert.throws(() => submitter.map(double, [], null as never, false), ConfigError)
})

test('at most concurrency tasks are in flight', async () => {
  const client = testClient()
  const slow = async (x: number): Promise<number> =>
    new Promise((resolve) => setTimeout(resolve, 1, x))
  assert.equal((await map(client, slow, range(50), { concurrency: 3 })).length, 50)
  assert.equal(client.scheduler.maxUnfinished, 3)
  assert.equal((await map(client, slow, slowly(range(10)), { concurrency: 2 })).length, 10)
  assert.equal(client.scheduler.maxUnfinished, 3)
  assert.equal((await map(client, double, range(10), { concurrency: Infinity })).length, 10)
})

test('at most as many tasks as the client allows are unfinished, maps and futures together', async (t) => {
  const client = testClient({ client: { maxUnfinishedTasks: 5 } })
  client.scheduler.isHolding = true
  const futures = [1, 2].map((x) => client.submitter.submit(double, [x]))
  const inputs = new Endless()
  let others = 0
  const twenty = function* (): Generator<number, void, undefined> {
    while (others < 20) {
      others += 1
      yield others
    }
  }
  const first = map(client, double, inputs)
  t.after(() => first.cancel())
  const second = map(client, double, twenty())
  await until(() => client.scheduler.unfinished.size === 5)
  // Which of both maps takes the three places depends on how long each may pull.
  assert.equal(inputs.pulled + others, 3, `${inputs.pulled} and ${others} inputs pulled`)
  first.cancel()
  await assert.rejects(first, TaskCancelledError)
  client.scheduler.release()
  assert.equal((await second).length, 20)
  assert.deepEqual(await Promise.all(futures), [2, 4])
  assert(client.scheduler.maxUnfinished <= 5)
})

test('a map pulls no more inputs than the connection accepts', async () => {
  const client = testClient({ isConnected: false })
  const inputs = new Endless()
  const results = map(client, (text: string) => text.length, slices(inputs))
  await turn()
  await turn()
  const pulled = inputs.pulled
  assert(pulled < 30, `pulled ${pulled} inputs of 100 kB before there was a connection`)
  client.link.connect()
  await until(() => inputs.pulled > pulled)
  results.cancel()
  await assert.rejects(results, TaskCancelledError)
})

function* slices(numbers: Iterable<number>): Generator<string, void, undefined> {
  for (const _ of numbers) yield 'x'.repeat(100_000)
}

test('an infinite input is consumed with bounded memory, and leaving the loop ends it', async () => {
  const client = testClient()
  const inputs = new Endless()
  let count = 0
  for await (const result of map(client, double, inputs, { concurrency: 8 })) {
    assert.equal(result, 2 * count)
    count += 1
    assert(inputs.pulled <= count + 8, `${inputs.pulled} pulled, ${count} consumed`)
    if (count === 100) break
  }
  assert.equal(inputs.isClosed, true)
  assert.equal(client.connection.unfinishedTasks, 0)
  await until(() => client.scheduler.unfinished.size === 0)
})

test('by default an infinite input is not pulled far ahead of a slow consumer', async () => {
  const client = testClient()
  const inputs = new Endless()
  const iterator = map(client, double, inputs)[Symbol.asyncIterator]()
  await iterator.next()
  await until(() => !client.link.isRef, 'a map that only the consumer could advance')
  assert.equal(client.connection.unfinishedTasks, 0)
  // 50 ms of tasks of 1.5 ms for each of four assumed workers, and the result that was taken.
  assert(inputs.pulled <= 134, `${inputs.pulled} pulled`)
  await iterator.next()
  await iterator.return?.()
  assert.equal(inputs.isClosed, true)
})

test('the loop over an infinite asynchronous input can be left, too', async () => {
  const client = testClient()
  const source = new Endless()
  for await (const result of map(client, double, slowly(source), { concurrency: 2 })) {
    if (result === 10) break
  }
  await until(() => source.isClosed)
})

test('an asynchronous input that has everything at hand does not starve the rest', async () => {
  const client = testClient()
  async function* eager(): AsyncGenerator<number> {
    for (const x of range(10_000)) yield x
  }
  let turns = 0
  const timer = setInterval(() => (turns += 1), 0)
  assert.equal((await map(client, double, eager())).length, 10_000)
  clearInterval(timer)
  assert(turns >= 3)
})

test('the error of a task of a map names its function and input', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const results = map(client, double, range(3))
  await until(() => client.scheduler.unfinished.size === 3)
  const [, second] = client.scheduler.unfinished.values()
  assert(second !== undefined)
  client.scheduler.refuse(second, 'workerDied')
  await assert.rejects(results, /^WorkerDiedError: task \w+ \(double, input 1\) was abandoned/)
})

test('cancelling rejects a map immediately, with the reason as cause', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const inputs = new Endless()
  const results = map(client, double, inputs)
  await until(() => client.scheduler.unfinished.size > 0)
  assert.equal(results.cancel('why'), true)
  assert.equal(results.cancel(), false)
  await assert.rejects(results, (error) => {
    assert(error instanceof TaskCancelledError)
    assert.equal(error.cause, 'why')
    return true
  })
  assert.equal(inputs.isClosed, true)
  await until(() => client.scheduler.unfinished.size === 0)
  await client.connection.close()
})

test('cancelling a map leaves other tasks alone', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const other = client.submitter.submit(double, [4])
  const results = map(client, double, range(10))
  await until(() => client.scheduler.unfinished.size === 11)
  results.cancel()
  await until(() => client.scheduler.unfinished.size === 1)
  client.scheduler.release()
  assert.equal(await other, 8)
})

test('a map that is done cannot be cancelled', async () => {
  const results = map(testClient(), double, [1])
  await results
  assert.equal(results.cancel(), false)
})

test('a map is awaited or iterated over, but not both', async () => {
  const client = testClient()
  const awaited = map(client, double, [1])
  await awaited
  await awaited
  assert.throws(() => awaited[Symbol.asyncIterator](), TypeError)
  const iterated = map(client, double, [1])
  assert.deepEqual(await gather(iterated), [2])
  await assert.rejects(Promise.resolve(iterated), TypeError)
  await assert.rejects(iterated.allSettled(), TypeError)
  assert.throws(() => iterated[Symbol.asyncIterator](), TypeError)
})

test('results that arrived before iterating began are not lost', async () => {
  const client = testClient()
  for (const ordered of [true, false]) {
    const results = map(client, double, range(5), { ordered })
    await until(() => client.connection.unfinishedTasks === 0)
    assert.equal((await gather(results)).length, 5)
  }
})

test('several results can be requested in advance', async () => {
  const iterator = map(testClient(), double, range(3))[Symbol.asyncIterator]()
  const asked = range(5).map(() => iterator.next())
  assert.deepEqual(await Promise.all(asked), [
    { done: false, value: 0 },
    { done: false, value: 2 },
    { done: false, value: 4 },
    { done: true, value: undefined },
    { done: true, value: undefined },
  ])
})

test('a loop continues with an iterator that has given results before', async () => {
  const iterator = map(testClient(), double, range(3))[Symbol.asyncIterator]()
  assert.deepEqual(await iterator.next(), { done: false, value: 0 })
  assert.deepEqual(await gather(iterator), [2, 4])
})

test('leaving the loop ends a pending request for a result, too', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const iterator = map(client, double, range(3))[Symbol.asyncIterator]()
  const asked = iterator.next()
  await until(() => client.scheduler.unfinished.size === 3)
  assert.deepEqual(await iterator.return?.(), { done: true, value: undefined })
  assert.deepEqual(await asked, { done: true, value: undefined })
  assert.deepEqual(await iterator.next(), { done: true, value: undefined })
})

test('closing the client ends every map, in any state', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const running = map(client, double, range(3))
  const starved = map(client, double, slowly(new Endless()), { concurrency: 1 })
  const waiting = map(
    client,
    double,
    (async function* () {
      await new Promise(() => {})
      yield 1
    })(),
  )
  await until(() => client.scheduler.unfinished.size === 4)
  await client.connection.close()
  for (const results of [running, starved, waiting]) {
    await assert.rejects(results, (error) => {
      assert(error instanceof TaskCancelledError)
      assert(error.cause instanceof ClientClosedError)
      return true
    })
  }
  await assert.rejects(map(client, double, [1]), ClientClosedError)
  await assert.rejects(map(client, double, [1]).allSettled(), ClientClosedError)
  assert.equal(client.link.isRef, false)
})

test('then, catch and finally are those of a promise', async () => {
  const client = testClient()
  assert.equal(await map(client, double, [1]).then((all) => all.length), 1)
  assert.equal(await map(client, oddFails, [1]).catch(() => 'caught'), 'caught')
  let hasRun = false
  await map(client, double, [1]).finally(() => (hasRun = true))
  assert.equal(hasRun, true)
  assert.deepEqual(await Promise.all([map(client, double, [1]), map(client, double, [2])]), [
    [2],
    [4],
  ])
  assert.equal(Object.prototype.toString.call(map(client, double, [])), '[object MapFuture]')
})
