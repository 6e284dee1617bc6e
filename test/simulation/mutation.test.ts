import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCampaign } from './campaign.js'
import { MUTATIONS, type MutationName } from './mutation.js'
import type { ViolationKind } from './violation.js'

/** This many seeds are enough for each; most need two. */
const RUNS = 2_000

/** The checker that notices. */
const EXPECTED: Readonly<Record<Exclude<MutationName, 'none'>, readonly ViolationKind[]>> = {
  schedulerLosesResults: ['liveness', 'outcome'],
  schedulerRepeatsResults: ['wire'],
  schedulerRepeatsTasks: ['wire'],
  schedulerMissesDisconnects: ['liveness', 'outcome'],
  workerRepeatsResults: ['wire'],
  workerConfusesResults: ['outcome'],
  workerMissesCancels: ['late', 'idle', 'liveness'],
  clientsLeaveWithoutWord: ['table'],
}

for (const mutation of MUTATIONS) {
  if (mutation === 'none') continue
  test(`the checkers notice when ${mutation}`, () => {
    const { findings } = runCampaign({ firstSeed: 1, runs: RUNS, mutation, maxFindings: 1 })
    const [finding] = findings
    assert.ok(finding, 'nobody has noticed')
    assert.ok(EXPECTED[mutation].includes(finding.kind), finding.message)
  })
}
