// A class, taken apart: what it extends and what its private fields hold.

import { types } from 'node:util'
import type { Inspector } from '../inspect/inspector.js'
import { ownValue, type AnyFunction } from '../native-names.js'
import { Refusal } from '../refusal.js'
import type { ClassSite } from '../source/function-site.js'
import type { ClassParts } from './function-parts.js'
import { refuseBehindProxy, refusePrivateStatic, refuseTorn } from './obstacle.js'

/** What a class is made of as things are now, or why it cannot travel. Nothing of it runs. */
export function classPartsOf(
  fn: AnyFunction,
  site: ClassSite,
  inspector: Inspector | undefined,
): ClassParts | Refusal {
  if (hasTornChains(fn, site)) return refuseTorn(fn)
  const staticPrivates = staticPrivatesOf(fn, site, inspector)
  if (staticPrivates instanceof Refusal) return staticPrivates
  return { parent: parentOf(fn, site), staticPrivates, instancePrivates: site.instancePrivates }
}

function parentOf(fn: AnyFunction, site: ClassSite): ClassParts['parent'] {
  if (!site.hasParent) return undefined
  return site.extendsNull ? null : (Object.getPrototypeOf(fn) as AnyFunction)
}

function staticPrivatesOf(
  fn: AnyFunction,
  { staticPrivates: names }: ClassSite,
  inspector: Inspector | undefined,
): ClassParts['staticPrivates'] | Refusal {
  const [first] = names
  if (first === undefined) return NO_PRIVATES
  if (inspector === undefined) return refusePrivateStatic(fn, first)
  const values = inspector.staticPrivates(fn)
  if (values === undefined) return refuseBehindProxy(fn)
  return names.filter((name) => values.has(name)).map((name) => ({ name, value: values.get(name) }))
}

const NO_PRIVATES: ClassParts['staticPrivates'] = []

/** Whether somebody has changed what a class inherits from on one of its two sides. */
function hasTornChains(fn: AnyFunction, { hasParent, extendsNull }: ClassSite): boolean {
  const parent: unknown = Object.getPrototypeOf(fn)
  const members = ownValue(fn, 'prototype')
  const above: unknown =
    typeof members === 'object' && members !== null ? Object.getPrototypeOf(members) : undefined
  if (extendsNull) return above !== null || parent !== Function.prototype
  if (!hasParent) return above !== Object.prototype || parent !== Function.prototype
  // Nothing is asked of a proxy, which cannot travel anyway.
  if (types.isProxy(parent)) return false
  return typeof parent !== 'function' || ownValue(parent, 'prototype') !== above
}
