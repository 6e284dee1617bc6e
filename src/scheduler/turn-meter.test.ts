import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { MemoryReducer, TurnMeter } from './turn-meter.js'

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

test('V8 reduces the memory of an idle scheduler only while there are few peers', () => {
  const flags: string[] = []
  const reducer = new MemoryReducer((flag) => flags.push(flag))
  const told = (peers: number): number[] => {
    reducer.update(peers)
    return flags.splice(0).map((flag) => Number(/=(\d+)$/.exec(flag)?.[1]))
  }
  assert.deepEqual([told(0), told(999)], [[], []])
  assert.deepEqual([told(1_000), told(5_000), told(500)], [[2 ** 31 - 1], [], []])
  assert.deepEqual([told(499), told(999), told(1_000)], [[8_000], [], [2 ** 31 - 1]])
})

test('this version of V8 knows the flag', () => {
  const help = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })
  assert.match(help, /--gc-memory-reducer-start-delay-ms/)
})
