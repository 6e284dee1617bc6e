// Links in a processor: a task gets the result of the task that arrived just before it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { taskId } from '../../base/ids.js'
import type { RunnableFacts } from '../runnable-task.kit.js'
import { Setup } from './runner.kit.js'

/** The facts of a task that needs the result of another one. */
function behind(before: string): RunnableFacts {
  const inputs: Uint8Array[] = [new Uint8Array()]
  const fill = (value: Uint8Array): void => {
    inputs[0] = value
  }
  return { inputs, after: { id: taskId(before), fill }, keepsResult: true }
}

function newSetup(): Setup {
  const setup = new Setup()
  setup.runner.setHost({
    address: '',
    worker: setup.runner.host.worker,
    inlineLimitBytes: 20,
    taskTimeoutMs: 0,
  })
  setup.define('one', () => 'one')
  setup.define('next', (text: string) => `${text}+`)
  setup.define('fail', () => {
    throw new RangeError('no')
  })
  for (const text of ['one', 'one+', 'one++']) setup.codec.values.set(JSON.stringify(text), text)
  return setup
}

test('a chain runs in one turn, and its results leave in order', () => {
  const setup = newSetup()
  setup.add('a', 'one', { keepsResult: true })
  setup.add('b', 'next', behind('a'))
  setup.add('c', 'next', behind('b'))
  setup.runner.run()
  assert.deepEqual(setup.lines, ['a success "one"', 'b success "one+"', 'c success "one++"'])
})

test('a link that arrives when the task has ended gets its result as well', () => {
  const setup = newSetup()
  setup.add('a', 'one', { keepsResult: true })
  setup.runner.run()
  setup.add('b', 'next', behind('a'))
  setup.runner.run()
  assert.deepEqual(setup.lines, ['a success "one"', 'b success "one+"'])
})

test('a link is refused if the result is not here: another task came first, or it failed', async () => {
  const setup = newSetup()
  setup.add('a', 'one', { keepsResult: true })
  setup.add('x', 'one')
  setup.add('b', 'next', behind('a'))
  setup.add('d', 'fail', { keepsResult: true })
  setup.add('e', 'next', behind('d'))
  setup.add('f', 'next', behind('e'))
  setup.runner.run()
  await nextTurn()
  const ends = setup.outbox.results.map(({ taskId: id, status }) => `${id} ${status}`)
  const refused = ['b canceled', 'd failed', 'e canceled', 'f canceled']
  assert.deepEqual(ends, ['a success', 'x success', ...refused])
  assert.ok(setup.runner.isIdle)
})

test('a large result is not passed on', async () => {
  const setup = newSetup()
  setup.define('large', () => 'x'.repeat(30))
  setup.add('a', 'large', { keepsResult: true })
  setup.add('b', 'next', behind('a'))
  setup.runner.run()
  await nextTurn()
  const ends = setup.outbox.results.map(({ taskId: id, status }) => `${id} ${status}`)
  assert.deepEqual(ends, ['a success', 'b canceled'])
})

test('a link waits for a task that is not finished', async () => {
  const setup = newSetup()
  let finish: (value: string) => void = () => assert.fail('not started')
  setup.define('later', () => new Promise((resolve) => (finish = resolve)))
  setup.add('a', 'later', { keepsResult: true })
  setup.add('b', 'next', behind('a'))
  setup.runner.run()
  await nextTurn()
  assert.deepEqual(setup.lines, [])
  finish('one')
  await nextTurn()
  assert.deepEqual(setup.lines, ['a success "one"', 'b success "one+"'])
})
