// Prints a finding for people: the error, the smallest scenario that shows it, and its history.

import { makeScenario } from './scenario-maker.js'
import type { Scenario } from './scenario.js'
import { shrink } from './shrink.js'
import { simulate, type RunOptions } from './simulation.js'
import { formatStory, linesAbout } from './story.js'

/** The amount of output. */
export interface TellOptions extends RunOptions {
  /** The number of lines of the history, the last ones. */
  readonly lines: number
  readonly isShrunk: boolean
}

/** The history of a seed; of one that fails, in its smallest form. */
export function tellSeed(seed: number, options: TellOptions): string {
  const scenario = makeScenario(seed)
  const { violation } = simulate(scenario, options)
  if (violation === undefined || !options.isShrunk) return tellScenario(scenario, options)
  return tellScenario(shrink(scenario, violation.kind, options), options)
}

/** The history of a scenario. */
export function tellScenario(scenario: Scenario, options: TellOptions): string {
  const { violation, story, events, virtualMs } = simulate(scenario, { ...options, isTold: true })
  const head = `seed ${scenario.seed}: ${events} events in ${(virtualMs / 1_000).toFixed(1)} s`
  const parts = [`${head}, ${violation?.message.split('\n')[0] ?? 'all is well'}`]
  parts.push(describeScenario(scenario), formatStory(story.filter(isTelling), options.lines))
  for (const name of namesIn(violation?.message ?? '')) {
    const lines = linesAbout(story, name)
    if (lines.length > 0)
      parts.push(`the story of ${name}:`, formatStory(lines, Math.ceil(options.lines / 3)))
  }
  if (violation !== undefined) parts.push(violation.stack ?? '')
  return parts.join('\n')
}

/** Heartbeats are most of the messages, and seldom matter. */
function isTelling({ text }: { readonly text: string }): boolean {
  return !/Heartbeat(Echo)?$/.test(text)
}

function namesIn(message: string): readonly string[] {
  return [...new Set(message.match(/\bc\d+t\d+(n\d+)?(\.\d+)*\b/g) ?? [])].slice(0, 2)
}

/** Default values are left out. */
const USUAL: Readonly<Record<string, unknown>> = {
  blocks: false,
  end: 'returns',
  failsFirst: 0,
  abortMs: -1,
  pad: 0,
  oneByOne: false,
  timeoutMs: 0,
  retries: 0,
  deathLimit: 0,
  priority: 0,
}

function describeScenario(scenario: Scenario): string {
  const { agents, clients, faults, scheduler, worker, client, hostPipes } = scenario
  return [
    `  agents: ${compact(agents)}`,
    ...clients.map((plan, number) => `  c${number}: ${compact(plan)}`),
    ...faults.map((plan) => `  fault: ${compact(plan)}`),
    `  settings: ${JSON.stringify({ scheduler, worker, client, hostPipes })}`,
  ].join('\n')
}

function compact(plan: unknown): string {
  return JSON.stringify(plan, (key, value: unknown) => {
    if (USUAL[key] === value) return undefined
    if (typeof value === 'number') return Number(value.toFixed(2))
    const isEmpty = Array.isArray(value) && value.length === 0
    const isPlainWish = key === 'wish' && JSON.stringify(value).includes('now')
    return isEmpty || isPlainWish ? undefined : value
  }).replaceAll('"', '')
}
