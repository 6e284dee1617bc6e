// What a worker tells of tasks that have begun.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_TASK_UPDATES, OUR_FEATURES } from '../../../base/features.js'
import { taskId } from '../../../base/ids.js'
import type { Message } from '../../../wire/message.js'
import {
  echoOf,
  KILLED,
  objectsOf,
  resultOf,
  ScriptedWorker,
  SERIALIZER,
  taskOf,
} from '../scripted-worker.test.js'

const STARTED = { isStarted: true, isAlone: true }

/** The scheduler takes a task back. */
function cancelOf(id: string): Message {
  const flags = { force: false, retrieveTaskObject: false }
  return { kind: 'taskCancel', taskId: taskId(id), count: 0, flags }
}

/** A worker whose scheduler wants to know of beginnings. */
function listenedTo(): ScriptedWorker {
  const worker = ScriptedWorker.ready()
  worker.receive(echoOf(OUR_FEATURES))
  return worker
}

test('the scheduler is told once that a task runs which has run for a while', () => {
  const worker = listenedTo()
  worker.run('a')
  assert.deepEqual(worker.pass(249), [])
  assert.deepEqual(worker.pass(1), ['ask 0'])
  assert.deepEqual(worker.tell(0, STARTED), ['send a running'])
  assert.deepEqual(worker.pass(1_500), [])
})

test('of tasks that end at once nothing is said, and nothing is asked', () => {
  const worker = listenedTo()
  for (let count = 0; count < 20; count += 1) {
    worker.run(`t${count}`)
    assert.deepEqual(worker.pass(40), [])
    assert.deepEqual(worker.answer(resultOf(`t${count}`)), [`send t${count} success`])
  }
  assert.ok(!worker.pass(1_500).some((line) => line.startsWith('ask')))
})

test('what the processor has and has not begun is asked about again, one question at a time', () => {
  const worker = listenedTo()
  worker.run('a')
  assert.deepEqual(worker.pass(600), ['ask 0'])
  assert.deepEqual(worker.tell(0), [])
  assert.deepEqual(worker.pass(250), ['ask 0'])
  assert.deepEqual(worker.tell(0, STARTED), ['send a running'])
})

test('a task that waits for its own has begun, whatever runs beside it', () => {
  const worker = listenedTo()
  worker.run('a')
  worker.update('a', 'waiting')
  assert.deepEqual(worker.receive(taskOf('b')), ['dispatch b'])
  assert.deepEqual(worker.pass(250), ['send a running', 'ask 1'])
  assert.deepEqual(worker.tell(1, STARTED), ['send b running'])
})

test('a task that is not given back has begun or finished, which is asked', () => {
  const worker = listenedTo()
  worker.run('a')
  for (const id of ['b', 'c']) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  worker.receive(cancelOf('b'))
  assert.deepEqual(worker.retracted([1], []), ['send b notFound'])
  worker.receive(cancelOf('c'))
  assert.deepEqual(worker.retracted([2], []), ['send c notFound'])
  assert.deepEqual(worker.pass(250), ['ask 1', 'ask 2'])
  // The result of `b` is on its way.
  assert.deepEqual(worker.tell(1), [])
  assert.deepEqual(worker.tell(2, STARTED), ['send c running'])
})

test('a task that loses its processor waits again, and is told of again', () => {
  const worker = listenedTo()
  worker.run('a')
  worker.pass(250)
  worker.tell(0, STARTED)
  assert.equal(worker.die('nothing', KILLED)[0], 'send a queued')
  worker.pass(0)
  worker.show({ type: 'processorReady', processor: 2, pid: 2 })
  const lines = worker.receive(objectsOf(SERIALIZER, 'fn'))
  assert.ok(lines.includes('dispatch a'), lines.join())
  assert.deepEqual(worker.pass(250), ['ask 0'])
  assert.deepEqual(worker.tell(0, STARTED, 2), ['send a running'])
})

test('a scheduler that does not know of it is told nothing', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(echoOf(FEATURE_TASK_UPDATES))
  worker.run('a')
  assert.deepEqual(worker.pass(1_000), [])
})

test('after a lost connection the scheduler is told again', () => {
  const worker = listenedTo()
  worker.run('a')
  worker.pass(250)
  worker.tell(0, STARTED)
  worker.show({ type: 'disconnected', reason: 'reset' })
  worker.show({ type: 'connected' })
  worker.receive(echoOf(OUR_FEATURES))
  worker.receive(taskOf('a'))
  assert.deepEqual(worker.pass(250), ['send a running'])
})

test('heartbeats tell what runs and since when, once that is known', () => {
  const worker = listenedTo()
  worker.run('a')
  worker.run('b')
  worker.pass(250)
  worker.tell(0, { ...STARTED, runningMs: 240 })
  worker.now = 3_000
  const [beat] = worker.handle({ type: 'tick' }).filter(({ type }) => type === 'sendHeartbeat')
  assert.ok(beat?.type === 'sendHeartbeat')
  const forMS = 3_000 - 1_250 + 240
  assert.deepEqual(beat.heartbeat.running, [{ taskId: 'a', forMS, name: '', function: '' }])
})
