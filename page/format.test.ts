import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bytes,
  count,
  countAndBytes,
  duration,
  errorText,
  nameIn,
  peerName,
  percent,
  secondsAgo,
  shortId,
  shortWorker,
  tickTime,
  ticks,
  timeTicks,
} from './format.js'

test('numbers have units, and what is not known is a dash', () => {
  assert.equal(count(1_234_567.4), '1,234,567')
  assert.equal(bytes(1_500_000), '1.5 MB')
  assert.equal(bytes(999), '999 B')
  assert.equal(percent(12.6), '13 %')
  assert.equal(duration(0.1234), '0.12 ms')
  assert.equal(duration(999.6), '1000 ms')
  assert.equal(duration(90_000), '90 s')
  assert.equal(duration(600_000), '10 min')
  assert.equal(duration(86_400_000), '24 h')
  for (const write of [count, bytes, percent, duration]) assert.equal(write(null), '–')
})

test('an error of which something is not known has no colon alone', () => {
  assert.equal(errorText('RangeError', 'no price'), 'RangeError: no price')
  assert.equal(errorText('WorkerDiedError', ''), 'WorkerDiedError')
  assert.equal(errorText('', ''), '–')
})

test('a number and a size are not read as one number', () => {
  assert.equal(countAndBytes(4, 374), '4 (374 B)')
  assert.equal(countAndBytes(1_234, null), '1,234')
})

test('the age of a heartbeat is in whole seconds, of which 255 are the most', () => {
  assert.equal(secondsAgo(0), 'less than 1 s ago')
  assert.equal(secondsAgo(12), '12 s ago')
  assert.equal(secondsAgo(255), 'at least 4 min ago')
})

test('peers have names and hosts as far as they are known', () => {
  assert.equal(peerName('c', 'shop', 'vm'), 'shop on vm')
  assert.equal(peerName(`4711|left|${'67dd'.repeat(8)}`, '', ''), 'left')
})

test('identities keep what tells them apart', () => {
  assert.equal(shortWorker('47|left|0123456789abcdef0123456789abcdef'), '47|left|0123…')
  assert.equal(shortWorker('47|le|ft'), '47|le|ft')
})

test('an axis has few round values, from 0 to above the largest', () => {
  assert.deepEqual(ticks(0), [0, 1])
  assert.deepEqual(ticks(Number.NaN), [0, 1])
  assert.deepEqual(ticks(4), [0, 1, 2, 3, 4])
  assert.deepEqual(ticks(47), [0, 20, 40, 60])
  assert.deepEqual(ticks(1), [0, 1])
  for (const max of [2, 7, 99, 101, 12_345, 5e9]) {
    const values = ticks(max)
    assert.ok((values.at(-1) ?? 0) >= max, `${max}`)
    assert.ok(values.length >= 3 && values.length <= 6, `${max}: ${values.join()}`)
  }
})

test('a time axis has few round times, as exact as they have to be', () => {
  assert.deepEqual(timeTicks(1_500, 6_500, 5), [2_000, 3_000, 4_000, 5_000, 6_000])
  for (const span of [20, 1_000, 60_000, 86_400_000]) {
    assert.ok(timeTicks(1e12, 1e12 + span, 6).length <= 7)
  }
  assert.match(tickTime(1_500, 1_000), /^\d\d:\d\d:01\.500$/)
  assert.match(tickTime(1_500, 60_000), /^\d\d:\d\d:01$/)
  assert.match(tickTime(1_500, 86_400_000), /^\d\d:\d\d$/)
})

test('identities and ids are short, and still different', () => {
  assert.equal(nameIn(`4711|left|${'67dd'.repeat(8)}`), 'left')
  assert.equal(nameIn('anything'), 'anything')
  assert.equal(shortId('0123456789abcdef0123456789abcdef'), '01234567…cdef')
  assert.equal(shortId('aa00'), 'aa00')
})
