import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterEvent, ClusterInfo } from '../../client/monitor/cluster-info.js'
import { worker } from '../command/cluster-info.kit.js'
import { Board } from './board.js'
import { failure, info, NOW } from './board.kit.js'

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

test('workers that are gone are told once, with the cause', () => {
  const board = new Board()
  const end = { time: new Date(NOW - 500), worker: 'w7', name: 'left', host: 'vm', tasks: 2 }
  const workerEnds = { lost: 1, last: [{ ...end, cause: 'connection-lost' } as const] }
  assert.deepEqual(told(board, { workerEnds }).slice(1), [
    '! worker left on vm lost its connection; 2 tasks taken back',
  ])
  const shifted = [{ ...end, time: new Date(NOW - 498), cause: 'connection-lost' } as const]
  assert.deepEqual(told(board, { workerEnds: { lost: 1, last: shifted } }), [])
  assert.deepEqual(
    told(
      board,
      { workerEnds: { lost: 1, last: [] } },
      {
        type: 'worker',
        change: 'left',
        worker: worker('w7'),
      },
    ),
    [],
  )
})

test('without causes, workers just leave; many together are one line', () => {
  const board = new Board()
  told(board, { workerEnds: undefined })
  const left = (id: string): ClusterEvent => ({
    type: 'worker',
    change: 'left',
    worker: worker(id),
  })
  assert.deepEqual(told(board, { workerEnds: undefined }, left('w7')), ['worker w7 left'])
  const many = ['a', 'b', 'c', 'd'].map(left)
  assert.deepEqual(told(board, { workerEnds: undefined }, ...many), ['4 workers left'])
  const joined = { type: 'worker', change: 'joined', worker: worker('w1') } as const
  assert.deepEqual(told(board, {}, joined), ['worker w1 joined on one'])
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

test('a problem is told when it begins', () => {
  const board = new Board()
  told(board, {})
  const waiting = [
    { reason: 'no-capability', requirement: 'gpu=1', function: 'f', count: 1, seconds: 1 } as const,
  ]
  const [line] = told(board, { waiting })
  assert.match(line ?? '', /^! 1 task of f\(\) waits: no worker offers gpu=1; start one that does/)
  assert.deepEqual(told(board, { waiting: waiting.map((each) => ({ ...each, count: 5 })) }), [])
})

test('the log is bounded', () => {
  const board = new Board()
  for (let at = 0; at < 3_000; at += 1) told(board, {}, { type: 'lost', count: 1 })
  const lines = board.log.list()
  assert.equal(lines.length, 2_000)
  assert.deepEqual(
    [lines[0]?.id, lines[0]?.text],
    ['3001', '1 ended task not reported: too many at a time'],
  )
})
