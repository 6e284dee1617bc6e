// The units that an agent has of its capabilities, by number, and the tasks that have them now. The
// scheduler gives its workers no more tasks than there are units for; but a new scheduler does not
// know what runs from before. So here a task waits for its units, and none has those of another.

import { assert } from '../../../base/assert.js'
import type { TaskCapability } from '../../../wire/message.js'

/** The numbers of the units that a task has, by capability; none of what it needs the name of. */
export type Units = Readonly<Record<string, readonly number[]>>

/** One task with its units. */
export interface Grant {
  readonly units: Units
  /** Somebody else cannot have the same. */
  readonly isCounted: boolean
}

/** A grant of one unit of one capability, as most tasks have it. */
interface SingleGrant extends Grant {
  readonly pool: Pool
  readonly number: number
}

/** The units of one capability. */
interface Pool {
  /** Units that are not in use: at first the lowest number last, then the most recently freed. */
  readonly free: number[]
  /** Grants of single units, by number: no two tasks have the same at a time. */
  readonly single: SingleGrant[]
}

/** At most this many grants of names alone are remembered. */
const MAX_NAMED = 1000

/** What a task has that needs nothing. */
export const NO_UNITS: Units = Object.freeze({})

/** The units of one agent. Shared by its workers. */
export class HostUnits {
  /** What the workers offer, in the form of their heartbeats. */
  readonly capabilities: readonly TaskCapability[]
  readonly #pools = new Map<string, Pool>()
  readonly #named = new Map<string, Grant>()
  /** Those of each worker. */
  readonly #granted = new Map<object, Set<Grant>>()
  /** Called when units have come free that somebody wanted. */
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

  /** `listener` is called when units have come free that `take` had not. */
  listen(listener: () => void): void {
    this.#onFree = listener
  }

  /**
   * The units that a task of `owner` needs; undefined while there are too few. What the agent does
   * not count is not counted here.
   */
  take(owner: object, needs: readonly TaskCapability[]): Grant | undefined {
    const grant = this.#single(needs) ?? this.#grant(needs)
    if (grant?.isCounted !== true) return grant
    const grants = this.#granted.get(owner)
    if (grants === undefined) this.#granted.set(owner, new Set([grant]))
    else grants.add(grant)
    return grant
  }

  /** A task does not run any more. */
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
