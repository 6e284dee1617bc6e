import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FakeSdk } from './fake-sdk.kit.js'
import { checkTraceContext, findTracing, type SpanStart } from './tracing.js'

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const START: SpanStart = { operation: 'run', name: 'price', traceContext: '', attributes: {} }

function fail(): never {
  throw new Error('a fault of the SDK')
}

test('a received trace context is checked, and its size is bounded', () => {
  assert.equal(checkTraceContext(''), '')
  assert.equal(checkTraceContext(PARENT), PARENT)
  assert.equal(checkTraceContext(`${PARENT} a=1,b=2`), `${PARENT} a=1,b=2`)
  assert.equal(checkTraceContext(`${PARENT} a=${'1'.repeat(511)}`), PARENT)
  const wrong = [
    PARENT.toUpperCase(),
    PARENT.slice(1),
    `${PARENT}-00`,
    `${PARENT} ä=1`,
    PARENT.replace('b7ad6b7169203331', '0'.repeat(16)),
    'no trace',
  ]
  for (const text of wrong) assert.equal(checkTraceContext(text), '', text)
})

test('without an SDK there are no spans', (t) => {
  assert.equal(findTracing(), undefined)
  const sdk = new FakeSdk(t, { trace: undefined })
  assert.equal(findTracing(), undefined)
  assert.deepEqual(sdk.lines, [])
})

test('an SDK that is set up late is found', (t) => {
  assert.equal(findTracing(), undefined)
  const sdk = new FakeSdk(t)
  findTracing()?.start(START)?.end({ outcome: 'done', error: undefined })
  assert.deepEqual(sdk.lines, ['run price done'])
})

test('a span joins the active one, otherwise the trace of its task', (t) => {
  const sdk = new FakeSdk(t)
  const traceContext = `${PARENT} vendor=1`
  const joined = findTracing()?.start({ ...START, traceContext })
  assert.equal(
    joined?.traceContext,
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 vendor=1',
  )
  sdk.within('app', () => findTracing()?.start({ ...START, name: 'other', traceContext }))
  assert.deepEqual(sdk.lines, ['run price < run price', 'app', 'run other < app'])
})

test('the state of a trace can be read and changed', (t) => {
  const sdk = new FakeSdk(t)
  findTracing()?.start({ ...START, traceContext: `${PARENT} a=1, b=2` })
  interface State {
    get(key: string): string | undefined
    set(key: string, value: string): State
    unset(key: string): State
    serialize(): string
  }
  const state = sdk.spans[0]?.parent?.traceState as State
  assert.deepEqual([state.get('a'), state.get('b'), state.get('c')], ['1', '2', undefined])
  assert.equal(state.set('b', '3').set('c', '4').unset('a').serialize(), 'c=4,b=3')
  assert.equal(state.serialize(), 'a=1,b=2')
})

test('a span that was not sampled is passed on and does not record anything', (t) => {
  const sdk = new FakeSdk(t)
  const traceContext = PARENT.replace(/01$/, '00')
  const span = findTracing()?.start({ ...START, traceContext })
  assert.match(span?.traceContext ?? '', /-00$/)
  span?.end({ outcome: 'failed', error: new Error('no') })
  assert.deepEqual(sdk.spans[0]?.exceptions, [])
  assert.equal(sdk.spans[0]?.endCount, 1)
})

test('an error becomes an exception, a status and a type', (t) => {
  const sdk = new FakeSdk(t)
  findTracing()
    ?.start(START)
    ?.end({ outcome: 'failed', error: new RangeError('no') })
  findTracing()?.start(START)?.end({ outcome: 'failed', error: 'text' })
  const [span, other] = sdk.spans
  assert.deepEqual([span?.exceptions, span?.status], [['RangeError'], '2 no'])
  assert.equal(span?.attributes['error.type'], 'RangeError')
  assert.deepEqual([other?.attributes['error.type'], other?.status], ['_OTHER', '2 text'])
})

test('code in a span finds it active, also after an await, and keeps other contexts', async (t) => {
  const sdk = new FakeSdk(t)
  const storage = new AsyncLocalStorage<string>()
  const names = await storage.run('outside', () =>
    findTracing()
      ?.start(START)
      ?.run(async () => {
        sdk.within('first', () => {})
        await nextTurn()
        sdk.within('second', () => {})
        return storage.getStore()
      }),
  )
  assert.equal(names, 'outside')
  assert.deepEqual(sdk.lines, ['run price', 'first < run price', 'second < run price'])
})

test('without a context manager spans join the trace of their task', (t) => {
  const sdk = new FakeSdk(t, { context: undefined })
  const span = findTracing()?.start({ ...START, traceContext: PARENT.replace('3331', '9999') })
  assert.equal(
    span?.run(() => 7),
    7,
  )
  assert.deepEqual(sdk.lines, ['run price < b7ad6b7169209999'])
})

test('an SDK that throws anywhere changes nothing', async (t) => {
  const broken = { getTracer: () => ({ startSpan: fail }), forceFlush: fail }
  new FakeSdk(t, { trace: broken })
  assert.equal(findTracing()?.start(START), undefined)
  assert.equal(findTracing()?.flush(), undefined)
  new FakeSdk(t, { context: { active: fail, with: fail } })
  assert.equal(findTracing()?.start(START), undefined)
  const span = { spanContext: fail, end: fail, isRecording: fail }
  new FakeSdk(t, { trace: { getTracer: () => ({ startSpan: () => span }) } })
  assert.equal(findTracing()?.start(START), undefined)
  const spanContext = () => ({ traceId: 'x', spanId: 'y', traceFlags: 1 })
  const tracer = { startSpan: () => ({ ...span, spanContext }) }
  const contexts = { active: () => ({ getValue: () => {}, setValue: () => {} }), with: fail }
  const forceFlush = () => Promise.reject(new Error('no'))
  new FakeSdk(t, { trace: { getTracer: () => tracer, forceFlush }, context: contexts })
  const started = findTracing()?.start(START)
  assert.equal(started?.traceContext, '')
  assert.equal(
    started?.run(() => 7),
    7,
  )
  assert.throws(() => started?.run(fail), { message: 'a fault of the SDK' })
  started?.end({ outcome: 'failed', error: new Error('no') })
  await findTracing()?.flush()
})
