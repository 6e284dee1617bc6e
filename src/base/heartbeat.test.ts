import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Heartbeat, Unconfirmed } from './heartbeat.js'
import { Turn } from './machine.js'

/** Whether the scheduler that echoes is one of ours. */
const OURS = true
const OTHER = false

/** A heartbeat, its clock, and when it was sent. */
class Rhythm {
  readonly turn = new Turn<never>()
  readonly heartbeat: Heartbeat
  readonly #sent: number[] = []

  constructor(intervalMs: number) {
    this.heartbeat = new Heartbeat(this.turn, intervalMs, () => this.#sent.push(this.turn.now))
  }

  start(now: number): number[] {
    this.#setTime(now)
    this.heartbeat.start()
    return this.#sent.splice(0)
  }

  echo(now: number, isOurs: boolean): number {
    this.#setTime(now)
    return this.heartbeat.onEcho(isOurs)
  }

  /** When heartbeats were sent until this time. */
  until(end: number): number[] {
    for (
      let at = this.turn.nextAlarmAt;
      at !== undefined && at <= end;
      at = this.turn.nextAlarmAt
    ) {
      this.#setTime(at)
      this.turn.ring()
    }
    this.#setTime(end)
    return this.#sent.splice(0)
  }

  #setTime(now: number): void {
    this.turn.begin(now, () => assert.fail('a heartbeat emits no actions'))
  }
}

test('the first heartbeat of a connection is sent at once, the others once per interval', () => {
  const rhythm = new Rhythm(2_000)
  assert.deepEqual(rhythm.until(100), [], 'there is no connection')
  assert.deepEqual(rhythm.start(100), [100])
  rhythm.echo(110, OTHER)
  assert.deepEqual(rhythm.until(2_100), [2_100])
})

test('a 1.9.9 scheduler gets no heartbeat while an echo is outstanding', () => {
  const rhythm = new Rhythm(1_000)
  rhythm.start(0)
  rhythm.echo(1, OTHER)
  assert.deepEqual(rhythm.until(3_500), [1_000])
  rhythm.echo(3_500, OTHER)
  assert.deepEqual(rhythm.until(4_500), [4_000])
})

test('a scheduler of ours gets one in every interval, however long the echoes take', () => {
  const rhythm = new Rhythm(1_000)
  rhythm.start(0)
  assert.deepEqual(rhythm.until(1_000), [], 'it is not yet known whose scheduler it is')
  rhythm.echo(1_500, OURS)
  assert.equal(rhythm.until(59_999).length, 58)
  rhythm.echo(61_000, OURS)
  assert.equal(rhythm.heartbeat.latencyUs, 29_500_000, 'the first one waited for 59 s')
})

test('whether the scheduler is one of ours is forgotten with the connection', () => {
  const rhythm = new Rhythm(1_000)
  rhythm.start(0)
  rhythm.echo(1, OURS)
  rhythm.heartbeat.stop()
  assert.deepEqual(rhythm.start(500), [500])
  assert.deepEqual(rhythm.until(5_000), [])
})

test('the outstanding echo of a lost connection does not count', () => {
  const rhythm = new Rhythm(1_000)
  rhythm.start(0)
  rhythm.heartbeat.stop()
  assert.deepEqual(rhythm.until(5_000), [])
  assert.deepEqual(rhythm.start(5_000), [5_000])
  assert.equal(rhythm.heartbeat.unansweredSince, 5_000)
})

test('the latency is half of the round trip in whole microseconds', () => {
  const rhythm = new Rhythm(1_000)
  assert.equal(rhythm.heartbeat.latencyUs, 0)
  rhythm.start(0)
  rhythm.echo(3.0015, OURS)
  assert.equal(rhythm.heartbeat.latencyUs, 1_500)
})

test('each echo answers the oldest heartbeat without one', () => {
  const rhythm = new Rhythm(1_000)
  rhythm.start(0)
  rhythm.echo(2, OURS)
  rhythm.until(2_000)
  rhythm.echo(2_500, OURS)
  assert.equal(rhythm.heartbeat.latencyUs, 750_000)
  rhythm.echo(2_501, OURS)
  assert.equal(rhythm.heartbeat.latencyUs, 250_500)
})

test('an unexpected echo says nothing about the latency', () => {
  const rhythm = new Rhythm(1_000)
  assert.equal(rhythm.echo(10, OURS), 0)
  assert.equal(rhythm.heartbeat.latencyUs, 0)
})

test('an echo reports the time since the previous one of the connection', () => {
  const rhythm = new Rhythm(2_000)
  rhythm.start(0)
  assert.equal(rhythm.echo(30_000, OTHER), 0, 'the first one')
  rhythm.until(32_000)
  assert.equal(rhythm.echo(40_000, OTHER), 10_000)
  rhythm.start(41_000)
  assert.equal(rhythm.echo(41_001, OTHER), 0)
})

test('a heartbeat can be sent early, unless an echo is outstanding', () => {
  const rhythm = new Rhythm(1_000)
  rhythm.heartbeat.hasten()
  assert.deepEqual(rhythm.start(0), [0], 'there was no connection')
  rhythm.until(100)
  rhythm.heartbeat.hasten()
  rhythm.echo(200, OURS)
  rhythm.heartbeat.hasten()
  assert.deepEqual(rhythm.until(1_200), [200, 1_200])
})

test('what was sent is remembered until a later heartbeat is answered, in order', () => {
  const unconfirmed = new Unconfirmed<string>()
  for (const [index, item] of ['a', 'b', 'c', 'a'].entries()) unconfirmed.add(item, index)
  assert.ok(unconfirmed.delete('c'))
  assert.ok(!unconfirmed.delete('d'))
  unconfirmed.confirm(1)
  assert.deepEqual(unconfirmed.takeAll(), ['b', 'a'])
  assert.deepEqual(unconfirmed.takeAll(), [])
  for (const item of ['x', 'y']) unconfirmed.add(item, item === 'x' ? 4 : 5)
  unconfirmed.confirm(5)
  assert.deepEqual(unconfirmed.takeAll(), ['y'])
})

test('of very much that was sent, the oldest is forgotten', () => {
  const unconfirmed = new Unconfirmed<number>()
  for (let item = 0; item < 100_003; item += 1) unconfirmed.add(item, item)
  const items = unconfirmed.takeAll()
  assert.deepEqual([items.length, items[0], items.at(-1)], [100_000, 3, 100_002])
})
