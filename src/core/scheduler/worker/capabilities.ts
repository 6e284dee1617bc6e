// The capabilities of workers, and whether a worker fits a task; pool.ts chooses among those.
// Units belong to the agent of a host and are shared by its workers. docs/protocol.md#capabilities

import { assert } from '../../../base/assert.js'
import type { TaskCapability } from '../../../wire/message.js'
import type { Offer, Stock, Supply, Take, TaskEntry, WorkerEntry } from '../entries.js'
import { isGraph } from '../task/family.js'

/** Maximum number of capabilities of a worker; more are ignored. */
const MAX_NAMES = 1000

/** Deadlocks are not searched for among more waiting tasks than this. */
const MAX_WAITING = 1000

/** Maximum number of children of a task that are checked. */
const MAX_CHILDREN = 20

/** Maximum rounds that narrow down a possible deadlock; if it stays unproven, none is found. */
const MAX_ROUNDS = 20

/** Whether a stock has enough free units. */
function has({ stock, units }: Take): boolean {
  return stock.total - stock.used >= units
}

/** Whether a task may lack units of a stock once `units` more are taken from it. */
function isScarce({ total, used, largest }: Stock, units: number): boolean {
  return total - used - units < largest
}

/** Throws if the used units disagree with the tasks of the workers. */
function checkSupply(supply: Supply): void {
  const counted = new Map<Stock, number>()
  for (const worker of supply.workers) {
    assert(worker.offer?.supply === supply, 'a worker has another supply')
    for (const task of worker.assigned) {
      for (const { stock, units } of takesOf(worker, task.requirement)) {
        counted.set(stock, (counted.get(stock) ?? 0) + units)
      }
    }
  }
  for (const stock of supply.stocks.values()) {
    assert(stock.used === (counted.get(stock) ?? 0), 'units are miscounted')
  }
}

/** The supplies of all agents. */
export class Supplies {
  readonly #byAgent = new Map<string, Supply>()

  /** The offer of a new worker; undefined: none. `agent`: shared by all workers of a host. */
  offerOf(agent: string, capabilities: readonly TaskCapability[]): Offer | undefined {
    if (capabilities.length === 0) return undefined
    let supply = this.#byAgent.get(agent)
    if (supply === undefined) {
      supply = { workers: new Set(), stocks: new Map() }
      this.#byAgent.set(agent, supply)
    }
    const units = new Map<string, number>()
    for (const { name, value } of capabilities.slice(0, MAX_NAMES)) {
      units.set(name, value)
      if (value < 0) continue
      const stock = supply.stocks.get(name)
      if (stock === undefined) supply.stocks.set(name, { total: value, used: 0, largest: 0 })
      else stock.total = value
    }
    return { units, supply, takes: new WeakMap(), last: undefined }
  }

  join(worker: WorkerEntry): void {
    worker.offer?.supply.workers.add(worker)
  }

  /** Removes a worker without tasks. The units of an agent go with its last worker. */
  leave(worker: WorkerEntry, agent: string): void {
    const supply = worker.offer?.supply
    supply?.workers.delete(worker)
    if (supply?.workers.size === 0 && this.#byAgent.get(agent) === supply) {
      this.#byAgent.delete(agent)
    }
  }

  /** Throws if a supply disagrees with the tasks that hold its units. */
  checkInvariants(): void {
    for (const supply of this.#byAgent.values()) {
      assert(supply.workers.size > 0, 'a supply without workers')
      checkSupply(supply)
    }
  }
}

/** Whether a worker could ever meet a requirement. Uncounted capabilities have no limit. */
export function offers(worker: WorkerEntry, { needs }: Requirement): boolean {
  const { offer } = worker
  if (offer === undefined) return false
  return needs.every(({ name, units }) => {
    const offered = offer.units.get(name)
    return offered !== undefined && (offered < 0 || offered >= units)
  })
}

/** Whether enough units are free for all of these. */
export function haveUnits(takes: readonly Take[]): boolean {
  return takes.every(has)
}

/** Whether a worker that has room can take a task now. */
export function fits(worker: WorkerEntry, task: TaskEntry): boolean {
  const requirement = task.requirement
  if (requirement === undefined) return true
  return offers(worker, requirement) && haveUnits(takesOf(worker, requirement))
}

/** Tasks that can never continue without outside change. */
export interface Deadlock {
  readonly tasks: ReadonlySet<TaskEntry>
  /** The units that they hold. */
  readonly held: ReadonlyMap<Stock, number>
}

/**
 * The tasks that are deadlocked: each waits for its children, and these for units that such tasks
 * hold. Empty if too many tasks wait to be checked.
 */
export function deadlockOf(workers: readonly WorkerEntry[]): Deadlock {
  const tasks = new Set<TaskEntry>()
  const held = new Map<Stock, number>()
  for (const worker of workers) {
    if (worker.waitingCount === 0) continue
    for (const task of worker.assigned) if (task.extra?.isWaiting === true) tasks.add(task)
  }
  if (tasks.size > MAX_WAITING) tasks.clear()
  for (const task of tasks) hold(held, task, 1)
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const isShort = shortageOf(workers, held)
    const going = [...tasks].filter((task) => !waitsForever(task, tasks, isShort))
    if (going.length === 0) return { tasks, held }
    for (const task of going) {
      tasks.delete(task)
      hold(held, task, -1)
    }
  }
  return { tasks: new Set(), held: new Map() }
}

function hold(held: Map<Stock, number>, task: TaskEntry, sign: 1 | -1): void {
  if (task.worker === undefined) return
  for (const { stock, units } of takesOf(task.worker, task.requirement)) {
    held.set(stock, (held.get(stock) ?? 0) + sign * units)
  }
}

/** Whether a task is stuck. Of very many children only the first ones are checked. */
function waitsForever(
  { extra }: TaskEntry,
  tasks: ReadonlySet<TaskEntry>,
  isShort: (requirement: Requirement) => boolean,
): boolean {
  let looks = 0
  for (const child of extra?.children ?? []) {
    // Unknown for a graph.
    if (isGraph(child)) return false
    const isStuck =
      child.worker === undefined
        ? child.requirement?.isCounted === true && isShort(child.requirement)
        : tasks.has(child)
    if (!isStuck) return false
    looks += 1
    if (looks === MAX_CHILDREN) break
  }
  return looks > 0
}

/** Returns a check whether no worker could meet a requirement, given the held units. */
function shortageOf(
  workers: readonly WorkerEntry[],
  held: ReadonlyMap<Stock, number>,
): (requirement: Requirement) => boolean {
  // Many children share a requirement.
  const known = new Map<Requirement, boolean>()
  return (requirement) => {
    let isShort = known.get(requirement)
    if (isShort === undefined) {
      isShort = workers.every((worker) => {
        if (!offers(worker, requirement)) return true
        return takesOf(worker, requirement).some(({ stock, units }) => {
          return stock.total - (held.get(stock) ?? 0) < units
        })
      })
      known.set(requirement, isShort)
    }
    return isShort
  }
}

/**
 * Whether a task can never run because its ancestors and deadlocked tasks hold too many units.
 */
export function isBlocked(
  task: TaskEntry,
  workers: readonly WorkerEntry[],
  deadlock: Deadlock,
): boolean {
  if (task.requirement?.isCounted !== true) return false
  const held = new Map(deadlock.held)
  for (let next = parentOf(task); next !== undefined; next = parentOf(next)) {
    if (!deadlock.tasks.has(next)) hold(held, next, 1)
  }
  return held.size > 0 && shortageOf(workers, held)(task.requirement)
}

function parentOf({ extra, node }: TaskEntry): TaskEntry | undefined {
  return node === undefined ? extra?.parent : node.graph.parent
}

/**
 * Takes the units of a task, even if too few are free, because it already runs. Returns whether
 * other tasks may lack units now.
 */
export function takeUnits(worker: WorkerEntry, { requirement }: TaskEntry): boolean {
  let isScarcer = false
  for (const { stock, units } of takesOf(worker, requirement)) {
    if (isScarce(stock, units)) isScarcer = true
    stock.used += units
  }
  return isScarcer
}

/** Undoes `takeUnits`. Returns whether other tasks may have lacked the units. */
export function giveUnitsBack(worker: WorkerEntry, { requirement }: TaskEntry): boolean {
  let wasScarce = false
  for (const { stock, units } of takesOf(worker, requirement)) {
    if (isScarce(stock, 0)) wasScarce = true
    stock.used -= units
    assert(stock.used >= 0, 'units were given back that were not taken')
  }
  return wasScarce
}

const NONE: readonly Take[] = []

/** The units of a worker's agent that a task with this requirement takes. */
export function takesOf(
  { offer }: WorkerEntry,
  requirement: Requirement | undefined,
): readonly Take[] {
  if (requirement?.isCounted !== true || offer === undefined) return NONE
  if (offer.last?.requirement === requirement) return offer.last.takes
  let takes = offer.takes.get(requirement)
  if (takes === undefined) {
    takes = requirement.needs.flatMap(({ name, units }) => {
      const stock = (offer.units.get(name) ?? -1) < 0 ? undefined : offer.supply.stocks.get(name)
      return units === 0 || stock === undefined ? [] : [{ stock, units }]
    })
    offer.takes.set(requirement, takes)
  }
  offer.last = { requirement, takes }
  return takes
}

// What a task requires of a worker besides its runtime. Tasks with equal needs share one object.

/** Maximum number of capabilities that a task may need; tasks with more are refused. */
const MAX_NEEDS = 64

/** Maximum number of cached requirements; the cache is cleared when it is full. */
const MAX_KNOWN = 10_000

/** A capability that the worker must offer. */
interface Need {
  readonly name: string
  /** Units reserved for the task while it has a worker; 0: the capability alone suffices. */
  readonly units: number
}

/** The capabilities that a task needs. */
export interface Requirement {
  /** The needs as readable text: `gpu=1, linux`. Equal only for equal requirements. */
  readonly key: string
  /** Sorted by name. Invariant: not empty, and names are unique. */
  readonly needs: readonly Need[]
  /** Whether it needs units. */
  readonly isCounted: boolean
}

/** Creates and caches requirements. */
export class Requirements {
  readonly #known = new Map<string, Requirement>()
  /** The last lookup and its result: the next task usually asks for the same. */
  #last: { readonly asked: readonly TaskCapability[]; readonly found: Requirement } | undefined

  /**
   * The requirement of a Task; undefined if it has none. The units of a repeated name are added up.
   * `'refused'`: there are too many.
   */
  of(capabilities: readonly TaskCapability[]): Requirement | 'refused' | undefined {
    if (capabilities.length === 0) return undefined
    if (capabilities.length > MAX_NEEDS) return 'refused'
    if (this.#last !== undefined && areSame(this.#last.asked, capabilities)) return this.#last.found
    const found = this.#find(capabilities)
    this.#last = { asked: capabilities, found }
    return found
  }

  #find(capabilities: readonly TaskCapability[]): Requirement {
    const units = new Map<string, number>()
    for (const { name, value } of capabilities) {
      const sum = (units.get(name) ?? 0) + Math.max(value, 0)
      units.set(name, Math.min(sum, Number.MAX_SAFE_INTEGER))
    }
    const needs = [...units].map(([name, count]) => ({ name, units: count }))
    needs.sort((a, b) => (a.name < b.name ? -1 : 1))
    const key = needs.map(textOf).join(', ')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    const made = { key, needs, isCounted: needs.some((need) => need.units > 0) }
    this.#known.set(key, made)
    return made
  }
}

function areSame(some: readonly TaskCapability[], others: readonly TaskCapability[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ name, value }, index) => {
      return name === others[index]?.name && value === others[index].value
    })
  )
}

/** Quotes names where necessary: different requirements must have different texts. */
function textOf({ name, units }: Need): string {
  const shown = /^[^\s,="\p{C}]+$/u.test(name) ? name : JSON.stringify(name)
  return units === 0 ? shown : `${shown}=${units}`
}
