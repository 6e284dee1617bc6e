import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WorkerSilence } from './silence.js'

const BOUNDS = { leastMs: 5000, mostMs: 60_000 }

test('a worker that vanishes is given up within seconds', () => {
  const silence = new WorkerSilence(0)
  for (let now = 2000; now <= 20_000; now += 2000) silence.heard(now)
  assert.equal(silence.isTooLong(26_000, BOUNDS), false)
  assert.equal(silence.isTooLong(26_001, BOUNDS), true, 'three heartbeats')
})

test('after a long pause, a worker may be silent three times as long', () => {
  const silence = new WorkerSilence(0)
  silence.heard(4000)
  assert.equal(silence.patienceMs(BOUNDS), 12_000)
  silence.heard(5000)
  assert.equal(silence.isTooLong(17_000, BOUNDS), false)
  assert.equal(silence.isTooLong(17_001, BOUNDS), true)
})

test('the maximum silence applies, however long earlier pauses were', () => {
  const silence = new WorkerSilence(0)
  silence.heard(50_000)
  assert.equal(silence.patienceMs(BOUNDS), 60_000)
  assert.equal(silence.patienceMs({ leastMs: 5000, mostMs: 3000 }), 3000)
})

test('a long pause is gradually forgotten', () => {
  const silence = new WorkerSilence(0)
  silence.heard(8000)
  const seen: number[] = []
  for (let now = 9000; now <= 140_000; now += 1000) {
    silence.heard(now)
    if (now % 30_000 === 5000) seen.push(silence.patienceMs(BOUNDS))
  }
  assert.deepEqual(seen, [24_000, 12_000, 6000, 5000])
})

test('time in which the scheduler itself was stalled does not count as silence', () => {
  const silence = new WorkerSilence(0)
  silence.heard(1000)
  silence.forgive(20_000, 22_000)
  assert.equal(silence.isTooLong(26_000, BOUNDS), false)
  silence.heard(26_500)
  assert.equal(silence.patienceMs(BOUNDS), 5500 * 3, 'nor is it remembered as a pause')
})

test('property: heartbeats every 2 s with a jitter of up to 1.5 s cause no false alarm', () => {
  const jitter = fc.array(fc.double({ min: 0, max: 1500, noNaN: true }), { maxLength: 100 })
  fc.assert(
    fc.property(jitter, fc.integer({ min: 1, max: 1000 }), (delays, sweepMs) => {
      const silence = new WorkerSilence(0)
      let sweep = 0
      for (const [index, delay] of delays.entries()) {
        const at = (index + 1) * 2000 + delay
        for (; sweep < at; sweep += sweepMs) assert.equal(silence.isTooLong(sweep, BOUNDS), false)
        silence.heard(at)
      }
      // When it vanishes, that is detected within three times its longest pause plus a sweep.
      const last = delays.length * 2000 + (delays.at(-1) ?? 0)
      assert.equal(silence.isTooLong(last + 3 * 3500 + 1, BOUNDS), true)
    }),
  )
})

test('property: a worker survives pauses that each grow by less than three times', () => {
  const factors = fc.array(fc.double({ min: 0.2, max: 2.9, noNaN: true }), { maxLength: 60 })
  fc.assert(
    fc.property(factors, (list) => {
      const silence = new WorkerSilence(0)
      let now = 0
      let gap = 2000
      for (const factor of list) {
        now += gap
        assert.equal(silence.isTooLong(now, { leastMs: 5000, mostMs: Infinity }), false)
        silence.heard(now)
        gap = Math.min(gap * factor, 1e6)
      }
    }),
  )
})
