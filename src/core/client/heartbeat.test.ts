import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Heartbeat } from './liveness.js'

/** Whether a scheduler that echoes is one of ours. */
const OURS = true
const OTHER = false

test('a heartbeat is due at once on a new connection, and then once per interval', () => {
  const heartbeat = new Heartbeat(2_000)
  assert.equal(heartbeat.deadline, undefined)
  heartbeat.start(100)
  assert.equal(heartbeat.deadline, 100)
  assert.equal(heartbeat.poll(100), true)
  heartbeat.echoed(110, OTHER)
  assert.equal(heartbeat.deadline, 2_100)
  assert.equal(heartbeat.poll(2_099), false)
  assert.equal(heartbeat.poll(2_100), true)
})

test('a 1.9.9 scheduler gets no second heartbeat while an echo is outstanding', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  assert.equal(heartbeat.poll(0), true)
  heartbeat.echoed(1, OTHER)
  assert.equal(heartbeat.poll(1_000), true)
  assert.equal(heartbeat.poll(2_000), false)
  assert.equal(heartbeat.poll(3_000), false)
  heartbeat.echoed(3_500, OTHER)
  assert.equal(heartbeat.poll(4_000), true)
})

test('a scheduler of ours gets one in every interval, however long the echoes take', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  heartbeat.poll(0)
  assert.equal(heartbeat.poll(1_000), false, 'nobody knows yet whose it is')
  heartbeat.echoed(1_500, OURS)
  for (let now = 2_000; now < 60_000; now += 1_000) assert.equal(heartbeat.poll(now), true)
  heartbeat.echoed(61_000, OURS)
  assert.equal(heartbeat.latencyUS, 29_500_000, 'the first one waited for 59 s')
})

test('whose scheduler it is counts for one connection', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  heartbeat.poll(0)
  heartbeat.echoed(1, OURS)
  heartbeat.stop()
  heartbeat.start(500)
  assert.equal(heartbeat.poll(500), true)
  assert.equal(heartbeat.poll(1_500), false)
})

test('an outstanding echo of a lost connection does not count', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  heartbeat.poll(0)
  heartbeat.stop()
  assert.equal(heartbeat.deadline, undefined)
  assert.equal(heartbeat.poll(5_000), false)
  heartbeat.start(5_000)
  assert.equal(heartbeat.poll(5_000), true)
})

test('the latency is half of the round trip in whole microseconds', () => {
  const heartbeat = new Heartbeat(1_000)
  assert.equal(heartbeat.latencyUS, 0)
  heartbeat.start(0)
  heartbeat.poll(0)
  heartbeat.echoed(3.0015, OURS)
  assert.equal(heartbeat.latencyUS, 1_500)
})

test('each echo answers the oldest heartbeat that has none', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  heartbeat.poll(0)
  heartbeat.echoed(2, OURS)
  heartbeat.poll(1_000)
  heartbeat.poll(2_000)
  heartbeat.echoed(2_500, OURS)
  assert.equal(heartbeat.latencyUS, 750_000)
  heartbeat.echoed(2_501, OURS)
  assert.equal(heartbeat.latencyUS, 250_500)
})

test('an echo that nobody waits for is ignored', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  assert.equal(heartbeat.echoed(10, OURS), 0)
  assert.equal(heartbeat.latencyUS, 0)
})

test('echoes of 1.9.9 that are far apart are stale: another heartbeat is due at once', () => {
  const heartbeat = new Heartbeat(2_000)
  heartbeat.start(0)
  heartbeat.poll(0)
  assert.equal(heartbeat.echoed(30_000, OTHER), 0, 'the first one has nothing to be far from')
  heartbeat.poll(32_000)
  assert.equal(heartbeat.echoed(40_000, OTHER), 0, 'ten seconds are not far')
  heartbeat.poll(42_000)
  assert.equal(heartbeat.echoed(50_001, OTHER), 10_001)
  assert.equal(heartbeat.poll(50_001), true)
})

test('echoes of ours that are far apart say nothing: it closes connections that it gives up', () => {
  const heartbeat = new Heartbeat(2_000)
  heartbeat.start(0)
  heartbeat.poll(0)
  heartbeat.echoed(1, OURS)
  heartbeat.poll(2_000)
  assert.equal(heartbeat.echoed(3_600_000, OURS), 0)
})
