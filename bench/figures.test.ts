import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ratiosOf } from './compare.js'
import { median, quantile, ratios, toJson, toTable } from './figures.js'

test('the median is the middle value, or the mean of the two middle ones', () => {
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([4, 1, 2, 3]), 2.5)
  assert.ok(Number.isNaN(median([])))
})

test('a quantile is the smallest value that covers its share', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index)
  assert.equal(quantile(values, 0.99), 99)
  assert.equal(quantile(values, 1), 100)
  assert.equal(quantile(values, 0), 1)
})

test('ratios are formed if both figures were measured', () => {
  const figures = [
    { name: 'map, no-op', unit: 'tasks/s', values: [300, 100, 200] },
    { name: 'limit', unit: 'tasks/s', values: [400] },
    { name: 'piscina, no-op', unit: 'tasks/s', values: [] },
  ]
  assert.deepEqual(ratios(figures), [{ name: 'map, no-op : limit', unit: 'times', values: [0.5] }])
})

test('the table has a line per figure, with range and note', () => {
  const table = toTable([
    { name: 'map, no-op', unit: 'tasks/s', values: [1_000, 3_000, 2_000] },
    { name: 'memory', unit: 'bytes', values: [], note: 'needs /proc (Linux)' },
  ])
  assert.equal(
    table,
    'map, no-op       2,000 tasks/s   (1,000 to 3,000)\nmemory               - bytes     needs /proc (Linux)',
  )
})

test('the JSON has machine, options and medians', () => {
  const text = toJson([{ name: 'a', unit: 'ms', values: [1, 2, 3] }], { workers: 2 })
  const parsed = JSON.parse(text) as Record<string, unknown>
  assert.deepEqual(parsed['results'], [{ name: 'a', unit: 'ms', values: [1, 2, 3], median: 2 }])
  assert.deepEqual(parsed['options'], { workers: 2 })
  assert.deepEqual(Object.keys(parsed['machine'] as object), ['node', 'platform', 'cpu', 'cores'])
})

test('the ratios of pairs have a confidence interval', () => {
  const figure = (values: number[]): { name: string; unit: string; values: number[] } => {
    return { name: 'a', unit: 'ms', values }
  }
  const [alone] = ratiosOf([figure([3])], [figure([2])])
  assert.deepEqual(alone, { name: 'a', ratio: 1.5, low: undefined, high: undefined })
  const [same] = ratiosOf([figure([2, 4, 6])], [figure([1, 2, 3])])
  for (const bound of [same?.ratio, same?.low, same?.high]) {
    assert.ok(Math.abs((bound ?? 0) - 2) < 1e-9, String(bound))
  }
  // Logarithms of the ratios: 0 and log 4; their standard error is log 2, and t is 12.706.
  const [wide] = ratiosOf([figure([1, 4])], [figure([1, 1])])
  assert.ok(Math.abs((wide?.ratio ?? 0) - 2) < 1e-9)
  assert.ok(Math.abs(Math.log((wide?.high ?? 0) / 2) - 12.706 * Math.log(2)) < 1e-9)
})

test('what only one revision has measured has no ratio', () => {
  const values = [1, Number.NaN]
  const here = [
    { name: 'old', unit: '', values },
    { name: 'new', unit: '', values },
  ]
  const ratio = ratiosOf(here, [{ name: 'old', unit: '', values: [2, 2] }])
  assert.deepEqual(
    ratio.map(({ name, ratio: each }) => [name, each]),
    [['old', 0.5]],
  )
})
