// The numbered units of an agent's capabilities, and the tasks that use them. The scheduler assigns
// no more tasks than there are units, but a restarted scheduler does not know the tasks that were
// already running. So a task waits here for its units, and two tasks never have the same one.

import { assert } from '../../../base/assert.js'
import type { TaskCapability } from '../../../wire/message.js'

/**
 * The numbers of a task's units, by capability; empty for a capability that is needed by name only.
 */
export type Units = Readonly<Record<string, readonly number[]>>

/** The units of one task. */
export interface Grant {
  readonly units: Units
  /** Whether the units are taken exclusively. */
  readonly isCounted: boolean
}

/** A grant of one unit of one capability, as most tasks have it. */
interface SingleGrant extends Grant {
  readonly pool: Pool
  readonly number: number
}

/** The units of one capability. */
interface Pool {
  /** Units that are not in use: initially the lowest number last, then the most recently freed. */
  readonly free: number[]
  /** Grants of single units, by number: two tasks never have the same one at a time. */
  readonly single: SingleGrant[]
}

/** At most this many grants without units are cached. */
const MAX_NAMED = 1000

/** The units of a task that needs nothing. */
export const NO_UNITS: Units = Object.freeze({})

/** The units of one agent, shared by its workers. */
export class HostUnits {
  /** The capabilities that the workers offer, in the form of their heartbeats. */
  readonly capabilities: readonly TaskCapability[]
  readonly #pools = new Map<string, Pool>()
  readonly #named = new Map<string, Grant>()
  /** The grants of each worker. */
  readonly #granted = new Map<object, Set<Grant>>()
  /** Called when units become free after `take` found too few. */
  #onFree: () => void = () => {}
  #isWanted = false

  constructor(capabilities: readonly TaskCapability[] = []) {
    this.capabilities = capabilities
    for (const { name, value } of capabilities) {
      if (value < 0) continue
      const numbers = Array.from({ length: value }, (_, index) => index)
      this.#pools.set(name, { free: numbers.reverse(), single: [] })
    }
  }

  /** `listener` is called when units become free after `take` found too few. */
  listen(listener: () => void): void {
    this.#onFree = listener
  }

  /**
   * The units that a task of `owner` needs; undefined while there are too few. Capabilities that
   * the agent does not count are not limited here.
   */
  take(owner: object, needs: readonly TaskCapability[]): Grant | undefined {
    const grant = this.#single(needs) ?? this.#grant(needs)
    if (grant?.isCounted !== true) return grant
    const grants = this.#granted.get(owner)
    if (grants === undefined) this.#granted.set(owner, new Set([grant]))
    else grants.add(grant)
    return grant
  }

  /** A task no longer runs. */
  giveBack(owner: object, grant: Grant): void {
    if (!grant.isCounted) return
    const isHere = this.#granted.get(owner)?.delete(grant) === true
    assert(isHere, 'units were given back twice')
    if (isSingle(grant)) grant.pool.free.push(grant.number)
    else {
      for (const [name, numbers] of Object.entries(grant.units)) {
        this.#pools.get(name)?.free.push(...numbers)
      }
    }
    if (!this.#isWanted) return
    this.#isWanted = false
    this.#onFree()
  }

  /** A worker has ended, with its processor. */
  giveBackAll(owner: object): void {
    for (const grant of this.#granted.get(owner) ?? []) this.giveBack(owner, grant)
    this.#granted.delete(owner)
  }

  /** One unit of one capability, if that is what is needed and there is one. */
  #single(needs: readonly TaskCapability[]): SingleGrant | undefined {
    const [need] = needs
    if (need === undefined || needs.length > 1 || need.value !== 1) return undefined
    const pool = this.#pools.get(need.name)
    const number = pool?.free.pop()
    if (pool === undefined || number === undefined) return undefined
    return (pool.single[number] ??= {
      units: unitsOf([[need.name, [number]]]),
      isCounted: true,
      pool,
      number,
    })
  }

  #grant(needs: readonly TaskCapability[]): Grant | undefined {
    for (const { name, value } of needs) {
      if (value <= (this.#pools.get(name)?.free.length ?? Infinity)) continue
      this.#isWanted = true
      return undefined
    }
    if (needs.every(({ value }) => value <= 0)) return this.#grantOfNames(needs)
    return { units: this.#someUnits(needs), isCounted: true }
  }

  #someUnits(needs: readonly TaskCapability[]): Units {
    return unitsOf(
      needs.map(({ name, value }) => {
        const numbers = value > 0 ? (this.#pools.get(name)?.free.splice(-value) ?? []) : []
        return [name, numbers.sort((a, b) => a - b)] as const
      }),
    )
  }

  /** The same for all tasks that need these names and nothing else. */
  #grantOfNames(needs: readonly TaskCapability[]): Grant {
    const [first] = needs
    const isOne = first !== undefined && needs.length === 1
    const key = isOne ? first.name : needs.map(({ name }) => name).join('\n')
    let grant = this.#named.get(key)
    if (grant === undefined) {
      grant = { units: unitsOf(needs.map(({ name }) => [name, []])), isCounted: false }
      if (this.#named.size >= MAX_NAMED) this.#named.clear()
      this.#named.set(key, grant)
    }
    return grant
  }
}

function isSingle(grant: Grant): grant is SingleGrant {
  return 'number' in grant
}

/** Frozen, whatever the names are. */
function unitsOf(entries: readonly (readonly [string, readonly number[]])[]): Units {
  return Object.freeze(
    Object.fromEntries(entries.map(([name, numbers]) => [name, Object.freeze(numbers)])),
  )
}
