import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ClientClosedError,
  GraphCycleError,
  GraphKeyError,
  MissingObjectError,
  SerializeError,
  TaskCancelledError,
} from '../../base/errors.js'
import { Future } from '../future/future.js'
import {
  testClient,
  until,
  type TestClient,
  type TestClientOptions,
} from '../memory-link.test.kit.js'
import { literal } from './reading.js'

const inc = (x: number): number => x + 1
const add = (a: number, b: number): number => a + b
const same = <T>(value: T): T => value
const fail = (): never => {
  throw new RangeError('the call failed')
}

/** Both ways in which graphs travel. */
const WAYS: Readonly<Record<string, TestClientOptions>> = {
  'in parts': { takesGraphs: true },
  'as tasks': {},
  'as tasks, to 1.9.9': { id: '' },
}

/** Closes a client, and expects its scheduler to have found nothing wrong. */
async function finish({ connection, scheduler }: TestClient): Promise<void> {
  assert.deepEqual(scheduler.faults, [])
  await connection.close()
}

function errorOf(promise: PromiseLike<unknown>): Promise<Error & { nodeKey?: string }> {
  return Promise.resolve(promise).then(
    () => assert.fail('it did not fail'),
    (error: unknown) => error as Error,
  )
}

for (const [way, options] of Object.entries(WAYS)) {
  describe(`get, ${way}`, () => {
    test('returns a record of the requested keys, in that order', async () => {
      const client = testClient(options)
      const graph = {
        a: 2,
        b: 2,
        c: [inc, 'a'],
        d: [add, 'a', 'b'],
        e: [(x: number, y: number): number => x - y, 'd', 'c'],
        f: add,
      }
      const values = await client.submitter.get(graph, ['f', 'e', 'c', 'a', 'e'])
      assert.deepEqual(Object.keys(values), ['f', 'e', 'c', 'a'])
      assert.deepEqual(values, { f: add, e: 1, c: 3, a: 2 })
      assert.deepEqual(await client.submitter.get(graph, ['b']), { b: 2 })
      assert.deepEqual(await client.submitter.get(graph, []), {})
      await finish(client)
    })

    test('accepts references, futures, literals, functions and keys used twice', async () => {
      const client = testClient(options)
      const reference = client.parts.references.send([10, 20], {})
      const future = client.submitter.submit(inc, [6])
      const graph = {
        reference,
        future,
        double: [add, 'future', 'future'],
        second: [(list: number[], at: number): unknown => list[at], 'reference', 1],
        first: [(list: number[]): unknown => list[0], reference],
        later: [inc, client.submitter.submit(inc, [1])],
        text: [same, literal('future')],
        list: [same, literal([inc, 'a'])],
        call: [(fn: typeof inc): number => fn(1), inc],
        fn: inc,
        called: [(fn: typeof inc, x: number): number => fn(x), 'fn', 'future'],
      }
      const keys = ['double', 'second', 'first', 'later', 'text', 'call', 'called', 'reference']
      const run = client.submitter.get(graph, [...keys, 'future', 'list'])
      assert.equal(run.futures['future'], future)
      const { list, ...values } = await run
      assert.deepEqual(values, {
        double: 14,
        second: 20,
        first: 10,
        later: 3,
        text: 'future',
        call: 2,
        called: 8,
        reference: [10, 20],
        future: 7,
      })
      const [fn, key] = list as [typeof inc, string]
      assert.deepEqual([fn(1), key], [2, 'a'])
      await finish(client)
    })

    test('refuses a call inside a call, with the node, the position and the remedy', async () => {
      const client = testClient(options)
      const graph = { a: 1, b: [inc, 'a'], bad: [add, 'a', [inc, 'b']], next: [inc, 'bad'] }
      const run = client.submitter.get(graph, ['bad', 'next', 'b'])
      const error = await errorOf(run)
      assert.equal(error.nodeKey, 'bad')
      assert.ok(error instanceof SerializeError)
      assert.deepEqual(error.path, ['node "bad"', 'argument 2'])
      assert.match(error.message, /call inside a call/)
      assert.match(error.message, /node of its own.*literal\(\[/)
      assert.ok((await errorOf(run.futures['next'] ?? assert.fail())) instanceof SerializeError)
      assert.equal(await run.futures['b'], 2)
      const right = {
        a: 1,
        inner: [inc, 'a'],
        b: [add, 'a', 'inner'],
        c: [same, literal([inc, 1])],
      }
      const { b, c } = await client.submitter.get(right, ['b', 'c'])
      const [fn] = c as [typeof inc]
      assert.deepEqual([b, fn(1)], [3, 2])
      // Deeper ones are part of a value.
      const inside = { list: [(list: unknown[][]): number => list.length, [[inc, 'a']]] }
      assert.deepEqual(await client.submitter.get(inside, ['list']), { list: 1 })
      await finish(client)
    })

    test('cancels all dependants with a node, and says why', async () => {
      const client = testClient(options)
      client.scheduler.isHolding = true
      const graph = { a: [inc, 1], b: [inc, 'a'], c: [inc, 'b'], other: [inc, 2] }
      const run = client.submitter.get(graph, ['a', 'c', 'other'])
      const { a, c, other } = run.futures as Record<string, Future<unknown>>
      assert.ok(a !== undefined && c !== undefined && other !== undefined)
      const outside = client.submitter.submit(inc, [c])
      await until(() => client.scheduler.unfinished.size === 2)
      assert.equal(a.cancel('not needed'), true)
      assert.deepEqual([a.state, c.state, outside.state], ['cancelled', 'cancelled', 'cancelled'])
      for (const future of [a, c, outside]) {
        const error = await errorOf(future)
        assert.ok(error instanceof TaskCancelledError)
        assert.equal(error.cause, 'not needed')
      }
      assert.equal((await errorOf(c)).nodeKey, 'a')
      await until(() => client.scheduler.unfinished.size === 1, 'the cancel of the node')
      client.scheduler.release()
      assert.equal(await other, 3)
      await finish(client)
    })

    test('accepts any key', async () => {
      const client = testClient(options)
      const graph = JSON.parse('{"__proto__": 1, "": 2, "7": 3}') as Record<string, unknown>
      graph['constructor'] = [add, '__proto__', '']
      const values = await client.submitter.get(graph, ['constructor', '__proto__', '', '7'])
      assert.equal(Object.getPrototypeOf(values), Object.prototype)
      assert.deepEqual(Object.entries(values), [
        ['7', 3],
        ['constructor', 3],
        ['__proto__', 1],
        ['', 2],
      ])
      await finish(client)
    })

    test('computes only the nodes that are needed, each once', async () => {
      const client = testClient(options)
      const graph = { a: [inc, 1], b: [add, 'a', 'a'], c: [add, 'a', 'b'], d: [inc, 'a'] }
      const messages = client.scheduler.received
      assert.deepEqual(await client.submitter.get(graph, ['c', 'b']), { c: 6, b: 4 })
      const calls = messages.flatMap((message) => {
        if (message.kind === 'graphTask') return message.graph.length
        return message.kind === 'task' ? 1 : []
      })
      assert.equal(
        calls.reduce((sum, count) => sum + count),
        3,
      )
      await finish(client)
    })

    test('a failing node fails its dependants, and nothing else', async () => {
      const client = testClient(options)
      const graph = { a: [inc, 1], b: [fail], c: [add, 'a', 'b'], d: [inc, 'c'], e: [inc, 'a'] }
      const run = client.submitter.get(graph, ['a', 'b', 'd', 'e'])
      assert.deepEqual(await Promise.all([run.futures['a'], run.futures['e']]), [2, 3])
      const error = await errorOf(run.futures['d'] ?? assert.fail())
      assert.ok(error instanceof RangeError)
      assert.equal(error.message, 'the call failed')
      assert.equal(error.nodeKey, 'b')
      assert.ok(!Object.keys(error).includes('nodeKey'))
      assert.match(error.stack ?? '', /\n {4}at node "b" of the graph, which "d" needs\n/)
      const own = await errorOf(run.futures['b'] ?? assert.fail())
      assert.match(own.stack ?? '', /\n {4}at node "b" of the graph\n/)
      assert.equal(own.nodeKey, 'b')
      assert.ok((await errorOf(run)) instanceof RangeError)
      assert.deepEqual(await client.submitter.get(graph, ['e']), { e: 3 })
      await finish(client)
    })

    test('a failed future fails its dependants, and nothing else', async () => {
      const client = testClient(options)
      const failing = client.submitter.submit(fail, [])
      const graph = { f: failing, x: [inc, 'f'], y: [inc, failing], z: [inc, 1] }
      const run = client.submitter.get(graph, ['x', 'y', 'z', 'f'])
      assert.equal(await run.futures['z'], 2)
      for (const key of ['x', 'y', 'f']) {
        assert.ok((await errorOf(run.futures[key] ?? assert.fail())) instanceof RangeError)
      }
      const again = client.submitter.get(graph, ['x', 'z'])
      assert.equal(await again.futures['z'], 2)
      assert.ok((await errorOf(again)) instanceof RangeError)
      await finish(client)
    })

    test('large values travel as objects, once, named after their keys', async () => {
      const client = testClient(options)
      const table = new Uint8Array(100_000).fill(1)
      const size = (bytes: Uint8Array): number => bytes.length
      const graph = { table, a: [size, 'table'], b: [size, 'table'], c: [size, table] }
      const run = client.submitter.get(graph, ['a', 'b', 'c', 'table'])
      table.fill(2)
      assert.equal((await run)['a'], 100_000)
      assert.equal((await run)['table'], table)
      const created = client.scheduler.received.flatMap((message) =>
        message.kind === 'objectInstruction' && message.instructionType === 'create'
          ? message.objectContent.objectBytes
          : [],
      )
      const large = created.filter((chunks) => (chunks[0]?.byteLength ?? 0) >= 100_000)
      assert.equal(large.length, 1)
      await finish(client)
    })

    test('large results stay in the cluster until they are requested', async () => {
      const client = testClient(options)
      const make = (): Uint8Array => new Uint8Array(50_000).fill(7)
      const graph = { a: [make], b: [(bytes: Uint8Array): unknown => bytes[49_999], 'a'] }
      const run = client.submitter.get(graph, ['a', 'b'])
      assert.equal(await run.futures['b'], 7)
      await until(() => run.futures['a']?.state === 'done')
      const hasFetched = (): boolean =>
        client.scheduler.received.some((message) => message.kind === 'objectRequest')
      if (options.id !== '') assert.ok(!hasFetched())
      assert.deepEqual((await run)['a'], make())
      assert.ok(hasFetched())
      await finish(client)
    })
  })
}

describe('get', () => {
  test('reads its arguments as they are at that moment', async () => {
    const client = testClient({ takesGraphs: true, isConnected: false })
    const list = [1]
    let captured = 1
    const length = (given: number[]): number => given.length + captured
    const graph: Record<string, unknown> = { list, a: [length, 'list'], b: [length, list] }
    const run = client.submitter.get(graph, ['a', 'b'])
    list.push(2)
    captured = 100
    delete graph['a']
    client.link.connect()
    assert.deepEqual(await run, { a: 2, b: 2 })
    await finish(client)
  })

  test('throws TypeError for anything but a graph and a list of keys, and nothing else', () => {
    const client = testClient()
    const { submitter } = client
    for (const graph of [null, undefined, 'text', 5, [], new Map(), inc]) {
      assert.throws(() => submitter.get(graph, []), {
        name: 'TypeError',
        message: /an object of nodes/,
      })
    }
    for (const keys of [undefined, 'a', new Set(['a']), [1], [Symbol('a')], ['a', null]]) {
      assert.throws(() => submitter.get({ a: 1 }, keys), { name: 'TypeError' })
    }
  })

  test('reports missing keys and cycles through its futures', async () => {
    const client = testClient()
    // As a client does: the program is above.
    const get = (): ReturnType<typeof client.submitter.get> =>
      client.submitter.get({ a: 1, b: [inc, 'x'] }, ['a', 'b'])
    const missing = get()
    const error = await errorOf(missing)
    assert.ok(error instanceof GraphKeyError)
    assert.equal(error.message, 'the graph has no node "x", which the node "b" needs')
    assert.match(error.stack ?? '', /graph\.test/)
    for (const future of Object.values(missing.futures)) assert.equal(await errorOf(future), error)
    const cycle = { a: [inc, 'b'], b: [inc, 'a'] }
    const circular = await errorOf(client.submitter.get(cycle, ['a']))
    assert.ok(circular instanceof GraphCycleError)
    assert.equal(circular.message, 'the graph has a cycle: a -> b -> a')
    const thrown = new Error('thrown')
    const getter = {
      get a(): never {
        throw thrown
      },
    }
    assert.equal(await errorOf(client.submitter.get(getter, ['a'])), thrown)
    await finish(client)
  })

  test('names the node and the argument that cannot travel, and fails no other', async () => {
    const client = testClient({ takesGraphs: true })
    const bad = { deep: new WeakRef({}) }
    const graph = {
      a: [inc, 1],
      b: [add, 'a', bad],
      value: bad,
      c: [same, 'value'],
      d: [inc, 'b'],
      e: [(): unknown => bad],
    }
    const run = client.submitter.get(graph, ['a', 'b', 'c', 'd', 'e', 'value'])
    assert.equal(await run.futures['a'], 2)
    assert.equal(await run.futures['value'], bad)
    const paths: Record<string, readonly string[]> = {}
    const failed: Record<string, unknown> = {}
    for (const key of ['b', 'c', 'd', 'e']) {
      const error = await errorOf(run.futures[key] ?? assert.fail())
      assert.ok(error instanceof SerializeError)
      paths[key] = error.path.slice(0, 2)
      failed[key] = Reflect.get(error, 'nodeKey')
    }
    assert.deepEqual(paths, {
      b: ['node "b"', 'argument 2'],
      c: ['node "value"', 'deep'],
      d: ['node "b"', 'argument 2'],
      e: ['node "e"', 'the function'],
    })
    assert.deepEqual(failed, { b: 'b', c: 'value', d: 'b', e: 'e' })
    await finish(client)
  })

  test('with a released reference, fails the nodes that need it', async () => {
    const client = testClient({ takesGraphs: true })
    const reference = client.parts.references.send('value', {})
    reference.release()
    const graph = { reference, a: [same, 'reference'], b: [inc, 1] }
    const run = client.submitter.get(graph, ['a', 'b', 'reference'])
    assert.equal(await run.futures['b'], 2)
    for (const key of ['a', 'reference']) {
      const error = await errorOf(run.futures[key] ?? assert.fail())
      assert.ok(error instanceof MissingObjectError)
    }
    await finish(client)
  })

  test('on a closed client fails like submit', async () => {
    const client = testClient()
    await finish(client)
    const error = await errorOf(client.submitter.get({ a: 1, b: [inc, 'a'] }, ['a', 'b']))
    assert.ok(error instanceof ClientClosedError)
  })

  test('ends with its client', async () => {
    const client = testClient({ takesGraphs: true })
    client.scheduler.isHolding = true
    const run = client.submitter.get({ a: [inc, 1], b: 1 }, ['a', 'b'])
    await until(() => client.scheduler.unfinished.size === 1)
    const ended = errorOf(run)
    await finish(client)
    assert.ok((await ended) instanceof TaskCancelledError)
    assert.equal(await run.futures['b'], 1)
  })
})

describe('a graph future', () => {
  test('has a future for each key, which can be used like others', async () => {
    const client = testClient({ takesGraphs: true })
    client.scheduler.isHolding = true
    const run = client.submitter.get({ a: 1, b: [inc, 'a'] }, ['a', 'b'])
    const { a, b } = run.futures
    assert.ok(a instanceof Future && b instanceof Future)
    assert.deepEqual([a.state, b.state], ['done', 'pending'])
    await until(() => b.state === 'queued')
    client.scheduler.release()
    assert.equal(await b, 2)
    assert.equal(run.futures, run.futures)
    assert.notEqual(b.id, a.id)
    await finish(client)
  })

  test('is cancelled with all its unfinished nodes', async () => {
    const client = testClient({ takesGraphs: true })
    client.scheduler.isHolding = true
    const other = client.submitter.submit(inc, [1])
    const graph = { a: 1, b: [inc, 'a'], c: [inc, 'b'], other }
    const run = client.submitter.get(graph, ['a', 'b', 'c', 'other'])
    await until(() => client.scheduler.unfinished.size === 2)
    const reason = new Error('enough')
    assert.equal(run.cancel(reason), true)
    assert.deepEqual(
      Object.values(run.futures).map(({ state }) => state),
      ['done', 'cancelled', 'cancelled', 'queued'],
    )
    const error = await errorOf(run)
    assert.ok(error instanceof TaskCancelledError)
    assert.equal(error.message, 'the graph was cancelled')
    assert.equal(error.cause, reason)
    const own = await errorOf(run.futures['c'] ?? assert.fail())
    assert.equal(own.cause, reason)
    assert.equal(run.cancel(), false)
    await until(() => client.scheduler.unfinished.size === 1, 'the cancel of the node')
    client.scheduler.release()
    assert.equal(await other, 2)
    await finish(client)
  })

  test('that has ended cannot be cancelled', async () => {
    const client = testClient({ takesGraphs: true })
    const run = client.submitter.get({ a: [inc, 1] }, ['a'])
    await run
    assert.equal(run.cancel(), false)
    assert.equal(client.submitter.get({ a: 1 }, ['a']).cancel(), false)
    await finish(client)
  })

  test('is cancelled by a signal, before and after it was submitted', async () => {
    const client = testClient({ takesGraphs: true })
    client.scheduler.isHolding = true
    const abort = new AbortController()
    const view = client.with({ signal: abort.signal })
    const run = view.get({ a: [inc, 1], b: 2 }, ['a', 'b'])
    await until(() => client.scheduler.unfinished.size === 1)
    abort.abort('the reason')
    assert.equal((await errorOf(run)).cause, 'the reason')
    await until(() => client.scheduler.unfinished.size === 0, 'the cancel of the node')
    const late = view.get({ a: [inc, 1], b: 2 }, ['a', 'b'])
    assert.equal((await errorOf(late)).cause, 'the reason')
    assert.equal((await errorOf(late.futures['a'] ?? assert.fail())).cause, 'the reason')
    assert.equal(await late.futures['b'], 2)
    assert.equal(client.scheduler.unfinished.size, 0)
    await finish(client)
  })

  test('does not cancel futures that are nodes', async () => {
    const client = testClient({ takesGraphs: true })
    client.scheduler.isHolding = true
    const run = client.submitter.get({ a: [inc, 1], b: [inc, 2] }, ['a', 'b'])
    await until(() => client.scheduler.unfinished.size === 2)
    run.futures['a']?.cancel('not needed')
    client.scheduler.release()
    assert.equal(await run.futures['b'], 3)
    assert.equal((await errorOf(run)).cause, 'not needed')
    await finish(client)
  })

  test('that fails and is never awaited is counted, and does not end the process', async (context) => {
    const warnings: string[] = []
    context.mock.method(process, 'emitWarning', (message: string) => warnings.push(message))
    const client = testClient({ takesGraphs: true })
    const used = client.submitter.get({ a: [fail], b: [fail] }, ['a', 'b'])
    await errorOf(used)
    const unused = client.submitter.get({ a: [fail], b: [inc, 1] }, ['a', 'b'])
    await until(() => unused.futures['a']?.state === 'failed')
    client.parts.failures.warn()
    assert.deepEqual(warnings, [
      'a future failed and was never awaited; the first error: RangeError: the call failed',
    ])
    await finish(client)
  })

  test('survives a restart of the scheduler', async () => {
    const client = testClient({ takesGraphs: true })
    client.scheduler.isHolding = true
    const graph = { a: [inc, 1], b: [inc, 'a'], c: [inc, 'b'] }
    const run = client.submitter.get(graph, ['a', 'c'])
    await until(() => client.scheduler.unfinished.size === 1)
    client.link.lose()
    client.scheduler.graphs?.graphs.clear()
    client.scheduler.restart('another scheduler')
    client.scheduler.isHolding = false
    client.link.connect()
    assert.deepEqual(await run, { a: 2, c: 4 })
    await finish(client)
  })
})

test('a graph of several parts is computed', async () => {
  const client = testClient({ takesGraphs: true })
  const graph: Record<string, unknown> = { n0: 0 }
  for (let i = 1; i <= 500; i += 1) graph[`n${i}`] = [inc, `n${i - 1}`]
  const values = await client.submitter.get(graph, ['n500', 'n1'])
  assert.deepEqual(values, { n500: 500, n1: 1 })
  await finish(client)
})
