import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ProgressRate } from './line.js'

test('there is no rate before something is done', () => {
  const rate = new ProgressRate(1_000)
  assert.equal(rate.perSecond, undefined)
  rate.add(0, 2_000)
  assert.equal(rate.perSecond, undefined)
  assert.equal(rate.overallPerSecond, undefined)
  rate.add(1, 2_000)
  assert.equal(rate.perSecond, 1)
})

test('a slow start is forgotten', () => {
  const rate = new ProgressRate(0)
  for (let second = 1; second <= 10; second += 1) rate.add(0, second * 1_000)
  for (let second = 11; second <= 20; second += 1) rate.add((second - 10) * 7, second * 1_000)
  assert.equal(rate.perSecond, 7)
  assert.equal(rate.overallPerSecond, 3.5)
})

test('without further progress the rate falls, but stays defined', () => {
  const rate = new ProgressRate(0)
  rate.add(100, 1_000)
  let last = Infinity
  for (let second = 2; second <= 1_000; second += 1) {
    rate.add(100, second * 1_000)
    const now = rate.perSecond ?? 0
    assert.ok(now > 0 && now <= last, `${now} after ${second} s`)
    last = now
  }
  assert.equal(last, 0.1)
})

test('property: steady progress has its rate, however often and for how long it is sampled', () => {
  const gap = fc.integer({ min: 10, max: 500 })
  fc.assert(
    fc.property(gap, fc.integer({ min: 2, max: 2_000 }), (gapMs, looks) => {
      const rate = new ProgressRate(0)
      for (let look = 1; look <= looks; look += 1) rate.add(look * 3, look * gapMs)
      const wanted = 3_000 / gapMs
      assert.ok(Math.abs((rate.perSecond ?? 0) - wanted) < wanted / 1_000)
    }),
  )
})
