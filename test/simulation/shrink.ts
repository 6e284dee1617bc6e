// Reduces a failing scenario while it still fails in the same way: fewer faults, fewer clients and
// steps, fewer and simpler programs.

import type { Scenario, ClientPlan, Step } from './scenario.js'
import type { Program } from './program.js'
import { simulate, type RunOptions } from './simulation.js'
import type { ViolationKind } from './violation.js'

/** The most runs for one reduction. */
const MAX_RUNS = 600

/** The smallest scenario found that fails the same checker. */
export function shrink(scenario: Scenario, kind: ViolationKind, options: RunOptions): Scenario {
  let best = scenario
  let runs = 0
  for (let hasShrunk = true; hasShrunk;) {
    hasShrunk = false
    for (const candidate of candidates(best)) {
      if (runs >= MAX_RUNS) return best
      runs += 1
      if (simulate(candidate, options).violation?.kind !== kind) continue
      best = candidate
      hasShrunk = true
      break
    }
  }
  return best
}

/** Smaller scenarios, the smallest first. */
function* candidates(scenario: Scenario): Generator<Scenario> {
  const { faults, clients, agents } = scenario
  for (const rest of without(faults)) yield { ...scenario, faults: rest }
  for (const [number, client] of clients.entries()) {
    if (client.steps.length === 0) continue
    yield withClient(scenario, number, { ...client, steps: [] })
  }
  // Removes the last ones, so that the numbers of the others stay.
  if (clients.length > 1) yield { ...scenario, clients: clients.slice(0, -1) }
  if (agents.length > 1) yield { ...scenario, agents: agents.slice(0, -1) }
  for (const [number, client] of clients.entries()) {
    for (const steps of without(client.steps))
      yield withClient(scenario, number, { ...client, steps })
  }
  for (const [number, agent] of agents.entries()) {
    if (agent.workers === 1) continue
    const fewer = agents.map((other, at) => (at === number ? { ...other, workers: 1 } : other))
    yield { ...scenario, agents: fewer }
  }
  if (Object.keys(scenario.hostPipes).length > 0) yield { ...scenario, hostPipes: {} }
  if (scenario.hasMonitor) yield { ...scenario, hasMonitor: false }
  for (const [number, client] of clients.entries()) {
    for (const [at, step] of client.steps.entries()) {
      for (const smaller of smallerSteps(step)) {
        const steps = client.steps.map((other, index) => (index === at ? smaller : other))
        yield withClient(scenario, number, { ...client, steps })
      }
    }
  }
}

function withClient(scenario: Scenario, number: number, client: ClientPlan): Scenario {
  const clients = scenario.clients.map((other, at) => (at === number ? client : other))
  return { ...scenario, clients }
}

function* smallerSteps(step: Step): Generator<Step> {
  if (step.type === 'submit') {
    for (const needs of without(step.needs)) yield { ...step, needs }
    for (const program of smallerPrograms(step.program)) yield { ...step, program }
    if (step.wish.type !== 'now') yield { ...step, wish: { type: 'now', afterMs: 0 } }
  } else if (step.type === 'run') {
    const { programs } = step
    if (programs.length > 1) yield { ...step, programs: programs.slice(0, -1) }
  } else if (step.type === 'graph') {
    const { nodes } = step
    if (nodes.length > 1) yield { ...step, nodes: nodes.slice(0, -1) }
    for (const [at, node] of nodes.entries()) {
      const replace = (smaller: Partial<typeof node>): Step => {
        const changed = nodes.map((other, index) =>
          index === at ? { ...node, ...smaller } : other,
        )
        return { ...step, nodes: changed }
      }
      for (const needs of without(node.needs)) yield replace({ needs })
      if (node.isTarget && nodes.some((other) => other !== node && other.isTarget)) {
        yield replace({ isTarget: false })
      }
    }
  }
}

function* smallerPrograms(program: Program): Generator<Program> {
  for (const children of without(program.children)) yield { ...program, children }
  for (const [at, child] of program.children.entries()) {
    for (const smaller of smallerPrograms(child)) {
      const children = program.children.map((other, index) => (index === at ? smaller : other))
      yield { ...program, children }
    }
  }
  if (program.pad > 0) yield { ...program, pad: 0 }
  if (program.fn.includes('+')) yield { ...program, fn: program.fn.split('+')[0] as string }
  if (program.priority !== 0) yield { ...program, priority: 0 }
  if (program.abortMs >= 0) yield { ...program, abortMs: -1 }
}

/** A list without its first half, without its second half, without each of its items. */
function* without<T>(items: readonly T[]): Generator<readonly T[]> {
  const half = Math.ceil(items.length / 2)
  if (items.length > 2) {
    yield items.slice(half)
    yield items.slice(0, half)
  }
  for (const index of items.keys()) yield items.filter((_, at) => at !== index)
}
