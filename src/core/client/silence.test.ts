import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Silence } from './liveness.js'

test('the deadline moves with everything that is heard', () => {
  const silence = new Silence(60_000)
  silence.start(100)
  assert.equal(silence.deadline, 60_100)
  silence.heard(5_000)
  assert.equal(silence.deadline, 65_000)
})

test('ticks in time do not move the deadline', () => {
  const silence = new Silence(60_000)
  silence.start(0)
  silence.tick(2_000, 2_000)
  silence.tick(4_900, 4_000)
  assert.equal(silence.deadline, 60_000)
})

test('time in which the process stood still does not count', () => {
  const silence = new Silence(60_000)
  silence.start(0)
  silence.tick(72_000, 2_000)
  assert.equal(silence.deadline, 130_000)
})

test('a pause never puts the beginning of the silence into the future', () => {
  const silence = new Silence(1_000)
  silence.heard(9_000)
  silence.tick(10_000, 2_000)
  assert.equal(silence.deadline, 11_000)
})

test('whoever wakes up behind the deadline still gets some seconds to listen', () => {
  const silence = new Silence(60_000)
  silence.start(0)
  silence.tick(80_000, 60_000)
  assert.equal(silence.deadline, 85_000)
})

test('with a short time-out that is all of it', () => {
  const silence = new Silence(800)
  silence.start(0)
  silence.tick(18_000, 800)
  assert.equal(silence.deadline, 18_800)
})

test('nobody is given up before what has come had its time to be read', () => {
  const silence = new Silence(8_000)
  silence.start(0)
  assert.equal(silence.nextLook, 7_750)
  assert.equal(silence.isTooLong(8_760), false)
  assert.equal(silence.nextLook, 13_760)
  assert.equal(silence.isTooLong(13_759), false)
  assert.equal(silence.isTooLong(13_760), true)
  silence.heard(13_770)
  assert.equal(silence.isTooLong(21_500), false)
})

test('whoever looks in time gives up in time', () => {
  const silence = new Silence(8_000)
  silence.start(0)
  assert.equal(silence.isTooLong(7_750), false)
  assert.equal(silence.nextLook, 8_000)
  assert.equal(silence.isTooLong(8_000), true)
})
