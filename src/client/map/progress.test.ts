import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { ConfigError, TaskCancelledError } from '../../base/errors.js'
import type { MapFuture, MapOptions } from './future.js'
import { countInputs, watchMap, type MapProgress } from './progress.js'
import { testClient } from '../memory-link.test.kit.js'

const double = (x: number): number => 2 * x
const oddFails = (x: number): number => {
  if (x % 2 === 1) throw new RangeError(`odd ${x}`)
  return x
}

function map(
  fn: (x: never) => unknown,
  inputs: unknown,
  progress: MapOptions['progress'],
): MapFuture<unknown> {
  return testClient().submitter.map(fn, inputs, { progress }, false)
}

/** The reports that a function received, and when the first one came. */
class Listener {
  readonly calls: MapProgress[] = []
  readonly isCalled: Promise<void>
  #onCall: () => void = () => {}

  constructor() {
    this.isCalled = new Promise((resolve) => (this.#onCall = resolve))
  }

  readonly listen = (progress: MapProgress): void => {
    this.calls.push(progress)
    this.#onCall()
  }

  get last(): MapProgress {
    const last = this.calls.at(-1)
    assert.ok(last !== undefined)
    return last
  }
}

test(
  'a function receives the progress of a map, and its outcome',
  { timeout: 20_000 },
  async () => {
    const listener = new Listener()
    // The timer of the progress does not keep the process alive, and nothing else does here.
    const alive = setInterval(() => {}, 1_000)
    async function* inputs(): AsyncGenerator<number, void, undefined> {
      yield* [1, 2, 3]
      await listener.isCalled
      yield 4
    }
    assert.deepEqual(await map(double, inputs(), listener.listen), [2, 4, 6, 8])
    clearInterval(alive)
    assert.ok(listener.calls.length >= 2)
    const [first] = listener.calls
    assert.equal(first?.end, undefined)
    assert.equal(first?.total, undefined, 'nobody knows how many there will be')
    const { elapsedMs, ratePerSecond, ...rest } = listener.last
    assert.deepEqual(rest, {
      done: 4,
      failed: 0,
      running: 0,
      total: 4,
      remainingMs: undefined,
      waiting: undefined,
      end: 'done',
    })
    assert.ok(elapsedMs > 0)
    assert.ok(ratePerSecond !== undefined && ratePerSecond > 0)
  },
)

test('failures count as done, and are reported', async () => {
  const all = new Listener()
  await map(oddFails, [1, 2, 3, 4], all.listen).allSettled()
  assert.equal(all.last.done, 4)
  assert.equal(all.last.failed, 2)
  assert.equal(all.last.end, 'done')
  const first = new Listener()
  await assert.rejects(map(oddFails, [1, 3, 5], first.listen), RangeError)
  assert.equal(first.last.failed, 1)
  assert.equal(first.last.total, 3)
  assert.equal(first.last.end, 'failed')
})

test('a cancelled map reports it, once', async () => {
  const listener = new Listener()
  const results = map(double, [1, 2], listener.listen)
  results.cancel()
  await assert.rejects(results, TaskCancelledError)
  assert.equal(listener.calls.length, 1)
  assert.equal(listener.last.end, 'cancelled')
})

test('a function that throws does not fail the map, and is not called again', async () => {
  let calls = 0
  const warned = once(process, 'warning')
  const results = await map(double, [1], () => {
    calls += 1
    throw new Error('no screen')
  })
  assert.deepEqual(results, [2])
  assert.equal(calls, 1)
  const [warning] = (await warned) as [Error & { code?: string }]
  assert.equal(warning.code, 'SCALER_PROGRESS_FAILED')
  assert.equal(warning.message, 'the progress function of a map failed: no screen')
})

test('on a terminal a bar is shown, with the name of the tasks, and stays', async (t) => {
  const { stderr, env } = process
  const before = { isTTY: stderr.isTTY, ci: env['CI'], term: env['TERM'] }
  let shown = ''
  Object.assign(env, { CI: '', TERM: 'xterm' })
  stderr.isTTY = true
  t.mock.method(stderr, 'write', (text: string) => {
    shown += text
    return true
  })
  t.after(() => {
    stderr.isTTY = before.isTTY
    for (const [name, value] of [['CI', before.ci] as const, ['TERM', before.term] as const]) {
      if (value === undefined) delete env[name]
      else env[name] = value
    }
  })
  await map(double, [1, 2, 3], true)
  assert.match(shown, /double +100% .*3\/3 .*in \d.*\n$/)
  shown = ''
  const named = testClient().with({ name: 'my task' })
  await assert.rejects(named.map(oddFails, [1], { progress: true }, false), RangeError)
  assert.match(shown, /my task +\d+% .*\/1 .*failed after .*1 failed/)
})

test('without a terminal nothing is observed, and no timer runs', (t) => {
  const { stderr } = process
  const before = stderr.isTTY
  t.after(() => (stderr.isTTY = before))
  stderr.isTTY = false
  assert.equal(watchMap(true, { label: 'f', inputs: [] }), undefined)
  assert.equal(watchMap(false, { label: 'f', inputs: [] }), undefined)
})

test('inputs are counted if that is possible without reading them', () => {
  assert.equal(countInputs([1, 2, 3]), 3)
  assert.equal(countInputs(new Set([1, 2])), 2)
  assert.equal(countInputs(new Map([[1, 2]])), 1)
  assert.equal(countInputs(new Float64Array(5)), 5)
  assert.equal(countInputs('👍👍'), undefined)
  assert.equal(countInputs([1].values()), undefined)
  for (const length of [-1, 1.5, NaN, Infinity, '3', null]) {
    assert.equal(countInputs({ length }), undefined)
  }
})

test('anything but true, false or a function is refused, and so is a similar option name', () => {
  for (const progress of ['yes', 1, null, {}]) {
    assert.throws(() => map(double, [], progress as unknown as boolean), {
      name: 'ConfigError',
      message: /^option progress: expected true, false or a function, got /,
    })
  }
  const { submitter } = testClient()
  assert.throws(
    () => submitter.map(double, [], { progres: true } as MapOptions, false),
    new ConfigError('unknown map option progres; is it progress?'),
  )
})
