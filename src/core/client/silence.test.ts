import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Silence } from './silence.js'

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
