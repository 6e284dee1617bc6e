// How a worker ends tasks that are cancelled by force, or run for too long.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES } from '../../../base/bytes.js'
import { taskId } from '../../../base/ids.js'
import type { Message } from '../../../wire/message.js'
import { SERIALIZER, ScriptedWorker, objectsOf, resultOf, taskOf } from '../scripted-worker.test.js'

const ALONE = { isStarted: true, isAlone: true }
const BESIDE_OTHERS = { isStarted: true, isAlone: false }
const CANCELED = { status: 'canceled', chunks: [] } as const

function cancelOf(id: string): Message {
  return {
    kind: 'taskCancel',
    taskId: taskId(id),
    count: 0,
    flags: { force: true, retrieveTaskObject: false },
  }
}

/** A worker whose heartbeats are not in the way of the times that a test looks at. */
function quietWorker(cancelGraceMs = 1000): ScriptedWorker {
  return ScriptedWorker.ready({ heartbeatIntervalMs: 3_600_000, cancelGraceMs })
}

test('a task that listens has its grace time, then force is used', () => {
  const worker = quietWorker()
  worker.run('a')
  assert.deepEqual(worker.receive(cancelOf('a')), ['send a canceled', 'stop a cancelled', 'ask 0'])
  assert.deepEqual(worker.tell(0, { ...ALONE, isListening: true }), [])
  assert.deepEqual(worker.pass(999), [])
  assert.deepEqual(worker.pass(1), ['ask 0'])
  assert.deepEqual(worker.tell(0, { ...ALONE, isListening: true }), ['killProcessor'])
})

test('one that ends by itself in its grace time does no harm', () => {
  const worker = quietWorker()
  worker.run('a')
  worker.receive(taskOf('b'))
  worker.receive(cancelOf('a'))
  worker.tell(0, { ...ALONE, isListening: true })
  worker.pass(500)
  assert.deepEqual(worker.answer(resultOf('a', { status: 'failed' })), ['dispatch b'])
  assert.deepEqual(worker.pass(10_000), [])
})

test('no grace time: a task that listens is ended at once, too', () => {
  const worker = quietWorker(0)
  worker.run('a')
  worker.receive(cancelOf('a'))
  assert.deepEqual(worker.tell(0, { ...ALONE, isListening: true }), ['killProcessor'])
})

test('beside others a task is given up, and the processor lives', () => {
  const worker = quietWorker()
  worker.run('a')
  worker.update('a', 'waiting')
  worker.receive(taskOf('b'))
  worker.receive(cancelOf('b'))
  assert.deepEqual(worker.tell(1, BESIDE_OTHERS), ['stop b givenUp'])
  assert.deepEqual(worker.answer(resultOf('b', CANCELED)), [])
  assert.deepEqual(worker.pass(10_000), [])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
})

test('a processor that does not react is killed, and the neighbours run again', () => {
  const worker = quietWorker()
  worker.run('a')
  worker.update('a', 'waiting')
  worker.receive(taskOf('b'))
  worker.receive(cancelOf('b'))
  worker.tell(1, BESIDE_OTHERS)
  assert.deepEqual(worker.pass(99), [])
  assert.deepEqual(worker.pass(1), ['ask 1'])
  assert.deepEqual(worker.tell(1, BESIDE_OTHERS), ['killProcessor'])
  const request = `send request ${SERIALIZER},fn`
  assert.deepEqual(worker.die('unknown'), ['send a resumed', 'start 2', request])
  worker.show({ type: 'processorReady', processor: 2, pid: 2 })
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')).slice(1), ['dispatch a'])
})

test('what submits busy loops that have to be ended by force fails in the end', () => {
  const worker = quietWorker()
  worker.run('parent')
  let failure: string | undefined
  let processor = 1
  for (; failure === undefined && processor < 9; processor += 1) {
    worker.update('parent', 'waiting', processor)
    const child = `child${processor}`
    worker.receive(taskOf(child, { priority: 1, parent: 'parent' }))
    worker.receive(cancelOf(child))
    worker.tell(1, BESIDE_OTHERS, processor)
    worker.pass(100)
    assert.deepEqual(worker.tell(1, BESIDE_OTHERS, processor), ['killProcessor'])
    const lines = worker.die('unknown', undefined, processor)
    failure = lines.find((line) => line.startsWith('send parent failed'))
    if (failure !== undefined) break
    worker.show({ type: 'processorReady', processor: processor + 1, pid: processor + 1 })
    worker.receive(objectsOf(SERIALIZER, 'fn'))
  }
  assert.notEqual(failure, undefined)
  assert.equal(processor, 3)
})

test('many are cancelled at once: they are asked about one after the other', () => {
  const worker = quietWorker()
  worker.run('0')
  const ids = ['0', '1', '2', '3']
  for (const id of ids.slice(1)) {
    worker.update(String(Number(id) - 1), 'waiting')
    worker.receive(taskOf(id))
  }
  const lines = ids.flatMap((id) => worker.receive(cancelOf(id)))
  assert.deepEqual(
    lines.filter((line) => line.startsWith('ask')),
    ['ask 0'],
  )
  for (const id of ids.slice(0, 3)) worker.answer(resultOf(id, CANCELED))
  assert.deepEqual(worker.tell(0), ['ask 3'])
  assert.deepEqual(worker.tell(3, ALONE), ['killProcessor'])
})

test('an answer to a question of before says nothing about now', () => {
  const worker = quietWorker()
  worker.run('a')
  worker.receive(cancelOf('a'))
  assert.deepEqual(worker.tell(7, ALONE), [])
  worker.answer(resultOf('a'))
  assert.deepEqual(worker.tell(0, ALONE), [])
  assert.deepEqual(worker.pass(10_000), [])
})

test('what was given up may keep the processor from skipping a task: not for long', () => {
  const worker = quietWorker()
  worker.run('a')
  worker.receive(cancelOf('a'))
  const stuck = { hasGivenUp: true }
  worker.tell(0, stuck)
  let lines: string[] = []
  let waitedMs = 0
  for (; waitedMs < 5_000 && !lines.includes('killProcessor'); waitedMs += 50) {
    worker.pass(50)
    lines = worker.tell(0, stuck)
  }
  assert.deepEqual(lines, ['killProcessor'])
  assert.equal(waitedMs, 2_000)
})

test('a task that runs for longer than it may fails at once, then it is ended', () => {
  const worker = quietWorker()
  const start = worker.now
  worker.run('a', { timeoutMs: 200 })
  assert.deepEqual(worker.pass(199), [])
  assert.deepEqual(worker.pass(1), ['ask 0'])
  // It has begun 50 ms after it was handed over.
  assert.deepEqual(worker.tell(0, { ...ALONE, runningMs: 150 }), [])
  assert.deepEqual(worker.pass(50), ['ask 0'])
  const actions = worker.handle({
    type: 'statusReported',
    processor: 1,
    status: {
      ...ALONE,
      dispatchNumber: 0,
      taskNumber: 0,
      isListening: true,
      hasGivenUp: false,
      runningMs: 200,
    },
  })
  const [answer] = actions.flatMap((action) => (action.type === 'send' ? [action.message] : []))
  assert.equal(answer?.kind, 'taskResult')
  assert.equal(answer.status, 'failed')
  assert.equal(answer.worker, '1|worker|00')
  const [payload = NO_BYTES] = answer.inlineResults
  assert.equal(String(payload), 'TaskTimeoutError: task 61 (fn) ran for longer than its 200 ms')
  assert.equal(worker.now, start + 250)
  assert.deepEqual(
    actions.slice(1).map((action) => action.type),
    ['stopTask', 'askStatus'],
  )
  assert.deepEqual(worker.tell(0, { ...ALONE, isListening: true, runningMs: 200 }), [])
  assert.deepEqual(worker.pass(1000), ['ask 0'])
  assert.deepEqual(worker.tell(0, ALONE), ['killProcessor'])
})

test('no task runs for longer than its worker allows, and the error says whose limit it was', () => {
  const options = {
    heartbeatIntervalMs: 3_600_000,
    cancelGraceMs: 0,
    taskTimeoutMs: 200,
    inlineLimitBytes: 200,
  }
  const limits = [
    ['none', {}, 200, 'the 200 ms that its worker allows to any task'],
    ['more', { timeoutMs: 5_000 }, 200, 'the 200 ms that its worker allows to any task'],
    ['less', { timeoutMs: 50 }, 50, 'its 50 ms'],
  ] as const
  for (const [id, facts, limitMs, words] of limits) {
    const worker = ScriptedWorker.ready(options)
    worker.run(id, facts)
    assert.deepEqual(worker.pass(limitMs - 1), [], id)
    assert.deepEqual(worker.pass(1), ['ask 0'], id)
    const status = { ...ALONE, isListening: true, hasGivenUp: false, runningMs: limitMs }
    const actions = worker.handle({
      type: 'statusReported',
      processor: 1,
      status: { ...status, dispatchNumber: 0, taskNumber: 0 },
    })
    const [answer] = actions.flatMap((action) => (action.type === 'send' ? [action.message] : []))
    assert.equal(answer?.kind, 'taskResult')
    const text = String(answer.inlineResults[0])
    assert.ok(text.endsWith(`ran for longer than ${words}`), text)
  }
})

test('time counts from when a task begins, not from when it is handed over', () => {
  const worker = quietWorker()
  worker.run('a', { timeoutMs: 100 })
  worker.pass(100)
  assert.deepEqual(worker.tell(0), [])
  assert.deepEqual(worker.pass(99), [])
  assert.deepEqual(worker.pass(1), ['ask 0'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
  assert.deepEqual(worker.tell(0), [])
  assert.deepEqual(worker.pass(10_000), [])
})

test('a task that timed out and comes again begins when its first run is over', () => {
  const worker = quietWorker()
  worker.run('a', { timeoutMs: 10 })
  worker.pass(10)
  worker.tell(0, { ...ALONE, isListening: true, runningMs: 10 })
  assert.deepEqual(worker.receive(taskOf('a', { timeoutMs: 10 })), [])
  assert.deepEqual(worker.answer(resultOf('a', { status: 'failed' })), ['dispatch a'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
})

test('a timed task on a processor that says nothing at all times out, too', () => {
  const worker = quietWorker()
  worker.run('a', { timeoutMs: 100 })
  assert.deepEqual(worker.pass(100), ['ask 0'])
  assert.deepEqual(worker.pass(1_999), [])
  const lines = worker.pass(1)
  assert.equal(lines[0], 'send a failed')
  assert.equal(lines.at(-1), 'killProcessor')
})
