import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTask, countTasks, emptyTally, functionReports } from './function-tally.js'

/** The quantiles of `count` durations of 1, 2, 3, … ms, counted in an order of their own. */
function quantiles(count: number): readonly number[] {
  const tally = emptyTally('f')
  for (let at = 0; at < count; at += 1) {
    countTask(tally, 'success', { durationMs: ((at * 7) % count) + 1, peakBytes: 0 })
  }
  return functionReports([tally], 1).flatMap(({ p50MS, p90MS, p99MS }) => [p50MS, p90MS, p99MS])
}

test('quantiles of few durations are exact, of many within five percent', () => {
  assert.deepEqual(quantiles(1), [1, 1, 1])
  assert.deepEqual(quantiles(10), [5, 9, 10])
  assert.deepEqual(quantiles(20), [10, 18, 20])
  for (const [at, value] of quantiles(1_000).entries()) {
    const exact = [500, 900, 990][at] ?? 0
    assert.ok(value !== exact && Math.abs(value - exact) <= 0.05 * exact, `${value} for ${exact}`)
  }
})

test('tasks of a run count as if they were counted one by one', () => {
  const [one, all] = [emptyTally('f'), emptyTally('f')]
  const durations = Float64Array.from({ length: 30 }, (_, at) => 30 - at)
  for (const durationMs of durations) countTask(one, 'success', { durationMs, peakBytes: 7 })
  countTasks(all, 'success', 30, { durations, peakBytes: 7 })
  for (let at = 0; at < 3; at += 1) countTask(one, 'failed', undefined)
  countTasks(all, 'failed', 3, undefined)
  assert.deepEqual(functionReports([all], 1), functionReports([one], 1))
  assert.deepEqual([all.ended, all.failed, all.durations?.count, all.peakBytes], [33, 3, 30, 7])
})
