import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { taskId } from '../../base/ids.js'
import type { TaskContext } from '../../runtime/task-scope.js'
import { Setup } from './runner.kit.js'

test('a task can read its id, its name and its attempt', () => {
  const setup = new Setup()
  const seen: unknown[] = []
  setup.define('look', function named() {
    const { id, name, attempt } = setup.scope.context
    seen.push([id, name, attempt])
  })
  const odd = (): unknown => seen.push(setup.scope.context.name)
  Object.defineProperty(odd, 'name', { get: () => assert.fail('code of the user was called') })
  setup.define('odd', odd)
  setup.add('a', 'look')
  setup.add('b', 'look', { name: 'given', attempt: 2 })
  setup.add('c', 'odd')
  setup.runner.run()
  assert.deepEqual(seen, [['61', 'named', 1], ['62', 'given', 3], ''])
})

test('a log line of a task leaves immediately, with its id', () => {
  const setup = new Setup()
  setup.define('log', () => {
    const { log } = setup.scope.context
    log.warn('careful', { count: 3, on: true, name: 'x', none: undefined })
    assert.equal(setup.outbox.logLines.length, 1)
    const loose = log as unknown as Record<string, (...words: unknown[]) => void>
    loose['info']?.({ toString: () => assert.fail() }, { deep: { a: 1 }, big: 5n })
    loose['debug']?.('text', 'no fields')
    log.error('bad')
  })
  setup.add('a', 'log')
  setup.runner.run()
  assert.deepEqual(setup.outbox.logLines, [
    {
      level: 'warn',
      text: 'careful',
      fields: { count: 3, on: true, name: 'x', task: '61' },
    },
    { level: 'info', text: '?', fields: { deep: '[object Object]', big: '5', task: '61' } },
    { level: 'debug', text: 'text', fields: { task: '61' } },
    { level: 'error', text: 'bad', fields: { task: '61' } },
  ])
})

test('a task that reads its signal listens, and sees why it has to stop', async () => {
  for (const reason of ['cancelled', 'timedOut'] as const) {
    const setup = new Setup()
    setup.define('listen', () => {
      const { signal } = setup.scope.context
      assert.equal(setup.scope.context.signal, signal)
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          const { message, code } = signal.reason as Error & { code: string }
          resolve([code, message, setup.scopes.current?.taskId])
        })
      })
    })
    setup.add('a', 'listen', { timeoutMs: 20 })
    setup.runner.run()
    assert.equal(setup.statusOf(0).isListening, true)
    setup.runner.stop(taskId('a'), reason)
    setup.runner.stop(taskId('a'), 'cancelled')
    await nextTurn()
    const expected =
      reason === 'cancelled'
        ? '["ERR_SCALER_TASK_CANCELLED","task 61 was cancelled","a"]'
        : '["ERR_SCALER_TASK_TIMEOUT","task 61 ran for longer than its 20 ms","a"]'
    assert.deepEqual(setup.lines, [`a success ${expected}`])
  }
})

test('a task that reads its signal too late finds it aborted', async () => {
  const setup = new Setup()
  let context: TaskContext | undefined
  setup.define('late', async () => {
    context = setup.scope.context
    await nextTurn()
    return setup.scope.context.signal.aborted
  })
  setup.add('a', 'late')
  setup.runner.run()
  setup.runner.stop(taskId('a'), 'cancelled')
  assert.equal(setup.statusOf(0).isListening, false)
  await nextTurn()
  await nextTurn()
  assert.deepEqual(setup.lines, ['a success true'])
  // A context has no effect after its task has finished.
  context?.setProgress(1)
  assert.equal(context?.signal.aborted, true)
  assert.equal(setup.statusOf(0).isListening, false)
})

test('a task that listens is abandoned only when the agent orders it', async () => {
  const setup = new Setup()
  setup.define('deaf', () => {
    const { signal } = setup.scope.context
    return new Promise(() => signal.throwIfAborted())
  })
  setup.define('one', () => 1)
  setup.add('a', 'deaf')
  setup.add('b', 'one')
  setup.runner.run()
  setup.runner.stop(taskId('a'), 'cancelled')
  await nextTurn()
  assert.deepEqual(setup.lines, [])
  setup.runner.stop(taskId('a'), 'givenUp')
  await nextTurn()
  assert.deepEqual(setup.lines, ['a canceled '])
  assert.equal(setup.isRetired, true)
})

test('progress is sent immediately, then after 100 ms, and before the result', async (context) => {
  const { setup, tick } = withTimers(context)
  let progress = (_done: number, _total?: number): void => {}
  let finish = (): void => {}
  setup.define('works', async () => {
    progress = (done, total) => setup.scopes.current?.context.setProgress(done, total)
    await new Promise<void>((resolve) => (finish = resolve))
    progress(9, 10)
    progress(10, 10)
  })
  setup.add('a', 'works')
  setup.runner.run()
  progress(1, 10)
  progress(2, 10)
  progress(3)
  assert.deepEqual(setup.outbox.story, ['a progress 1 10'])
  tick(99)
  assert.deepEqual(setup.outbox.story.slice(1), [])
  tick(1)
  assert.deepEqual(setup.outbox.story.slice(1), ['a progress 3 0'])
  tick(1000)
  assert.equal(setup.outbox.story.length, 2)
  progress(8, 10)
  assert.deepEqual(setup.outbox.story.slice(2), ['a progress 8 10'])
  finish()
  await settled()
  assert.deepEqual(setup.outbox.story.slice(3), ['a progress 10 10', 'a success'])
  tick(1000)
  assert.equal(setup.outbox.story.length, 5)
})

test('invalid progress is refused', () => {
  const setup = new Setup()
  setup.define('bad', () => {
    const { context } = setup.scope
    for (const [done, total] of [
      [-1, 2],
      [Number.NaN, 2],
      [1, Infinity],
      ['1', 2],
    ] as unknown as [number, number][]) {
      assert.throws(() => context.setProgress(done, total), RangeError)
    }
  })
  setup.add('a', 'bad')
  setup.runner.run()
  assert.deepEqual(setup.outbox.story, ['a success'])
})

/** A setup with a clock for progress that the test moves. */
function withTimers(context: TestContext): { setup: Setup; tick: (ms: number) => void } {
  let now = 1000
  context.mock.method(performance, 'now', () => now)
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const tick = (ms: number): void => {
    now += ms
    context.mock.timers.tick(ms)
  }
  return { setup: new Setup(), tick }
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await nextTurn()
}
