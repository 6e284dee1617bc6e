import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SerializeError, TaskCancelledError } from '../base/errors.js'
import { Client } from './client.js'
import type { Future } from './future/future.js'
import { testClient, turn, until, type TestClient } from './memory-link.test.kit.js'

const LARGE = 20_000
const add = (a: number, b: number): number => a + b
const boom = (): never => {
  throw new RangeError('boom')
}
const text = (length: number): string => 'x'.repeat(length)
const lengthOf = (value: string): number => value.length

function submit<T>(client: TestClient, fn: (...args: never[]) => T, ...args: unknown[]): Future<T> {
  return client.submitter.submit(fn, args) as Future<T>
}

test('a future is an argument: its task waits for it and gets its result', async () => {
  const client = testClient()
  const a = submit(client, add, 1, 2)
  const b = submit(client, add, a, a)
  const c = submit(client, add, b, 10)
  assert.equal(c.state, 'pending')
  assert.equal(await c, 16)
  assert.equal(await a, 3)
  assert.deepEqual(client.scheduler.faults, [])
})

test('a large result does not pass through the client, and is freed when it is not needed', async () => {
  const client = testClient()
  let large: Future<string> | undefined = submit(client, text, LARGE)
  const length = submit(client, lengthOf, large)
  assert.equal(await length, LARGE)
  assert.equal(large.state, 'done')
  assert.equal(client.scheduler.kinds.includes('objectRequest'), false)
  assert.equal(await large, text(LARGE), 'it is still there for who asks')
  large = undefined
  await submit(client, add, 1, 1)
  await until(() => [...client.scheduler.objects.values()].every((one) => one.length < LARGE))
})

test('a settled future is an argument as well, fetched or not', async () => {
  const client = testClient()
  const small = submit(client, add, 1, 2)
  const fetched = submit(client, text, LARGE)
  const stored = submit(client, text, LARGE + 1)
  await Promise.all([small, fetched])
  await until(() => stored.state === 'done')
  assert.equal(await submit(client, add, small, 1), 4)
  assert.equal(await submit(client, lengthOf, fetched), LARGE)
  assert.equal(await submit(client, lengthOf, stored), LARGE + 1)
  assert.deepEqual(client.scheduler.faults, [])
})

test('a task that needs a future that fails, or has failed, fails with the same error', async () => {
  const client = testClient()
  const failing = submit(client, boom)
  const early = submit(client, add, failing, 1)
  const last = submit(client, add, 1, early)
  for (const future of [failing, early, last]) {
    await assert.rejects(future, { name: 'RangeError', message: 'boom' })
    assert.equal(future.state, 'failed')
  }
  const late = submit(client, add, failing, 1)
  assert.equal(late.state, 'failed')
  await assert.rejects(late, RangeError)
  assert.equal(client.connection.unfinishedTasks, 0)
})

test('a task that needs a future that is cancelled, or was, is cancelled', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = submit(client, add, 1, 2)
  const early = submit(client, add, future, 1)
  await until(() => client.scheduler.unfinished.size === 1)
  future.cancel('enough')
  const late = submit(client, add, future, 1)
  for (const needy of [early, late]) {
    assert.equal(needy.state, 'cancelled')
    await assert.rejects(needy, (error) => {
      assert(error instanceof TaskCancelledError)
      const message = `task ${future.id} was cancelled; task ${needy.id} (add) needs its result`
      assert.equal(error.message, message)
      assert.equal(error.cause, 'enough')
      return true
    })
  }
})

test('the reason of a cancel reaches maps and graphs that need the future, and whole chains', async () => {
  const client = testClient({ takesGraphs: true })
  client.scheduler.isHolding = true
  const future = submit(client, add, 1, 2)
  const next = submit(client, add, future, 1)
  const last = submit(client, add, next, 1)
  const mapped = client.submitter.map(lengthOf, [next], {}, false)
  const graph = client.submitter.get({ n: [add, next, 1] }, ['n'])
  const reason = new Error('changed my mind')
  future.cancel(reason)
  for (const needy of [next, last, mapped, graph]) {
    await assert.rejects(needy, (error) => {
      assert(error instanceof TaskCancelledError)
      assert.equal(error.cause, reason)
      return true
    })
  }
})

test('the reason of a cancelled graph reaches tasks that need its targets', async () => {
  const client = testClient({ takesGraphs: true })
  client.scheduler.isHolding = true
  const graph = client.submitter.get({ n: [add, 1, 2] }, ['n'])
  const needy = submit(client, add, graph.futures['n'], 1)
  graph.cancel('no more')
  for (const ended of [graph, needy]) {
    await assert.rejects(ended, { name: 'TaskCancelledError', cause: 'no more' })
  }
})

test('a cancelled task that needs another one has only its own reason', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = submit(client, add, 1, 2)
  const needy = submit(client, add, future, 1)
  needy.cancel('mine')
  future.cancel('other')
  const later = submit(client, add, 1, 2)
  later.cancel()
  await assert.rejects(needy, { cause: 'mine' })
  await assert.rejects(future, { cause: 'other' })
  await assert.rejects(later, (error: Error) => error.cause === undefined)
})

test('only the future of one task can be an argument, and the refusal says what to pass instead', async () => {
  const client = new Client('tcp://127.0.0.1:1')
  const mapped = client.map(lengthOf, ['a'])
  const graph = client.get({ n: [add, 1, 2] }, ['n'])
  const futures = [
    [client.submit(text, [mapped] as never), /argument 1 -> \[0\]: the result of map .* await it/],
    [
      client.submit(text, mapped as never),
      /argument 1: the result of map cannot be part of a value/,
    ],
    [
      client.submit(text, { graph } as never),
      /-> graph: the result of get .* pass one of its futures/,
    ],
  ] as const
  for (const [future, message] of futures) {
    await assert.rejects(future, (error) => {
      assert(error instanceof SerializeError)
      assert.match(error.message, message)
      return true
    })
  }
  await client.close()
  await assert.rejects(mapped)
  await assert.rejects(graph)
})

test('a failure counts as observed when a promise was derived from the future', async (context) => {
  const warn = context.mock.method(process, 'emitWarning', () => {})
  const client = testClient()
  const failing = submit(client, boom)
  await assert.rejects(submit(client, lengthOf, failing))
  assert.equal(failing.state, 'failed')
  client.parts.failures.warn()
  assert.equal(warn.mock.callCount(), 0)
})

test('a future of another client is refused, through the future', async () => {
  const other = submit(testClient(), add, 1, 2)
  const future = submit(testClient(), add, 1, other)
  await assert.rejects(future, (error) => {
    assert(error instanceof SerializeError)
    assert.match(error.message, /^argument 2: the future belongs to another client; await it/)
    return true
  })
  await other
})

test('futures are inputs of maps, alone or among others', async () => {
  const client = testClient()
  const length = submit(client, add, 2, 3)
  const large = submit(client, text, LARGE)
  const mapped = client.submitter.map(lengthOf, [large, 'abc', submit(client, text, 4)], {}, false)
  assert.deepEqual(await mapped, [LARGE, 3, 4])
  const inputs = [
    [length, 1],
    [2, length],
  ]
  assert.deepEqual(await client.submitter.map(add, inputs, {}, true), [6, 7])
})

test('a map fails with the first of its input futures that fails', async () => {
  const client = testClient()
  const failing = submit(client, boom)
  await assert.rejects(client.submitter.map(lengthOf, ['a', failing], {}, false), RangeError)
  await assert.rejects(failing, RangeError)
  const outcomes = await client.submitter.map(lengthOf, [failing, 'ab'], {}, false).allSettled()
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  )
})

test('waiting tasks are not sent to the scheduler, and keep the process alive', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const a = submit(client, add, 1, 2)
  const b = submit(client, add, a, 1)
  await until(() => client.scheduler.unfinished.size > 0)
  await turn()
  assert.equal(client.scheduler.unfinished.size, 1)
  assert.equal(client.connection.unfinishedTasks, 2)
  client.scheduler.release()
  await a
  assert.equal(client.link.isRef, true)
  assert.equal(await b, 4)
  assert.equal(client.link.isRef, false)
})

test('a task that is submitted from within the end of its dependency gets its value', async () => {
  const client = testClient()
  const a = submit(client, text, LARGE)
  const b = await a.then(() => submit(client, lengthOf, a))
  assert.equal(b, LARGE)
})

test('results lost with the scheduler are computed again for tasks that need them', async () => {
  const client = testClient()
  const large = submit(client, text, LARGE)
  await until(() => large.state === 'done')
  client.link.lose()
  client.scheduler.restart('scheduler-id-002')
  const length = submit(client, lengthOf, large)
  client.link.connect()
  assert.equal(await length, LARGE)
  assert.equal(await large, text(LARGE))
  assert.deepEqual(client.scheduler.faults, [])
})

/** Of each task and node that used `lengthOf` or `add`: how its arguments travelled. */
function argumentTypes({ scheduler }: TestClient): string[] {
  const tasks = scheduler.received.flatMap((message) => {
    if (message.kind === 'graphTask') return message.graph
    return message.kind === 'task' ? [message] : []
  })
  return tasks.flatMap(({ functionArgs }) => functionArgs.map(({ type }) => type))
}

for (const takesGraphs of [true, false]) {
  const kind = takesGraphs ? 'graphs' : 'no graphs'
  test(`results are shared values whenever they are passed, with ${kind}`, async () => {
    const client = testClient({ takesGraphs })
    const [small, medium] = [submit(client, text, 1), submit(client, text, 1_000)]
    const early = submit(client, lengthOf, small)
    await client.submitter.get({ n: [lengthOf, medium] }, ['n'])
    await Promise.all([small, medium, early])
    client.scheduler.received.length = 0
    assert.equal(await submit(client, lengthOf, small), 1)
    assert.equal(await submit(client, lengthOf, medium), 1_000)
    assert.deepEqual(await client.submitter.map(lengthOf, [small], {}, false), [1])
    assert.deepEqual(argumentTypes(client), ['sharedInline', 'sharedInline', 'sharedInline'])
    client.scheduler.received.length = 0
    const nodes = { small, medium, a: [lengthOf, 'small'], b: [lengthOf, 'medium'] }
    const direct = { c: [lengthOf, small], d: [lengthOf, medium] }
    const lengths = await client.submitter.get({ ...nodes, ...direct }, ['a', 'b', 'c', 'd'])
    assert.deepEqual(lengths, { a: 1, b: 1_000, c: 1, d: 1_000 })
    for (const type of argumentTypes(client)) assert.match(type, /^shared/)
    client.scheduler.received.length = 0
    const pending = submit(client, text, 1_001)
    assert.deepEqual(await client.submitter.get({ n: [lengthOf, pending] }, ['n']), { n: 1_001 })
    assert.match(argumentTypes(client).at(-1) ?? '', /^shared/)
    assert.deepEqual(client.scheduler.faults, [])
  })
}

test('a 1.9.9 scheduler gets the results that it is passed as objects', async () => {
  const client = testClient({ id: '' })
  const small = submit(client, text, 1)
  await small
  client.scheduler.received.length = 0
  assert.equal(await submit(client, lengthOf, small), 1)
  assert.deepEqual(argumentTypes(client), ['objectID'])
  assert.deepEqual(client.scheduler.faults, [])
})
