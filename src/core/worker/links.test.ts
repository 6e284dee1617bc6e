// Links in a worker: tasks that need the result of the task that arrived before them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latin1ToBytes } from '../../base/bytes.js'
import { identity } from '../../base/ids.js'
import { decode, encode, type Task } from '../../wire/message.js'
import type { WorkerAction } from './events.js'
import {
  echoOf,
  missingOf,
  objectsOf,
  resultOf,
  ScriptedWorker,
  SERIALIZER,
  type TaskFacts,
  taskOf,
} from './scripted-worker.test.js'

/** A task with the result of another one as its argument. */
function linkOf(id: string, before: string, facts: TaskFacts = {}): Task {
  const argument = { type: 'task', data: latin1ToBytes(before) } as const
  const task = { ...taskOf(id, facts), functionArgs: [argument], bytes: undefined }
  return { ...task, bytes: encode(task) }
}

/** A worker that has the function and knows that it is quick. */
function warm(): ScriptedWorker {
  const worker = ScriptedWorker.ready()
  worker.run('w')
  worker.answer(resultOf('w'))
  worker.run('v')
  for (let n = 0; n < 8; n += 1) {
    worker.answer(resultOf(n === 0 ? 'v' : `v${n}`))
    worker.run(`v${n + 1}`)
  }
  worker.answer(resultOf('v8'))
  return worker
}

/** The arguments of the tasks that were dispatched. */
function dispatched(actions: readonly WorkerAction[]): readonly string[] {
  return actions.flatMap((action) => {
    const task = action.type === 'dispatch' ? decode(action.bytes) : undefined
    if (task?.kind !== 'task') return []
    const args = task.functionArgs.map(
      ({ type, data }) => `${type} ${Buffer.from(data).toString()}`,
    )
    return [`${task.taskId}(${args.join()})`]
  })
}

test('links are dispatched right behind their task, and each is answered', () => {
  const worker = warm()
  assert.deepEqual(worker.receive(taskOf('a')), ['dispatch a'])
  assert.deepEqual(worker.receive(linkOf('b', 'a')), ['dispatch b'])
  assert.deepEqual(worker.receive(linkOf('c', 'b')), ['dispatch c'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success'])
  assert.deepEqual(worker.answer(resultOf('c')), ['send c success'])
})

test('a link that is not dispatched in time gets the result here', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(taskOf('a'))
  worker.receive(linkOf('b', 'a'))
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')).slice(-1), ['dispatch a'])
  const actions = worker.handle({ type: 'taskAnswered', processor: 1, result: resultOf('a') })
  assert.deepEqual(dispatched(actions), ['b(sharedInline result of a)'])
})

test('a link that the processor refuses is dispatched again with the result', () => {
  const worker = warm()
  worker.receive(taskOf('a'))
  worker.receive(linkOf('b', 'a'))
  worker.answer(resultOf('a'))
  const result = resultOf('b', { status: 'canceled', chunks: [] })
  const actions = worker.handle({ type: 'taskAnswered', processor: 1, result })
  assert.deepEqual(dispatched(actions), ['b(sharedInline result of a)'])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success'])
})

test('a link that the processor refuses before the task has ended is returned', () => {
  const worker = warm()
  worker.receive(taskOf('a'))
  worker.receive(linkOf('b', 'a'))
  worker.receive(linkOf('c', 'b'))
  const refused = (id: string) => resultOf(id, { status: 'canceled', chunks: [] })
  const lines = [...worker.answer(refused('b')), ...worker.answer(refused('c'))]
  const sent = lines.filter((line) => line.startsWith('send'))
  assert.deepEqual(sent, ['send b canceled', 'send c canceled'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
})

test('a link behind a task that is unknown, ended, foreign, or has another one is returned', () => {
  const worker = warm()
  assert.deepEqual(worker.receive(linkOf('b', 'a')), ['send b canceled'])
  worker.receive(taskOf('a'))
  worker.receive(linkOf('b', 'a'))
  assert.deepEqual(worker.receive(linkOf('c', 'a')), ['send c canceled'])
  worker.answer(resultOf('a'))
  assert.deepEqual(worker.receive(linkOf('d', 'a')), ['send d canceled'])
  assert.deepEqual(worker.receive(linkOf('e', 'e')), ['send e canceled'])
  worker.receive(taskOf('f'))
  const foreign = linkOf('g', 'f', { source: identity('3|Client|00') })
  assert.deepEqual(worker.receive(foreign), ['send g canceled'])
})

test('links are returned before the task that fails, and stopped in the processor', () => {
  const worker = warm()
  for (const task of [taskOf('a'), linkOf('b', 'a'), linkOf('c', 'b')]) worker.receive(task)
  const lines = worker.answer(resultOf('a', { status: 'failed' }))
  assert.deepEqual(
    lines.filter((line) => line.startsWith('send')),
    ['send b canceled', 'send c canceled', 'send a failed'],
  )
  assert.ok(lines.includes('stop b cancelled') && lines.includes('stop c cancelled'))
})

test('a large result is no argument: the links are returned before it', () => {
  const worker = warm()
  worker.receive(taskOf('a'))
  worker.receive(linkOf('b', 'a'))
  const lines = worker.answer(resultOf('a', { chunks: [Buffer.alloc(121)] }))
  assert.deepEqual(
    lines.filter((line) => line.startsWith('send')),
    ['send b canceled', 'send create R1', 'send a success R1'],
  )
})

test('a cancelled task takes its links with it', () => {
  const worker = ScriptedWorker.ready()
  for (const task of [taskOf('a'), linkOf('b', 'a'), linkOf('c', 'b')]) worker.receive(task)
  const flags = { force: true, retrieveTaskObject: false }
  const cancelled = linkOf('b', 'a').taskId
  const lines = worker.receive({ kind: 'taskCancel', taskId: cancelled, count: 0, flags })
  assert.deepEqual(lines, ['send b canceled', 'send c canceled'])
})

test('a processor that dies takes no link: it runs again behind its task, or with the result', () => {
  const both = warm()
  for (const task of [taskOf('a'), linkOf('b', 'a')]) both.receive(task)
  both.die('nothing')
  both.show({ type: 'processorReady', processor: 2, pid: 78 })
  both.receive(objectsOf(SERIALIZER, 'fn'))
  const one = warm()
  for (const task of [taskOf('a'), linkOf('b', 'a')]) one.receive(task)
  one.answer(resultOf('a'))
  one.die('nothing')
  one.handle({ type: 'processorReady', processor: 2, pid: 78 })
  const message = objectsOf(SERIALIZER, 'fn')
  assert.deepEqual(dispatched(one.handle({ type: 'messageReceived', message })), [
    'b(sharedInline result of a)',
  ])
  const result = resultOf('a')
  const actions = both.handle({ type: 'taskAnswered', processor: 2, result })
  assert.deepEqual(dispatched(actions), ['b(sharedInline result of a)'])
})

test('a link that is sent again as an ordinary task becomes one', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(taskOf('a'))
  worker.receive(linkOf('b', 'a'))
  worker.receive(taskOf('b'))
  worker.receive(objectsOf(SERIALIZER, 'fn'))
  const actions = worker.handle({ type: 'taskAnswered', processor: 1, result: resultOf('a') })
  assert.deepEqual(dispatched(actions), ['b(inline value)'])
})

test('a link whose objects are missing as well is returned before its task fails', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(taskOf('a'))
  worker.receive(linkOf('b', 'a'))
  const lines = worker.receive(missingOf('fn'))
  assert.deepEqual(lines, ['send b canceled', 'send a failed'])
})

test('a link that is taken back with its task is not asked for again', () => {
  const worker = warm()
  for (const id of 'xya') worker.receive(taskOf(id))
  worker.receive(linkOf('b', 'a'))
  const flags = { force: false, retrieveTaskObject: false }
  const recall = (id: string): readonly string[] =>
    worker.receive({ kind: 'taskCancel', taskId: taskOf(id).taskId, count: 0, flags })
  const [x, y, a, b] = [10, 11, 12, 13] as const
  assert.deepEqual([...recall('x'), ...recall('a'), ...recall('b')], [`retract ${x}`])
  assert.deepEqual(worker.retracted([x], []), [`retract ${a},${b}`, 'send x notFound'])
  recall('y')
  const lines = worker.retracted([a, b], [a, b])
  assert.equal(lines[0], `retract ${y}`)
  assert.ok(lines.includes('send a canceled') && lines.includes('send b canceled'))
  assert.deepEqual(worker.retracted([y], []), ['send y notFound'])
})

test('a link whose result is kept is returned: its task is answered when it is sent again', () => {
  const worker = ScriptedWorker.ready()
  worker.run('b')
  worker.show({ type: 'disconnected', reason: 'gone' })
  worker.now += 100
  worker.answer(resultOf('b'))
  worker.show({ type: 'connected' })
  worker.receive(echoOf())
  worker.receive(taskOf('a'))
  assert.deepEqual(worker.receive(linkOf('b', 'a')), ['send b canceled'])
  assert.deepEqual(worker.receive(taskOf('b')), ['send b success'])
})
