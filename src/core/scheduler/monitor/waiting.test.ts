// How a scheduler reports tasks that wait for a worker.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  clientHeartbeat,
  OLDER,
  OURS,
  peer,
  PYTHON,
  result,
  task,
  type TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const WAIT = 'tasks wait: no connected worker can run them'

/** The echo for a client. */
function echoTo(scheduler: TestScheduler, client: string): string | undefined {
  scheduler.receive(client, clientHeartbeat())
  return scheduler.lines().find((line) => line.startsWith(`${client} <- echo`))
}

/** The number of log lines about waiting while time passes. */
function waitUntil(scheduler: TestScheduler, end: number): number {
  let count = 0
  for (let now = scheduler.now + 1_000; now <= end; now += 1_000) {
    scheduler.moveTo(now)
    for (const client of ['C', 'P']) {
      const kind = client === 'C' ? OURS : PYTHON
      scheduler.receive(client, clientHeartbeat(kind))
    }
    count += scheduler.logs().filter((line) => line === WAIT).length
    scheduler.actions()
  }
  return count
}

test('an echo reports that there is no worker, and for how long', () => {
  const scheduler = withPeers({ clients: ['C', 'D'] })
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S')
  const { now } = scheduler
  scheduler.receive('C', task('a', 'C')).receive('C', task('b', 'C'))
  scheduler.moveTo(now + 1_200)
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S noWorker 2 1200')
  assert.equal(echoTo(scheduler, 'D'), 'D <- echo S', 'it has nothing waiting')
  scheduler.receive('W', workerHeartbeat()).receive('W', result('a')).receive('W', result('b'))
  scheduler.actions()
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S')
})

test('an echo counts from when tasks of its client wait, however long others have', () => {
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] })
  const capabilities = [{ name: 'gpu', value: 1 }]
  const { now } = scheduler
  scheduler.receive('C', { ...task('a', 'C'), capabilities })
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S noCapability 1 0 (gpu=1)')
  scheduler.moveTo(now + 4_000).receive('D', { ...task('b', 'D'), capabilities })
  scheduler.moveTo(now + 5_000)
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S noCapability 1 5000 (gpu=1)')
  assert.equal(echoTo(scheduler, 'D'), 'D <- echo S noCapability 1 1000 (gpu=1)')
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  scheduler.moveTo(now + 8_000).receive('D', task('c', 'D', 1))
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S noWorker 1 3000')
  assert.equal(echoTo(scheduler, 'D'), 'D <- echo S noWorker 2 3000', 'its first task')
  scheduler.receive('E', clientHeartbeat()).receive('E', task('e', 'E')).actions()
  assert.equal(echoTo(scheduler, 'E'), 'E <- echo S noWorker 1 0')
})

test('workers of another runtime, or leaving ones, do not count', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('P', workerHeartbeat(PYTHON)).receive('C', task('a', 'C'))
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S noRuntime 1 0')
  scheduler.receive('W', { ...workerHeartbeat(), isLeaving: true })
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S noRuntime 1 0')
  scheduler.handle({ type: 'peerDisconnected', peer: peer('P') })
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S noWorker 1 0')
})

test('an echo reports that all workers are busy', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  assert.equal(echoTo(scheduler, 'C'), 'C <- echo S allBusy 2 0')
})

test('an older client receives no such report', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', task('a', 'C')).actions()
  scheduler.receive('C', clientHeartbeat(OLDER))
  assert.deepEqual(scheduler.lines(), ['C <- echo S'])
})

test('it is logged once after five seconds, and again only after it was resolved', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const start = scheduler.now
  scheduler.receive('C', task('a', 'C'))
  assert.equal(waitUntil(scheduler, start + 4_000), 0)
  assert.equal(waitUntil(scheduler, start + 7_000), 1)
  assert.equal(waitUntil(scheduler, start + 50_000), 0)
  scheduler.receive('W', workerHeartbeat()).handle({ type: 'peerDisconnected', peer: peer('W') })
  scheduler.actions()
  assert.equal(waitUntil(scheduler, start + 62_000), 0, 'not twice in a minute')
  assert.equal(waitUntil(scheduler, start + 80_000), 1)
})

test('the log names the runtime that is missing', () => {
  const scheduler = withPeers({ workers: ['W'] })
  const start = scheduler.now
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('P', task('p', 'P')).actions()
  for (let second = 1; second <= 7; second += 1) {
    scheduler.moveTo(start + second * 1_000).receive('P', clientHeartbeat(PYTHON))
    scheduler.receive('W', workerHeartbeat())
  }
  const line = scheduler.logActions().find(({ text }) => text === WAIT)
  assert.deepEqual(line?.fields, { reason: 'no-runtime', runtime: 'python', tasks: 1 })
  assert.equal(line?.level, 'warn')
})

test('a client is notified that its task has begun, and that it waits again', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  scheduler.receive('C', task('a', 'C')).actions()
  scheduler.receive('W', update('a', 'running'))
  assert.ok(!scheduler.lines().some((line) => line.startsWith('C <-')), 'W does not have it')
  scheduler.receive('V', update('a', 'running'))
  assert.deepEqual(scheduler.lines(), ['C <- running a 0/0'])
  scheduler.handle({ type: 'peerDisconnected', peer: peer('V') })
  assert.deepEqual(scheduler.lines(), ['C <- queued a 0/0', 'W <- task a'])
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  assert.deepEqual(scheduler.lines(), [], 'it had not begun there')
})

test('a client that resubmits a task is notified that it has begun', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('W', update('a', 'running')).actions()
  scheduler.receive('C', task('a', 'C'))
  assert.deepEqual(scheduler.lines(), ['C <- running a 0/0'])
})

test('a task that is retried waits again', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('a', 'C'), retries: 1 }).actions()
  scheduler.receive('W', update('a', 'progress', 1, 2)).actions()
  scheduler.receive('W', result('a', 'failed'))
  assert.deepEqual(scheduler.lines(), ['C <- queued a 0/0', 'W <- task a'])
})

test('an older client is not notified that a task has begun', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', clientHeartbeat(OLDER)).receive('C', task('a', 'C')).actions()
  scheduler.receive('W', update('a', 'running'))
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  assert.deepEqual(scheduler.lines(), [])
})
