// What workers offer, and whether one fits a task: the only place where that is decided. Units
// belong to the agent of a host and are shared by its workers. docs/protocol.md#capabilities

import { assert } from '../../base/assert.js'
import type { TaskCapability } from '../../wire/message.js'
import type { Offer, Supply, TaskEntry, WorkerEntry } from './entries.js'
import type { Need, Requirement } from './requirement.js'

/** Of what a worker offers more than so many names count for nothing. */
const MAX_NAMES = 1000

/** How many units no task has. */
function freeOf({ totals, used }: Supply, name: string): number {
  return (totals.get(name) ?? 0) - (used.get(name) ?? 0)
}

function take({ used }: Supply, { name, units }: Need): void {
  used.set(name, (used.get(name) ?? 0) + units)
}

function giveBack({ used }: Supply, { name, units }: Need): void {
  const left = (used.get(name) ?? 0) - units
  assert(left >= 0, 'units were given back that nobody had')
  if (left === 0) used.delete(name)
  else used.set(name, left)
}

/** Throws unless the tasks of the workers have what counts as used. */
function checkSupply(supply: Supply): void {
  const counted: Supply = { workers: supply.workers, totals: supply.totals, used: new Map() }
  for (const worker of supply.workers) {
    assert(worker.offer?.supply === supply, 'a worker has another supply')
    for (const task of worker.assigned) {
      for (const need of countedNeeds(worker, task)) take(counted, need)
    }
  }
  assert(counted.used.size === supply.used.size, 'units of other names are used')
  for (const [name, units] of counted.used) {
    assert(supply.used.get(name) === units, 'units are miscounted')
  }
}

/** The supplies of all agents. */
export class Supplies {
  readonly #byAgent = new Map<string, Supply>()

  /** What a worker offers that comes; undefined: nothing. `agent`: the same for all of a host. */
  offerOf(agent: string, capabilities: readonly TaskCapability[]): Offer | undefined {
    if (capabilities.length === 0) return undefined
    let supply = this.#byAgent.get(agent)
    if (supply === undefined) {
      supply = { workers: new Set(), totals: new Map(), used: new Map() }
      this.#byAgent.set(agent, supply)
    }
    const units = new Map<string, number>()
    for (const { name, value } of capabilities.slice(0, MAX_NAMES)) {
      units.set(name, value)
      if (value >= 0) supply.totals.set(name, value)
    }
    return { units, supply }
  }

  join(worker: WorkerEntry): void {
    worker.offer?.supply.workers.add(worker)
  }

  /** A worker without tasks has gone. The last one of an agent takes its units along. */
  leave(worker: WorkerEntry, agent: string): void {
    const supply = worker.offer?.supply
    supply?.workers.delete(worker)
    if (supply?.workers.size === 0 && this.#byAgent.get(agent) === supply) {
      this.#byAgent.delete(agent)
    }
  }

  /** Throws if a supply disagrees with the tasks that have its units. */
  checkInvariants(): void {
    for (const supply of this.#byAgent.values()) {
      assert(supply.workers.size > 0, 'a supply without workers')
      checkSupply(supply)
    }
  }
}

/** Whether a worker could ever run what needs this. A name without a number has all numbers. */
export function offers(worker: WorkerEntry, { needs }: Requirement): boolean {
  const { offer } = worker
  if (offer === undefined) return false
  return needs.every(({ name, units }) => {
    const offered = offer.units.get(name)
    return offered !== undefined && (offered < 0 || offered >= units)
  })
}

/** Whether the agent of a worker has units left for what needs this. */
export function hasUnits(worker: WorkerEntry, { needs, isCounted }: Requirement): boolean {
  const { offer } = worker
  if (!isCounted || offer === undefined) return true
  for (const { name, units } of needs) {
    if (units === 0 || freeOf(offer.supply, name) >= units) continue
    if (offer.units.get(name) !== -1) return false
  }
  return true
}

/** Whether a task may be given to a worker now, if that has room for it. */
export function fits(worker: WorkerEntry, task: TaskEntry): boolean {
  const requirement = task.requirement
  return requirement === undefined || (offers(worker, requirement) && hasUnits(worker, requirement))
}

/**
 * Whether a task can never run as long as those go on inside of which it was submitted, and which
 * wait for it: of the agents of `workers`, these have too many units.
 */
export function isBlockedByAncestors(task: TaskEntry, workers: readonly WorkerEntry[]): boolean {
  const requirement = task.requirement
  let ancestor = parentOf(task)
  if (requirement?.isCounted !== true || ancestor === undefined) return false
  /** What they have, by agent and name. */
  const held = new Map<Supply, Map<string, number>>()
  for (; ancestor !== undefined; ancestor = parentOf(ancestor)) {
    const { worker } = ancestor
    const supply = worker?.offer?.supply
    if (worker === undefined || supply === undefined) continue
    const byName = held.get(supply) ?? new Map<string, number>()
    for (const { name, units } of countedNeeds(worker, ancestor)) {
      byName.set(name, (byName.get(name) ?? 0) + units)
    }
    held.set(supply, byName)
  }
  return workers.every(({ offer }) => {
    return requirement.needs.some(({ name, units }) => {
      if (offer === undefined || units === 0 || offer.units.get(name) === -1) return false
      return (offer.supply.totals.get(name) ?? 0) - (held.get(offer.supply)?.get(name) ?? 0) < units
    })
  })
}

function parentOf({ extra, node }: TaskEntry): TaskEntry | undefined {
  return node === undefined ? extra?.parent : node.graph.parent
}

/** A task has its units from now on, even if they are not there: it runs already. */
export function takeUnits(worker: WorkerEntry, task: TaskEntry): boolean {
  const needs = countedNeeds(worker, task)
  if (worker.offer !== undefined) for (const need of needs) take(worker.offer.supply, need)
  return needs.length > 0
}

/** The opposite of `takeUnits`. Whether there were any. */
export function giveUnitsBack(worker: WorkerEntry, task: TaskEntry): boolean {
  const needs = countedNeeds(worker, task)
  if (worker.offer !== undefined) for (const need of needs) giveBack(worker.offer.supply, need)
  return needs.length > 0
}

const NONE: readonly Need[] = []

/** What a task takes of the units of a worker's agent. */
function countedNeeds({ offer }: WorkerEntry, task: TaskEntry): readonly Need[] {
  const requirement = task.requirement
  if (requirement?.isCounted !== true || offer === undefined) return NONE
  const { needs } = requirement
  const isCounted = ({ name, units }: Need): boolean => {
    return units > 0 && (offer.units.get(name) ?? -1) >= 0
  }
  // Most tasks need one thing: nothing is made for them.
  return needs.every(isCounted) ? needs : needs.filter(isCounted)
}
