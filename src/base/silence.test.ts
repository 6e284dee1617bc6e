import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turn } from './machine.js'
import { Silence } from './silence.js'

/** A silence that is watched from the start, and the times at which it must be looked at. */
class Watched {
  readonly turn = new Turn<never>()
  readonly silence: Silence

  constructor(timeoutMs: number) {
    this.silence = new Silence(this.turn, timeoutMs)
    this.silence.watch()
  }

  /** An event other than a tick. */
  event(now: number): void {
    this.turn.begin(now, () => assert.fail('a silence emits no actions'))
  }

  heard(now: number): void {
    this.event(now)
    this.silence.heard()
  }

  /** Whether the peer is given up at this tick. */
  tick(now: number): boolean {
    this.event(now)
    this.silence.onTick()
    this.turn.ring()
    return this.silence.isTooLong
  }

  /** When the peer is given up if all ticks are on time from now on. */
  giveUpAt(): number {
    for (;;) {
      const { nextAlarmAt: deadline } = this.turn
      assert.ok(deadline !== undefined, 'it is not watched')
      if (this.tick(deadline)) return deadline
    }
  }
}

test('the deadline moves with everything that is heard', () => {
  const watched = new Watched(60_000)
  watched.heard(5_000)
  assert.equal(watched.giveUpAt(), 65_000)
})

test('ticks that are slightly late do not move the deadline', () => {
  const watched = new Watched(60_000)
  watched.turn.alarm(() => {}).set(4_000)
  assert.equal(watched.tick(4_900), false)
  assert.equal(watched.giveUpAt(), 60_000)
})

test('time in which the process was suspended does not count', () => {
  const watched = new Watched(60_000)
  watched.turn.alarm(() => {}).set(2_000)
  assert.equal(watched.tick(72_000), false)
  assert.equal(watched.giveUpAt(), 130_000)
})

test('a pause never moves the start of the silence into the future', () => {
  const watched = new Watched(1_000)
  watched.heard(9_000)
  watched.turn.alarm(() => {}).set(2_000)
  assert.equal(watched.tick(10_000), false)
  assert.equal(watched.silence.since, 10_000)
})

test('a process that resumes after the deadline still has some seconds to listen', () => {
  const watched = new Watched(60_000)
  assert.equal(watched.tick(80_000), false)
  assert.equal(watched.giveUpAt(), 85_000)
})

test('with a shorter timeout, it has the whole timeout', () => {
  const watched = new Watched(800)
  assert.equal(watched.tick(18_000), false)
  assert.equal(watched.giveUpAt(), 18_800)
})

test('the first look never gives the peer up: what arrived is read before the second', () => {
  const watched = new Watched(8_000)
  assert.equal(watched.turn.nextAlarmAt, 7_750)
  assert.equal(watched.tick(8_740), false)
  assert.equal(watched.turn.nextAlarmAt, 13_740)
  watched.heard(13_739)
  assert.equal(watched.tick(13_740), false)
  assert.equal(watched.giveUpAt(), 21_739)
})

test('with ticks on time, the peer is given up on time', () => {
  assert.equal(new Watched(8_000).giveUpAt(), 8_000)
})

test('nothing is given up, and no tick is due, before it is watched', () => {
  const turn = new Turn<never>()
  const silence = new Silence(turn, 1_000)
  silence.heard()
  assert.equal(turn.nextAlarmAt, undefined)
  assert.equal(silence.isTooLong, false)
})

test('a peer that was given up is watched again on request', () => {
  const watched = new Watched(1_000)
  watched.giveUpAt()
  assert.equal(watched.turn.nextAlarmAt, undefined)
  watched.event(5_000)
  watched.silence.watch()
  assert.equal(watched.silence.isTooLong, false)
  assert.equal(watched.giveUpAt(), 6_000)
})
