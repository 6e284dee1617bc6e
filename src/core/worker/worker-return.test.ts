// What a worker does with its tasks when the connection is lost and comes back: what runs goes on,
// its result is kept, and the next scheduler learns which tasks it can recover.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_INLINE, FEATURE_RECOVERY, OUR_FEATURES } from '../../base/features.js'
import { taskId } from '../../base/ids.js'
import type { Message, TaskResult, WorkerHeartbeat } from '../../wire/message.js'
import type { WorkerAction, WorkerEvent } from './events.js'
import {
  KILLED,
  SERIALIZER,
  ScriptedWorker,
  echoOf,
  objectsOf,
  resultOf,
  taskOf,
} from './scripted-worker.test.js'

const LOST: WorkerEvent = { type: 'disconnected', reason: 'reset' }
const BEFORE_RECOVERY = OUR_FEATURES & ~FEATURE_RECOVERY

function cancelOf(id: string, force: boolean): Message {
  return {
    kind: 'taskCancel',
    taskId: taskId(id),
    count: 0,
    flags: { force, retrieveTaskObject: false },
  }
}

function resultsIn(actions: readonly WorkerAction[]): TaskResult[] {
  return actions.flatMap((action) =>
    action.type === 'send' && action.message.kind === 'taskResult' ? [action.message] : [],
  )
}

/** Connects again; the first heartbeat. */
function greet(worker: ScriptedWorker, features: number = OUR_FEATURES): WorkerHeartbeat {
  const [beat, ...more] = worker
    .handle({ type: 'connected' })
    .flatMap((action) => (action.type === 'sendHeartbeat' ? [action.heartbeat] : []))
  assert.ok(beat !== undefined && more.length === 0)
  worker.receive(echoOf(features))
  return beat
}

/** The same; the tasks in it. */
function comeBack(worker: ScriptedWorker, features?: number): readonly string[] {
  return greet(worker, features).tasks
}

/** A worker with one task that runs, and a link that was just lost. */
function lostWith(id: string): ScriptedWorker {
  const worker = ScriptedWorker.ready({ heartbeatIntervalMs: 60_000 })
  worker.run(id)
  worker.show(LOST)
  return worker
}

test('the first heartbeat of a connection tells what still runs, later ones do not', () => {
  const worker = lostWith('a')
  assert.deepEqual(comeBack(worker), ['a'])
  worker.now += 60_000
  const [action] = worker.handle({ type: 'tick' })
  assert.equal(action?.type, 'sendHeartbeat')
  assert.deepEqual(action.heartbeat.tasks, [])
})

test('what had been started before is reported with its attempt and the retries that are left', () => {
  const worker = ScriptedWorker.ready({ heartbeatIntervalMs: 60_000 })
  worker.run('a', { attempt: 2, retries: 1 })
  worker.run('b', { attempt: 1, retries: 0 })
  worker.now += 100
  worker.answer(resultOf('a', { attempt: 2, durationMs: 100 }))
  worker.show(LOST)
  const { tasks, pasts } = greet(worker)
  assert.deepEqual(tasks, ['a', 'b'])
  assert.deepEqual(pasts, [
    { taskId: 'a', attempt: 2, retries: 1 },
    { taskId: 'b', attempt: 1, retries: 0 },
  ])
  worker.receive(taskOf('b', { attempt: 3, retries: 4 }))
  worker.show(LOST)
  assert.deepEqual(greet(worker).pasts.at(-1), { taskId: 'b', attempt: 3, retries: 4 })
  const first = lostWith('c')
  const beat = greet(first)
  assert.deepEqual([beat.tasks, beat.pasts], [['c'], []])
})

test('a task that still runs when it is sent again is answered, with its new attempt', () => {
  const worker = lostWith('a')
  comeBack(worker)
  assert.deepEqual(worker.receive(taskOf('a', { attempt: 3 })), [])
  const result = resultOf('a')
  const [sent] = resultsIn(worker.handle({ type: 'taskAnswered', processor: 1, result }))
  assert.equal(sent?.status, 'success')
  assert.equal(sent.attempt, 3)
  assert.deepEqual(sent.inlineResults, result.inlineResults)
})

test('one that is run again in the next processor runs as it was sent last', () => {
  const worker = lostWith('a')
  comeBack(worker)
  worker.receive(taskOf('a', { attempt: 3 }))
  worker.die('nothing')
  worker.pass(100)
  worker.show({ type: 'processorReady', processor: 2, pid: 78 })
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')).slice(1), ['dispatch a'])
})

test('one whose arguments are other objects of another scheduler needs these from then on', () => {
  const worker = ScriptedWorker.ready({ heartbeatIntervalMs: 60_000 })
  worker.receive(taskOf('a', { objects: ['old'] }))
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn', 'old')).slice(1), ['dispatch a'])
  worker.show(LOST)
  comeBack(worker)
  assert.deepEqual(worker.receive(taskOf('a', { objects: ['new'] })), [])
  assert(worker.die('nothing').includes(`send request ${SERIALIZER},fn,new`))
  worker.pass(100)
  worker.show({ type: 'processorReady', processor: 2, pid: 78 })
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn', 'new')).slice(1), ['dispatch a'])
})

test('the result of a task that ended meanwhile is kept, told, and given for its task', () => {
  const worker = lostWith('a')
  assert.deepEqual(worker.answer(resultOf('a')), [])
  assert.deepEqual(comeBack(worker), ['a'])
  const message = taskOf('a', { attempt: 1 })
  const [sent, ...others] = resultsIn(worker.handle({ type: 'messageReceived', message }))
  assert.deepEqual(others, [])
  assert.equal(sent?.status, 'success')
  assert.equal(sent.attempt, 1)
  assert.equal(Buffer.concat(sent.inlineResults).toString(), 'result of a')
  // Only once: a further Task is a new one.
  assert.deepEqual(worker.receive(taskOf('a')).slice(0, 1), [`send request ${SERIALIZER},fn`])
})

test('a large result that was kept becomes an object of the new scheduler, with a new id', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.show(LOST)
  const chunks = [Buffer.alloc(121, 1)]
  assert.deepEqual(worker.answer(resultOf('a', { chunks, keptAs: 'kept' })), ['tell delete kept'])
  comeBack(worker)
  assert.deepEqual(worker.receive(taskOf('a')), ['send create R1', 'send a success R1'])
})

test('the processor may have forgotten what it kept before it read that the link was lost', () => {
  const worker = lostWith('a')
  comeBack(worker)
  worker.receive(taskOf('a'))
  const chunks = [Buffer.alloc(121, 1)]
  assert.deepEqual(worker.answer(resultOf('a', { chunks, keptAs: 'kept' })), [
    'send create kept',
    'send a success kept',
    'tell delete kept',
  ])
  const request = worker.receive(taskOf('b', { objects: ['kept'] }))
  assert.deepEqual(request, [`send request ${SERIALIZER},fn,kept`])
})

test('a failure is kept like a result, and so is the death of the processor', () => {
  const failed = lostWith('a')
  failed.answer(resultOf('a', { status: 'failed' }))
  assert.deepEqual(comeBack(failed), ['a'])
  assert.deepEqual(failed.receive(taskOf('a')), ['send a failed'])

  const dead = lostWith('a')
  dead.handle({ type: 'processorExited', processor: 1, death: KILLED, lastRun: 'unknown' })
  assert.deepEqual(comeBack(dead), ['a'])
  assert.deepEqual(dead.receive(taskOf('a'))[0], 'send a failed')
})

test('what nobody wants is stopped or dropped, by force only', () => {
  const running = lostWith('a')
  comeBack(running)
  assert.deepEqual(running.receive(cancelOf('a', false)), ['send a notFound'])
  assert.deepEqual(running.receive(cancelOf('a', true)), [
    'send a canceled',
    'stop a cancelled',
    'ask 0',
  ])
  assert.deepEqual(running.answer(resultOf('a')), [])

  const kept = lostWith('a')
  kept.answer(resultOf('a'))
  comeBack(kept)
  assert.deepEqual(kept.receive(cancelOf('a', false)), ['send a notFound'])
  assert.deepEqual(kept.receive(cancelOf('a', true)), ['send a canceled'])
  assert.deepEqual(kept.receive(cancelOf('a', true)), ['send a notFound'])
})

test('for a scheduler without recovery nothing is kept, and tasks in the way are ended', () => {
  const kept = lostWith('a')
  kept.answer(resultOf('a'))
  comeBack(kept, BEFORE_RECOVERY)
  assert.deepEqual(kept.receive(taskOf('a')), [`send request ${SERIALIZER},fn`])

  const running = lostWith('a')
  comeBack(running, 0)
  running.receive(taskOf('b'))
  const actions = running.receive(objectsOf(SERIALIZER, 'fn'))
  assert.deepEqual(actions, [`tell objects ${SERIALIZER},fn`, 'stop a cancelled', 'ask 0'])
  assert.deepEqual(running.answer(resultOf('a')), ['dispatch b'])
})

test('what still runs is not ended for others before the scheduler could recover it', () => {
  const worker = lostWith('a')
  comeBack(worker)
  worker.receive(taskOf('b'))
  worker.receive(objectsOf(SERIALIZER, 'fn'))
  assert.deepEqual(worker.pass(9_999), [])
  // It has not, though it should have said so by now.
  worker.now += 1
  assert.deepEqual(worker.show({ type: 'tick' }), ['stop a cancelled', 'ask 0'])
})

test('what had not begun when the link was lost does not run for nobody', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (const id of ['b', 'c']) worker.receive(taskOf(id))
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', 'dispatch b', 'dispatch c'])
  assert.deepEqual(worker.show(LOST), ['retract 1,2', 'tell clear '])
  assert.deepEqual(worker.retracted([1, 2], [2]), [])
  assert.deepEqual(comeBack(worker), ['b'])
})

test('a task that comes again before it was taken back waits anew', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (const id of ['b', 'c']) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  worker.show(LOST)
  comeBack(worker)
  assert.deepEqual(worker.receive(taskOf('c')), [])
  assert.deepEqual(worker.retracted([1, 2], [1, 2]), [`send request ${SERIALIZER},fn`])
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')).slice(1), ['dispatch c'])
})

test('a result that may not have been read is kept when the link breaks', () => {
  const worker = ScriptedWorker.ready()
  worker.run('long')
  worker.now += 50
  worker.answer(resultOf('long'))
  worker.show(LOST)
  assert.deepEqual(comeBack(worker), ['long'])
  assert.deepEqual(worker.receive(taskOf('long')), ['send long success'])
  // Sent again, and again not certain to have come.
  worker.show(LOST)
  assert.deepEqual(comeBack(worker), ['long'])
})

test('not if the echo of a later heartbeat shows that it was read', () => {
  const worker = ScriptedWorker.ready()
  worker.run('long')
  // One heartbeat is on its way before the result, one after.
  worker.pass(2000)
  worker.answer(resultOf('long'))
  worker.pass(2000)
  worker.receive(echoOf())
  worker.receive(echoOf())
  worker.show(LOST)
  assert.deepEqual(comeBack(worker), [])
})

test('the echo of an earlier heartbeat shows nothing', () => {
  const worker = ScriptedWorker.ready()
  worker.run('long')
  worker.pass(2000)
  worker.answer(resultOf('long'))
  worker.pass(2000)
  worker.receive(echoOf())
  worker.show(LOST)
  assert.deepEqual(comeBack(worker), ['long'])
})

test('heartbeats that have overtaken a held result show nothing, those after it do', () => {
  for (const isReleased of [false, true]) {
    const worker = ScriptedWorker.ready()
    worker.run('long')
    worker.now += 50
    worker.answer(resultOf('long', { chunks: [Buffer.alloc(121)] }))
    const about = { taskId: taskId('long'), count: 1 }
    assert.deepEqual(worker.show({ type: 'resultHeld', ...about, isHeld: true }), [])
    const beat = (): void => {
      worker.pass(2000)
      worker.receive(echoOf())
    }
    beat()
    beat()
    if (isReleased) worker.show({ type: 'resultHeld', ...about, isHeld: false })
    beat()
    worker.show(LOST)
    assert.deepEqual(comeBack(worker), isReleased ? [] : ['long'])
  }
})

test('a short task is sooner run again; one that may be tried again is not answered twice', () => {
  const worker = ScriptedWorker.ready()
  worker.run('short')
  worker.now += 49
  worker.answer(resultOf('short'))
  worker.receive(taskOf('retried', { retries: 1 }))
  worker.now += 100
  worker.answer(resultOf('retried', { status: 'failed' }))
  worker.show(LOST)
  assert.deepEqual(comeBack(worker), [])
})

test('a result of this connection is no answer to a further Task', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.now += 100
  worker.answer(resultOf('a'))
  assert.deepEqual(worker.receive(taskOf('a', { attempt: 1 })), ['dispatch a'])
  worker.show(LOST)
  assert.deepEqual(comeBack(worker), ['a'])
})

test('a result goes to a 1.9.9 scheduler without a number, also to one that has no inline', () => {
  for (const features of [0, FEATURE_INLINE]) {
    const worker = lostWith('a')
    comeBack(worker, features)
    worker.receive(taskOf('a', { attempt: 2 }))
    const result = resultOf('a', { attempt: 1 })
    const [sent] = resultsIn(worker.handle({ type: 'taskAnswered', processor: 1, result }))
    assert.equal(sent?.attempt, features === 0 ? 0 : 2)
  }
})
