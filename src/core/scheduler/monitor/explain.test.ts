// How a scheduler explains one task to a client that asks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskId } from '../../../base/ids.js'
import type { TaskExplanation } from '../../../wire/message.js'
import {
  cancel,
  result,
  task,
  type TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

/** The explanation of a task for client C, in short. */
function explain(scheduler: TestScheduler, id = 't'): Omit<TaskExplanation, 'kind' | 'taskId'> {
  scheduler.actions()
  scheduler.receive('C', { kind: 'taskInquiry', taskId: taskId(id) })
  const [action, ...others] = scheduler.actions()
  assert.deepEqual(others, [])
  assert.ok(action?.type === 'send' && action.to === 'C')
  assert.ok(action.message.kind === 'taskExplanation' && action.message.taskId === id)
  const { kind: _, taskId: __, ...rest } = action.message
  return rest
}

test('a task waits, is assigned, begins, and is unknown once it has ended', () => {
  const scheduler = withPeers({ clients: ['C'] }).moveTo(1_000)
  scheduler.receive('C', task('t', 'C')).moveTo(1_300)
  const waiting = explain(scheduler)
  assert.deepEqual(
    [waiting.state, waiting.reason, waiting.forMS, waiting.attempts],
    ['waiting', 'noWorker', 300, []],
  )
  scheduler.receive('W', workerHeartbeat()).moveTo(1_500)
  const assigned = explain(scheduler)
  assert.deepEqual([assigned.state, assigned.forMS], ['assigned', 200])
  const attempt = { worker: 'W', outcome: 'unfinished', agoMS: 200, forMS: 200 }
  assert.deepEqual(assigned.attempts, [attempt])
  scheduler.receive('W', update('t', 'running'))
  assert.deepEqual(explain(scheduler).attempts, [{ ...attempt, outcome: 'running' }])
  scheduler.receive('C', cancel('t', true))
  assert.equal(explain(scheduler).state, 'canceling')
  scheduler.receive('W', result('t', 'canceled'))
  assert.deepEqual(explain(scheduler).state, 'unknown')
})

test('a task that has run for longer than its scheduler has begun when its worker says so', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }).moveTo(1_000)
  scheduler.receive('C', task('t', 'C')).receive('W', update('t', 'running')).moveTo(2_000)
  const running = [{ taskId: taskId('t'), forMS: 60_000, name: '', function: '' }]
  scheduler.receive('W', { ...workerHeartbeat(), running }).moveTo(2_500)
  const { forMS, attempts } = explain(scheduler)
  assert.deepEqual(
    [forMS, attempts],
    [60_500, [{ worker: 'W', outcome: 'running', agoMS: 60_500, forMS: 60_500 }]],
  )
})

test('earlier attempts are reported, also with the result', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 1 }).moveTo(100)
  scheduler.receive('V', result('t', 'failed')).moveTo(150)
  scheduler.handle({ type: 'peerDisconnected', peer: 'V' as never }).moveTo(400)
  const past = [
    { worker: 'V', outcome: 'failed', agoMS: 400, forMS: 100 },
    { worker: 'V', outcome: 'workerLost', agoMS: 300, forMS: 50 },
  ]
  assert.deepEqual(explain(scheduler).attempts, past)
  scheduler.receive('W', workerHeartbeat()).actions()
  scheduler.receive('W', result('t'))
  const [action] = scheduler.actions()
  assert.ok(action?.type === 'send' && action.message.kind === 'taskResult')
  assert.deepEqual(action.message.attempts, past)
})

test('a task that a worker gave back without having begun it counts no attempt', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  scheduler.receive('C', task('t', 'C')).receive('V', result('t', 'canceled'))
  assert.deepEqual(
    explain(scheduler).attempts.map(({ outcome }) => outcome),
    ['unfinished'],
  )
})

test('the last twenty attempts are kept', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 100 })
  for (let count = 0; count < 50; count += 1) scheduler.receive('V', result('t', 'failed'))
  const { attempts } = explain(scheduler)
  assert.equal(attempts.length, 20)
  assert.equal(attempts.at(-1)?.outcome, 'unfinished')
})

test('a task that needs what no worker offers reports that requirement', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  const capabilities = [{ name: 'gpu', value: 2 }]
  scheduler.receive('C', { ...task('t', 'C'), capabilities })
  const { reason, needs } = explain(scheduler)
  assert.deepEqual([reason, needs], ['noCapability', 'gpu=2'])
})
