import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnMeter } from './turn-meter.js'

/** A meter whose turns are made by hand. */
function meter(): { readonly turn: (ms: number) => void; readonly sample: () => number } {
  let now = 0
  const ends: (() => void)[] = []
  const turns = new TurnMeter(
    () => now,
    (callback) => ends.push(callback),
  )
  const turn = (ms: number): void => {
    turns.begin()
    turns.begin()
    now += ms
    for (const end of ends.splice(0)) end()
    now += 1000
  }
  return { turn, sample: () => turns.sample() }
}

test('the 99th percentile covers the turns of the last ten samples', () => {
  const { turn, sample } = meter()
  assert.equal(sample(), 0)
  for (let count = 0; count < 99; count += 1) turn(1)
  turn(50)
  assert.ok(Math.abs(sample() - 1) < 0.1)
  turn(50)
  for (let count = 0; count < 9; count += 1) assert.ok(Math.abs(sample() - 50) < 3, `${count}`)
  sample()
  assert.equal(sample(), 0)
})
