import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PeerWatch, type PingOptions } from './heartbeat.js'

const OPTIONS: PingOptions = { pingIntervalMs: 2_000, pingTimeoutMs: 8_000 }

/** A watch whose clock and stream are controlled by the test. */
class Fixture {
  readonly watch: PeerWatch
  now = 0
  takenBytes = 0
  isFull = false

  constructor(options: Partial<PingOptions> = {}) {
    this.watch = new PeerWatch({ ...OPTIONS, ...options }, 0)
  }

  /** One interval passes in which `sentBytes` bytes were sent. */
  look(hasHeard: boolean, sentBytes = 0, intervalMs = 2_000): string {
    this.now += intervalMs
    this.takenBytes += sentBytes
    const { takenBytes, isFull } = this
    return this.watch.look(this.now, hasHeard, { takenBytes, isFull })
  }

  /** Silent intervals, until the result is something other than a PING. */
  untilGivenUp(sentBytes = 0): number {
    const since = this.now
    for (let i = 0; i < 100; i += 1) {
      if (this.look(false, sentBytes) === 'giveUp') return this.now - since
    }
    return Infinity
  }
}

test('a peer with traffic in both directions is not sent a PING', () => {
  const fixture = new Fixture()
  for (let i = 0; i < 20; i += 1) assert.equal(fixture.look(true, 100), 'nothing')
})

test('a silent peer is sent a PING in every interval, and given up if it never answers', () => {
  const fixture = new Fixture()
  assert.equal(fixture.look(true, 100), 'nothing')
  for (let i = 0; i < 3; i += 1) assert.equal(fixture.look(false, 100), 'ping')
  assert.equal(fixture.look(false), 'giveUp')
})

test('an idle link is used in every interval, so that no middlebox forgets it', () => {
  const fixture = new Fixture()
  for (let i = 0; i < 20; i += 1) assert.equal(fixture.look(true), 'ping')
})

test('a peer that answers late is not given up', () => {
  const fixture = new Fixture()
  for (let i = 0; i < 20; i += 1) {
    for (let j = 0; j < 3; j += 1) assert.equal(fixture.look(false), 'ping')
    fixture.look(true)
  }
})

test('bytes that the system takes say nothing about the peer while its buffers have room', () => {
  const fixture = new Fixture()
  assert.equal(fixture.untilGivenUp(1_000), 8_000)
})

test('a long upload does not count as silence while the full buffers of the system drain', () => {
  const fixture = new Fixture()
  fixture.look(true)
  fixture.isFull = true
  assert.equal(fixture.untilGivenUp(1_000_000), Infinity)
})

test('on a slow link full buffers drain in large portions, far apart', () => {
  const fixture = new Fixture()
  fixture.look(true)
  fixture.isFull = true
  for (let i = 0; i < 100; i += 1) {
    const sentBytes = i % 10 === 0 ? 1_000_000 : 0
    assert.equal(fixture.look(false, sentBytes), 'ping')
  }
})

test('full buffers that do not drain count as silence after four times the time-out', () => {
  const fixture = new Fixture()
  fixture.look(true)
  fixture.isFull = true
  assert.equal(fixture.untilGivenUp(), 32_000)
})

test('a process that was suspended gives the peer its full time again', () => {
  const fixture = new Fixture()
  for (let i = 0; i < 3; i += 1) assert.equal(fixture.look(false), 'ping')
  assert.equal(fixture.look(false, 0, 60_000), 'ping', 'back after a minute')
  assert.equal(fixture.untilGivenUp(), 8_000)
})

test('a process that is suspended repeatedly never gives up a peer it cannot hear', () => {
  const fixture = new Fixture()
  for (let i = 0; i < 20; i += 1) assert.equal(fixture.look(false, 0, 60_000), 'ping')
})

test('no peer is given up without having been sent a PING', () => {
  const fixture = new Fixture({ pingTimeoutMs: 1_000 })
  assert.equal(fixture.look(true, 10), 'nothing')
  assert.equal(fixture.look(false, 10), 'ping')
  assert.equal(fixture.look(false), 'giveUp')
})

test('without a time-out, peers are sent PINGs and never given up', () => {
  const fixture = new Fixture({ pingTimeoutMs: 0 })
  for (let i = 0; i < 100; i += 1) assert.equal(fixture.look(false), 'ping')
})
