// Many seeds, one after the other, and their outcomes.

import type { MutationName } from './mutation.js'
import { makeScenario } from './scenario-maker.js'
import { simulate } from './simulation.js'
import type { ViolationKind } from './violation.js'

/** The seeds, and the options. */
export interface Campaign {
  readonly firstSeed: number
  readonly runs: number
  readonly mutation: MutationName
  /** It stops after this many findings. */
  readonly maxFindings: number
}

/** A seed that shows an error. */
export interface Finding {
  readonly seed: number
  readonly kind: ViolationKind
  readonly message: string
}

/** Sums over all runs. */
export interface Tally {
  runs: number
  events: number
  virtualMs: number
  futures: number
  faults: number
  taskRuns: number
  repeats: number
  overlaps: number
  findings: Finding[]
}

/** In a successful run the tables are checked each time after this many events. */
const CHECK_EVERY = 4

/** Nothing yet. */
export function newTally(): Tally {
  const sums = { runs: 0, events: 0, virtualMs: 0, futures: 0, faults: 0 }
  return { ...sums, taskRuns: 0, repeats: 0, overlaps: 0, findings: [] }
}

/** Runs all seeds. `onProgress` is called from time to time with the number of runs since. */
export function runCampaign(
  { firstSeed, runs, mutation, maxFindings }: Campaign,
  onProgress: (runs: number) => void = () => {},
): Tally {
  const tally = newTally()
  let told = 0
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const report = simulate(makeScenario(seed), { mutation, checkEvery: CHECK_EVERY })
    const { violation, counts, events, virtualMs, futures, faults } = report
    const { runs: taskRuns, repeats, overlaps } = counts
    const findings =
      violation === undefined ? [] : [{ seed, kind: violation.kind, message: violation.message }]
    const sums = { events, virtualMs, futures, faults, taskRuns, repeats, overlaps }
    addTally(tally, { runs: 1, ...sums, findings })
    if (tally.findings.length >= maxFindings) break
    if (tally.runs - told >= 100) {
      onProgress(tally.runs - told)
      told = tally.runs
    }
  }
  onProgress(tally.runs - told)
  return tally
}

/** Adds one tally to another. */
export function addTally(sum: Tally, part: Tally): void {
  sum.runs += part.runs
  sum.events += part.events
  sum.virtualMs += part.virtualMs
  sum.futures += part.futures
  sum.faults += part.faults
  sum.taskRuns += part.taskRuns
  sum.repeats += part.repeats
  sum.overlaps += part.overlaps
  sum.findings.push(...part.findings)
}
