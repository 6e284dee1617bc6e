import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskId } from '../../base/ids.js'
import type { Message, Task } from '../../wire/message.js'
import type { ClientAction, TaskSubmission } from './events.js'
import { ALL_FEATURES, GraphSetting, sketchGraph } from './graph-scheduler.kit.js'
import {
  Harness,
  inlineResult,
  objectResponse,
  resultOf,
  sent,
  storedResult,
  submission,
  summary,
  taskResult,
} from './harness.test.kit.js'

const LARGE = Buffer.alloc(101, 'L')

/** The arguments of a task that was sent: `text` for inline ones, `@id` for objects. */
function argsOf(actions: readonly ClientAction<string>[], owner: string): string[] {
  const task = sent(actions).find((message) => message.kind === 'task' && message.taskId === owner)
  assert(task?.kind === 'task', `task ${owner} was not sent`)
  return task.functionArgs.map(({ type, data }) => {
    const text = Buffer.from(data).toString('latin1')
    return type.endsWith('nline') ? text : `@${text}`
  })
}

/** `a` is with the scheduler, `b` needs its result. */
function chain(): Harness {
  const harness = new Harness()
  harness.open()
  harness.isEager = false
  harness.submit('a')
  harness.submit('b', [Buffer.from('x'), resultOf('a'), resultOf('a')])
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
  return harness
}

test('a task that needs the result of another one is sent once that is there, with it', () => {
  const harness = chain()
  assert.equal(harness.machine.unfinishedTasks, 2)
  harness.receive(inlineResult('a', 'one'))
  assert.deepEqual(argsOf(harness.flush(), 'b'), ['x', 'one', 'one'])
  harness.receive(inlineResult('b', 'two'))
  assert.deepEqual(harness.ends, [
    ['a', 'value one'],
    ['b', 'value two'],
  ])
})

test('a result that is larger than the limit becomes an object of the client', () => {
  const harness = chain()
  harness.receive(inlineResult('a', 'r'.repeat(101)))
  const [, argument] = argsOf(harness.flush(), 'b')
  assert.match(argument ?? '', /^@object:r/)
})

test('a result in the cluster goes from there to the task, and not through the client', () => {
  const harness = chain()
  harness.receive(storedResult('a', 'r1'))
  const actions = harness.flush()
  assert.deepEqual(argsOf(actions, 'b'), ['x', '@r1', '@r1'])
  assert.deepEqual(summary(actions), ['task b'])
  harness.receive(inlineResult('b'))
  assert.deepEqual(harness.ends, [['b', 'value ok']])
})

test('a task waits for all that it needs', () => {
  const harness = new Harness()
  harness.open()
  for (const owner of ['a', 'b', 'c']) harness.submit(owner)
  harness.submit('d', [resultOf('a'), resultOf('b'), resultOf('c')])
  harness.flush()
  harness.receive(storedResult('b', 'r1'))
  harness.receive(inlineResult('c', 'C'))
  assert.deepEqual(summary(harness.flush()), [])
  harness.receive(inlineResult('a', 'A'))
  assert.deepEqual(argsOf(harness.flush(), 'd'), ['A', '@r1', 'C'])
})

test('a result that is stored already is no reason to wait', () => {
  const harness = new Harness()
  harness.open()
  harness.isEager = false
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.submit('b', [resultOf('a')])
  assert.deepEqual(argsOf(harness.flush(), 'b'), ['@r1'])
})

test('a failure fails all that need the result, and what needs theirs, with the same error', () => {
  const harness = chain()
  harness.submit('c', [resultOf('b')])
  harness.submit('d')
  const actions = harness.receive(
    taskResult('a', { status: 'failed', inlineResults: [Buffer.from('no')] }),
  )
  assert.deepEqual(harness.ends, [
    ['a', 'error no'],
    ['b', 'error no'],
    ['c', 'error no'],
  ])
  const causes = actions.flatMap((action) =>
    action.type === 'finishTask' ? [action.failedTaskId] : [],
  )
  assert.deepEqual(causes, [undefined, 'a', 'a'])
  assert.equal(harness.machine.unfinishedTasks, 1)
})

test('a failure that is an object is fetched, whoever wants it, and fails what needs it', () => {
  const harness = chain()
  const failed = { status: 'failed', results: storedResult('', 'r1').results } as const
  assert.deepEqual(summary(harness.receive(taskResult('a', failed))), ['get r1'])
  assert.deepEqual(harness.ends, [])
  harness.receive(objectResponse('r1', 'no'))
  assert.deepEqual(harness.ends, [
    ['a', 'error no'],
    ['b', 'error no'],
  ])
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
})

test('cancelling a task cancels what needs its result', () => {
  const harness = chain()
  harness.submit('c', [resultOf('b')])
  const actions = harness.cancel('a')
  assert.deepEqual(harness.ends, [
    ['a', 'cancelled'],
    ['b', 'cancelled'],
    ['c', 'cancelled'],
  ])
  assert.deepEqual(summary(actions), ['cancel! a'])
  const causes = actions.flatMap((action) => (action.type === 'endTask' ? [action] : []))
  assert.deepEqual(
    causes.map(({ failedTaskId }) => failedTaskId),
    [undefined, 'a', 'a'],
  )
})

test('cancelling a task that waits leaves what it needs alone', () => {
  const harness = chain()
  harness.cancel('b')
  assert.deepEqual(harness.ends, [['b', 'cancelled']])
  harness.receive(inlineResult('a'))
  assert.deepEqual(summary(harness.flush()), [])
  assert.equal(harness.endOf('a'), 'value ok')
})

test('what the scheduler refuses takes along what needs it', () => {
  const harness = chain()
  harness.receive(taskResult('a', { status: 'workerDied' }))
  assert.deepEqual(harness.ends, [
    ['a', 'workerDied'],
    ['b', 'workerDied'],
  ])
})

test('a chain of any length fails without recursion', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('t0')
  const { machine } = harness
  const ends: string[] = []
  for (let index = 1; index <= 20_000; index += 1) {
    const task = { ...submissionOf(`t${index}`), args: [resultOf(`t${index - 1}`)] }
    machine.handle({ type: 'taskSubmitted', task }, harness.now, () => {})
  }
  machine.handle(
    {
      type: 'messageReceived',
      message: taskResult('t0', { status: 'failed', inlineResults: [Buffer.from('no')] }),
    },
    harness.now,
    (action) => {
      if (action.type === 'finishTask') ends.push(action.owner)
    },
  )
  assert.equal(ends.length, 20_001)
  assert.equal(machine.unfinishedTasks, 0)
  machine.checkInvariants()
})

test('a result stays in the cluster for as long as tasks need it, whoever has fetched it', () => {
  const harness = chain()
  harness.receive(storedResult('a', 'r1'))
  harness.want('a')
  harness.receive(objectResponse('r1', 'one'))
  assert.equal(harness.endOf('a'), 'value one')
  assert.deepEqual(summary(harness.flush()), ['task b'])
  harness.receive(inlineResult('b'))
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
})

test('cancelling it while its value is on its way cancels what has it and runs', () => {
  const harness = chain()
  harness.receive(storedResult('a', 'r1'))
  harness.flush()
  harness.want('a')
  assert.deepEqual(summary(harness.cancel('a')), ['cancel! b'])
  assert.deepEqual(harness.ends, [
    ['a', 'cancelled'],
    ['b', 'cancelled'],
  ])
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
})

test('a result that nobody can ask for goes with the last task that needs it', () => {
  const harness = chain()
  harness.receive(storedResult('a', 'r1'))
  harness.drop('a')
  assert.deepEqual(summary(harness.flush()), ['task b'])
  harness.receive(storedResult('b', 'r2'))
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
  harness.drop('b')
  assert.deepEqual(summary(harness.flush()), ['delete r2'])
  assert.deepEqual(harness.ends, [])
})

test('a task without an owner ends when what needs it has ended, or was cancelled', () => {
  for (const isCancelled of [true, false]) {
    const harness = new Harness()
    harness.open()
    harness.handle({ type: 'taskSubmitted', task: submissionOf('f0', 'nobody') }, false)
    harness.submit('b', [resultOf('f0')])
    harness.flush()
    if (isCancelled) {
      assert.deepEqual(summary(harness.cancel('b')), ['cancel! f0'])
    } else {
      harness.receive(storedResult('f0', 'r1'))
      assert.deepEqual(summary(harness.flush()), ['task b'])
      harness.receive(inlineResult('b'))
      assert.deepEqual(summary(harness.flush()), ['delete r1'])
    }
    assert.equal(harness.machine.unfinishedTasks, 0)
    assert.deepEqual(harness.ends, [['b', isCancelled ? 'cancelled' : 'value ok']])
  }
})

test('after a restart of the scheduler results are made again for those who need them', () => {
  const harness = chain()
  harness.receive(storedResult('a', 'r1'))
  assert.deepEqual(summary(harness.flush()), ['task b'])
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
  harness.receive(storedResult('a', 'r2'))
  assert.deepEqual(argsOf(harness.flush(), 'b'), ['x', '@r2', '@r2'])
  harness.receive(inlineResult('b'))
  assert.deepEqual(harness.ends, [['b', 'value ok']])
})

test('one that had not been sent waits again, too', () => {
  const harness = chain()
  harness.receive(storedResult('a', 'r1'))
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
  harness.receive(inlineResult('a', 'again'))
  assert.deepEqual(argsOf(harness.flush(), 'b'), ['x', 'again', 'again'])
})

test('a scheduler that has dropped the client has lost its results: they are made again', () => {
  for (const remembers of [true, false]) {
    const harness = chain()
    harness.receive(storedResult('a', 'r1'))
    harness.flush()
    harness.disconnect()
    harness.remembers = remembers
    harness.open('S1')
    const again = summary(harness.flush())
    assert.deepEqual(again, remembers ? ['create f', 'task b'] : ['create f', 'task a'])
  }
})

test('nothing is sent to a scheduler that has not said what it still has', () => {
  const harness = chain()
  harness.receive(storedResult('a', 'r1'))
  harness.disconnect()
  harness.remembers = 'says nothing'
  assert.deepEqual(summary(harness.open('S1')), ['heartbeat', 'get serializer'])
  assert.deepEqual(summary(harness.flush()), [])
  harness.disconnect()
  assert.deepEqual(summary(harness.open('S1')), ['heartbeat', 'get serializer'])
  harness.remembers = true
  assert.deepEqual(summary(harness.answer()), ['create serializer'])
  assert.deepEqual(summary(harness.flush()), ['create f', 'task b'])
})

test('what nobody needed any more is made again when a result is lost that was made from it', () => {
  const harness = chain()
  harness.submit('c', [resultOf('b')])
  harness.receive(inlineResult('a', 'one'))
  harness.flush()
  harness.receive(storedResult('b', 'r2'))
  harness.flush()
  // Nobody keeps what `b` was made from: it came inline, so it is here.
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task b'])
  harness.receive(storedResult('b', 'r3'))
  harness.flush()
  harness.receive(storedResult('c', 'r4'))
  harness.drop('b')
  harness.disconnect()
  harness.open('S3')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task b'])
  harness.receive(storedResult('b', 'r5'))
  assert.deepEqual(argsOf(harness.flush(), 'c'), ['@r5'])
  harness.receive(inlineResult('c', 'again'))
  assert.deepEqual(harness.ends, [
    ['a', 'value one'],
    ['c', 'value again'],
  ])
  assert.equal(harness.machine.unfinishedTasks, 0)
  assert.equal(harness.machine.heldBytes, 0)
})

test('a chain of any length is made again when only its end was wanted', () => {
  const harness = new Harness()
  harness.open('S1')
  const length = 5_000
  for (let i = 0; i < length; i += 1) {
    harness.handle({ type: 'taskSubmitted', task: chained(i) }, false)
    harness.handle({ type: 'writable' }, false)
    harness.handle({ type: 'messageReceived', message: storedResult(`c${i}`, `r${i}`) }, false)
    if (i > 0) harness.handle({ type: 'resultDropped', taskId: taskId(`c${i - 1}`) }, false)
  }
  harness.isEager = true
  harness.disconnect()
  harness.open('S2')
  harness.handle({ type: 'resultRequested', taskId: taskId(`c${length - 1}`), owner: 'end' })
  let runs = 0
  for (;;) {
    const tasks = sent(harness.handle({ type: 'writable' }, false)).filter(isTask)
    if (tasks.length === 0) break
    runs += tasks.length
    for (const task of tasks) {
      harness.handle({ type: 'messageReceived', message: inlineResult(task.taskId) }, false)
    }
  }
  assert.equal(runs, length, 'each of them once')
  assert.deepEqual(harness.ends, [['end', 'value ok']])
  harness.machine.checkInvariants()
})

test('a target of a graph that nobody needed any more cannot be made again', () => {
  const setting = new GraphSetting()
  setting.isEager = false
  const graph = sketchGraph('G', { n: ['f'] }, ['n'])
  setting.submit(graph)
  const { harness } = setting
  harness.submit('b', [{ type: 'task', taskId: graph.idOf('n') }])
  setting.flush()
  setting.scheduler.objects.set('r1', 'x')
  setting.receive(storedResult(graph.idOf('n'), 'r1'))
  setting.receive(taskResult('G', {}))
  setting.flush()
  setting.receive(storedResult('b', 'r2'))
  harness.handle({ type: 'resultDropped', taskId: graph.idOf('n') })
  harness.disconnect()
  harness.open('S2', ALL_FEATURES)
  assert.deepEqual(harness.ends, [['b', 'missingObject']])
})

function isTask(message: Message): message is Task {
  return message.kind === 'task'
}

/** A task of a chain: it needs the one before. */
function chained(index: number): TaskSubmission<string> {
  return submission(`c${index}`, index === 0 ? [] : [resultOf(`c${index - 1}`)])
}

test('a task that is gone when its dependent comes was cancelled', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('b', [resultOf('a')])
  assert.deepEqual(harness.ends, [['b', 'cancelled']])
})

test('tasks that wait for others are given up like others', () => {
  const harness = chain()
  harness.advance(61_000)
  assert.deepEqual(harness.ends, [
    ['a', 'disconnected'],
    ['b', 'disconnected'],
  ])
})

test('with a 1.9.9 scheduler all results are objects', () => {
  const harness = new Harness()
  harness.open('')
  harness.isEager = false
  harness.submit('a')
  harness.submit('b', [LARGE, resultOf('a')])
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  const [large, result] = argsOf(harness.flush(), 'b')
  assert.match(large ?? '', /^@object:/)
  assert.equal(result, '@r1')
})

function submissionOf(owner: string, isOwned: 'owned' | 'nobody' = 'owned') {
  const task = submission(owner)
  return isOwned === 'owned' ? task : { ...task, owner: undefined }
}
