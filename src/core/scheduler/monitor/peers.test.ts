// Which workers and clients have joined and left, as monitors are told.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity } from '../../../base/ids.js'
import type { MonitorReport, MonitorRequest } from '../../../wire/message.js'
import {
  clientHeartbeat,
  OURS,
  PYTHON,
  result,
  task,
  type TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const REQUEST: MonitorRequest = {
  kind: 'monitorRequest',
  credit: 32,
  wantsEvents: true,
  wantsFailures: false,
  failuresAfter: 0,
  wantsGraphs: false,
  wantsPeers: true,
}
const LEAVE = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

function connect(scheduler: TestScheduler, name = 'M', request = REQUEST): void {
  scheduler.receive(name, { ...clientHeartbeat(), wantsReport: true }).receive(name, request)
}

function lose(scheduler: TestScheduler, peer: string): TestScheduler {
  return scheduler.handle({ type: 'peerDisconnected', peer: identity(peer) })
}

/** A second has passed. */
function sample(scheduler: TestScheduler): TestScheduler {
  const use = { scheduler: { cpu: 5, rss: 1_000 }, rssFree: 2_000, turnP99Ms: 3 }
  scheduler.handle({ type: 'statisticsSampled', ...use })
  return scheduler.moveTo(scheduler.now)
}

function reports(scheduler: TestScheduler, name = 'M'): readonly MonitorReport[] {
  return scheduler.actions().flatMap((action) => {
    if (action.type !== 'send' || action.to !== name) return []
    return action.message.kind === 'monitorReport' ? [action.message] : []
  })
}

/** What a monitor is told until so many milliseconds have passed: `+W`, `-C`, ids of tasks. */
function told(scheduler: TestScheduler, ms = 100): string {
  return reports(scheduler.moveTo(scheduler.now + ms))
    .flatMap(lines)
    .join(' ')
}

function lines({ peers, events }: MonitorReport): readonly string[] {
  const all: string[] = events.map(({ taskId }) => taskId)
  for (const { hasLeft, after, worker, client } of peers.toReversed()) {
    const ids = [
      ...worker.map((each) => each.worker.workerId),
      ...client.map((each) => each.client),
    ]
    all.splice(after, 0, `${hasLeft ? '-' : '+'}${ids.join('+')}`)
  }
  return all
}

test('peers that join and leave within a moment are told, in order with tasks', () => {
  const scheduler = withPeers({ workers: ['W'] })
  connect(scheduler)
  for (const client of ['C', 'D']) {
    scheduler.receive(client, clientHeartbeat()).receive(client, task(`of${client}`, client))
    scheduler.receive('W', result(`of${client}`)).receive(client, LEAVE)
  }
  scheduler.receive('V', workerHeartbeat())
  scheduler.receive('V', { kind: 'disconnectRequest', worker: identity('V') })
  assert.equal(told(scheduler, 99), '')
  assert.equal(told(scheduler, 1), '+C ofC -C +D ofD -D +V -V')
  assert.equal(told(sample(scheduler), 5_000), '')
})

test('peers are told with what they report about themselves, and what they had', () => {
  const scheduler = withPeers({ workers: ['W'] })
  connect(scheduler)
  const info = [
    {
      name: 'shop',
      host: 'one',
      machineId: 'm',
      pid: 1,
      version: '1',
      startedMS: 0,
      endsMS: 0,
      allocation: '',
      endsInMS: 0,
    },
  ]
  scheduler.receive('C', { ...clientHeartbeat(), info }).receive('C', task('t', 'C'))
  scheduler.receive('W', { ...workerHeartbeat(), info })
  scheduler.receive('V', { ...workerHeartbeat(), info }).receive('C', LEAVE)
  scheduler.receive('W', { kind: 'disconnectRequest', worker: identity('W') })
  const peers = reports(scheduler.moveTo(100)).flatMap((report) => report.peers)
  const outline = peers.map(({ hasLeft, worker, client }) => [
    hasLeft,
    ...worker.map((each) => [each.worker.workerId, each.worker.sent, each.info[0]?.name]),
    ...client.map((each) => [each.client, each.tasks, each.info[0]?.name]),
  ])
  assert.deepEqual(outline, [
    [false, ['C', 0, 'shop']],
    [false, ['V', 0, 'shop']],
    [true, ['C', 1, 'shop']],
    [true, ['W', 1, 'shop']],
  ])
})

test('a worker that returns at once has not left; one that does not is told a second later', () => {
  const scheduler = withPeers({ workers: ['W', 'V'], clients: ['C'] })
  connect(scheduler)
  scheduler.receive('N', clientHeartbeat(OURS, 'W'))
  assert.equal(told(scheduler), '+N')
  for (const peer of ['W', 'C']) lose(scheduler, peer)
  scheduler.moveTo(1_000).receive('W', workerHeartbeat())
  scheduler.receive('C', clientHeartbeat()).receive('N', clientHeartbeat())
  assert.equal(told(scheduler, 10_000), '')
  lose(scheduler, 'V')
  assert.equal(told(scheduler, 999), '')
  assert.equal(told(scheduler, 101), '-V')
  scheduler.receive('V', workerHeartbeat())
  assert.equal(told(scheduler), '+V')
  lose(scheduler, 'C')
  assert.equal(told(scheduler, 4_000), '')
  assert.equal(told(scheduler, 4_000), '-C')
})

test('a client that is registered again with its runtime has neither left nor joined', () => {
  const scheduler = withPeers({ workers: ['W'] })
  connect(scheduler)
  scheduler.receive('C', task('t', 'C'))
  assert.equal(told(scheduler), '+C')
  scheduler.receive('C', clientHeartbeat())
  assert.equal(told(scheduler, 1_000), 't', 'its task is dropped')
  scheduler.receive('P', clientHeartbeat(PYTHON))
  assert.equal(told(scheduler), '+P')
})

test('monitors and other visitors are not told, and nothing is told without a request', () => {
  const scheduler = withPeers({})
  connect(scheduler, 'L', { ...REQUEST, wantsEvents: false })
  connect(scheduler, 'O', { ...REQUEST, wantsPeers: false })
  connect(scheduler)
  scheduler.receive('X', { ...clientHeartbeat(), wantsReport: true }).receive('X', LEAVE)
  scheduler.receive('C', clientHeartbeat()).moveTo(200)
  const known = scheduler.actions().flatMap((action) => {
    if (action.type !== 'send' || action.message.kind !== 'monitorReport') return []
    return [`${action.to}: ${lines(action.message).join(' ')}`]
  })
  assert.deepEqual(known, ['O: ', 'M: +C'])
  scheduler.receive('M', LEAVE).receive('C', LEAVE).receive('D', clientHeartbeat())
  assert.equal(told(scheduler, 2_000), '')
  connect(scheduler)
  assert.equal(told(scheduler, 2_000), '')
})

test('a report says whether a monitor has all changes: from its first complete state on', () => {
  const scheduler = withPeers({ workers: ['W'] })
  sample(scheduler)
  connect(scheduler)
  const sure = (): readonly boolean[] => reports(scheduler).map(({ hasAllPeers }) => hasAllPeers)
  assert.deepEqual(sure(), [false])
  sample(scheduler)
  assert.deepEqual(sure(), [true])
  // It does not want events for a moment.
  scheduler.receive('M', { ...REQUEST, wantsEvents: false })
  sample(scheduler)
  assert.deepEqual(sure(), [false])
  scheduler.receive('M', REQUEST).moveTo(200)
  sample(scheduler)
  sample(scheduler)
  assert.deepEqual(sure(), [false, true])
})

test('after lost changes, a monitor has all again once a state has listed every peer', () => {
  const scheduler = withPeers({ workers: Array.from({ length: 300 }, (_, at) => `W${at}`) })
  sample(scheduler)
  connect(scheduler, 'M', { ...REQUEST, credit: 3 })
  sample(sample(scheduler).moveTo(1_000))
  assert.deepEqual(
    reports(scheduler).map(({ hasAllPeers }) => hasAllPeers),
    [false, false, true],
  )
  for (let at = 0; at < 6_000; at += 1) {
    scheduler.receive(`C${at}`, clientHeartbeat()).receive(`C${at}`, LEAVE)
  }
  scheduler.receive('M', { ...REQUEST, credit: 2 }).moveTo(scheduler.now + 200)
  const [first, second] = reports(scheduler)
  assert.deepEqual(
    [first?.lostEvents, first?.peers.length, first?.hasAllPeers],
    [2_000, 100, false],
  )
  assert.deepEqual([second?.lostEvents, second?.hasAllPeers], [0, false])
  for (let at = 0; at < 5; at += 1) {
    scheduler.receive('M', { ...REQUEST, credit: 32 }).moveTo(scheduler.now + 200)
  }
  const rest = reports(scheduler)
  assert.ok(rest.every(({ hasAllPeers }) => !hasAllPeers))
  assert.equal(rest.flatMap(({ peers }) => peers).length, 9_800)
  const listed: boolean[] = []
  for (let at = 0; at < 3; at += 1) {
    sample(scheduler).moveTo(scheduler.now + 1_000)
    listed.push(...reports(scheduler).map(({ hasAllPeers }) => hasAllPeers))
  }
  assert.deepEqual(listed.slice(0, 3), [false, false, true])
})

test('thousands of workers that join at once are told in parts, each once', () => {
  const scheduler = withPeers({})
  connect(scheduler, 'M', { ...REQUEST, credit: 4 })
  for (let at = 0; at < 5_000; at += 1) scheduler.receive(`W${at}`, workerHeartbeat())
  const all: MonitorReport[] = []
  for (let at = 0; at < 20; at += 1) {
    scheduler.moveTo(scheduler.now + 100)
    const some = reports(scheduler)
    assert.ok(some.length <= 4)
    all.push(...some)
    scheduler.receive('M', { ...REQUEST, credit: some.length })
  }
  const peers = all.flatMap((report) => report.peers)
  assert.equal(new Set(peers.map(({ worker: [each] }) => each?.worker.workerId)).size, 5_000)
  assert.equal(peers.length, 5_000)
  assert.ok(all.every((report) => report.peers.length <= 100 && report.lostEvents === 0))
})
