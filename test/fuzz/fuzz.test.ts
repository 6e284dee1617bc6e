// A short run of the generator (`npm run fuzz`), the same each time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sized } from '#src/base/short-run.kit.js'
import { tryProgram, tryValue } from './trial.js'

test('random values arrive unchanged, or are refused', () => {
  for (let seed = 0; seed < sized(300, 150); seed += 1) {
    const outcome = tryValue(seed)
    assert.notEqual(outcome.kind, 'finding', JSON.stringify(outcome))
  }
})

test('functions of random programs behave the same after a transfer, or are refused', async () => {
  for (let seed = 0; seed < sized(150, 75); seed += 1) {
    const outcome = await tryProgram(seed)
    assert.notEqual(outcome.kind, 'finding', JSON.stringify(outcome))
  }
})
