import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyOf } from '../../base/bytes.js'
import { objectId } from '../../base/ids.js'
import { argumentName } from '../../wire/object-content.js'
import type { Task } from '../../wire/message.js'
import type { ClientAction } from './events.js'
import {
  Harness,
  inlineResult,
  objectResponse,
  sent,
  storedResult,
  summary,
  taskResult,
  taskUpdate,
} from './harness.test.kit.js'

const SMALL = Buffer.from('small')
const LARGE = Buffer.alloc(101, 'L')
const LARGE_ID = objectId(`object:${'L'.repeat(17)}`)
const LARGE_NAME = Buffer.from(argumentName('', LARGE_ID)).toString()

function tasksOf(actions: readonly ClientAction<string>[]): Task[] {
  return sent(actions).filter((message) => message.kind === 'task')
}

test('nothing but a heartbeat is sent before the first echo', () => {
  const harness = new Harness()
  assert.deepEqual(summary(harness.submit('a')), [])
  assert.deepEqual(summary(harness.handle({ type: 'connected' })), ['heartbeat'])
  assert.deepEqual(summary(harness.flush()), [])
  assert.deepEqual(summary(harness.advance(10_000)), [])
})

test('after the first echo come the serializer, then what a task needs, then the task', () => {
  const harness = new Harness()
  harness.submit('a', [SMALL])
  assert.deepEqual(summary(harness.open()), ['heartbeat', 'create serializer'])
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
  harness.submit('b', [SMALL])
  assert.deepEqual(summary(harness.flush()), ['task b'], 'the function was sent already')
})

test('small arguments travel inside the task, large ones as objects, each once', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a', [SMALL, LARGE])
  harness.submit('b', [LARGE])
  const actions = harness.flush()
  assert.deepEqual(summary(actions), [`create f ${LARGE_NAME}`, 'task a', 'task b'])
  assert.deepEqual(tasksOf(actions)[0]?.functionArgs, [
    { type: 'inline', data: SMALL },
    { type: 'objectID', data: Buffer.from(LARGE_ID, 'latin1') },
  ])
})

test('a scheduler that cannot do inline arguments gets all of them as objects', () => {
  const harness = new Harness()
  harness.open('')
  harness.submit('a', [SMALL])
  const [task] = tasksOf(harness.flush())
  assert.deepEqual(
    task?.functionArgs.map((argument) => argument.type),
    ['objectID'],
  )
})

test('a task carries the identity of its client and its flags', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  const [task] = tasksOf(harness.flush())
  assert.equal(task?.source, '1|Client|me')
  assert.deepEqual(task.metadata, Buffer.alloc(5))
  assert.equal(task.parentTaskId, '')
})

test('a result inside the message ends the task', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive(inlineResult('a', 'x'))
  harness.receive({ ...inlineResult('a', 'again') })
  assert.deepEqual(harness.ends, [['a', 'value x']])
  assert.equal(harness.machine.unfinishedTasks, 0)
})

test('an object that is the result of two tasks is refused for the second one', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.submit('b')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.receive(storedResult('b', 'r1'))
  assert.deepEqual(harness.ends, [['b', 'malformed']])
  harness.receive(objectResponse('r1', 'x'))
  assert.equal(harness.endOf('a'), 'value x')
})

test('an empty result inside the message is a result', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive(inlineResult('a', ''))
  assert.equal(harness.endOf('a'), 'value ')
})

test('what a task threw is told apart from what it returned', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive({ ...inlineResult('a', 'boom'), status: 'failed' })
  assert.equal(harness.endOf('a'), 'error boom')
})

test('a stored result is requested, delivered and deleted', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  assert.deepEqual(summary(harness.receive(storedResult('a', 'r1'))), ['get r1'])
  assert.equal(harness.endOf('a'), undefined)
  harness.receive(objectResponse('r1', 'content'))
  assert.equal(harness.endOf('a'), 'value content')
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
})

test('the profile of a stored result outlives the message that brought it', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  const metadata = Buffer.alloc(16, 7)
  harness.receive({ ...storedResult('a', 'r1'), metadata })
  metadata.fill(0)
  const actions = harness.receive(objectResponse('r1', 'x'))
  const end = actions.find((action) => action.type === 'finishTask')
  assert.deepEqual(end?.metadata, Buffer.alloc(16, 7))
})

test('content in several chunks is joined', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  const response = objectResponse('r1', '')
  assert.equal(response.kind, 'objectResponse')
  if (response.kind !== 'objectResponse') return
  const objectBytes = [[Buffer.from('one '), Buffer.from('two')]]
  harness.receive({ ...response, objectContent: { ...response.objectContent, objectBytes } })
  assert.equal(harness.endOf('a'), 'value one two')
})

test('an empty object, which has no chunks, is a result', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  const response = objectResponse('r1', '')
  if (response.kind !== 'objectResponse') return assert.fail()
  harness.receive({ ...response, objectContent: { ...response.objectContent, objectBytes: [[]] } })
  assert.equal(harness.endOf('a'), 'value ')
})

for (const [name, response] of [
  ['a 1.9.9 scheduler (shorter lists)', objectResponse('r1', undefined)],
  [
    'one of ours (objectNotExist)',
    { ...objectResponse('r1', undefined), responseType: 'objectNotExist' },
  ],
] as const) {
  test(`a result that is missing in ${name} fails the task`, () => {
    const harness = new Harness()
    harness.open()
    harness.submit('a')
    harness.flush()
    harness.receive(storedResult('a', 'r1'))
    assert.equal(response.kind, 'objectResponse')
    harness.receive(response)
    assert.deepEqual(harness.ends, [['a', 'missingObject']])
  })
}

test('a success without any result is a fault of the scheduler, and ends the task', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive(taskResult('a', {}))
  assert.equal(harness.endOf('a'), 'malformed')
})

for (const [status, reason] of [
  ['canceled', 'dropped'],
  ['notFound', 'notFound'],
  ['workerDied', 'workerDied'],
  ['noWorker', 'noWorker'],
] as const) {
  test(`a task refused with ${status} ends as ${reason}`, () => {
    const harness = new Harness()
    harness.open()
    harness.submit('a')
    harness.flush()
    harness.receive(taskResult('a', { status }))
    assert.deepEqual(harness.ends, [['a', reason]])
  })
}

test('statuses that only monitors should see are ignored', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  for (const status of ['inactive', 'running', 'canceling'] as const) {
    harness.receive(taskResult('a', { status }))
  }
  assert.deepEqual(harness.ends, [])
})

test('messages that no client should get are ignored and logged', () => {
  const harness = new Harness()
  harness.open()
  const actions = harness.receive({ kind: 'stateClient' })
  assert.deepEqual(
    actions.map((action) => action.type),
    ['log'],
  )
})

test('the object of a result that nobody waits for is deleted', () => {
  const harness = new Harness()
  harness.open()
  harness.receive(storedResult('stranger', 'r9'))
  assert.deepEqual(summary(harness.flush()), ['delete r9'])
})

test('an object that is the result of a task stays when it comes as that of an unknown one', () => {
  const harness = new Harness()
  harness.open()
  harness.isEager = false
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.receive(storedResult('nobody', 'r1'))
  assert.deepEqual(summary(harness.flush()), [])
})

test('a task that was not sent is cancelled without a trace', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.cancel('a')
  assert.deepEqual(harness.ends, [['a', 'cancelled']])
  assert.deepEqual(summary(harness.flush()), [])
})

test('a task that was sent is cancelled by force with one of our schedulers', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  assert.deepEqual(summary(harness.cancel('a')), ['cancel! a'])
  assert.deepEqual(summary(harness.cancel('a')), [])
  harness.receive(taskResult('a', { status: 'canceled' }))
  assert.deepEqual(harness.ends, [['a', 'cancelled']])
})

test('a task that was sent is cancelled without force with a 1.9.9 scheduler', () => {
  const harness = new Harness()
  harness.open('')
  harness.submit('a')
  harness.flush()
  assert.deepEqual(summary(harness.cancel('a')), ['cancel a'])
})

test('a result that comes after the cancel is ignored, and its object deleted', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.cancel('a')
  harness.receive(storedResult('a', 'r1'))
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
  assert.deepEqual(harness.ends, [['a', 'cancelled']])
})

test('cancelling while the result is fetched deletes the result', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.cancel('a')
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
  harness.receive(objectResponse('r1', 'late'))
  assert.deepEqual(harness.ends, [['a', 'cancelled']])
})

test('an argument object is deleted once no unfinished task has used it for a while', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a', [LARGE])
  harness.submit('b', [LARGE])
  harness.flush()
  harness.receive(inlineResult('a'))
  harness.echo()
  assert.deepEqual(summary(harness.advance(4_000)), ['heartbeat', 'heartbeat'])
  harness.receive(inlineResult('b'))
  harness.advance(2_100)
  assert.deepEqual(summary(harness.flush()), [`delete ${LARGE_ID}`])
})

test('a value that is used again before its deletion was sent is created again, and not deleted', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a', [LARGE])
  harness.flush()
  harness.receive(inlineResult('a'))
  harness.advance(3_000)
  harness.submit('b', [LARGE])
  const what = [`create ${LARGE_NAME}`, 'task b']
  assert.deepEqual(summary(harness.flush()), what)
})

test('the same large argument is held once', () => {
  const harness = new Harness()
  for (let i = 0; i < 10; i += 1) harness.submitAny([copyOf(LARGE)])
  assert.equal(harness.machine.heldBytes, LARGE.length + 1)
})

test('tasks are sent at the end of the turn, or when they fill a packet', () => {
  const harness = new Harness({ inlineLimitBytes: 100_000 })
  harness.open()
  assert.deepEqual(harness.submit('a'), [{ type: 'requestFlush', when: 'soon' }])
  assert.deepEqual(harness.submit('b'), [])
  assert.deepEqual(summary(harness.submit('c', [Buffer.alloc(70_000)])), [
    'create f',
    'task a',
    'task b',
    'task c',
  ])
})

test('no more is sent than the transport has room for; the rest waits, in order', () => {
  const harness = new Harness({ inlineLimitBytes: 1024 ** 2 })
  for (const owner of ['a', 'b', 'c', 'd']) harness.submit(owner, [Buffer.alloc(600_000)])
  const first = harness.open()
  assert.deepEqual(summary(first).slice(2), ['create f', 'task a', 'task b'])
  assert.deepEqual(first.at(-1), { type: 'requestFlush', when: 'nextTurn' })
  assert.deepEqual(summary(harness.submit('e')), [])
  assert.deepEqual(summary(harness.flush()), ['task c', 'task d'])
  assert.deepEqual(summary(harness.flush()), ['task e'])
})

test('requests and cancels do not wait behind tasks', () => {
  const harness = new Harness({ inlineLimitBytes: 1024 ** 2 })
  harness.open()
  harness.submit('a')
  harness.submit('b')
  harness.flush()
  for (let i = 0; i < 5; i += 1) harness.submitAny([Buffer.alloc(600_000)])
  harness.receive(storedResult('a', 'r1'))
  harness.cancel('b')
  assert.deepEqual(summary(harness.flush()).slice(0, 2), ['get r1', 'cancel! b'])
})

test('where a task is can be asked', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  const [id] = harness.machine.unfinished().map((task) => task.taskId)
  assert(id !== undefined)
  assert.equal(harness.machine.whereIs(id), 'pending')
  harness.flush()
  assert.equal(harness.machine.whereIs(id), 'queued')
  harness.receive(taskUpdate('a', 'running'))
  assert.equal(harness.machine.whereIs(id), 'running')
  harness.receive(taskUpdate('a', 'queued'))
  assert.equal(harness.machine.whereIs(id), 'queued')
  harness.receive(taskUpdate('a', 'progress'))
  assert.equal(harness.machine.whereIs(id), 'running')
  harness.receive(inlineResult('a'))
  assert.equal(harness.machine.whereIs(id), undefined)
})

test('large objects are sent one by one', () => {
  const harness = new Harness({ objectIdOf: (content) => objectId(`size ${content.length}`) })
  harness.open()
  const actions = harness.submit('a', [Buffer.alloc(1024 ** 2), Buffer.alloc(1024 ** 2 + 1)])
  const kinds = sent(actions).map((message) =>
    message.kind === 'objectInstruction' ? message.objectContent.objectIds.length : message.kind,
  )
  assert.deepEqual(kinds, [1, 1, 1, 'task'])
})
