import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FOUND, scenarioOf } from './seeds.js'
import { simulate } from './simulation.js'
import { tellScenario } from './tell-finding.js'

const LINES = 150

for (const found of FOUND) {
  test(`found once: ${found.what}`, () => {
    const scenario = scenarioOf(found)
    const { violation } = simulate(scenario)
    if (violation === undefined) return
    assert.fail(tellScenario(scenario, { lines: LINES, isShrunk: false }))
  })
}
