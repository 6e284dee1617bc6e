import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../../../base/ids.js'
import type { AllocatorStatus, Message, OperatorRequest } from '../../../wire/message.js'
import {
  clientHeartbeat,
  task,
  type TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const STATUS: AllocatorStatus = {
  name: 'night',
  provider: 'slurm',
  runtime: 'javascript',
  offers: [],
  room: 5,
  pending: 1,
  claim: 0,
  running: 2,
  isPaused: false,
  decision: 'wait',
  why: 'no work',
  problem: '',
}

function request(action: OperatorRequest['action'], more: Partial<OperatorRequest>): Message {
  const about = { task: '', taskId: taskId(''), worker: identity(''), lines: 0, limitMS: 0 }
  return { kind: 'operatorRequest', number: 7, action, ...about, allocator: '', ...more }
}

/** An allocator A, an operator O, a monitor M that gets the state, and a worker of the allocator. */
function cluster(isProtected = false): TestScheduler {
  const scheduler = withPeers({ clients: ['A', 'O', 'M'] }, { isProtected })
  const about = { name: '', host: 'h', machineId: 'm', pid: 1, version: '1', startedMS: 1 }
  const info = { ...about, endsMS: 0, allocation: 'night/1', endsInMS: 0 }
  scheduler.receive('W', { ...workerHeartbeat(), info: [info] }).receive('V', workerHeartbeat())
  scheduler.receive('A', { kind: 'allocatorReport', allocator: STATUS })
  scheduler.actions()
  return scheduler
}

function sentTo(scheduler: TestScheduler, peer: string): readonly Message[] {
  return scheduler.actions().flatMap((action) => {
    return action.type === 'send' && action.to === peer ? [action.message] : []
  })
}

function outcomeFor(scheduler: TestScheduler, peer: string): string | undefined {
  const [answer] = sentTo(scheduler, peer).filter(({ kind }) => kind === 'operatorAnswer')
  return answer?.kind === 'operatorAnswer' ? answer.outcome : undefined
}

/** The allocators in the next state. */
function statuses(scheduler: TestScheduler): readonly AllocatorStatus[] {
  const wishes = {
    wantsEvents: false,
    wantsFailures: false,
    failuresAfter: 0,
    wantsGraphs: false,
    wantsPeers: false,
  }
  scheduler.receive('M', { kind: 'monitorRequest', credit: 4, ...wishes })
  const use = { scheduler: { cpu: 0, rss: 0 }, rssFree: 0, turnP99Ms: 0 }
  scheduler.handle({ type: 'statisticsSampled', ...use })
  const states = sentTo(scheduler, 'M').flatMap((message) => {
    return message.kind === 'monitorReport' ? message.states : []
  })
  return states.at(-1)?.allocators ?? []
}

function announced(scheduler: TestScheduler): readonly string[] {
  return statuses(scheduler).map(({ name, why }) => `${name}: ${why}`)
}

test('what an allocator announces is passed on until it leaves', () => {
  const scheduler = cluster()
  assert.deepEqual(announced(scheduler), ['night: no work'])
  const status = { ...STATUS, why: 'x'.repeat(5_000) }
  scheduler.receive('A', { kind: 'allocatorReport', allocator: status })
  assert.deepEqual(announced(scheduler), [`night: ${'x'.repeat(1_000)}`])
  scheduler.handle({ type: 'peerDisconnected', peer: identity('A') })
  assert.deepEqual(announced(scheduler), [])
})

test('the names of its offers are limited, as each state has those of all allocators', () => {
  const scheduler = cluster()
  const offers = Array.from({ length: 64 }, (_, at) => ({ name: `${at}`.padEnd(300), value: at }))
  scheduler.receive('A', { kind: 'allocatorReport', allocator: { ...STATUS, offers } })
  assert.deepEqual(
    statuses(scheduler)[0]?.offers,
    offers.slice(0, 15).map(({ value }) => ({ name: `${value}`.padEnd(128), value })),
  )
})

test('a peer without the feature, or that is no client, announces nothing', () => {
  const scheduler = withPeers({ clients: ['M'] })
  scheduler.receive('Old', clientHeartbeat({ features: 128, runtime: 'node/20.19.0' }))
  for (const peer of ['Old', 'Nobody']) {
    scheduler.receive(peer, { kind: 'allocatorReport', allocator: STATUS })
  }
  assert.deepEqual(announced(scheduler), [])
})

test('an operator pauses an allocator, which answers', () => {
  const scheduler = cluster()
  scheduler.receive('O', request('pause', { allocator: 'night' }))
  const [order] = sentTo(scheduler, 'A')
  assert.ok(order?.kind === 'operatorRequest' && order.action === 'pause')
  const nothing = { note: '', tasks: [], stack: [], lines: [], worker: identity(''), objects: [] }
  const answer = { kind: 'operatorAnswer', outcome: 'done', number: order.number } as const
  scheduler.receive('O', { ...answer, ...nothing })
  assert.equal(outcomeFor(scheduler, 'O'), undefined, 'only the allocator may answer')
  scheduler.receive('A', { ...answer, ...nothing })
  assert.equal(outcomeFor(scheduler, 'O'), 'done')
})

test('an unknown allocator, and one that does not answer', () => {
  const scheduler = cluster()
  scheduler.receive('O', request('pause', { allocator: 'day' }))
  assert.equal(outcomeFor(scheduler, 'O'), 'unknown')
  scheduler.receive('O', request('resume', { allocator: 'night' }))
  scheduler.moveTo(5_001)
  assert.equal(outcomeFor(scheduler, 'O'), 'timedOut')
})

test('in protected mode an allocator drains its own workers, and nobody else does', () => {
  const scheduler = cluster(true)
  const drainOf = (worker: string): Message => request('drain', { worker: identity(worker) })
  for (const [from, worker] of [
    ['O', 'W'],
    ['A', 'V'],
  ] as const) {
    scheduler.receive(from, drainOf(worker))
    assert.equal(outcomeFor(scheduler, from), 'refused', `${from} ${worker}`)
  }
  scheduler.receive('O', request('pause', { allocator: 'night' }))
  assert.equal(outcomeFor(scheduler, 'O'), 'refused')
  scheduler.receive('A', drainOf('W'))
  const [order] = sentTo(scheduler, 'W')
  assert.ok(order?.kind === 'operatorRequest' && order.action === 'drain')
})

/** When an allocator A and a monitor M get a state until a moment, as `A 200`. */
function statesUntil(scheduler: TestScheduler, end: number): readonly string[] {
  const states: string[] = []
  scheduler.actions()
  while (scheduler.now < end) {
    scheduler.moveTo(scheduler.now + 10)
    for (const action of scheduler.actions()) {
      if (action.type !== 'send' || action.message.kind !== 'monitorReport') continue
      states.push(`${action.to} ${scheduler.now}`)
      if (action.to === 'A') {
        scheduler.receive('A', { kind: 'allocatorReport', allocator: STATUS })
      }
    }
  }
  return states
}

test('an allocator gets the state at once if tasks wait and there is no worker, then often', () => {
  const scheduler = withPeers({ clients: ['C', 'A', 'M'] })
  const wishes = {
    wantsEvents: false,
    wantsFailures: false,
    failuresAfter: 0,
    wantsGraphs: false,
    wantsPeers: false,
  }
  const use = { scheduler: { cpu: 0, rss: 0 }, rssFree: 0, turnP99Ms: 0 }
  scheduler.handle({ type: 'statisticsSampled', ...use })
  for (const monitor of ['A', 'M']) {
    scheduler.receive(monitor, { kind: 'monitorRequest', credit: 30, ...wishes })
  }
  scheduler.receive('A', { kind: 'allocatorReport', allocator: STATUS }).moveTo(1_000)
  assert.deepEqual(statesUntil(scheduler, 2_000), [])
  scheduler.receive('C', task('t', 'C'))
  assert.deepEqual(statesUntil(scheduler, 2_500), ['A 2010', 'A 2200', 'A 2400'])
  scheduler.receive('W', workerHeartbeat())
  assert.deepEqual(statesUntil(scheduler, 3_500), [], 'nothing waits any more')
})

test('an allocator that connects while tasks wait gets the state at once', () => {
  const scheduler = withPeers({ clients: ['C', 'A'] })
  const wishes = {
    wantsEvents: false,
    wantsFailures: false,
    failuresAfter: 0,
    wantsGraphs: false,
    wantsPeers: false,
  }
  const use = { scheduler: { cpu: 0, rss: 0 }, rssFree: 0, turnP99Ms: 0 }
  scheduler.handle({ type: 'statisticsSampled', ...use })
  scheduler.receive('A', { kind: 'monitorRequest', credit: 30, ...wishes }).moveTo(1_000)
  scheduler.actions()
  scheduler.receive('C', task('t', 'C'))
  assert.deepEqual(sentTo(scheduler, 'A'), [])
  scheduler.receive('A', { kind: 'allocatorReport', allocator: STATUS })
  assert.deepEqual(statesUntil(scheduler, 1_150), ['A 1010'])
})

test('many allocators get the state less often', () => {
  const names = Array.from({ length: 9 }, (_, at) => `A${at}`)
  const scheduler = withPeers({ clients: ['C', ...names] })
  const wishes = {
    wantsEvents: false,
    wantsFailures: false,
    failuresAfter: 0,
    wantsGraphs: false,
    wantsPeers: false,
  }
  const use = { scheduler: { cpu: 0, rss: 0 }, rssFree: 0, turnP99Ms: 0 }
  scheduler.handle({ type: 'statisticsSampled', ...use })
  for (const name of names) {
    scheduler.receive(name, { kind: 'monitorRequest', credit: 30, ...wishes })
    scheduler.receive(name, { kind: 'allocatorReport', allocator: { ...STATUS, name } })
  }
  scheduler.moveTo(1_000).receive('C', task('t', 'C'))
  assert.equal(statesUntil(scheduler, 1_500).length, names.length, 'at once')
  assert.equal(statesUntil(scheduler, 5_500).length, names.length * 7, 'about every 600 ms')
})
