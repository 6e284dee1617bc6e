// How a worker gives back what it has not begun: one answer for each TaskCancel, whatever happens
// meanwhile, and never what has begun.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskId } from '../../base/ids.js'
import type { Message } from '../../wire/message.js'
import { SERIALIZER, ScriptedWorker, objectsOf, resultOf, taskOf } from './scripted-worker.test.js'

function cancelOf(id: string, force = false): Message {
  return {
    kind: 'taskCancel',
    taskId: taskId(id),
    count: 0,
    flags: { force, retrieveTaskObject: false },
  }
}

/** `b`, `c` and so on are in the processor, with the numbers 1, 2 and so on; `b` runs. */
function workerWith(ids: readonly string[]): ScriptedWorker {
  const worker = ScriptedWorker.ready({ heartbeatIntervalMs: 3_600_000 })
  // The window opens step by step.
  worker.run('a')
  for (const id of ids) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  assert.equal(ids.length, 2)
  return worker
}

test('what waits at the worker is given back at once', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(taskOf('queued'))
  worker.receive(taskOf('fetching', { objects: ['x'] }))
  assert.deepEqual(worker.receive(cancelOf('queued')), ['send queued canceled'])
  assert.deepEqual(worker.receive(cancelOf('fetching')), ['send fetching canceled'])
  assert.deepEqual(worker.receive(cancelOf('unknown')), ['send unknown notFound'])
  assert.deepEqual(worker.receive(cancelOf('a')), ['send a notFound'])
})

test('the processor is asked for what it may not have begun, and that is given back', () => {
  const worker = workerWith(['b', 'c'])
  assert.deepEqual(worker.receive(cancelOf('c')), ['retract 2'])
  assert.deepEqual(worker.retracted([2], [2]), ['send c canceled'])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success'])
})

test('not what it has begun; that it has is known from then on', () => {
  const worker = workerWith(['b', 'c'])
  worker.receive(cancelOf('b'))
  assert.deepEqual(worker.retracted([1], []), ['send b notFound'])
  assert.deepEqual(worker.receive(cancelOf('b')), ['send b notFound'])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success'])
})

test('a task that has told how far it is, or waits, has begun', () => {
  const worker = workerWith(['b', 'c'])
  worker.update('b', 'progress')
  assert.deepEqual(worker.receive(cancelOf('b')), ['send b notFound'])
  worker.update('c', 'waiting')
  assert.deepEqual(worker.receive(cancelOf('c')), ['send c notFound'])
})

test('questions to the processor go out one by one, about all that has come meanwhile', () => {
  const worker = workerWith(['b', 'c'])
  assert.deepEqual(worker.receive(cancelOf('b')), ['retract 1'])
  assert.deepEqual(worker.receive(cancelOf('c')), [])
  assert.deepEqual(worker.receive(cancelOf('c')), [])
  assert.deepEqual(worker.retracted([1], []), ['retract 2', 'send b notFound'])
  // One task goes back once, however often it was wanted.
  assert.deepEqual(worker.retracted([2], [2]), ['send c canceled', 'send c notFound'])
})

test('its result crosses the question', () => {
  const worker = workerWith(['b', 'c'])
  worker.receive(cancelOf('c'))
  worker.answer(resultOf('b'))
  assert.deepEqual(worker.answer(resultOf('c')), ['send c success', 'send c notFound'])
  assert.deepEqual(worker.retracted([2], []), [])
})

test('it is cancelled by force meanwhile: each is answered once, and the task is forgotten', () => {
  const worker = workerWith(['b', 'c'])
  worker.receive(cancelOf('c'))
  assert.deepEqual(worker.receive(cancelOf('c', true)), [
    'send c canceled',
    'send c notFound',
    'stop c cancelled',
    'ask 2',
  ])
  assert.deepEqual(worker.retracted([2], [2]), [])
  assert.deepEqual(worker.tell(2), [])
  assert.deepEqual(worker.pass(10_000), [])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success'])
})

test('a task that is cancelled by force behind a busy one may come again at once', () => {
  const worker = workerWith(['b', 'c'])
  assert.ok(worker.receive(cancelOf('c', true)).includes('retract 2'))
  assert.deepEqual(worker.receive(taskOf('c')), [])
  assert.deepEqual(worker.retracted([2], [2]), ['dispatch c'])
  worker.answer(resultOf('b'))
  assert.deepEqual(worker.answer(resultOf('c')), ['send c success'])
})

test('the processor ends before it has answered: nothing goes back that may have begun', () => {
  const worker = workerWith(['b', 'c'])
  worker.receive(cancelOf('c'))
  assert.deepEqual(worker.die({ taskIds: [taskId('b')] }), [
    'send c notFound',
    'send b failed',
    'start 2',
    `send request ${SERIALIZER},fn`,
  ])
  worker.show({ type: 'processorReady', processor: 2, pid: 78 })
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')).slice(1), ['dispatch c'])
  // An answer of the one before is not taken for that of this one.
  assert.deepEqual(worker.retracted([2], [2]), [])
  assert.deepEqual(worker.answer(resultOf('c'), 2), ['send c success'])
})

test('the link is lost meanwhile: nobody is answered, and the task is forgotten', () => {
  const worker = workerWith(['b', 'c'])
  worker.receive(cancelOf('c'))
  assert.deepEqual(worker.show({ type: 'disconnected', reason: 'reset' }), ['tell clear '])
  assert.deepEqual(worker.retracted([2], [2]), ['retract 1'])
  assert.deepEqual(worker.retracted([1], []), [])
  const [, action] = worker.handle({ type: 'connected' })
  assert.equal(action?.type, 'sendHeartbeat')
  assert.deepEqual(action.heartbeat.tasks, ['b'])
})

test('a processor that says nothing is taken to have begun; what it says later still counts', () => {
  const worker = workerWith(['b', 'c'])
  worker.receive(cancelOf('c'))
  assert.deepEqual(worker.pass(1_999), [])
  assert.deepEqual(worker.pass(1), ['send c notFound'])
  // Nobody waits for it elsewhere, so it waits here again.
  assert.deepEqual(worker.retracted([2], [2]), ['dispatch c'])
})

test('what may have ended a processor stays where that is known', () => {
  const worker = workerWith(['b', 'c'])
  worker.die('unknown')
  assert.deepEqual(worker.receive(cancelOf('b')), ['send b notFound'])
})
