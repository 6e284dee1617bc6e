// How a worker leaves: what has not begun goes back, what runs has some time to end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES } from '../../base/bytes.js'
import { OUR_FEATURES } from '../../base/features.js'
import { identity, taskId } from '../../base/ids.js'
import type { OperatorRequest } from '../../wire/message.js'
import type { WorkerEvent } from './events.js'
import { ScriptedWorker, WORKER, echoOf, resultOf, taskOf } from './scripted-worker.test.js'

const STOP = { type: 'stopRequested' } as const
const LOST: WorkerEvent = { type: 'disconnected', reason: '' }
const LEAVE = ['send disconnectRequest', 'endProcessor']
const RESPONSE = { kind: 'disconnectResponse', worker: WORKER } as const

/** A worker whose first task runs, with no heartbeat in the way of what a test looks at. */
function busyWorker(drainMs = 20_000): ScriptedWorker {
  const worker = ScriptedWorker.ready({ drainMs, heartbeatIntervalMs: 3_600_000 })
  worker.run('a')
  return worker
}

test('with nothing to end it leaves at once, and waits for the answer a second at most', () => {
  const first = ScriptedWorker.ready()
  assert.deepEqual(first.show(STOP), LEAVE)
  assert.deepEqual(first.show(STOP), [])
  assert.deepEqual(first.receive(taskOf('b')), [])
  assert.deepEqual(first.receive(RESPONSE), ['end stopped'])

  const second = ScriptedWorker.ready()
  second.show(STOP)
  assert.deepEqual(second.pass(999), [])
  assert.deepEqual(second.pass(1), ['end stopped'])

  const third = ScriptedWorker.ready()
  third.show(STOP)
  assert.deepEqual(third.show(LOST), ['end stopped'])

  const fourth = new ScriptedWorker()
  fourth.show({ type: 'started' })
  assert.deepEqual(fourth.show(STOP), ['end stopped'])
})

test('where a client hears what the processor prints, it hears the last of it, too', () => {
  const speaking = (): ScriptedWorker => {
    const worker = ScriptedWorker.ready()
    worker.run('a', { output: 'forward' })
    worker.answer(resultOf('a'))
    return worker
  }
  const read = { type: 'outputRead', processor: 1, stream: 'stdout', content: NO_BYTES } as const

  const first = speaking()
  assert.deepEqual(first.show(STOP), ['endProcessor'])
  assert.deepEqual(first.show(read), ['sendOutput'])
  assert.deepEqual(first.die('nothing', { exitCode: 0, stderr: '' }), ['send disconnectRequest'])
  assert.deepEqual(first.show(read), ['logOutput'])
  assert.deepEqual(first.receive(RESPONSE), ['end stopped'])

  const stubborn = speaking()
  stubborn.show(STOP)
  assert.deepEqual(stubborn.pass(1_000), ['send disconnectRequest', 'end stopped'])

  const urgent = speaking()
  assert.deepEqual(urgent.show({ type: 'stopRequested', isUrgent: true }), LEAVE)
})

test('it says that it leaves, gives back what waits, and goes when what runs is done', () => {
  const worker = busyWorker()
  worker.receive(taskOf('queued'))
  worker.receive(taskOf('fetching', { objects: ['x'] }))
  const actions = worker.handle(STOP)
  const [beat] = actions
  assert.equal(beat?.type, 'sendHeartbeat')
  assert.equal(beat.heartbeat.isLeaving, true)
  const given = actions.flatMap((action) => {
    return action.type === 'send' && action.message.kind === 'taskResult' ? [action.message] : []
  })
  const statuses = given.map(({ taskId: id, status }) => `${id} ${status}`)
  assert.deepEqual(statuses, ['queued canceled', 'fetching canceled'])
  assert.equal(worker.machine.drainingCount, 1)
  assert.deepEqual(worker.receive(taskOf('late')), ['send late canceled'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', ...LEAVE])
  assert.equal(worker.machine.drainingCount, 0)
  assert.deepEqual(worker.receive(RESPONSE), ['end stopped'])
})

test('what the processor has and has not begun goes back, too', () => {
  const worker = busyWorker()
  for (const id of ['b', 'c']) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  assert.deepEqual(worker.show(STOP), ['sendHeartbeat', 'retract 1,2'])
  assert.deepEqual(worker.retracted([1, 2], [2]), ['send c canceled'])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success', ...LEAVE])
})

test('a task that waits for its own runs, and they come to an end elsewhere', () => {
  const worker = busyWorker()
  worker.update('a', 'waiting')
  worker.show(STOP)
  assert.deepEqual(worker.receive(taskOf('child', { parent: 'a' })), ['send child canceled'])
  assert.deepEqual(worker.pass(19_000), [])
  worker.update('a', 'resumed')
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', ...LEAVE])
})

test('when its time is over it leaves nevertheless', () => {
  const worker = busyWorker(5_000)
  worker.show(STOP)
  assert.deepEqual(worker.pass(4_999), [])
  assert.deepEqual(worker.pass(1), LEAVE)
})

test('the request to leave may say how much time it has', () => {
  const worker = busyWorker(0)
  worker.show({ ...STOP, drainMs: 5_000 })
  assert.deepEqual(worker.pass(4_999), [])
  assert.deepEqual(worker.pass(1), LEAVE)
})

test('told twice, or urgently, or without time, it leaves at once', () => {
  const twice = busyWorker()
  twice.show(STOP)
  assert.deepEqual(twice.show(STOP), LEAVE)
  const urgent = busyWorker()
  assert.deepEqual(urgent.show({ type: 'stopRequested', isUrgent: true }), LEAVE)
  const timeless = busyWorker(0)
  assert.deepEqual(timeless.show(STOP), LEAVE)
})

test('a scheduler that does not know what it is to leave is told as ever', () => {
  const worker = busyWorker()
  worker.receive(echoOf(0))
  assert.deepEqual(worker.show(STOP), LEAVE)
})

test('results that still leave are waited for as long as they move', () => {
  const worker = busyWorker()
  worker.show(STOP)
  worker.answer(resultOf('a', { chunks: [Buffer.alloc(1000)] }))
  for (let seconds = 0; seconds < 60; seconds += 1) {
    assert.deepEqual(worker.pass(1_000), [])
    worker.show({ type: 'schedulerProgressed' })
  }
  assert.deepEqual(worker.pass(2_999), [])
  assert.deepEqual(worker.pass(1), ['end stopped'])
})

test('nothing is left to run when the processor dies: what it had goes back', () => {
  const worker = busyWorker()
  for (const id of ['b', 'c']) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  worker.show(STOP)
  assert.deepEqual(worker.die({ taskIds: [taskId('b')] }), [
    'send b failed',
    'send c canceled',
    ...LEAVE,
  ])
})

test('a lost link is waited for while something runs, but not for long', () => {
  const gone = busyWorker()
  gone.show(STOP)
  assert.deepEqual(gone.show(LOST), ['tell clear '])
  assert.deepEqual(gone.pass(2_999), [])
  assert.deepEqual(gone.pass(1), ['end stopped'])

  const back = busyWorker()
  back.show(STOP)
  back.show(LOST)
  assert.deepEqual(back.answer(resultOf('a')), [])
  back.pass(1_000)
  const [, beat] = back.handle({ type: 'connected' })
  assert.equal(beat?.type, 'sendHeartbeat')
  assert.equal(beat.heartbeat.isLeaving, true)
  assert.deepEqual(beat.heartbeat.tasks, ['a'])
  assert.deepEqual(back.receive(echoOf(OUR_FEATURES)), [])
  assert.deepEqual(back.pass(5_000), [])
  assert.deepEqual(back.receive(taskOf('a')), ['send a success', ...LEAVE])
})

test('back at a scheduler that cannot know what runs here, it leaves', () => {
  const worker = busyWorker()
  worker.show(STOP)
  worker.show(LOST)
  worker.show({ type: 'connected' })
  assert.deepEqual(worker.receive(echoOf(0)), LEAVE)
})

/** An operator's order to leave, with this much time for what runs. */
function drainOrder(limitMS: number): OperatorRequest {
  const place = { task: '', taskId: taskId(''), worker: WORKER, lines: 0, allocator: '' }
  return { kind: 'operatorRequest', number: 5, action: 'drain', ...place, limitMS }
}

test('an operator drains it, whatever its own time for draining', () => {
  const worker = busyWorker(0)
  worker.receive(taskOf('queued'))
  worker.now += 700
  const message = drainOrder(60_000)
  const actions = worker.handle({ type: 'messageReceived', message })
  const answer = actions.flatMap((action) => (action.type === 'send' ? [action.message] : []))[0]
  assert.ok(answer?.kind === 'operatorAnswer')
  assert.deepEqual([answer.number, answer.outcome], [5, 'done'])
  assert.deepEqual(
    answer.tasks.map((task) => [task.taskId, task.status, task.client]),
    [['a', 'running', identity('')]],
  )
  assert.ok(actions.some((action) => action.type === 'sendHeartbeat'))
  assert.ok(
    actions.some((action) => action.type === 'send' && action.message.kind === 'taskResult'),
  )
  assert.deepEqual(worker.pass(59_999), [])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', ...LEAVE])
  assert.deepEqual(worker.receive(RESPONSE), ['end drained by an operator'])
})

test('an idle worker leaves at once; a second order changes the time', () => {
  const idle = ScriptedWorker.ready({ heartbeatIntervalMs: 3_600_000 })
  assert.deepEqual(idle.receive(drainOrder(60_000)), [
    'send operatorAnswer',
    'sendHeartbeat',
    ...LEAVE,
  ])
  const busy = busyWorker()
  assert.deepEqual(busy.receive(drainOrder(60_000)), ['send operatorAnswer', 'sendHeartbeat'])
  assert.deepEqual(busy.receive(drainOrder(0)), ['send operatorAnswer', 'sendHeartbeat'])
  assert.deepEqual(busy.pass(0), LEAVE)
})

test('a worker that an operator drains and that is stopped has the shorter time of the latter', () => {
  const worker = busyWorker(5_000)
  worker.receive(drainOrder(60_000))
  assert.deepEqual(worker.show(STOP), ['sendHeartbeat'])
  assert.deepEqual(worker.pass(4_999), [])
  assert.deepEqual(worker.show(STOP), LEAVE)
})
