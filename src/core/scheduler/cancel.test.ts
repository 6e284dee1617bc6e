import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, objectId } from '../../base/ids.js'
import { graph, node } from './graph/graph.kit.js'
import {
  cancel,
  clientHeartbeat,
  instruction,
  PYTHON,
  result,
  task,
  TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from './scheduler.kit.js'

const leave = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

test('a cancel is forwarded once, and once more when it comes with force', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('t', 'C')).actions()
  scheduler.receive('C', cancel('t')).receive('C', cancel('t'))
  assert.deepEqual(scheduler.lines(), ['W <- cancel t'])
  scheduler.receive('C', cancel('t', true)).receive('C', cancel('t', true))
  assert.deepEqual(scheduler.lines(), ['W <- cancel t by force'])
  scheduler.receive('C', cancel('t')).receive('W', result('t', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['C <- result t canceled'])
})

test('a cancel right after the task, a second one, and a late one are answered once', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', task('t', 'C'))
  for (const force of [false, true, false]) scheduler.receive('C', cancel('t', force))
  assert.deepEqual(scheduler.lines(), ['C <- result t canceled'])
  scheduler.receive('W', workerHeartbeat()).receive('C', task('u', 'C'))
  scheduler.receive('W', result('u')).actions()
  scheduler.receive('C', cancel('u')).receive('C', cancel('u', true))
  assert.deepEqual(scheduler.lines(), [])
})

test('a cancel with force after one without is answered with the outcome', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('t', 'C')).receive('C', cancel('t')).receive('C', cancel('t', true))
  scheduler.actions()
  scheduler.receive('W', result('t', 'notFound'))
  assert.deepEqual(scheduler.lines(), [], 'it had begun, and is being stopped')
  scheduler.receive('W', result('t', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['C <- result t canceled'])
})

test('a task that waits for its children is cancelled like a running one, and takes no room', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('W', update('a', 'waiting'))
  scheduler.receive('C', cancel('a', true)).receive('C', task('b', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task a', 'W <- cancel a by force', 'W <- task b'])
  scheduler.receive('W', result('a', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['C <- result a canceled'])
})

test('tasks that waited behind a cancelled task are assigned if there is room for them', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', instruction('create', 'C', ['g'])).receive('C', task('a', 'C'))
  scheduler
    .receive('W', result('a', 'success', 0.001))
    .receive('C', task('b', 'C'))
    .actions()
  // The duration of g is unknown: it needs its own worker, and c waits behind it.
  scheduler.receive('C', { ...task('g', 'C'), funcObjectId: objectId('g') })
  scheduler.receive('C', task('c', 'C'))
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('C', cancel('g'))
  assert.deepEqual(scheduler.lines(), ['C <- result g canceled', 'W <- task c'])
})

test('when a client leaves, our workers cancel by force what it had asked to cancel', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('t', 'C')).receive('C', cancel('t')).actions()
  assert.deepEqual(scheduler.receive('C', leave).lines(), ['W <- cancel t by force'])
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON))
  scheduler.receive('P', task('p', 'P')).receive('P', cancel('p')).actions()
  assert.deepEqual(scheduler.receive('P', leave).lines(), [])
})

test('a 1.9.9 worker stops what its client did not cancel itself before it left', () => {
  const scheduler = new TestScheduler({ clientTimeoutMs: 1_000 })
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON))
  scheduler.receive('P', task('p', 'P')).actions()
  const lines = scheduler.moveTo(3_000).lines()
  assert.deepEqual(lines, ['Q <- cancel p by force', 'disconnect P'])
})

test('a 1.9.9 client that returns after it was given up is told what was cancelled', () => {
  const scheduler = new TestScheduler({ clientTimeoutMs: 1_000 })
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON))
  for (const id of ['a', 'b', 'c']) scheduler.receive('P', task(id, 'P'))
  const nodes = [node('x'), node('y', ['x']), node('z', ['y'])]
  scheduler.receive('P', graph('g', ['x', 'z'], nodes))
  scheduler.receive('Q', result('a')).actions()
  scheduler.moveTo(3_000).actions()
  scheduler.receive('P', clientHeartbeat(PYTHON))
  const told = ['x', 'z', 'g', 'b', 'c'].map((id) => `P <- result ${id} canceled`)
  assert.deepEqual(scheduler.lines(), [...told, 'P <- echo'])
  assert.deepEqual(scheduler.receive('P', clientHeartbeat(PYTHON)).lines(), ['P <- echo'])
  scheduler.receive('C', clientHeartbeat()).receive('C', task('t', 'C')).moveTo(6_000).actions()
  scheduler.receive('C', clientHeartbeat())
  assert.deepEqual(scheduler.lines(), ['C <- echo S'], 'ours submit what they wait for again')
})

test('the tasks of a client that left are dropped in slices, while others continue', () => {
  const scheduler = new TestScheduler()
  const count = 12_000
  const say = (from: string, message: Parameters<TestScheduler['receive']>[1]): void => {
    // Without the kit, which checks all invariants after each event.
    const event = { type: 'messageReceived', from: identity(from), message } as const
    scheduler.machine.handle(event, 0, () => {})
  }
  scheduler.receive('C', clientHeartbeat()).receive('D', clientHeartbeat())
  for (let i = 0; i < count; i += 1) say('C', task(`t${i}`, 'C', i % 3))
  scheduler.receive('C', leave).actions()
  const { tasks } = scheduler.machine.counts
  assert.ok(tasks > 0 && tasks < count)
  scheduler.receive('W', workerHeartbeat()).receive('D', task('d', 'D'))
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- task d'])
  // The same client reconnects, and resubmits what has not been dropped yet.
  scheduler
    .receive('C', clientHeartbeat())
    .receive('C', task('t0', 'C', 1))
    .moveTo(0)
  scheduler.receive('W', result('d'))
  assert.deepEqual(scheduler.lines(), ['C <- echo S', 'D <- result d success', 'W <- task t0'])
  scheduler.receive('C', cancel('t0', true)).receive('W', result('t0', 'canceled'))
  assert.equal(scheduler.machine.counts.tasks, 0)
})
