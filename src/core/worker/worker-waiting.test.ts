// What a worker does with tasks that wait for tasks of their own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_INLINE } from '../../base/features.js'
import { taskId } from '../../base/ids.js'
import type { TaskCancel } from '../../wire/message.js'
import {
  KILLED,
  SERIALIZER,
  ScriptedWorker,
  echoOf,
  objectsOf,
  resultOf,
  taskOf,
} from './scripted-worker.test.js'

const RUNNING = { isStarted: true, isAlone: false }

function cancelOf(id: string): TaskCancel {
  const flags = { force: true, retrieveTaskObject: false }
  return { kind: 'taskCancel', taskId: taskId(id), count: 0, flags }
}

/** A worker on whose processor `ids` run, all but the last of them waiting. */
function withWaiting(...ids: string[]): ScriptedWorker {
  const worker = ScriptedWorker.ready()
  for (const [index, id] of ids.entries()) {
    if (index === 0) worker.run(id)
    else worker.receive(taskOf(id))
    if (index < ids.length - 1) worker.update(id, 'waiting')
  }
  return worker
}

/** The next processor is there and gets the objects. Returns what is handed to it. */
function restart(worker: ScriptedWorker, processor: number): string[] {
  worker.show({ type: 'processorReady', processor, pid: processor })
  const lines = worker.receive(objectsOf(SERIALIZER, 'fn'))
  return lines.filter((line) => line.startsWith('dispatch'))
}

test('while a task waits the next one is handed over, and the scheduler hears of it', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  assert.deepEqual(worker.receive(taskOf('b')), [])
  assert.deepEqual(worker.update('a', 'waiting'), ['send a waiting', 'dispatch b'])
  assert.deepEqual(worker.update('a', 'waiting'), [])
  assert.deepEqual(worker.receive(taskOf('c')), [])
  assert.deepEqual(worker.update('a', 'resumed'), ['send a resumed'])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', 'dispatch c'])
})

test('answers come in any order', () => {
  const worker = withWaiting('a', 'b', 'c', 'd')
  for (const id of ['b', 'd', 'a', 'c']) {
    assert.deepEqual(worker.answer(resultOf(id)), [`send ${id} success`])
  }
})

test('progress is passed on as it is, but not of what was cancelled', () => {
  const worker = withWaiting('a', 'b')
  assert.deepEqual(worker.update('b', 'progress'), ['send b progress'])
  worker.receive(cancelOf('b'))
  assert.deepEqual(worker.update('b', 'progress'), [])
  assert.deepEqual(worker.update('unknown', 'progress'), [])
})

test('a scheduler without the feature hears of no update, and nested tasks run all the same', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(echoOf(FEATURE_INLINE))
  worker.run('a')
  worker.receive(taskOf('b', { priority: 1 }))
  assert.deepEqual(worker.update('a', 'progress'), [])
  assert.deepEqual(worker.update('a', 'waiting'), ['dispatch b'])
})

test('what has waited does not tell how long its function takes', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(taskOf('b'))
  worker.update('a', 'waiting')
  worker.update('a', 'resumed')
  worker.answer(resultOf('a', { durationMs: 0.001 }))
  // Measured, the function would be tiny, and c would go with b.
  assert.deepEqual(worker.receive(taskOf('c')), [])
})

test('children go before what the processor has and has not begun', () => {
  const worker = ScriptedWorker.ready()
  worker.run('0')
  for (let id = 1; id < 9; id += 1) worker.receive(taskOf(String(id)))
  for (let id = 0; id < 3; id += 1) worker.answer(resultOf(String(id), { durationMs: 0.001 }))
  // Several are handed over; a more urgent one would have to wait while all of them could run.
  worker.receive(taskOf('urgent', { priority: 1, fn: 'new' }))
  assert.deepEqual(worker.receive(objectsOf('new')), ['tell objects new'])
  assert.deepEqual(worker.update('3', 'waiting'), ['send 3 waiting', 'dispatch urgent'])
  const child = { priority: 2, fn: 'new' }
  assert.deepEqual(worker.receive(taskOf('child', child)), ['dispatch child'])
  assert.deepEqual(worker.receive(taskOf('another', child)), [])
})

test('a task that is sent again after a lost connection still waits', () => {
  const worker = withWaiting('a', 'b')
  worker.show({ type: 'disconnected', reason: 'reset' })
  worker.show({ type: 'connected' })
  worker.receive(echoOf())
  assert.deepEqual(worker.receive(taskOf('a')), ['send a waiting'])
  assert.deepEqual(worker.receive(taskOf('b')), [])
  assert.deepEqual(worker.update('a', 'resumed'), ['send a resumed'])
})

test('heartbeats count no task that waits', () => {
  const worker = withWaiting('a', 'b')
  worker.receive(taskOf('c'))
  const beatAfter = (): readonly [number | undefined, boolean | undefined] => {
    worker.receive(echoOf())
    worker.now += 2000
    const beats = worker.handle({ type: 'tick' })
    const beat = beats.find((action) => action.type === 'sendHeartbeat')
    return [beat?.heartbeat.queuedTasks, beat?.heartbeat.processors[0]?.hasTask]
  }
  assert.deepEqual(beatAfter(), [1, true])
  worker.answer(resultOf('b'))
  worker.answer(resultOf('c'))
  assert.deepEqual(beatAfter(), [0, false])
})

test('a task that waits is not a candidate when the task beside it names itself', () => {
  const worker = withWaiting('a', 'b')
  const lines = worker.die({ taskIds: [taskId('b')] })
  const expected = ['send a resumed', 'send b failed', 'start 2']
  assert.deepEqual(lines, [...expected, `send request ${SERIALIZER},fn`])
  assert.deepEqual(restart(worker, 2), ['dispatch a'])
})

test('where nothing is known, the one that did not wait has to do it twice', () => {
  const worker = withWaiting('a', 'b')
  assert.deepEqual(worker.die('unknown').slice(0, 2), ['send a resumed', 'start 2'])
  assert.deepEqual(restart(worker, 2), ['dispatch b'])
  assert.deepEqual(worker.die('unknown', KILLED, 2).slice(0, 1), ['send b failed'])
  assert.deepEqual(restart(worker, 3), ['dispatch a'])
})

test('a task that was dispatched as the processor exited is no candidate', () => {
  const worker = withWaiting('a', 'b')
  for (const processor of [1, 2]) {
    const exit = { processor, death: KILLED, lastRun: 'unknown' } as const
    const lines = worker.show({ type: 'processorExited', ...exit })
    assert.deepEqual(lines.slice(0, 2), ['send a resumed', `start ${processor + 1}`])
    assert.deepEqual(restart(worker, processor + 1), ['dispatch a'])
    assert.deepEqual(worker.update('a', 'waiting', processor + 1), ['send a waiting', 'dispatch b'])
  }
})

test('a candidate that waits lets its children run, but no other candidate', () => {
  const worker = ScriptedWorker.ready()
  worker.run('0')
  for (const id of ['a', 'b']) worker.receive(taskOf(id))
  assert.deepEqual(worker.answer(resultOf('0')).slice(1), ['dispatch a', 'dispatch b'])
  worker.die('unknown')
  assert.deepEqual(restart(worker, 2), ['dispatch a'])
  assert.deepEqual(worker.update('a', 'waiting', 2), ['send a waiting'])
  const child = taskOf('child', { priority: 1, parent: 'a' })
  assert.deepEqual(worker.receive(child), ['dispatch child'])
  worker.update('a', 'resumed', 2)
  assert.deepEqual(worker.answer(resultOf('child'), 2), ['send child success'])
  assert.deepEqual(worker.answer(resultOf('a'), 2), ['send a success', 'dispatch b'])
})

test('what submits the same deadly task again and again fails in the end', () => {
  const worker = ScriptedWorker.ready()
  worker.run('parent')
  const failures: string[] = []
  for (let processor = 1; processor < 9 && failures.length === 0; processor += 1) {
    worker.update('parent', 'waiting', processor)
    const child = `child${processor}`
    worker.receive(taskOf(child, { priority: 1, parent: 'parent' }))
    const lines = worker.die({ taskIds: [taskId(child)] }, KILLED, processor)
    assert.ok(lines.includes(`send ${child} failed`))
    failures.push(...lines.filter((line) => line.startsWith('send parent failed')))
    if (failures.length === 0) assert.deepEqual(restart(worker, processor + 1), ['dispatch parent'])
    else assert.equal(processor, 3)
  }
  assert.equal(failures.length, 1)
})

test('with each wait a task says how often it has lost its processor while it waited', () => {
  const worker = ScriptedWorker.ready()
  worker.run('parent')
  const losses: number[] = []
  for (let processor = 1; processor < 4; processor += 1) {
    const message = { kind: 'taskUpdate', taskId: taskId('parent'), update: 'waiting' } as const
    const update = { ...message, done: 0, total: 0 }
    for (const action of worker.handle({ type: 'taskUpdated', processor, update })) {
      assert.ok(action.type === 'send' && action.message.kind === 'taskUpdate')
      losses.push(action.message.done)
    }
    worker.die('retired', KILLED, processor)
    assert.deepEqual(restart(worker, processor + 1), ['dispatch parent'])
  }
  assert.deepEqual(losses, [0, 1, 2])
})

test('tasks that wait while their processor keeps dying do not go on for ever', () => {
  const worker = withWaiting('a', 'b')
  worker.update('b', 'waiting')
  let deaths = 0
  const answers: string[] = []
  for (; answers.length < 2 && deaths < 50; deaths += 1) {
    const lines = worker.die('unknown', KILLED, deaths + 1)
    answers.push(...lines.filter((line) => line.endsWith('failed')))
    if (answers.length === 2) break
    for (const line of restart(worker, deaths + 2)) {
      const more = worker.update(line.replace('dispatch ', ''), 'waiting', deaths + 2)
      for (const next of more.filter((one) => one.startsWith('dispatch'))) {
        worker.update(next.replace('dispatch ', ''), 'waiting', deaths + 2)
      }
    }
  }
  assert.deepEqual(answers.sort(), ['send a failed', 'send b failed'])
  assert.ok(deaths < 15)
})

test('a processor that retires takes nobody with it', () => {
  const worker = withWaiting('a', 'b')
  worker.receive(cancelOf('a'))
  worker.tell(0, RUNNING)
  for (let processor = 1; processor < 9; processor += 1) {
    assert.deepEqual(worker.die('retired', KILLED, processor).slice(0, 1), [
      `start ${processor + 1}`,
    ])
    assert.deepEqual(restart(worker, processor + 1), ['dispatch b'])
  }
})

test('a task that loses its processor to others while it waits fails after six times', () => {
  // A grandchild that ends each processor, submitted on another worker each time, is nobody's child
  // here.
  const worker = ScriptedWorker.ready()
  worker.run('grandparent')
  const failures: string[] = []
  let processor = 1
  for (; processor < 20 && failures.length === 0; processor += 1) {
    worker.update('grandparent', 'waiting', processor)
    const child = `grandchild${processor}`
    worker.receive(taskOf(child, { priority: 2, parent: 'elsewhere' }))
    const lines = worker.die({ taskIds: [taskId(child)] }, KILLED, processor)
    failures.push(...lines.filter((line) => line.startsWith('send grandparent failed')))
    if (failures.length > 0) break
    assert.deepEqual(restart(worker, processor + 1), ['dispatch grandparent'])
  }
  assert.equal(failures.length, 1)
  assert.equal(processor, 6)
})

test('a candidate that waits for long lets others run: what it waits for may come after them', () => {
  const worker = ScriptedWorker.ready({ heartbeatIntervalMs: 3_600_000 })
  worker.run('first')
  for (const id of ['parent', 'next']) worker.receive(taskOf(id))
  worker.answer(resultOf('first'))
  worker.die('unknown')
  assert.deepEqual(restart(worker, 2), ['dispatch parent'])
  assert.deepEqual(worker.update('parent', 'waiting', 2), ['send parent waiting'])
  assert.deepEqual(worker.pass(1_999), [])
  assert.deepEqual(worker.pass(1), ['dispatch next'])
  worker.answer(resultOf('next'), 2)
  assert.deepEqual(worker.receive(taskOf('child', { parent: 'parent' })), ['dispatch child'])
})

test('a child of an earlier run that ends a processor costs its parent nothing', () => {
  const worker = ScriptedWorker.ready()
  worker.run('parent')
  const child = (name: string): void => {
    worker.receive(taskOf(name, { priority: 1, parent: 'parent' }))
  }
  for (let processor = 1; processor < 4; processor += 2) {
    worker.update('parent', 'waiting', processor)
    for (const name of ['one', 'two']) child(`${name}${processor}`)
    worker.die({ taskIds: [taskId(`one${processor}`)] }, KILLED, processor)
    // What the parent had submitted is more urgent than itself: it does not run beside it.
    assert.deepEqual(restart(worker, processor + 1), [`dispatch two${processor}`])
    const lines = worker.die({ taskIds: [taskId(`two${processor}`)] }, KILLED, processor + 1)
    const isFailed = lines.some((line) => line.startsWith('send parent failed'))
    assert.equal(isFailed, false)
    assert.deepEqual(restart(worker, processor + 2), ['dispatch parent'])
  }
})

test('children that are ended together cost their parent one of its lives, not one each', () => {
  const worker = ScriptedWorker.ready()
  worker.run('parent')
  const failedAt: number[] = []
  for (let processor = 1; processor < 9 && failedAt.length === 0; processor += 1) {
    worker.update('parent', 'waiting', processor)
    const children = ['one', 'two'].map((name) => `${name}${processor}`)
    for (const child of children) {
      assert.deepEqual(worker.receive(taskOf(child, { priority: 1, parent: 'parent' })), [
        `dispatch ${child}`,
      ])
      worker.update(child, 'waiting', processor)
    }
    for (const child of children) worker.receive(cancelOf(child))
    const lines = worker.die('retired', KILLED, processor)
    const isFailed = lines.some((line) => line.startsWith('send parent failed'))
    if (isFailed) failedAt.push(processor)
    else assert.deepEqual(restart(worker, processor + 1), ['dispatch parent'])
  }
  assert.deepEqual(failedAt, [3])
})
