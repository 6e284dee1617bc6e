import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId, taskId } from '../../base/ids.js'
import type { Message } from '../../wire/message.js'
import type { ClientAction } from './events.js'
import {
  Harness,
  inlineResult,
  NO_OPTIONS,
  resultOf,
  sent,
  storedResult,
  submission,
  summary,
} from './harness.test.kit.js'

const LARGE = Buffer.alloc(101, 'L')

function response(accepted: boolean): Message {
  return { kind: 'clientShutdownResponse', accepted }
}

function answers(actions: readonly ClientAction<string>[]): [answer: string, detail: string][] {
  return actions.flatMap((action) =>
    action.type === 'answerShutdown' ? [[action.answer, action.detail] as const] : [],
  ) as [string, string][]
}

function shutDown(harness: Harness): ClientAction<string>[] {
  return harness.handle({ type: 'shutdownRequested' })
}

test('clear cancels everything, deletes everything, and the client goes on', () => {
  const harness = new Harness()
  harness.open()
  harness.isEager = false
  harness.handle({
    type: 'objectPinned',
    value: { id: objectId('o1'), name: Buffer.from('o1'), content: LARGE },
  })
  harness.submit('a', [LARGE])
  harness.submit('b', [resultOf('a')])
  harness.submit('c')
  harness.flush()
  harness.receive(storedResult('c', 'r1'))
  harness.submit('d')
  const actions = harness.handle({ type: 'clearRequested' })
  assert.deepEqual(harness.ends, [
    ['a', 'cleared'],
    ['b', 'cleared'],
    ['c', 'cleared'],
    ['d', 'cleared'],
  ])
  assert.deepEqual(summary(actions), ['cancel! a'])
  assert.equal(harness.machine.isQuiet, false)
  const [removal] = summary(harness.flush())
  assert.equal(harness.machine.isQuiet, true)
  assert.match(removal ?? '', /^delete r1 /)
  for (const name of ['function:f', 'o1', 'object:L']) assert(removal?.includes(name), name)
  harness.submit('e', [LARGE])
  assert.match(summary(harness.flush()).join(), /^create f <obj .*,task e$/)
  harness.submit('f', [{ type: 'object', id: objectId('o1') }])
  assert.equal(harness.endOf('f'), 'missingObject')
})

test('clear without a connection leaves nothing to send, and is told later', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a', [LARGE])
  harness.flush()
  harness.disconnect()
  harness.handle({ type: 'clearRequested' })
  assert.equal(harness.machine.isQuiet, true)
  harness.open()
  assert.match(summary(harness.flush()).join(), /^delete .*function:f/)
})

test('a shutdown that is accepted ends the client and its tasks', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  assert.deepEqual(summary(shutDown(harness)), ['shutdown'])
  const actions = harness.receive(response(true))
  assert.deepEqual(answers(actions), [['accepted', '']])
  assert.equal(actions.at(-1)?.type, 'closeLink')
  assert.deepEqual(harness.ends, [['a', 'shutDown']])
  harness.submit('b')
  assert.equal(harness.endOf('b'), 'shutDown')
})

test('when another client shuts the cluster down, tasks end at once, and the client stays', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  assert.deepEqual(answers(harness.receive(response(true))), [])
  assert.deepEqual(harness.ends, [['a', 'shutDown']])
  harness.disconnect()
  harness.submit('b')
  harness.open()
  harness.flush()
  harness.receive(inlineResult('b'))
  assert.equal(harness.endOf('b'), 'value ok')
})

test('one that is refused changes nothing', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  shutDown(harness)
  assert.deepEqual(answers(harness.receive(response(false))), [['refused', '']])
  harness.receive(inlineResult('a'))
  assert.deepEqual(harness.ends, [['a', 'value ok']])
  assert.deepEqual(summary(shutDown(harness)), ['shutdown'])
})

test('a shutdown waits for a connection, and is repeated on the next one', () => {
  const harness = new Harness()
  assert.deepEqual(summary(shutDown(harness)), [])
  assert.equal(summary(harness.open()).at(-1), 'shutdown')
  harness.disconnect()
  assert.equal(summary(harness.open()).at(-1), 'shutdown')
  assert.deepEqual(answers(harness.receive(response(true))), [['accepted', '']])
})

test('a shutdown that nobody answers is given up in time', () => {
  const harness = new Harness()
  harness.advance(100_000)
  shutDown(harness)
  harness.handle({ type: 'connectFailed', reason: 'refused' })
  assert.deepEqual(answers(harness.advance(59_000)), [])
  const [[answer, detail] = []] = answers(harness.advance(2_000))
  assert.equal(answer, 'unreachable')
  assert.match(detail ?? '', /60000 ms \(refused\)/)
  assert.deepEqual(answers(harness.advance(100_000)), [])
})

test('closing answers a shutdown that is under way', () => {
  const harness = new Harness()
  harness.open()
  shutDown(harness)
  const closing = harness.handle({ type: 'closeRequested' })
  assert.deepEqual(answers(closing), [['closed', '']])
  assert.deepEqual(answers(shutDown(harness)), [['closed', '']])
})

test('a lost link that ends the client answers it, too', () => {
  const harness = new Harness({ reconnect: false })
  harness.open()
  shutDown(harness)
  assert.deepEqual(answers(harness.disconnect()), [['closed', 'the connection was lost: reset']])
})

test('options of a task travel in it, but not to a 1.9.9 scheduler', () => {
  const options = {
    ...NO_OPTIONS,
    flags: Buffer.from('flags'),
    plainFlags: Buffer.from('plain'),
    parentTaskId: taskId('p'),
    name: 'n',
    timeoutMs: 1,
    retries: 2,
    workerDeathLimit: 3,
    capabilities: [{ name: 'gpu', value: -1 }],
  }
  const { flags, plainFlags, ...extended } = options
  const { flags: _, plainFlags: __, ...none } = NO_OPTIONS
  for (const [scheduler, metadata, rest] of [
    ['S1', flags, extended],
    ['', plainFlags, none],
  ] as const) {
    const harness = new Harness()
    harness.open(scheduler)
    harness.handle({ type: 'taskSubmitted', task: { ...submission('a'), options } })
    const task = sent(harness.flush()).find((message) => message.kind === 'task')
    assert(task?.kind === 'task')
    assert.equal(task.metadata, metadata)
    for (const [key, value] of Object.entries(rest)) {
      assert.deepEqual(task[key as keyof typeof rest], value, key)
    }
  }
})

test('progress is reported to the owner of the task, and nothing else is', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  const update = { kind: 'taskUpdate', taskId: taskId('a'), done: 1, total: 3 } as const
  const actions = harness.receive({ ...update, update: 'progress' })
  assert.deepEqual(actions, [
    { type: 'reportProgress', owner: 'a', taskId: 'a', done: 1, total: 3 },
  ])
  assert.deepEqual(harness.receive({ ...update, update: 'waiting' }), [])
  assert.deepEqual(harness.receive({ ...update, taskId: taskId('b'), update: 'progress' }), [])
})
