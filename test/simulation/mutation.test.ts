import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sized } from '#src/base/short-run.kit.js'
import { runCampaign } from './campaign.js'
import { MUTATIONS, type MutationName } from './mutation.js'
import type { ViolationKind } from './violation.js'

/** This many seeds are enough for each; most need two. */
const RUNS = 2_000

/** Where a short run begins, close to the first seed that shows the mutation. */
const LATER_SEEDS: Readonly<Partial<Record<MutationName, number>>> = {
  schedulerMissesDisconnects: 50,
  processorsConfuseLinks: 65,
  workerMissesCancels: 660,
}

/** The checker that notices. */
const EXPECTED: Readonly<Record<Exclude<MutationName, 'none'>, readonly ViolationKind[]>> = {
  schedulerLosesResults: ['liveness', 'outcome'],
  schedulerRepeatsResults: ['wire'],
  schedulerRepeatsTasks: ['wire'],
  schedulerMissesDisconnects: ['liveness', 'outcome'],
  workerRepeatsResults: ['wire'],
  workerConfusesResults: ['outcome'],
  processorsConfuseLinks: ['outcome'],
  workerMissesCancels: ['late', 'idle', 'liveness', 'table'],
  clientsLeaveWithoutWord: ['table'],
}

for (const mutation of MUTATIONS) {
  if (mutation === 'none') continue
  test(`the checkers notice when ${mutation}`, () => {
    const firstSeed = sized(1, LATER_SEEDS[mutation] ?? 1)
    const { findings } = runCampaign({ firstSeed, runs: RUNS, mutation, maxFindings: 1 })
    const [finding] = findings
    assert.ok(finding, 'nobody has noticed')
    assert.ok(EXPECTED[mutation].includes(finding.kind), finding.message)
  })
}
