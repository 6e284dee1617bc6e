// The long campaign: 20,000 worlds. The first seed is random and printed; SCALER_SEED sets it.

import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { runJobs } from './jobs.js'
import { tellSeed } from './tell-finding.js'

const RUNS = 20_000
const LINES = 120

test('20,000 worlds: every future ends once and rightly, and nothing is left', async (t) => {
  const given = process.env['SCALER_SEED']
  const firstSeed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given)
  t.diagnostic(`SCALER_SEED=${firstSeed}`)
  const jobs = Math.min(availableParallelism(), 8)
  const campaign = { firstSeed, runs: RUNS, mutation: 'none', maxFindings: 1 } as const
  const tally = await runJobs(campaign, jobs, () => {})
  const { faults, futures, taskRuns, repeats, overlaps, findings } = tally
  t.diagnostic(`${faults} faults, ${futures} futures, ${taskRuns} task runs`)
  t.diagnostic(`${repeats} of tasks begun before, ${overlaps} beside another run of theirs`)
  const [finding] = findings
  if (finding === undefined) return
  assert.fail(tellSeed(finding.seed, { lines: LINES, isShrunk: true }))
})
