// The memory of machines must depend on their current work, not on their past work.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptBytes } from './kept-bytes.js'
import { makeScenario } from './scenario-maker.js'
import type { ClientPlan, Scenario, Step } from './scenario.js'
import { Simulation } from './simulation.js'

/** The length of a long life, as a multiple of a short one. */
const SHORT = 10
const LONG = 60
/** The scheduler keeps the last 1,000 failures for monitors: here about 300, with attempts. */
const FAILURES_BYTES = 450_000
/** The additional memory that all machines of the longer world together may retain. */
const MAX_GROWTH_BYTES = 150_000

test('a long life with many failures leaves no more behind than a short one', async () => {
  const scenarios = [LONG, SHORT, LONG].map((times) => repeated(LIFE, times))
  const kept: number[] = []
  for (const scenario of scenarios) kept.push(await keptAfter(scenario))
  const [, short = 0, long = 0] = kept
  assert.ok(long - short < FAILURES_BYTES + MAX_GROWTH_BYTES, `${short} bytes, then ${long} bytes`)
})

/** The memory of a world in which everything is done. */
async function keptAfter(scenario: Scenario): Promise<number> {
  const before = await keptBytes()
  const simulation = new Simulation(scenario, { checkEvery: 50 })
  simulation.live()
  const bytes = (await keptBytes()) - before
  simulation.checkInvariants()
  return bytes
}

/** A world with graphs, children, cancels, retries and large results. */
const LIFE: Scenario = { ...makeScenario(3), ...settings(), faults: [], hostPipes: {} }

function settings(): Pick<Scenario, 'agents' | 'clients' | 'stormMs'> {
  const seeds = [11, 12, 13, 14, 15, 16]
  const clients = seeds.map((seed) => makeScenario(seed).clients[0] as ClientPlan)
  const steps = clients.flatMap((client, at) => {
    return client.steps.map((step) => later(step, at * 500, `${at}`))
  })
  return { agents: [{ startMs: 0, workers: 2 }], clients: [{ startMs: 0, steps }], stormMs: 0 }
}

/** The same again and again, with a failure in each round. */
function repeated(scenario: Scenario, times: number): Scenario {
  const roundMs = 120_000
  const steps = Array.from({ length: times }, (_, round) => {
    const plan = scenario.clients[0] as ClientPlan
    // Pinned objects stay, because their user needs them.
    const kept = plan.steps.filter(
      ({ type }) => type !== 'close' && type !== 'pin' && type !== 'share',
    )
    return kept.map((step) => later(step, round * roundMs, `r${round}`))
  }).flat()
  const faults = Array.from({ length: times }, (_, round) => ({
    trigger: { type: 'time', atMs: round * roundMs + 700 } as const,
    fault: FAULTS[round % FAULTS.length] as (typeof FAULTS)[number],
  }))
  return { ...scenario, clients: [{ startMs: 0, steps }], faults, stormMs: times * roundMs }
}

const FAULTS = [
  { type: 'cutLink', host: 'a0', index: 0, cut: 'both', laterMs: 0 },
  { type: 'strikeProcessor', agent: 0, worker: 0 },
  { type: 'cutLink', host: 'c0', index: 0, cut: 'routerFirst', laterMs: 100 },
  { type: 'stallHost', host: 'a0', ms: 500 },
  { type: 'freezeAgent', agent: 0, ms: 2_000 },
] as const

/** The same step at another time, with other names. */
function later(step: Step, byMs: number, mark: string): Step {
  const text = JSON.stringify({ ...step, atMs: step.atMs + byMs })
  return JSON.parse(text.replace(/"c(\d+)t/g, `"c$1${mark}t`)) as Step
}
