import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeSdk } from '../runtime/fake-sdk.kit.js'
import { taskScopes, type TaskScope } from '../runtime/task-scope.js'
import { testClient, turn, until, type TestClient } from './memory-link.test.kit.js'

const double = (x: number): number => 2 * x
const fail = (): never => {
  throw new RangeError('no')
}
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

/** The trace contexts of the tasks that were sent. */
function tracesOf({ scheduler }: TestClient): readonly string[] {
  return scheduler.received.flatMap((message) => {
    if (message.kind === 'task') return [message.traceContext]
    return message.kind === 'graphTask' ? message.graph.map((node) => node.traceContext) : []
  })
}

test('without an SDK tasks have no trace', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  await client.submitter.map(double, [1], {}, false)
  assert.deepEqual(tracesOf(client), ['', ''])
})

test('a submit is a span from the call to the end of the task, which carries it', async (t) => {
  const sdk = new FakeSdk(t)
  const client = testClient()
  const future = sdk.within('app', () => client.submitter.submit(double, [1]))
  assert.deepEqual(sdk.lines, ['app', 'submit double < app'])
  assert.equal(await future, 2)
  assert.deepEqual(sdk.lines, ['app', 'submit double < app done'])
  assert.deepEqual(tracesOf(client), [sdk.traceOf('submit double')])
  const [, span] = sdk.spans
  assert.equal(span?.kind, 3)
  assert.deepEqual(span?.attributes, {
    'messaging.system': 'scaler',
    'messaging.operation.name': 'submit',
    'messaging.operation.type': 'send',
    'messaging.destination.name': 'double',
    'messaging.message.id': future.id,
    'scaler.worker': 'worker 1',
    'scaler.outcome': 'done',
  })
})

test('a failed task is an error of its span, also one that was never sent', async (t) => {
  const sdk = new FakeSdk(t)
  const client = testClient()
  await assert.rejects(Promise.resolve(client.with({ name: 'job' }).submit(fail, [])), RangeError)
  const unsendable = client.submitter.submit(double, [new WeakMap()])
  await assert.rejects(Promise.resolve(unsendable))
  assert.deepEqual(sdk.lines, ['submit job failed', 'submit double failed'])
  assert.deepEqual(
    sdk.spans.map(({ exceptions }) => exceptions),
    [['RangeError'], ['SerializeError']],
  )
  assert.equal(sdk.spans[0]?.status, '2 no')
})

test('a cancelled task is not an error', async (t) => {
  const sdk = new FakeSdk(t)
  const client = testClient()
  client.scheduler.isHolding = true
  const future = client.submitter.submit(double, [1])
  await until(() => client.scheduler.unfinished.size === 1)
  future.cancel()
  await assert.rejects(Promise.resolve(future))
  const aborted = client.with({ signal: AbortSignal.abort() }).submit(double, [1])
  await assert.rejects(Promise.resolve(aborted))
  assert.deepEqual(sdk.lines, ['submit double cancelled', 'submit double cancelled'])
  assert.deepEqual(
    sdk.spans.map(({ status, exceptions }) => [status, exceptions]),
    [
      ['', []],
      ['', []],
    ],
  )
})

test('a map is one span, which its runs of tasks carry', async (t) => {
  const sdk = new FakeSdk(t)
  const client = testClient()
  await sdk.within('app', () => client.submitter.map(double, range(500), {}, false))
  assert.deepEqual(sdk.lines, ['app', 'map double < app done'])
  assert.deepEqual([...new Set(tracesOf(client))], [sdk.traceOf('map double')])
  assert.equal(sdk.spans[1]?.attributes['messaging.batch.message_count'], 500)
})

test('a map ends its span however it ends', async (t) => {
  const sdk = new FakeSdk(t)
  const client = testClient()
  await assert.rejects(Promise.resolve(client.submitter.map(fail, [1, 2], {}, false)), RangeError)
  await client.submitter.map(fail, [[1], [2]], {}, true).allSettled()
  const results = client.submitter.map(double, range(9), { concurrency: 1 }, false)
  for await (const _ of results) break
  const weak = new WeakMap()
  const unsendable = () => weak
  await assert.rejects(Promise.resolve(client.submitter.map(unsendable, [1], {}, false)))
  assert.throws(() => client.submitter.map(double, 5, {}, false), TypeError)
  assert.deepEqual(sdk.lines, [
    'map fail failed',
    'starmap fail done',
    'map double cancelled',
    'map unsendable failed',
  ])
  assert.equal(sdk.spans[1]?.attributes['scaler.failures'], 2)
})

for (const takesGraphs of [true, false]) {
  test(`a graph is one span, as ${takesGraphs ? 'a graph' : 'tasks'}`, async (t) => {
    const sdk = new FakeSdk(t)
    const client = testClient({ takesGraphs })
    const graph = { a: [double, 1], b: [double, 'a'], c: [double, 'a'], bad: [fail], value: 1 }
    const { b } = (await client.submitter.get(graph, ['b', 'c'])) as { readonly b: number }
    assert.equal(b, 4)
    assert.deepEqual(sdk.lines, ['get done'])
    assert.deepEqual(tracesOf(client), new Array(3).fill(sdk.traceOf('get')))
    await assert.rejects(Promise.resolve(client.submitter.get(graph, ['b', 'bad'])), RangeError)
    await until(() => sdk.lines.length === 2 && sdk.lines[1] === 'get failed')
    await client.submitter.get(graph, ['value'])
    await assert.rejects(Promise.resolve(client.submitter.get(graph, ['none'])))
    const aborted = client.with({ signal: AbortSignal.abort() }).get(graph, ['a'])
    await assert.rejects(Promise.resolve(aborted))
    assert.deepEqual(sdk.lines.slice(2), ['get done', 'get failed', 'get cancelled'])
  })
}

test('a cancelled graph ends its span, and is not an error', async (t) => {
  const sdk = new FakeSdk(t)
  const client = testClient({ takesGraphs: true })
  client.scheduler.isHolding = true
  const future = client.submitter.get({ a: [double, 1], b: [double, 2] }, ['a', 'b'])
  await until(() => client.scheduler.unfinished.size === 2)
  future.cancel()
  await assert.rejects(Promise.resolve(future))
  await until(() => sdk.lines[0] === 'get cancelled')
  assert.equal(sdk.spans[0]?.status, '')
})

test('a 1.9.9 scheduler does not see the trace', async (t) => {
  const sdk = new FakeSdk(t)
  const client = testClient({ id: '' })
  assert.equal(await client.submitter.submit(double, [1]), 2)
  assert.deepEqual(sdk.lines, ['submit double done'])
  assert.deepEqual(tracesOf(client), [''])
})

test('an unsampled trace is carried as such', async (t) => {
  const sdk = new FakeSdk(t)
  const client = testClient()
  const traceContext = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169209999-00'
  const scope = { ...SCOPE, traceContext } as TaskScope
  await taskScopes.run(scope, () => client.submitter.submit(double, [1]))
  taskScopes.end(scope)
  assert.deepEqual(tracesOf(client), [sdk.traceOf('submit double')])
  assert.match(tracesOf(client)[0] ?? '', /-00$/)
  assert.equal(sdk.spans[0]?.attributes['scaler.outcome'], undefined)
})

const SCOPE: Partial<TaskScope> = {
  priority: 0,
  output: 'log',
  childStarted: () => {},
  childEnded: () => {},
}

test('children of a task carry its trace, with or without spans', async (t) => {
  const client = testClient()
  const traceContext = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169209999-01 vendor=1'
  const scope = { ...SCOPE, traceContext } as TaskScope
  await taskScopes.run(scope, () => client.submitter.submit(double, [1]))
  assert.deepEqual(tracesOf(client), [traceContext])
  const sdk = new FakeSdk(t)
  await taskScopes.run(scope, () => client.submitter.submit(double, [1]))
  taskScopes.end(scope)
  assert.deepEqual(sdk.lines, ['submit double < b7ad6b7169209999 done'])
  assert.equal(tracesOf(client)[1], `${sdk.traceOf('submit double')} vendor=1`)
})

test('an SDK that throws loses no task', async (t) => {
  const startSpan = (): never => {
    throw new Error('a fault of the SDK')
  }
  new FakeSdk(t, { trace: { getTracer: () => ({ startSpan }) } })
  const client = testClient()
  assert.equal(await client.submitter.submit(double, [1]), 2)
  assert.deepEqual(await client.submitter.map(double, [1], {}, false), [2])
  assert.deepEqual(await client.submitter.get({ a: [double, 1] }, ['a']), { a: 2 })
  await turn()
  assert.deepEqual(tracesOf(client), ['', '', ''])
})
