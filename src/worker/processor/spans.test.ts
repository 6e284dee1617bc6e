import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { taskId } from '../../base/ids.js'
import { FakeSdk } from '../../runtime/fake-sdk.kit.js'
import { Setup } from './runner.kit.js'

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169209999-01'

/** A task that fails, and whose span therefore has an error. */
function fail(): never {
  throw new RangeError('no')
}

test('a run is a span in the trace of its task', (t) => {
  const sdk = new FakeSdk(t)
  const setup = new Setup()
  setup.define('price', () => 1)
  setup.add('a', 'price', { traceContext: TRACE, name: 'price', attempt: 1 })
  setup.add('b', 'price', { name: 'price' })
  setup.runner.run()
  assert.deepEqual(sdk.lines, ['run price < b7ad6b7169209999 done', 'run price done'])
  assert.equal(sdk.spans[0]?.kind, 4)
  assert.deepEqual(sdk.spans[0]?.attributes, {
    'messaging.system': 'scaler',
    'messaging.operation.name': 'run',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'price',
    'messaging.message.id': '61',
    'scaler.worker': '',
    'scaler.attempt': 2,
    'scaler.outcome': 'done',
  })
})

test('the function runs in its span, and so does what it awaits', async (t) => {
  const sdk = new FakeSdk(t)
  const setup = new Setup()
  setup.define('outer', async () => {
    sdk.within('first', () => {})
    await nextTurn()
    sdk.within('second', () => {})
    return setup.scope.traceContext
  })
  setup.define('after', () => sdk.within('third', () => {}))
  setup.add('a', 'outer', { traceContext: TRACE, name: 'outer' })
  setup.add('b', 'after', { name: 'after' })
  setup.runner.run()
  while (setup.outbox.results.length < 2) await nextTurn()
  assert.deepEqual(sdk.lines, [
    'run outer < b7ad6b7169209999 done',
    'first < run outer',
    'second < run outer',
    'run after done',
    'third < run after',
  ])
  assert.equal(setup.lines[0], `a success "${sdk.traceOf('run outer')}"`)
})

test('without an SDK the trace is there for children', () => {
  const setup = new Setup()
  setup.define('trace', () => setup.scope.traceContext)
  setup.add('a', 'trace', { traceContext: TRACE })
  setup.runner.run()
  assert.deepEqual(setup.lines, [`a success "${TRACE}"`])
})

test('an SDK that the task sets up itself is found by the next one', (t) => {
  const setup = new Setup()
  let sdk: FakeSdk | undefined
  setup.define('set-up', () => void (sdk = new FakeSdk(t)))
  setup.define('next', () => 1)
  setup.add('a', 'set-up', { name: 'set-up' })
  setup.add('b', 'next', { name: 'next' })
  setup.runner.run()
  assert.deepEqual(sdk?.lines, ['run next done'])
})

test('a run that fails, returns what cannot travel, or is refused', async (t) => {
  const sdk = new FakeSdk(t)
  const setup = new Setup()
  setup.define('fail', fail)
  setup.define('reject', () => Promise.reject(new TypeError('no')))
  setup.define('symbol', () => Symbol('s'))
  for (const name of ['fail', 'reject', 'symbol']) setup.add(name, name, { name })
  const refusal = { payload: Buffer.from('x'), text: { name: 'E', message: '', stack: '' } }
  setup.add('refused', 'fail', { refusal })
  setup.runner.run()
  while (setup.outbox.results.length < 4) await nextTurn()
  assert.deepEqual(sdk.lines, ['run fail failed', 'run reject failed', 'run symbol failed'])
  assert.deepEqual(
    sdk.spans.map(({ exceptions }) => exceptions[0]),
    ['RangeError', 'TypeError', 'SerializeError'],
  )
})

test('the span of a cancelled run ends, whether or not the run notices', async (t) => {
  const sdk = new FakeSdk(t)
  const setup = new Setup()
  let release = (): void => {}
  setup.define('deaf', () => new Promise<void>((resolve) => (release = resolve)))
  setup.add('a', 'deaf', { name: 'deaf' })
  setup.runner.run()
  setup.runner.stop(taskId('a'), 'givenUp')
  assert.deepEqual(sdk.lines, ['run deaf cancelled'])
  release()
  const other = new Setup()
  other.define('listening', () => {
    const { signal } = other.scope.context
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  })
  other.add('b', 'listening', { name: 'listening' })
  other.runner.run()
  other.runner.stop(taskId('b'), 'cancelled')
  while (other.outbox.results.length < 1) await nextTurn()
  assert.deepEqual(sdk.lines, ['run deaf cancelled', 'run listening cancelled'])
  assert.deepEqual(sdk.spans[1]?.exceptions, [])
})

test('an SDK that throws loses no task', (t) => {
  new FakeSdk(t, { context: { active: fail, with: fail } })
  const setup = new Setup()
  setup.define('one', () => 1)
  setup.add('a', 'one', { traceContext: TRACE })
  setup.runner.run()
  assert.deepEqual(setup.lines, ['a success 1'])
})
