// What a task needs of a worker beside its runtime. Tasks that need the same have the same object.

import type { TaskCapability } from '../../wire/message.js'

/** Tasks that need more than so many capabilities are refused: nobody means that. */
const MAX_NEEDS = 64

/** When there are more requirements, those that are known are forgotten. */
const MAX_KNOWN = 10_000

/** A capability that the worker must offer. */
export interface Need {
  readonly name: string
  /** So many units the task has to itself while it has a worker; 0: the name is enough. */
  readonly units: number
}

/** What some tasks need. */
export interface Requirement {
  /** The needs in one text, for people, too: `gpu=1, linux`. Equal only for equal requirements. */
  readonly key: string
  /** By name. Invariant: not empty, no name twice. */
  readonly needs: readonly Need[]
  /** Whether it needs units. */
  readonly isCounted: boolean
}

/** Makes and knows requirements. */
export class Requirements {
  readonly #known = new Map<string, Requirement>()
  /** What was asked for last, and what that is: the next task mostly asks for the same. */
  #last: { readonly asked: readonly TaskCapability[]; readonly found: Requirement } | undefined

  /**
   * What a Task asks for; undefined if that is nothing. A name that stands there twice is needed
   * with the sum of its units. `'refused'`: there are too many.
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

/** Names may hold anything: two requirements must not have one text. */
function textOf({ name, units }: Need): string {
  const shown = /^[^\s,="\p{C}]+$/u.test(name) ? name : JSON.stringify(name)
  return units === 0 ? shown : `${shown}=${units}`
}
