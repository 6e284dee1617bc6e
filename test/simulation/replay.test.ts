import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sized } from '#src/base/short-run.kit.js'
import { makeScenario } from './scenario-maker.js'
import { shrink } from './shrink.js'
import { simulate } from './simulation.js'
import { formatStory } from './story.js'

const RUNS = sized(40, 6)
/** The number of worlds that together have every kind of fault. */
const WORLDS = sized(300, 50)
/** The invariants are not the subject here: they are checked rarely, which takes half as long. */
const CHECK_EVERY = 50

test('the same seed gives the same history', () => {
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const [first, second] = [1, 2].map(() => {
      const { story, events } = simulate(makeScenario(seed), {
        isTold: true,
        checkEvery: CHECK_EVERY,
      })
      return { events, text: formatStory(story, Infinity) }
    })
    assert.deepEqual(first, second)
  }
})

test('recording a history changes nothing, and neither do the checks', () => {
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const plain = simulate(makeScenario(seed), { checkEvery: 3 })
    const told = simulate(makeScenario(seed), { isTold: true })
    assert.equal(plain.events, told.events)
    assert.equal(plain.virtualMs, told.virtualMs)
    assert.deepEqual(plain.counts, told.counts)
  }
})

test('seeds differ, and cause the situations that they are for', () => {
  const seen = new Set<string>()
  let faults = 0
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    const { faults: plans } = makeScenario(seed)
    for (const { fault } of plans) seen.add(fault.type)
    faults += simulate(makeScenario(seed), { checkEvery: CHECK_EVERY }).faults
  }
  assert.equal(seen.size, 16)
  assert.ok(faults > WORLDS / 3, `${faults} faults in ${WORLDS} worlds`)
})

test('a failing scenario shrinks to something smaller that fails in the same way', () => {
  const options = { mutation: 'workerConfusesResults' } as const
  const scenario = [2, 3, 4, 5].map(makeScenario).find((one) => simulate(one, options).violation)
  assert.ok(scenario)
  const small = shrink(scenario, 'outcome', options)
  assert.equal(simulate(small, options).violation?.kind, 'outcome')
  assert.ok(JSON.stringify(small).length < JSON.stringify(scenario).length)
  assert.equal(small.faults.length, 0)
})
