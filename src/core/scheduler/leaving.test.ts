import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId, taskId } from '../../base/ids.js'
import { graph, large, node } from './graph/graph.kit.js'
import {
  cancel,
  child,
  clientHeartbeat,
  instruction,
  OURS,
  peer,
  PYTHON,
  result,
  task,
  TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from './scheduler.kit.js'

const leaving = { ...workerHeartbeat(), isLeaving: true }

test('a worker that is about to leave gets no new tasks, and keeps those that it runs', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('W', leaving).receive('C', task('b', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task a', 'W <- echo S'])
  scheduler.receive('W', workerHeartbeat()).receive('W', result('a'))
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'C <- result a success'], 'nor later')
  scheduler.receive('X', workerHeartbeat())
  assert.deepEqual(scheduler.lines(), ['X <- echo S', 'X <- task b'])
})

test('tasks that a leaving worker gives back are reassigned first, as the same attempt', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler
    .receive('C', task('z', 'C'))
    .receive('W', result('z', 'success', 0.001))
    .actions()
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  scheduler.receive('W', leaving).receive('C', task('d', 'C')).actions()
  for (const id of ['c', 'b']) scheduler.receive('W', result(id, 'canceled'))
  scheduler.receive('X', workerHeartbeat())
  const lines = scheduler.lines().slice(1)
  assert.deepEqual(lines, ['X <- task b', 'X <- task c', 'X <- task d'])
  scheduler.receiveAsIs('X', result('b'))
  assert.deepEqual(scheduler.lines(), ['C <- result b success'])
})

test('a leaving worker answers for its running tasks until it has left', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('C', task('b', 'C')).receive('W', leaving)
  scheduler.receive('W', update('a', 'waiting')).receive('W', update('a', 'resumed')).actions()
  scheduler.receive('C', cancel('a', true)).receive('W', result('a', 'canceled'))
  scheduler.receive('W', { kind: 'disconnectRequest', worker: peer('W') })
  assert.deepEqual(scheduler.lines(), [
    'W <- cancel a by force',
    'C <- result a canceled',
    'W <- disconnectResponse',
  ])
})

test('no task is lost when a worker is lost while it leaves', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  scheduler.receive('C', task('a', 'C')).receive('W', leaving)
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  assert.deepEqual(scheduler.lines().slice(-1), ['X <- task a'])
})

test('a leaving worker is not counted as room or as idle, and gets no graph nodes', () => {
  const limits = { maxNumberOfTasksWaiting: 0, perWorkerQueueSize: 1 }
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, limits)
  scheduler.receive('W', leaving).receive('C', task('a', 'C'))
  assert.deepEqual(scheduler.lines().slice(1), ['C <- result a noWorker'])

  const holders = withPeers({ clients: ['C'], workers: ['W'] })
  holders.receive('C', graph('G', ['n2'], [node('n1'), node('n2', ['n1'])]))
  holders.receive('W', instruction('create', 'C', ['r']))
  holders.receive('W', { kind: 'objectRequest', requestType: 'get', objectIds: [objectId('r')] })
  holders.receive('W', leaving).receive('X', workerHeartbeat())
  holders.receive('W', large('n1', 'r'))
  assert.ok(holders.lines().includes('X <- task n2'))
})

test('a worker that announces in its first heartbeat that it leaves gets no tasks', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', task('a', 'C')).receive('W', leaving)
  assert.deepEqual(scheduler.lines(), ['W <- echo S'])
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') }).receive('W', workerHeartbeat())
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- task a'])
})

test('no tasks are recalled for a leaving worker, or from it', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('z', 'C')).receive('W', result('z', 'success', 0.000_01))
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  scheduler.receive('X', leaving).actions()
  assert.deepEqual(scheduler.moveTo(1000).lines(), [])
  scheduler.receive('W', leaving).receive('Y', workerHeartbeat()).actions()
  assert.deepEqual(scheduler.moveTo(2000).lines(), [])
})

test('a worker of this version, but not of 1.9.9, is given up after five seconds of silence', () => {
  const scheduler = new TestScheduler({ workerSilenceMs: 5000 })
  const older = workerHeartbeat({ ...OURS, features: 7 })
  scheduler.receive('W', workerHeartbeat()).receive('V', older)
  scheduler.receive('Q', workerHeartbeat(PYTHON)).actions()
  assert.deepEqual(scheduler.moveTo(5000).lines(), [])
  assert.deepEqual(scheduler.moveTo(6000).lines(), ['disconnect W'])
  assert.deepEqual(scheduler.moveTo(59_000).lines(), [])
  assert.deepEqual(scheduler.moveTo(61_000).lines(), ['disconnect V', 'disconnect Q'])
})

test('the bytes of a long message count as a sign of life of a worker', () => {
  const scheduler = new TestScheduler({ workerSilenceMs: 5000 })
  scheduler.receive('W', workerHeartbeat()).actions()
  for (let now = 1000; now <= 60_000; now += 1000) {
    scheduler.moveTo(now).handle({ type: 'peerProgressed', peer: peer('W') })
  }
  assert.deepEqual(scheduler.lines(), [])
})

test('no worker is given up because the scheduler itself was stalled', () => {
  const scheduler = new TestScheduler({ workerSilenceMs: 5000 })
  scheduler.receive('C', clientHeartbeat()).receive('W', workerHeartbeat()).actions()
  for (let round = 0; round < 20; round += 1) {
    // Nothing runs for eight seconds; then the tick comes first, followed by pending messages.
    scheduler.now += 8000
    scheduler.handle({ type: 'tick' })
    scheduler.moveTo(scheduler.now + 1900)
    scheduler.receive('W', workerHeartbeat()).receive('C', clientHeartbeat())
  }
  const lines = scheduler.lines().filter((line) => !line.includes('echo'))
  assert.deepEqual(lines, [])
})

/** The scheduler stands still, and finds that worker `W` has closed its connection meanwhile. */
const STANDSTILLS: readonly [string, (scheduler: TestScheduler) => TestScheduler][] = [
  ['after the alarm that is late', (s) => s.handle({ type: 'tick' }).handle(lost('W'))],
  ['before it', (s) => s.handle(lost('W')).handle({ type: 'tick' })],
]

const lost = (name: string) => ({ type: 'peerDisconnected', peer: peer(name) }) as const

/** The first heartbeat of a worker that returns with task `a`. */
const back = { ...workerHeartbeat(), tasks: [taskId('a')] }

/** `W` has a task that waits for its child, which `V` runs; then nothing runs for nine seconds. */
function stalled(end: (scheduler: TestScheduler) => TestScheduler): TestScheduler {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('V', workerHeartbeat())
  scheduler.receive('N', clientHeartbeat(OURS, 'W')).receive('W', update('a', 'waiting'))
  scheduler
    .receive('N', child('b', 'N', 'a'))
    .receive('N', child('c', 'N', 'a'))
    .actions()
  scheduler.now += 9000
  end(scheduler)
  const lines = scheduler.lines().filter((line) => !line.includes('echo'))
  assert.deepEqual(lines, [])
  return scheduler
}

for (const [title, end] of STANDSTILLS) {
  test(`a worker cut off by a standstill of the scheduler, noticed ${title}, keeps its task`, () => {
    const scheduler = stalled(end).receive('V', result('b'))
    scheduler
      .moveTo(scheduler.now + 1000)
      .receive('W', back)
      .receive('W', update('a', 'waiting'))
    scheduler.receive('N', clientHeartbeat(OURS, 'W'))
    const expected = ['N <- result b success', 'W <- echo S', 'W <- task a']
    const lines = scheduler.lines().filter((line) => !line.includes('N <- echo'))
    assert.deepEqual(lines.slice(0, 3), expected)
    scheduler.moveTo(scheduler.now + 1000).receive('W', result('a'))
    assert.ok(scheduler.lines().includes('C <- result a success'))
  })

  test(`a worker cut off by a standstill, noticed ${title}, has a second and a half to return`, () => {
    const scheduler = stalled(end)
    scheduler.receive('V', result('b')).actions()
    scheduler.moveTo(scheduler.now + 1400)
    assert.deepEqual(scheduler.lines(), [])
    scheduler.moveTo(scheduler.now + 200)
    assert.deepEqual(scheduler.lines(), ['N <- result c canceled', 'V <- task a'])
    scheduler.receive('W', back)
    assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- cancel a by force'])
  })
}
