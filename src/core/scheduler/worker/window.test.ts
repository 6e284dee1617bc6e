import assert from 'node:assert/strict'
import { test } from 'node:test'
import { result, task, type TestScheduler, withPeers, workerHeartbeat } from '../scheduler.kit.js'
import { addDuration, addResultBytes, callSeconds, windowSeconds } from './load.js'

const TASK_SECONDS = 0.005

/** The workers that got tasks, once per task. */
function receivers(scheduler: TestScheduler): readonly string[] {
  return scheduler.lines().flatMap((line) => /^([VWX]) <- task /.exec(line)?.[1] ?? [])
}

function heldBy(workers: readonly string[], worker: string): number {
  return workers.filter((name) => name === worker).length
}

/** A scheduler whose only function takes 5 ms, and workers with these latencies in µs. */
function withLatencies(latencies: Readonly<Record<string, number>>): TestScheduler {
  const workers = Object.keys(latencies)
  const scheduler = withPeers({ clients: ['C'], workers })
  const [first = ''] = workers
  scheduler.receive('C', task('z', 'C')).receive(first, result('z', 'success', TASK_SECONDS))
  for (const [worker, latencyUS] of Object.entries(latencies)) {
    scheduler.receive(worker, { ...workerHeartbeat(), latencyUS })
  }
  scheduler.actions()
  return scheduler
}

function submit(scheduler: TestScheduler, count: number): TestScheduler {
  for (let index = 0; index < count; index += 1) scheduler.receive('C', task(`t${index}`, 'C'))
  return scheduler
}

test('the window is 20 ms and the round trip, in whole milliseconds, up to half a second', () => {
  assert.equal(windowSeconds(0), 0.02)
  assert.equal(windowSeconds(400), 0.02)
  assert.equal(windowSeconds(1_700), 0.023)
  assert.equal(windowSeconds(20_000), 0.06)
  assert.equal(windowSeconds(60_000_000), 0.52)
})

test('a near worker holds 20 ms of work', () => {
  const scheduler = submit(withLatencies({ W: 300 }), 50)
  assert.equal(receivers(scheduler).length, 4)
})

test('a worker 20 ms away holds that of a round trip in addition', () => {
  const scheduler = submit(withLatencies({ W: 20_000 }), 50)
  assert.equal(receivers(scheduler).length, 12)
})

test('a worker gets more once its round trip is known, and nothing while it holds too much', () => {
  const scheduler = submit(withLatencies({ W: 0 }), 50)
  assert.equal(receivers(scheduler).length, 4)
  scheduler.receive('W', { ...workerHeartbeat(), latencyUS: 20_000 })
  assert.equal(receivers(scheduler).length, 8)
  scheduler.receive('W', { ...workerHeartbeat(), latencyUS: 0 })
  scheduler.receive('W', result('t0', 'success', TASK_SECONDS))
  assert.equal(receivers(scheduler).length, 0)
})

test('near and distant workers fill their windows', () => {
  const scheduler = submit(withLatencies({ V: 0, W: 20_000, X: 0 }), 50)
  const workers = receivers(scheduler)
  assert.deepEqual(
    ['V', 'W', 'X'].map((worker) => heldBy(workers, worker)),
    [4, 12, 4],
  )
})

test('idle workers come first, however near', () => {
  const scheduler = submit(withLatencies({ V: 0, W: 20_000, X: 0 }), 3)
  assert.deepEqual([...receivers(scheduler)].sort(), ['V', 'W', 'X'])
})

test('the average soon forgets how long the first tasks took, and one that had to wait', () => {
  const fn: Parameters<typeof addDuration>[0] = { averageSeconds: undefined, measuredTasks: 0 }
  addDuration(fn, 0.004, 1)
  for (let count = 0; count < 10; count += 1) addDuration(fn, 0.000_1, 1)
  assert.ok((fn.averageSeconds ?? NaN) < 0.000_12, `${fn.averageSeconds}`)
  addDuration(fn, 0.000_001, 500)
  addDuration(fn, 0.000_2, 50)
  assert.ok((fn.averageSeconds ?? NaN) < 0.000_005, `${fn.averageSeconds}`)
})

test('the average of tasks that differ is between them, and follows tasks that take longer', () => {
  const fn: Parameters<typeof addDuration>[0] = { averageSeconds: undefined, measuredTasks: 0 }
  for (let count = 0; count < 100; count += 1) addDuration(fn, count % 2 === 0 ? 0.001 : 0.009, 1)
  const average = fn.averageSeconds ?? NaN
  assert.ok(average > 0.003 && average < 0.007, `${average}`)
  for (let count = 0; count < 20; count += 1) addDuration(fn, 1, 1)
  assert.ok((fn.averageSeconds ?? NaN) > 0.9, `${fn.averageSeconds}`)
})

test('long results fill a window, however quick their tasks are', () => {
  const MIB = 2 ** 20
  const secondsWith = (resultBytes: number, windowSeconds: number): number => {
    return callSeconds({ averageSeconds: 0.001, resultBytes }, { windowSeconds })
  }
  assert.deepEqual([secondsWith(0, 0.5), secondsWith(MIB, 0.02)], [0.001, 0.001])
  assert.equal(secondsWith(MIB, 0.512), 0.016)
  assert.deepEqual([secondsWith(32 * MIB, 0.5), secondsWith(2 ** 40, 0.5)], [0.5, 0.5])
  assert.equal(callSeconds({ resultBytes: MIB }, { windowSeconds: 0.5 }), 0.5)
})

test('the length of results rises at once, and falls slowly', () => {
  const fn = { resultBytes: 0 }
  addResultBytes(fn, 1_000)
  assert.equal(fn.resultBytes, 1_000)
  addResultBytes(fn, 0)
  assert.equal(fn.resultBytes, 800)
})
