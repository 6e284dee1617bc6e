// The long campaign: 20,000 worlds in four parts, each a separate test file, because the time limit
// of the runner counts for a file. A short run has the beginning of the first part. TEST_SEED sets
// another first seed.

import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { sized } from '#src/base/short-run.kit.js'
import { runJobs } from './jobs.js'
import { tellSeed } from './tell-finding.js'

const PART_RUNS = 5_000
const RUNS = sized(PART_RUNS, 60)
const LINES = 120
const MAX_JOBS = 8
/** The same each time: new ones are for `npm run simulate`. */
const FIRST_SEED = 20_000_000

/** One part of it, numbered from 0. */
export function testPart(part: number): void {
  test(`${RUNS} worlds: every future settles once, correctly, and nothing is left (${part})`, async (t) => {
    const given = process.env['TEST_SEED']
    const base = given === undefined ? FIRST_SEED : Number(given)
    const firstSeed = base + part * PART_RUNS
    t.diagnostic(`TEST_SEED=${base}: seeds ${firstSeed} to ${firstSeed + RUNS - 1}`)
    const campaign = { firstSeed, runs: RUNS, mutation: 'none', maxFindings: 1 } as const
    const tally = await runJobs(campaign, Math.min(availableParallelism(), MAX_JOBS), () => {})
    const { faults, futures, taskRuns, repeats, overlaps, findings } = tally
    t.diagnostic(`${faults} faults, ${futures} futures, ${taskRuns} task runs`)
    t.diagnostic(`${repeats} of tasks begun before, ${overlaps} beside another run of theirs`)
    const [finding] = findings
    if (finding !== undefined) {
      assert.fail(tellSeed(finding.seed, { lines: LINES, isShrunk: true }))
    }
  })
}
