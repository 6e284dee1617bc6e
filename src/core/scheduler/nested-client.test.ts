import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  child,
  clientHeartbeat,
  instruction,
  OURS,
  peer,
  result,
  task,
  type TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from './scheduler.kit.js'

/** Worker `W` and, nested in its task `a`, client `N`. */
function nested(workers: readonly string[] = ['W']): TestScheduler {
  const scheduler = withPeers({ clients: ['C'], workers })
  scheduler.receive('C', task('a', 'C')).receive('N', clientHeartbeat(OURS, 'W'))
  scheduler.receive('N', instruction('create', 'N', ['f'])).actions()
  return scheduler
}

const lost = (name: string) => ({ type: 'peerDisconnected', peer: peer(name) }) as const

/** Lets time pass with heartbeats from all peers except `N`. */
function keepAlive(scheduler: TestScheduler, until: number): void {
  for (let at = scheduler.now; at <= until; at += 10_000) {
    scheduler.moveTo(at).receive('C', clientHeartbeat()).receive('W', workerHeartbeat())
  }
  scheduler.actions()
}

test('a nested client may be silent while its worker is alive', () => {
  const scheduler = nested()
  keepAlive(scheduler, 300_000)
  assert.equal(scheduler.machine.counts.clients, 2)
  scheduler.moveTo(355_000).receive('C', clientHeartbeat()).moveTo(365_000)
  assert.deepEqual(scheduler.lines(), ['C <- echo S', 'disconnect N', 'disconnect W'])
  scheduler.moveTo(420_000)
  assert.equal(scheduler.machine.counts.clients, 0)
})

test('a nested client that loses its connection has five seconds to reconnect', () => {
  for (const isBack of [false, true]) {
    const scheduler = nested()
    scheduler.moveTo(10_000).handle(lost('N')).moveTo(14_000)
    if (isBack) scheduler.receive('N', clientHeartbeat(OURS, 'W'))
    scheduler.moveTo(17_000)
    assert.equal(scheduler.machine.counts.clients, isBack ? 2 : 1)
  }
})

for (const [title, end] of [
  ['loses its connection', (s) => s.handle(lost('W'))],
  ['leaves', (s) => s.receive('W', { kind: 'disconnectRequest', worker: peer('W') })],
] as readonly [string, (scheduler: TestScheduler) => unknown][]) {
  test(`when a worker ${title}, its nested clients and their tasks are removed`, () => {
    const scheduler = nested(['W', 'V'])
    // Of the same client, but without a known parent task.
    scheduler.receive('N', task('b', 'N')).receive('W', update('a', 'waiting'))
    for (const id of ['c', 'd']) scheduler.receive('N', child(id, 'N', 'a'))
    assert.deepEqual(scheduler.lines(), ['V <- task b', 'W <- task c'])
    end(scheduler)
    const lines = scheduler.lines().filter((line) => !line.includes('disconnectResponse'))
    assert.deepEqual(lines, ['V <- cancel b by force', 'disconnect N'])
    scheduler.receive('V', result('b', 'canceled'))
    assert.deepEqual(scheduler.lines(), ['V <- task a'])
    const { clients, tasks } = scheduler.machine.counts
    assert.deepEqual([clients, tasks], [1, 1])
  })
}

test('the queued tasks of a nested client do not start while it is disconnected', () => {
  const scheduler = nested()
  for (const id of ['b', 'c']) scheduler.receive('N', child(id, 'N', 'a'))
  scheduler.handle(lost('N')).receive('C', task('d', 'C'))
  scheduler.receive('W', update('a', 'waiting'))
  assert.deepEqual(scheduler.lines(), ['W <- task d'])
  scheduler.receive('W', result('d')).receive('N', clientHeartbeat(OURS, 'W'))
  assert.deepEqual(scheduler.lines(), [
    'C <- result d success',
    'N <- echo S allBusy 2 0',
    'W <- task b',
  ])
  scheduler.receive('W', result('b'))
  assert.deepEqual(scheduler.lines(), ['N <- result b success', 'W <- task c'])
})

test('after five seconds a disconnected nested client is removed with its tasks', () => {
  const scheduler = nested()
  scheduler.receive('N', child('b', 'N', 'a')).handle(lost('N'))
  scheduler.receive('W', update('a', 'waiting')).moveTo(7000)
  assert.deepEqual(scheduler.machine.counts.tasks, 1)
})

test('a new client from the same worker replaces the disconnected ones', () => {
  const scheduler = nested(['W', 'V'])
  for (const id of ['b', 'c']) scheduler.receive('N', child(id, 'N', 'a'))
  assert.deepEqual(scheduler.lines(), ['V <- task b'])
  scheduler.handle(lost('N')).receive('M', clientHeartbeat(OURS, 'W'))
  assert.deepEqual(scheduler.lines(), ['V <- cancel b by force', 'M <- echo S'])
  const { clients, tasks } = scheduler.machine.counts
  assert.deepEqual([clients, tasks], [2, 2], 'C and M; a, and b until V has answered')
})

test('connected clients of a worker are not affected by another one', () => {
  const scheduler = nested()
  scheduler.receive('M', clientHeartbeat(OURS, 'W'))
  assert.equal(scheduler.machine.counts.clients, 3)
})

test('a client that names an unknown worker is treated like any other', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('N', clientHeartbeat(OURS, 'unknown')).actions()
  keepAlive(scheduler, 70_000)
  assert.equal(scheduler.machine.counts.clients, 1)
})

test('a client that outlives its worker registers again, and attaches to it once it returns', () => {
  const scheduler = nested()
  scheduler.handle(lost('W')).actions()
  scheduler.receive('N', clientHeartbeat(OURS, 'W')).receive('W', workerHeartbeat()).actions()
  scheduler.receive('N', clientHeartbeat(OURS, 'W'))
  keepAlive(scheduler, 120_000)
  assert.equal(scheduler.machine.counts.clients, 2)
})

test('a nested client can shut the cluster down, and gets its answer', () => {
  const scheduler = nested()
  scheduler.receive('N', { kind: 'clientDisconnect', disconnectType: 'shutdown' })
  assert.deepEqual(scheduler.lines(), ['N <- accepted', 'C <- accepted', 'W <- shutdown', 'stop'])
})
