import assert from 'node:assert/strict'
import { test } from 'node:test'
import { peerInfo } from '../../../runtime/peer-info.js'
import type { MonitorState } from '../../../wire/message.js'
import {
  clientHeartbeat,
  peer,
  result,
  task,
  withPeers,
  workerHeartbeat,
  type TestScheduler,
} from '../scheduler.kit.js'

/** The state that a monitor receives now. */
function stateOf(scheduler: TestScheduler): MonitorState {
  const name = `M${scheduler.now}`
  const wants = {
    wantsEvents: false,
    wantsFailures: false,
    failuresAfter: 0,
    wantsGraphs: false,
    wantsPeers: false,
  }
  const request = { kind: 'monitorRequest', credit: 2, ...wants } as const
  scheduler.receive(name, clientHeartbeat()).receive(name, request)
  const usage = { scheduler: { cpu: 0, rss: 0 }, rssFree: 0, turnP99Ms: 0 }
  scheduler.handle({ type: 'statisticsSampled', ...usage })
  const states = scheduler.actions().flatMap((action) => {
    const message = action.type === 'send' ? action.message : undefined
    return message?.kind === 'monitorReport' ? message.states : []
  })
  const state = states.at(-1)
  assert.ok(state !== undefined)
  return state
}

test('a worker that loses its connection is reported with what it had, for ten minutes', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const info = [{ ...peerInfo({ name: 'left' }), host: 'one' }]
  scheduler.receive('W', { ...workerHeartbeat(), info })
  scheduler.receive('C', { ...task('t', 'C'), name: 'mine' })
  scheduler.moveTo(1_000).handle({ type: 'peerDisconnected', peer: peer('W') })
  const { lost, lostWorkers } = stateOf(scheduler.moveTo(3_000))
  assert.equal(lost, 1)
  assert.deepEqual(lostWorkers, [
    {
      worker: 'W',
      name: 'left',
      host: 'one',
      cause: 'connection',
      agoMS: 2_000,
      hasReturned: false,
      tasks: [{ taskId: 't', name: 'mine' }],
      taskCount: 1,
    },
  ])
  assert.equal(stateOf(scheduler.moveTo(601_000)).lost, 1)
  assert.deepEqual(stateOf(scheduler.moveTo(601_001)).lostWorkers, [])
  assert.deepEqual(scheduler.machine.metrics.lost, { connection: 1, silence: 0 })
})

test('a worker that leaves, or is shut down, is not lost', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  scheduler.receive('W', { kind: 'disconnectRequest', worker: peer('W') })
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'shutdown' })
  assert.deepEqual(scheduler.machine.metrics.lost, { connection: 0, silence: 0 })
  const { lost, lostWorkers } = stateOf(scheduler)
  assert.deepEqual({ lost, lostWorkers }, { lost: 0, lostWorkers: [] })
})

test('a silent worker that returns counts as lost no longer', () => {
  const options = { workerTimeoutMs: 5_000, workerSilenceMs: 5_000 }
  const scheduler = withPeers({ workers: ['W'] }, options)
  scheduler.moveTo(7_000)
  assert.equal(stateOf(scheduler).lostWorkers[0]?.cause, 'silence')
  scheduler.moveTo(8_000).receive('W', workerHeartbeat())
  const { lost, lostWorkers } = stateOf(scheduler)
  assert.deepEqual([lost, lostWorkers.map(({ hasReturned }) => hasReturned)], [0, [true]])
  // Lost again, it is the last one, and it counts once.
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  const again = stateOf(scheduler.moveTo(8_001))
  assert.deepEqual([again.lost, again.lostWorkers.length], [1, 1])
  assert.deepEqual(scheduler.machine.metrics.lost, { connection: 1, silence: 1 })
})

test('many lost workers are counted, and the last ones listed, each with its first tasks', () => {
  const names = Array.from({ length: 150 }, (_, at) => `W${at}`)
  const scheduler = withPeers({ clients: ['C'], workers: names })
  scheduler.receive('C', task('first', 'C')).receive('W0', result('first', 'success', 1e-6))
  for (let at = 0; at < 300; at += 1) scheduler.receive('C', task(`t${at}`, 'C'))
  for (const name of names) scheduler.handle({ type: 'peerDisconnected', peer: peer(name) })
  const { lost, lostWorkers } = stateOf(scheduler)
  assert.deepEqual([lost, lostWorkers.length], [150, 100])
  assert.deepEqual([lostWorkers[0]?.worker, lostWorkers.at(-1)?.worker], ['W50', 'W149'])
  const last = lostWorkers.at(-1)
  assert.ok(last !== undefined && last.taskCount > last.tasks.length)
  assert.equal(last.tasks.length, 8)
})
