// How a scheduler handles more tasks than may wait.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskId } from '../../../base/ids.js'
import { graph, node } from '../graph/graph.kit.js'
import {
  clientHeartbeat,
  instruction,
  OLDER,
  peer,
  result,
  task,
  type TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const TWO = { maxNumberOfTasksWaiting: 1, perWorkerQueueSize: 1 }

function submit(scheduler: TestScheduler, client: string, ...ids: string[]): readonly string[] {
  for (const id of ids) scheduler.receive(client, task(id, client))
  return scheduler.lines()
}

test('a client is notified of room once a task has ended', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, TWO)
  const refused = ['C <- result c noWorker', 'C <- result d noWorker']
  assert.deepEqual(submit(scheduler, 'C', 'a', 'b', 'c', 'd'), ['W <- task a', ...refused])
  scheduler.receive('W', result('a'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'W <- task b', 'C <- room 1'])
  assert.deepEqual(submit(scheduler, 'C', 'c'), [])
  // It may send no more, and is notified as soon as it may.
  scheduler.receive('W', result('b'))
  assert.deepEqual(scheduler.lines(), ['C <- result b success', 'W <- task c', 'C <- room 1'])
  assert.deepEqual(submit(scheduler, 'C', 'd', 'e'), ['C <- result e noWorker'])
})

test('clients that hold tasks back are notified in turn', () => {
  const limits = { maxNumberOfTasksWaiting: 8, perWorkerQueueSize: 1 }
  const scheduler = withPeers({ clients: ['C', 'D'] }, limits)
  const ids = Array.from({ length: 8 }, (_, index) => `c${index}`)
  submit(scheduler, 'C', ...ids, 'c8')
  submit(scheduler, 'D', 'd')
  for (const worker of ['V', 'W', 'X']) scheduler.receive(worker, workerHeartbeat())
  const told = scheduler.lines().filter((line) => line.includes('room'))
  assert.deepEqual(told, ['C <- room 1', 'D <- room 2'])
})

test('a client that does not hold tasks back is refused', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, TWO)
  scheduler.receive('C', clientHeartbeat(OLDER)).actions()
  assert.deepEqual(submit(scheduler, 'C', 'a', 'b', 'c').slice(1), ['C <- result c noWorker'])
  scheduler.receive('W', result('a')).receive('W', result('b'))
  assert.ok(!scheduler.lines().some((line) => line.includes('room')))
})

test('child tasks are always accepted', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, TWO)
  submit(scheduler, 'C', 'a', 'b')
  const child = { ...task('c', 'C'), parentTaskId: taskId('a') }
  scheduler.receive('C', child)
  assert.deepEqual(scheduler.lines(), [])
})

test('a graph is accepted, and the client holds back the next one', () => {
  const scheduler = withPeers({ clients: ['C'] }, { maxNumberOfTasksWaiting: 1 })
  submit(scheduler, 'C', 'a')
  scheduler.receive('C', graph('g', ['n'], [node('n')]))
  assert.deepEqual(scheduler.lines(), ['C <- room 0'])
  scheduler.receive('W', workerHeartbeat())
  assert.ok(scheduler.lines().some((line) => line.startsWith('C <- room')))
})

test('a client that reconnects may send all its tasks', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, TWO)
  submit(scheduler, 'C', 'a', 'b', 'c')
  scheduler.handle({ type: 'peerDisconnected', peer: peer('C') })
  scheduler
    .receive('C', clientHeartbeat())
    .receive('C', instruction('create', 'C', ['f']))
    .actions()
  scheduler.receive('W', result('a'))
  assert.ok(!scheduler.lines().some((line) => line.includes('room')), 'it holds nothing back')
  assert.deepEqual(submit(scheduler, 'C', 'c', 'd'), ['C <- result d noWorker'])
})

test('a client that leaves no longer waits for room', () => {
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] }, TWO)
  submit(scheduler, 'C', 'a', 'b', 'c')
  submit(scheduler, 'D', 'd')
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  scheduler.receive('W', result('a', 'canceled'))
  assert.ok(scheduler.lines().includes('D <- room 1'))
})

test('a full queue is logged once, and not again within a minute', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, TWO)
  const lineCount = (): number => {
    const count = scheduler.logs().filter((line) => line.startsWith('the queue is full')).length
    scheduler.actions()
    return count
  }
  for (const id of ['a', 'b', 'c', 'd']) scheduler.receive('C', task(id, 'C'))
  assert.equal(lineCount(), 1)
  scheduler.receive('W', result('a'))
  for (const id of ['c', 'd']) scheduler.receive('C', task(id, 'C'))
  assert.equal(lineCount(), 0)
  scheduler.receive('W', result('b')).moveTo(70_000)
  scheduler.receive('C', clientHeartbeat()).receive('W', workerHeartbeat())
  for (const id of ['e', 'f', 'g']) scheduler.receive('C', task(id, 'C'))
  assert.equal(lineCount(), 1)
})
