import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Board } from './board.js'
import { ended, NOW } from './board.kit.js'
import { RecentTasks, Timeline } from './recent-tasks.js'

test('only the last tasks are kept, the newest first', () => {
  const recent = new RecentTasks(3)
  for (const id of ['a', 'b', 'c', 'b', 'd']) recent.add(ended(id))
  assert.deepEqual(
    recent.list().map(({ task }) => task),
    ['d', 'b', 'c'],
  )
  assert.equal(recent.get('a'), undefined)
})

test('what is kept does not grow with the number of tasks', () => {
  const board = new Board()
  for (let at = 0; at < 250_000; at += 1_000) {
    const events = Array.from({ length: 1_000 }, (_, index) => {
      const id = (at + index).toString(16)
      return ended(id, { function: `f${at + index}`, worker: `w${(at + index) % 500}` })
    })
    board.onEvents(events, NOW + at)
  }
  assert.equal(board.tasks.size, 10_000)
  const { bars, functions } = board.timeline.read({ from: 0, to: NOW * 2, width: 1_000 }, ['w1'])
  assert.ok(functions.length <= 1_000)
  assert.ok(bars.reduce((sum, { count }) => sum + count, 0) <= 100_000)
})

test('a bar is a run; runs too short to be seen are drawn together', () => {
  const timeline = new Timeline(100)
  const add = (task: string, endMs: number, more: object = {}): void => {
    timeline.add(ended(task, { time: new Date(endMs), ...more }))
  }
  add('long', 5_000, { durationMs: 3_000 })
  for (let at = 0; at < 10; at += 1) add(`short${at}`, 6_000 + at, { durationMs: 1 })
  add('bad', 6_011, { durationMs: 1, status: 'failed' })
  add('elsewhere', 6_000, { worker: 'w2' })
  add('never ran', 6_000, { durationMs: undefined })
  const window = { from: 0, to: 10_000, width: 100 }
  assert.deepEqual(timeline.workersIn(window), ['w1', 'w2'])
  const { bars, stepMs } = timeline.read(window, ['w1'])
  assert.equal(stepMs, 100)
  assert.deepEqual(
    bars.map(({ task, count, failed }) => ({ task, count, failed })),
    [
      { task: 'long', count: 1, failed: 0 },
      { task: null, count: 11, failed: 1 },
    ],
  )
  const near = timeline.read({ from: 5_999, to: 6_012, width: 1_300 }, ['w1', 'w2'])
  assert.equal(near.bars.length, 12)
  assert.deepEqual(new Set(near.bars.map(({ row }) => row)), new Set([0, 1]))
})

test('an answer is never larger than the page can draw', () => {
  const timeline = new Timeline(100_000)
  for (let at = 0; at < 50_000; at += 1) {
    timeline.add(ended(`t${at}`, { time: new Date(at * 20), worker: `w${at % 50}`, durationMs: 9 }))
  }
  const workers = Array.from({ length: 50 }, (_, at) => `w${at}`)
  const { bars, stepMs } = timeline.read({ from: 0, to: 1_000_000, width: 4_000 }, workers)
  assert.ok(bars.length <= 4_000)
  assert.ok(stepMs > 250)
  assert.equal(
    bars.reduce((sum, { count }) => sum + count, 0),
    50_000,
  )
})

test('a run whose worker was lost has a bar where it ran', () => {
  const timeline = new Timeline(10)
  const past = [
    { worker: 'w7', startedAt: new Date(NOW - 900), durationMs: 300, outcome: 'worker-lost' },
    { worker: 'w8', startedAt: new Date(NOW - 500), durationMs: 100, outcome: 'retried' },
  ] as const
  timeline.add(ended('aa00', { past, durationMs: 10 }))
  const window = { from: NOW - 1_000, to: NOW, width: 1_000 }
  const { bars } = timeline.read(window, ['w1', 'w7', 'w8'])
  assert.deepEqual(
    bars.map(({ row, from, to, failed, killed, task }) => [
      row,
      from - NOW,
      to - NOW,
      failed,
      killed,
      task,
    ]),
    [
      [1, -900, -600, 0, 1, 'aa00'],
      [2, -500, -400, 1, 0, 'aa00'],
      [0, -10, 0, 0, 0, 'aa00'],
    ],
  )
})
