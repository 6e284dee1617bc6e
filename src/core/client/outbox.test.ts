import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId, taskId } from '../../base/ids.js'
import { Turn } from '../../base/machine.js'
import { submission } from './harness.test.kit.js'
import { taskCancelMessage, requestMessage } from './messages.js'
import { ClientObjectTable } from './objects.js'
import { ClientOutbox } from './outbox.js'
import type { TaskRecord } from './task/task.js'

function record(owner: string, messageBytes = 100): TaskRecord<string> {
  const task = submission(owner)
  return {
    id: task.taskId,
    count: 1,
    run: undefined,
    owner,
    options: task.options,
    function: new ClientObjectTable(new Turn()).use(task.function, 'function'),
    args: [],
    sharedArgs: undefined,
    inlineBytes: 0,
    messageBytes,
    state: 'waiting',
    hasBegun: false,
    unready: 0,
    holdsInputs: true,
    firstSentTo: undefined,
    place: undefined,
    result: undefined,
    asInput: undefined,
    graph: undefined,
  }
}

test('tasks leave in order, and those taken out are skipped', () => {
  const outbox = new ClientOutbox<string>()
  const [a, b, c] = [record('a'), record('b'), record('c')]
  for (const task of [a, b, c]) outbox.addTask(task)
  outbox.removeTask(b)
  outbox.removeTask(b)
  assert.equal(outbox.taskBytes, 200)
  assert.equal(outbox.takeTask(), a)
  assert.equal(outbox.takeTask(), c)
  assert.equal(outbox.takeTask(), undefined)
  assert.equal(outbox.taskBytes, 0)
  outbox.checkInvariants()
})

test('credit is spent by what is sent and comes back when there is room', () => {
  const outbox = new ClientOutbox<string>()
  outbox.spend(1024 ** 2)
  assert.equal(outbox.hasCredit, false)
  outbox.grantCredit()
  assert.equal(outbox.hasCredit, true)
})

test('room is asked for once, and only while something waits', () => {
  const outbox = new ClientOutbox<string>()
  assert.equal(outbox.requestFlush(false), undefined)
  assert.equal(outbox.requestFlush(true), 'soon')
  outbox.grantCredit()
  outbox.addTask(record('a'))
  assert.equal(outbox.requestFlush(false), 'soon')
  assert.equal(outbox.requestFlush(false), undefined)
  outbox.grantCredit()
  outbox.spend(2 * 1024 ** 2)
  assert.equal(outbox.requestFlush(false), 'nextTurn')
})

test('tasks that fill a packet are a batch', () => {
  const outbox = new ClientOutbox<string>()
  outbox.addTask(record('a', 64 * 1024 - 1))
  assert.equal(outbox.hasBatch, false)
  outbox.addTask(record('b', 1))
  assert.equal(outbox.hasBatch, true)
})

test('of the messages to a lost connection only cancels are kept, in order', () => {
  const outbox = new ClientOutbox<string>()
  const [a, b] = [taskCancelMessage(taskId('a'), true), taskCancelMessage(taskId('b'), true)]
  const c = { kind: 'graphTaskCancel', taskId: taskId('c') } as const
  for (const message of [a, requestMessage(objectId('r')), b, c]) outbox.addMessage(message)
  outbox.dropRequests()
  const kept = [1, 2, 3, 4].map(() => outbox.takeMessage())
  assert.deepEqual(kept, [a, b, c, undefined])
})
