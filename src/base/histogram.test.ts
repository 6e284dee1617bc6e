import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Histogram } from './histogram.js'

test('without values, quantiles are 0', () => {
  const histogram = new Histogram(1, 1000)
  assert.deepEqual([histogram.count, histogram.quantile(0.5)], [0, 0])
})

test('quantiles are within five percent, whatever the values', () => {
  const value = fc.double({ min: 0.001, max: 1e6, noNaN: true })
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (values, share) => {
        const histogram = new Histogram(0.001, 1e6)
        for (const each of values) histogram.add(each)
        const sorted = values.toSorted((a, b) => a - b)
        const exact = sorted[Math.max(1, Math.ceil(share * values.length)) - 1] ?? 0
        const ratio = histogram.quantile(share) / exact
        assert.ok(ratio > 0.95 && ratio < 1.05, `${ratio}`)
      },
    ),
  )
})

test('values beyond the bounds count as the bounds', () => {
  const histogram = new Histogram(1, 100)
  for (const value of [0, -5, 0.1]) histogram.add(value)
  assert.equal(histogram.quantile(1), 1)
  histogram.add(1e9)
  const largest = histogram.quantile(1)
  assert.ok(largest > 90 && largest < 110, `${largest}`)
})

test('histograms can be added and cleared', () => {
  const [one, other] = [new Histogram(1, 100), new Histogram(1, 100)]
  for (const value of [2, 3]) one.add(value)
  for (const value of [50, 60]) other.add(value)
  one.addAll(other)
  assert.deepEqual([one.count, one.sum], [4, 115])
  assert.ok(one.quantile(0.5) < 4 && one.quantile(0.75) > 45)
  one.clear()
  assert.deepEqual([one.count, one.sum, one.quantile(1)], [0, 0, 0])
})
