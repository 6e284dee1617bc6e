import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskId } from './ids.js'
import { Lifecycle } from './lifecycle.js'

const TABLE = {
  waiting: { started: 'running', finished: 'impossible' },
  running: { started: 'impossible', finished: 'ended' },
} as const

test('a task goes from state to state as its table says', () => {
  const lifecycle = new Lifecycle<'waiting' | 'running', 'started' | 'finished'>(TABLE)
  assert.equal(lifecycle.next(taskId('a'), 'waiting', 'started'), 'running')
  assert.equal(lifecycle.next(taskId('a'), 'running', 'finished'), 'ended')
})

test('an impossible step is refused with the last steps of that task', () => {
  const lifecycle = new Lifecycle<'waiting' | 'running', 'started' | 'finished'>(TABLE)
  lifecycle.next(taskId('a'), 'waiting', 'started')
  lifecycle.next(taskId('b'), 'waiting', 'started')
  assert.throws(() => lifecycle.next(taskId('a'), 'running', 'started'), {
    name: 'AssertionError',
    message: 'task 61: started while running; waiting -started-> running',
  })
})
