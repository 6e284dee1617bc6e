import assert from 'node:assert/strict'
import { test } from 'node:test'
import { History } from './history.js'

const HOUR_MS = 3_600_000
const START = 1_700_000_000_000

test('a window has one mean per point, and null where nothing is known', () => {
  const history = new History(['ended', 'cpu'])
  for (const second of [0, 1, 2, 5]) history.note(START + second * 1_000, { ended: second })
  const now = START + 5_000
  const fine = history.read({ from: START, to: now, width: 100 }, now)
  assert.equal(fine.stepMs, 1_000)
  assert.deepEqual(fine.series['ended'], [0, 1, 2, null, null, 5])
  assert.deepEqual(new Set(fine.series['cpu']), new Set([null]))
  const coarse = history.read({ from: START, to: now, width: 2 }, now)
  assert.equal(coarse.stepMs, 3_000)
  assert.ok(coarse.times.length <= 3)
})

test('beyond the last hour there is one value per minute, for a day', () => {
  const history = new History(['ended'])
  const now = START + 30 * HOUR_MS
  for (let time = START; time <= now; time += 1_000) history.note(time, { ended: 7 })
  const day = history.read({ from: START, to: now, width: 4_000 }, now)
  assert.equal(day.stepMs, 60_000)
  assert.ok(day.times.length <= 1_441)
  assert.ok((day.times[0] ?? 0) >= now - 24 * HOUR_MS - 60_000)
  assert.equal(day.series['ended']?.at(-1), 7)
  const old = history.read({ from: now - 3_599_000, to: now - 3_598_000, width: 1 }, now)
  assert.deepEqual(new Set(old.series['ended']), new Set([7]))
})
