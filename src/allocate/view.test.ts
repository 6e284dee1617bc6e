import assert from 'node:assert/strict'
import { test } from 'node:test'
import { info, worker } from '../cli/report/cluster-info.kit.js'
import type { ClusterInfo } from '../client/monitor/cluster-info.js'
import type { WaitingWork } from '../core/allocate/events.js'
import { viewOf } from './view.js'

type Row = ClusterInfo['waiting'][number]

const WAITING: Row = {
  reason: 'all-busy',
  requirement: '',
  function: 'price',
  count: 5,
  seconds: 2,
}

/** A finished function, measured in milliseconds. */
function measured(name: string, meanMs: number | undefined): ClusterInfo['functions'][number] {
  const times = { meanMs, p50Ms: meanMs, p90Ms: meanMs, p99Ms: meanMs, maxMs: meanMs }
  return { name, count: 1, failed: 0, ...times, peakBytes: undefined }
}

/** The work of one row, while workers run tasks of these names for so many seconds. */
function workOf(
  row: Partial<Row>,
  functions: ClusterInfo['functions'],
  runs: Readonly<Record<string, number>> = {},
): WaitingWork | undefined {
  const running = Object.entries(runs).map(([fn, seconds]) => {
    return { task: '01', name: 'a task', function: fn, sinceMs: seconds * 1_000 }
  })
  const workers = [worker('7|one|a', { running })]
  const hosts = [{ host: 'one', address: undefined, cpu: 0, freeBytes: 0, workers }]
  return viewOf(info({ waiting: [{ ...WAITING, ...row }], functions, hosts })).waiting[0]
}

test('waiting tasks take as long as their function did on average', () => {
  const work = workOf({}, [measured('price', 50), measured('risk', 900)])
  const times = { seconds: 0.05, runningSeconds: 0, waitedSeconds: 2 }
  assert.deepEqual(work, { needs: '', runtime: 'javascript', tasks: 5, ...times })
  assert.equal(workOf({ runtime: 'python' }, [])?.runtime, 'python')
})

test('nodes that wait for others, and what a client holds back, are not work yet', () => {
  assert.equal(workOf({ reason: 'dependency' }, []), undefined)
  assert.equal(workOf({ reason: 'limit' }, []), undefined)
})

test('a function that was never measured takes as long as its longest task has run', () => {
  const runs = { price: 7, risk: 60 }
  for (const functions of [[], [measured('price', undefined)]]) {
    const work = workOf({}, functions, runs)
    assert.deepEqual([work?.seconds, work?.runningSeconds], [undefined, 7])
  }
})

test('of functions without a name, one that runs for long shows that their average means nothing', () => {
  const nameless = [measured('', 10)]
  const times = (runs: Readonly<Record<string, number>>): unknown[] => {
    const work = workOf({ function: '' }, nameless, runs)
    return [work?.seconds, work?.runningSeconds]
  }
  assert.deepEqual(times({ price: 60 }), [0.01, 0])
  assert.deepEqual(times({ '': 0.005 }), [0.01, 0.005])
  assert.deepEqual(times({ '': 3 }), [undefined, 0])
  assert.equal(workOf({ function: '' }, [], { '': 3 })?.runningSeconds, 3)
})

test('a worker belongs to an allocator by its allocation, and one of Python by its name', () => {
  const workers = [
    worker('7|one|a', { allocation: 'night/1', state: 'busy' }),
    worker(`8|night/2|${'0'.repeat(32)}`, { version: undefined, state: 'leaving' }),
  ]
  const hosts = [{ host: 'one', address: undefined, cpu: 0, freeBytes: 0, workers }]
  const seen = viewOf(info({ hosts })).workers.map((each) => {
    return [each.allocation, each.runtime, each.isIdle, each.isLeaving]
  })
  assert.deepEqual(seen, [
    ['night/1', 'javascript', false, false],
    ['night/2', 'python', false, true],
  ])
})
