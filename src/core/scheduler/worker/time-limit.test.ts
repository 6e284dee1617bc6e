import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId } from '../../../base/ids.js'
import type { Task } from '../../../wire/message.js'
import {
  instruction,
  result,
  task,
  type TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

/** What a worker tells that ends in so many milliseconds; 0: it has no time limit. */
function endingIn(endsInMS: number): ReturnType<typeof workerHeartbeat> {
  const about = { name: '', host: 'h', machineId: 'm', pid: 1, version: '1', startedMS: 1 }
  const info = { ...about, endsMS: endsInMS, allocation: '', endsInMS }
  return { ...workerHeartbeat(), info: [info] }
}

function of(id: string, fn: string): Task {
  return { ...task(id, 'C'), funcObjectId: objectId(fn) }
}

/** A function `long` that takes ten seconds, `short` that takes half of one, and idle workers. */
function measured(ends: Readonly<Record<string, number>>): TestScheduler {
  const scheduler = withPeers({ clients: ['C'], workers: ['M'] })
  scheduler.receive('C', instruction('create', 'C', ['long', 'short']))
  for (const [fn, seconds] of [
    ['long', 10],
    ['short', 0.5],
  ] as const) {
    scheduler.receive('C', of(fn, fn)).receive('M', result(fn, 'success', seconds))
  }
  scheduler.handle({ type: 'peerDisconnected', peer: 'M' as never })
  for (const [worker, endsInMS] of Object.entries(ends)) {
    scheduler.receive(worker, endingIn(endsInMS))
  }
  scheduler.actions()
  return scheduler
}

function assigned(scheduler: TestScheduler): readonly string[] {
  return scheduler.lines().filter((line) => line.includes('<- task'))
}

test('a task is not begun where it cannot end in time', () => {
  const scheduler = measured({ V: 5_000 })
  scheduler.receive('C', of('a', 'long'))
  assert.deepEqual(assigned(scheduler), [])
  scheduler.receive('W', endingIn(60_000))
  assert.deepEqual(assigned(scheduler), ['W <- task a'])
})

test('it goes to a worker with the time, although others rank before that', () => {
  const scheduler = measured({ U: 5_000, V: 6_000, W: 0 })
  scheduler.receive('C', of('a', 'long'))
  assert.deepEqual(assigned(scheduler), ['W <- task a'])
})

test('a worker whose time is nearly over gets the short tasks behind a long one', () => {
  const scheduler = measured({ V: 5_000 })
  scheduler.receive('C', of('a', 'long')).receive('C', of('b', 'short'))
  assert.deepEqual(assigned(scheduler), ['V <- task b'])
  scheduler.receive('C', of('c', 'short')).receive('V', result('b', 'success', 0.5))
  assert.deepEqual(assigned(scheduler), ['V <- task c'])
})

test('among such workers the one with the most time is first', () => {
  const scheduler = measured({ U: 1_000, V: 6_000 })
  scheduler.receive('C', of('a', 'long')).receive('C', of('b', 'short'))
  assert.deepEqual(assigned(scheduler), ['V <- task b'])
})

test('a function that was never measured is begun anywhere', () => {
  const scheduler = measured({ V: 5_000 })
  scheduler.receive('C', of('a', 'unknown'))
  assert.deepEqual(assigned(scheduler), ['V <- task a'])
})

test('the time that is left shrinks', () => {
  const scheduler = measured({ V: 12_000 })
  scheduler.moveTo(3_000).receive('C', of('a', 'long'))
  assert.deepEqual(assigned(scheduler), [])
})

test('the same holds for tasks with requirements', () => {
  const needs = [{ name: 'gpu', value: -1 }]
  const scheduler = measured({})
  scheduler.receive('V', { ...endingIn(5_000), capabilities: needs })
  scheduler.receive('C', { ...of('a', 'long'), capabilities: needs })
  scheduler.receive('C', { ...of('b', 'short'), capabilities: needs })
  assert.deepEqual(assigned(scheduler), ['V <- task b'])
  scheduler.receive('W', { ...endingIn(0), capabilities: needs })
  assert.deepEqual(assigned(scheduler), ['W <- task a'])
})
