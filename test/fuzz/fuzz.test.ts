// A while of the generator (`npm run fuzz`), the same each time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tryProgram, tryValue } from './trial.js'

test('random values arrive as they were, or are refused', () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const outcome = tryValue(seed)
    assert.notEqual(outcome.kind, 'finding', JSON.stringify(outcome))
  }
})

test('functions of random programs do there what they do here, or are refused', async () => {
  for (let seed = 0; seed < 150; seed += 1) {
    const outcome = await tryProgram(seed)
    assert.notEqual(outcome.kind, 'finding', JSON.stringify(outcome))
  }
})
