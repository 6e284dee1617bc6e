import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Heartbeat } from './heartbeat.js'

test('a heartbeat is due at once on a new connection, and then once per interval', () => {
  const heartbeat = new Heartbeat(2_000)
  assert.equal(heartbeat.deadline, undefined)
  heartbeat.start(100)
  assert.equal(heartbeat.deadline, 100)
  assert.equal(heartbeat.poll(100), 'send')
  heartbeat.echoed(110)
  assert.equal(heartbeat.deadline, 2_100)
  assert.equal(heartbeat.poll(2_099), 'nothing')
  assert.equal(heartbeat.poll(2_100), 'send')
})

test('no second heartbeat is sent while an echo is outstanding', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  assert.equal(heartbeat.poll(0), 'send')
  assert.equal(heartbeat.poll(1_000), 'probe')
  assert.equal(heartbeat.poll(2_000), 'probe')
  heartbeat.echoed(2_500)
  assert.equal(heartbeat.poll(3_000), 'send')
})

test('an outstanding echo of a lost connection does not count', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  heartbeat.poll(0)
  heartbeat.stop()
  assert.equal(heartbeat.deadline, undefined)
  assert.equal(heartbeat.poll(5_000), 'nothing')
  heartbeat.start(5_000)
  assert.equal(heartbeat.poll(5_000), 'send')
})

test('the latency is half of the round trip in whole microseconds', () => {
  const heartbeat = new Heartbeat(1_000)
  assert.equal(heartbeat.latencyUS, 0)
  heartbeat.start(0)
  heartbeat.poll(0)
  heartbeat.echoed(3.0015)
  assert.equal(heartbeat.latencyUS, 1_500)
})

test('an echo that nobody waits for is ignored', () => {
  const heartbeat = new Heartbeat(1_000)
  heartbeat.start(0)
  assert.equal(heartbeat.echoed(10), 0)
  assert.equal(heartbeat.latencyUS, 0)
})

test('echoes that are far apart are stale: another heartbeat is due at once', () => {
  const heartbeat = new Heartbeat(2_000)
  heartbeat.start(0)
  heartbeat.poll(0)
  assert.equal(heartbeat.echoed(30_000), 0, 'the first one has nothing to be far from')
  heartbeat.poll(32_000)
  assert.equal(heartbeat.echoed(40_000), 0, 'ten seconds are not far')
  heartbeat.poll(42_000)
  assert.equal(heartbeat.echoed(50_001), 10_001)
  assert.equal(heartbeat.poll(50_001), 'send')
})
