// The names of members of a class that its text computes: the class itself has them.

import { types } from 'node:util'
import { ownValue, type AnyFunction } from '../native-names.js'
import type { ComputedMember, FunctionSite } from '../source/function-site.js'
import type { Capture } from './function-parts.js'

/** A class whose text does not compute the names of its methods and accessors. */
export interface NamedSite {
  readonly site: FunctionSite
  /** The names, as captured values, by the names of these values. */
  readonly captures: ReadonlyMap<string, Capture>
}

/**
 * The site of a class without computed names; undefined if there are none, or if one of the members
 * is not what it was: then its text has to compute them.
 */
export function namedSiteOf(
  fn: AnyFunction,
  { classSite, withNamedMembers }: FunctionSite,
): NamedSite | undefined {
  const members = classSite?.computedMembers ?? []
  if (members.length === 0) return undefined
  const captures = new Map<string, Capture>()
  const open = { true: keysByText(fn), false: keysByText(ownValue(fn, 'prototype')) } as const
  for (const member of members) {
    const { name, isStatic } = member
    // Members of the same text are the same, so that it does not matter which is which.
    const value = open[`${isStatic}`].get(identify(member))?.shift()
    if (value === undefined) return undefined
    const step = `the name ${String(value)}`
    captures.set(name, { name, step, content: { kind: 'value', value } })
  }
  const site = withNamedMembers()
  return site === undefined ? undefined : { site, captures }
}

function identify({ kind, text }: Pick<ComputedMember, 'kind' | 'text'>): string {
  return `${kind} ${text}`
}

/** A property, whatever it has. */
interface Descriptor {
  readonly value?: unknown
  readonly get?: unknown
  readonly set?: unknown
}

/** The keys of functions, in their order, by kind and text. */
function keysByText(owner: unknown): Map<string, (string | symbol)[]> {
  const keysOf = new Map<string, (string | symbol)[]>()
  if (typeof owner !== 'function' && (typeof owner !== 'object' || owner === null)) return keysOf
  for (const key of Reflect.ownKeys(owner)) {
    const found = Object.getOwnPropertyDescriptor(owner, key) as Descriptor | undefined
    const parts: readonly (readonly [ComputedMember['kind'], unknown])[] = [
      ['method', found?.value],
      ['get', found?.get],
      ['set', found?.set],
    ]
    for (const [kind, part] of parts) {
      if (typeof part !== 'function' || types.isProxy(part)) continue
      const text = identify({ kind, text: Function.prototype.toString.call(part) })
      const keys = keysOf.get(text) ?? []
      keys.push(key)
      keysOf.set(text, keys)
    }
  }
  return keysOf
}
