import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutShortGaps } from './chart.js'

test('a line has a gap only where samples of at least five seconds are missing', () => {
  const no = null
  assert.deepEqual(withoutShortGaps([no, 1, no, 3, no], 1_000), [no, 1, 1, 3, no])
  assert.deepEqual(withoutShortGaps([7, no, no, no, no, 3], 1_000), [7, 7, 7, 7, 7, 3])
  const long = [7, no, no, no, no, no, 3]
  assert.deepEqual(withoutShortGaps(long, 1_000), long)
  assert.deepEqual(withoutShortGaps([0, no, 3], 4_000), [0, 0, 3])
  assert.deepEqual(withoutShortGaps([0, no, 3], 9_000), [0, no, 3])
})
