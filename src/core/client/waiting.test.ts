// Why a client waits, when it says so, and what it does while a scheduler has no room.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUR_FEATURES } from '../../base/features.js'
import { schedulerId, taskId } from '../../base/ids.js'
import type { SchedulerReport, WaitReason } from '../../wire/message.js'
import type { ClientAction, WaitingWarning } from './events.js'
import { Harness, inlineResult, sent, summary, taskResult, taskUpdate } from './harness.test.kit.js'

/** What the user is told. */
function warnings(actions: readonly ClientAction<string>[]): WaitingWarning[] {
  return actions.flatMap((action) => (action.type === 'warnWaiting' ? [action.warning] : []))
}

function heartbeats(actions: readonly ClientAction<string>[]): number {
  return actions.filter((action) => action.type === 'sendHeartbeat').length
}

/** The scheduler says why so many tasks wait, and for how long. */
function say(harness: Harness, reason?: WaitReason, forMS = 0, tasks = 1): ClientAction<string>[] {
  return harness.receive({
    kind: 'clientHeartbeatEcho',
    schedulerId: schedulerId('S1'),
    features: OUR_FEATURES,
    reports: [],
    waiting: reason === undefined ? [] : [{ reason, tasks, forMS, needs: '', isDeadlocked: false }],
  })
}

const NO_REPORT: SchedulerReport = {
  version: '',
  runtime: '',
  clockMS: 0,
  monitorAddress: '',
  workers: 0,
  suitable: 0,
  idle: 0,
  workerReports: [],
  clientReports: [],
  clients: 0,
  waiting: [],
  freeBytes: 0,
}

/** A client whose scheduler says why tasks wait, with a task that it has sent. */
function withTask(): Harness {
  const harness = new Harness()
  harness.open('S1', OUR_FEATURES)
  harness.submit('a')
  harness.flush()
  return harness
}

test('after five seconds without a scheduler the user is told once, and why', () => {
  const harness = new Harness()
  harness.handle({ type: 'connectFailed', reason: 'connection refused' })
  assert.deepEqual(warnings(harness.advance(60_000)), [], 'nothing is unfinished')
  harness.submit('a')
  harness.submit('b')
  assert.equal(harness.machine.waitingReasonOf(taskId('a')), 'no-scheduler')
  assert.deepEqual(warnings(harness.advance(4_999)), [])
  assert.deepEqual(warnings(harness.advance(1)), [
    { reason: 'no-scheduler', tasks: 2, forMs: 5_000, detail: 'connection refused' },
  ])
  assert.deepEqual(warnings(harness.advance(50_000)), [])
})

test('the next time that no scheduler answers is told of again', () => {
  const harness = new Harness()
  harness.submit('a')
  assert.equal(warnings(harness.advance(6_000)).length, 1)
  harness.open('S1', OUR_FEATURES)
  harness.flush()
  assert.deepEqual(warnings(say(harness)), [])
  harness.handle({ type: 'disconnected', reason: 'reset' })
  assert.deepEqual(warnings(harness.advance(4_900)), [])
  assert.equal(warnings(harness.advance(200)).length, 1)
})

test('whoever submits again and again while there is no scheduler is told once', () => {
  const harness = new Harness()
  harness.submit('a')
  assert.equal(warnings(harness.advance(6_000)).length, 1)
  harness.handle({ type: 'cancelRequested', taskId: taskId('a') })
  harness.submit('b')
  assert.deepEqual(warnings(harness.advance(20_000)), [])
})

test('a scheduler that answers no more is told of, one that is only seldom asked is not', () => {
  const frozen = withTask()
  const actions = frozen.advance(5_000)
  assert.deepEqual(
    warnings(actions).map(({ reason }) => reason),
    ['no-scheduler'],
  )
  const seldom = new Harness({ heartbeatIntervalMs: 50_000, timeoutMs: 600_000 })
  seldom.open('S1', 0)
  seldom.submit('a')
  seldom.flush()
  assert.equal(heartbeats(seldom.advance(5_000)), 1, 'it is asked')
  seldom.echo('S1', 0)
  assert.deepEqual(warnings(seldom.advance(4_000)), [])
})

test('a client that waits for its first answer is told of, too', () => {
  const harness = new Harness()
  harness.handle({ type: 'answerRequested' })
  const [warning] = warnings(harness.advance(5_000))
  assert.deepEqual([warning?.reason, warning?.tasks], ['no-scheduler', 0])
})

test('that no worker can run a task is told of when the scheduler has said so for five seconds', () => {
  const harness = withTask()
  assert.equal(heartbeats(harness.advance(250)), 1, 'it is asked why it takes so long')
  assert.deepEqual(warnings(say(harness, 'noWorker', 250)), [])
  assert.equal(harness.machine.waitingReasonOf(taskId('a')), 'no-worker')
  let told: WaitingWarning[] = []
  for (let at = 250; at < 5_000; at += 250) {
    const actions = harness.advance(250)
    assert.deepEqual(warnings(actions), [])
    if (heartbeats(actions) > 0) told = [...told, ...warnings(say(harness, 'noWorker', at + 250))]
  }
  assert.deepEqual(told, [{ reason: 'no-worker', tasks: 1, forMs: 5_000, detail: '' }])
  assert.deepEqual(warnings(say(harness, 'noWorker', 20_000)), [], 'once for each spell')
})

test('once tasks have run again a further spell is told of', () => {
  const harness = withTask()
  assert.equal(warnings(say(harness, 'noRuntime', 5_000)).length, 1)
  harness.submit('b')
  harness.flush()
  harness.receive(inlineResult('a'))
  assert.equal(harness.machine.waitingReasonOf(taskId('b')), undefined)
  assert.equal(warnings(say(harness, 'noRuntime', 5_000)).length, 1)
  say(harness)
  assert.equal(warnings(say(harness, 'noWorker', 6_000)).length, 1)
})

test('busy workers are a reason to wait, but none to be told of', () => {
  const harness = withTask()
  assert.deepEqual(warnings(say(harness, 'allBusy', 60_000)), [])
  assert.equal(harness.machine.waitingReasonOf(taskId('a')), 'all-busy')
  harness.receive(taskUpdate('a', 'running'))
  assert.equal(harness.machine.waitingReasonOf(taskId('a')), undefined)
})

test('a task that needs the result of another waits for that', () => {
  const harness = withTask()
  harness.submit('b', [{ type: 'task', taskId: taskId('a') }])
  assert.equal(harness.machine.waitingReasonOf(taskId('b')), 'dependency')
})

test('a task that the scheduler has no room for is sent again when there is', () => {
  const harness = withTask()
  for (const id of ['b', 'c', 'd']) harness.submit(id)
  harness.flush()
  for (const id of ['b', 'c', 'd']) harness.receive(taskResult(id, { status: 'noWorker' }))
  harness.submit('e')
  assert.deepEqual(tasksIn(harness.flush()), [], 'there is no room')
  assert.equal(harness.machine.whereIs(taskId('b')), 'pending')
  assert.equal(harness.machine.waitingReasonOf(taskId('b')), 'limit')
  harness.receive({ kind: 'taskRoom', tasks: 2 })
  assert.deepEqual(tasksIn(harness.flush()), ['b', 'c'])
  harness.receive({ kind: 'taskRoom', tasks: 5 })
  assert.deepEqual(tasksIn(harness.flush()), ['d', 'e'], 'those that came first go first')
  for (const id of ['a', 'b', 'c', 'd', 'e']) harness.receive(inlineResult(id))
  assert.deepEqual(harness.ends.length, 5)
})

test('while there is no room nobody asks the transport for any', () => {
  const harness = withTask()
  harness.receive(taskResult('a', { status: 'noWorker' }))
  const asked = harness.flush().filter(({ type }) => type === 'requestFlush')
  assert.deepEqual(asked, [])
  const told = harness.receive({ kind: 'taskRoom', tasks: 1 })
  assert.equal(told.filter(({ type }) => type === 'requestFlush').length, 1)
})

test('a task that is held back can be cancelled, and is then not sent', () => {
  const harness = withTask()
  harness.receive(taskResult('a', { status: 'noWorker' }))
  harness.handle({ type: 'cancelRequested', taskId: taskId('a') })
  assert.deepEqual(harness.ends, [['a', 'cancelled']])
  harness.receive({ kind: 'taskRoom', tasks: 5 })
  assert.deepEqual(summary(harness.flush()), [])
})

test('on a new connection all that was held back is sent', () => {
  const harness = withTask()
  harness.receive(taskResult('a', { status: 'noWorker' }))
  harness.handle({ type: 'disconnected', reason: 'reset' })
  harness.open('S1', OUR_FEATURES)
  assert.deepEqual(tasksIn(harness.flush()), ['a'])
})

test('a full queue is told of after five seconds, once until all is sent', () => {
  const harness = withTask()
  for (const id of ['b', 'c']) harness.submit(id)
  harness.flush()
  for (const id of ['a', 'b', 'c']) harness.receive(taskResult(id, { status: 'noWorker' }))
  const told: WaitingWarning[] = []
  for (let second = 0; second < 9; second += 1) {
    told.push(...warnings(harness.advance(1_000)))
    say(harness, 'allBusy')
    if (second === 2) harness.receive({ kind: 'taskRoom', tasks: 1 })
    harness.flush()
  }
  assert.deepEqual(told, [{ reason: 'limit', tasks: 2, forMs: 5_000, detail: '' }])
  harness.receive({ kind: 'taskRoom', tasks: 2 })
  harness.flush()
  harness.receive(taskResult('c', { status: 'noWorker' }))
  const again = harness.advance(1_900)
  say(harness)
  assert.deepEqual(warnings(again), [])
})

function tasksIn(actions: readonly ClientAction<string>[]): string[] {
  return sent(actions).flatMap((message) => (message.kind === 'task' ? [message.taskId] : []))
}

test('the user is warned of a deadlock after three seconds', () => {
  const harness = withTask()
  const tell = (forMS: number): WaitingWarning[] => {
    const why = { reason: 'noCapability', tasks: 1, needs: 'gpu=1', isDeadlocked: true } as const
    const waiting = [{ ...why, forMS }]
    const echo = { schedulerId: schedulerId('S1'), features: OUR_FEATURES, reports: [], waiting }
    return warnings(harness.receive({ kind: 'clientHeartbeatEcho', ...echo }))
  }
  assert.deepEqual(tell(1_500), [])
  assert.equal(heartbeats(harness.advance(1_499)), 0)
  assert.equal(heartbeats(harness.advance(1)), 1, 'it asks again when three seconds are over')
  const warning = { reason: 'no-capability', tasks: 1, forMs: 3_000, detail: 'gpu=1' }
  assert.deepEqual(tell(3_000), [warning])
})

test('a report can be requested once the scheduler answers, and its number of workers is passed on', () => {
  const harness = new Harness()
  assert.equal(heartbeats(harness.handle({ type: 'reportRequested' })), 0, 'no connection')
  assert.equal(heartbeats(harness.handle({ type: 'connected' })), 1)
  assert.equal(heartbeats(harness.handle({ type: 'reportRequested' })), 0, 'an echo is on its way')
  say(harness)
  assert.equal(heartbeats(harness.handle({ type: 'reportRequested' })), 1)
  const report = { ...NO_REPORT, workers: 7, suitable: 5, idle: 3 }
  const actions = harness.receive({
    kind: 'clientHeartbeatEcho',
    schedulerId: schedulerId('S1'),
    features: OUR_FEATURES,
    reports: [report],
    waiting: [],
  })
  assert.deepEqual(actions, [{ type: 'reportWorkers', count: 5 }])
})
