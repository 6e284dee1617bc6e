import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterEvent, ClusterInfo, LostWorker } from '../../client/monitor/cluster-info.js'
import { worker } from '../report/cluster-info.kit.js'
import { Board } from './board.js'
import { failure, info, lostWorker, NOW } from './board.kit.js'

/** The lines that a report adds, the last one first. */
function told(
  board: Board,
  more: Partial<ClusterInfo>,
  ...events: readonly ClusterEvent[]
): string[] {
  const before = board.log.list().length
  const state = info({ waiting: [], ...more })
  board.onEvents([...events, { type: 'sample', info: state }], state.time.getTime())
  const all = board.log.list()
  return all.slice(0, all.length - before).map(({ isBad, text }) => (isBad ? `! ${text}` : text))
}

const later = (seconds: number): Date => new Date(NOW + seconds * 1_000)

test('the log begins with the scheduler, and says when it was silent or is another one', () => {
  const board = new Board()
  const { scheduler } = info()
  assert.deepEqual(told(board, {}), [
    'the scheduler at tcp://10.0.0.1:2345 reports (version 0.1.0)',
  ])
  assert.deepEqual(told(board, { time: later(1) }), [])
  assert.deepEqual(told(board, { time: later(9), scheduler: { ...scheduler, uptimeS: 2 } }), [
    '! the scheduler at tcp://10.0.0.1:2345 has been started again',
    '! the scheduler had not reported for 8 s',
  ])
})

function left(id: string): ClusterEvent {
  return { type: 'worker', change: 'left', worker: worker(id) }
}

test('workers that were lost are listed once, with the cause; the others just leave', () => {
  const board = new Board()
  const lost = (...workers: readonly LostWorker[]): Partial<ClusterInfo> => ({
    lost: { count: workers.length, workers },
  })
  const loss = lostWorker('w7', { name: 'third', taskCount: 2 })
  assert.deepEqual(told(board, lost(loss), left('w7')).slice(1), [
    '! worker third on vm was lost (connection closed); 2 tasks taken back',
  ])
  const shifted = { ...loss, time: new Date(NOW - 498) }
  assert.deepEqual(told(board, lost(shifted), left('w7')), [])
  assert.deepEqual(told(board, { ...lost(shifted), hosts: [] }, left('w1')), [
    'worker w1 left on one',
    '! there are no workers; start JavaScript workers: scaler_cluster tcp://10.0.0.1:2345',
  ])
  const again = { ...loss, time: later(60), cause: 'silence' } as const
  assert.deepEqual(told(board, { ...lost(again), time: later(61) }).slice(0, -1), [
    '! worker third on vm was lost (no heartbeat); 2 tasks taken back',
  ])
  assert.deepEqual(told(board, lost({ ...again, hasReturned: true }), left('w7')).slice(0, 1), [
    'worker w7 left',
  ])
})

test('many workers of a host that are lost together are one line', () => {
  const board = new Board()
  told(board, {})
  const workers = ['a', 'b', 'c', 'd'].map((id) => lostWorker(id, { taskCount: 3 }))
  assert.deepEqual(
    told(board, { lost: { count: 4, workers } }, ...workers.map(({ id }) => left(id))),
    ['! 4 workers on vm were lost (connection closed); 12 tasks taken back'],
  )
})

test('without causes, workers just leave; many together are one line', () => {
  const board = new Board()
  told(board, { lost: undefined })
  assert.deepEqual(told(board, { lost: undefined }, left('w7')), ['worker w7 left'])
  const many = ['a', 'b', 'c', 'd'].map(left)
  assert.deepEqual(told(board, { lost: undefined }, ...many), ['4 workers left'])
  const joined = { type: 'worker', change: 'joined', worker: worker('w1') } as const
  assert.deepEqual(told(board, {}, joined), ['worker w1 joined on one'])
})

test('who comes and goes between two states is listed with the next one', () => {
  const board = new Board()
  told(board, {})
  const loss = lostWorker('w7', { name: 'third', taskCount: 0 })
  const shop = { id: 'C', name: 'shop', host: 'one', unfinished: 0, bytes: 0, worker: undefined }
  const changes = (['joined', 'left'] as const).map((change) => {
    return { type: 'client', change, client: shop } as const
  })
  const before = board.log.list().length
  board.onEvents([left('w7'), ...changes], NOW + 500)
  assert.equal(board.log.list().length, before)
  assert.deepEqual(told(board, { time: later(1), lost: { count: 1, workers: [loss] } }), [
    'client shop left on one',
    'client shop connected on one',
    '! worker third on vm was lost (connection closed)',
  ])
})

test('failures with the same cause in one report are one line', () => {
  const board = new Board()
  told(board, {})
  const failures = [failure('a'), failure('bb'), failure('c', { function: 'load' })]
  assert.deepEqual(told(board, { failures }), [
    '! a task of load() failed: RangeError: no price for 1',
    '! 2 tasks of price() failed: RangeError: no price for 2',
  ])
  assert.deepEqual(told(board, { failures }), [])
})

test('what happens again within a minute is one line that counts, at the top', () => {
  const board = new Board()
  told(board, {})
  const failures = Array.from({ length: 1_200 }, (_, at) => {
    const message = `no price for -${at}.5 years`
    return failure(`t${at}`, { time: later(at / 10), message })
  })
  for (let second = 1; second <= 119; second += 1) {
    const shown = failures.slice(Math.max(0, second * 10 - 999), second * 10 + 1)
    told(board, { time: later(second), failures: shown }, { type: 'lost', count: 100 })
  }
  const [lost, failed, first, ...others] = board.log.list()
  assert.deepEqual(
    [lost?.text, lost?.time, lost?.since],
    ['11,900 events not reported: too many at a time', later(119), later(1)],
  )
  assert.deepEqual(
    [failed?.text, failed?.time, failed?.since],
    ['1,191 tasks of price() failed: RangeError: no price for -1190.5 years', later(119), later(0)],
  )
  assert.match(first?.text ?? '', /^the scheduler at/)
  assert.deepEqual(others, [])
  const after = { time: later(181), failures: [failure('new', { time: later(181) })] }
  assert.deepEqual(told(board, after).slice(0, 1), [
    '! a task of price() failed: RangeError: no price for 3',
  ])
})

test('a problem is told when it begins', () => {
  const board = new Board()
  told(board, {})
  const waiting = [
    {
      reason: 'no-capability',
      requirement: 'gpu=1',
      function: 'f',
      count: 1,
      seconds: 1,
    } as const,
  ]
  const [line] = told(board, { waiting })
  assert.match(line ?? '', /^! 1 task of f\(\) waits: no worker offers gpu=1; start one that does/)
  assert.deepEqual(told(board, { waiting: waiting.map((each) => ({ ...each, count: 5 })) }), [])
})

test('the log is bounded', () => {
  const board = new Board()
  for (let at = 0; at < 3_000; at += 1) {
    told(board, { failures: [failure(`t${at}`, { function: `f${at}`, message: '' })] })
  }
  const lines = board.log.list()
  assert.equal(lines.length, 2_000)
  assert.deepEqual([lines[0]?.id, lines[0]?.text], ['3001', 'a task of f2999() failed: RangeError'])
})
