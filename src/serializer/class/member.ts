// What a function or class has that its text alone does not give: properties that were set, members
// that a decorator replaced, statics with the values of now.

import { types } from 'node:util'
import {
  refuseBehindProxy,
  refusePrivateStatic,
  refuseTorn,
  STANDARD_PROTOTYPES,
} from '../function/obstacle.js'
import type { ClassMember, ClassParts } from '../function/parts.js'
import type { Inspector } from '../inspect/inspector.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { Refusal } from '../refusal.js'
import type { ClassSite } from '../source/sites.js'
import { engineShapes, integrityOf, ownKeysOf, type RecordKeys } from '../value/shape.js'
import { prototypeOf } from './prototype-chain.js'

/** Every function has these, and they follow from its text. */
const STANDARD_KEYS: ReadonlySet<string | symbol> = new Set([
  'length',
  'name',
  'prototype',
  'arguments',
  'caller',
])

/** The own properties of a function that travel. `text` is that of a class, or undefined. */
export function functionKeys(fn: AnyFunction, text: string | undefined): RecordKeys {
  const keys = ownKeysOf(fn)
  if (text === undefined) return keys.filter((key) => !STANDARD_KEYS.has(key))
  return keys.filter((key) => {
    if (key === 'prototype' || key === 'length') return false
    if (key === 'name' && hasPlainName(fn)) return false
    return !isFromText(fn, key, text)
  })
}

/** The members of a prototype that travel. */
export function prototypeKeys(prototype: object, text: string | undefined): RecordKeys {
  return ownKeysOf(prototype).filter((key) => {
    if (key === 'constructor') return false
    return text === undefined || !isFromText(prototype, key, text)
  })
}

/** A function that the text of a class defines, where it has more than that text gives it. */
export interface ExtendedMember extends Omit<ClassMember, 'owner'> {
  readonly fn: AnyFunction
  readonly keys: RecordKeys
  readonly integrity: number
}

/** Those of a class with this text; none for anything else. */
export function extendedMembers(fn: AnyFunction, text: string | undefined): ExtendedMember[] {
  if (text === undefined) return []
  return membersOf(fn).flatMap((member) => {
    if (isAsDefined(member.fn)) return []
    const keys = functionKeys(member.fn, undefined)
    const integrity = integrityOf(member.fn)
    if (keys.length === 0 && integrity === 0) return []
    const holder = holderOf(fn, member.isStatic)
    const isOwn = holder !== undefined && isFromText(holder, member.key, text)
    return isOwn ? [{ ...member, keys, integrity }] : []
  })
}

/** A function that is a member of a class, and its place. */
type PlacedMember = Omit<ClassMember, 'owner'> & { readonly fn: AnyFunction }

/** All functions in the properties of a class and its prototype, except the class itself. */
export function membersOf(owner: AnyFunction): PlacedMember[] {
  const found: PlacedMember[] = []
  for (const isStatic of [true, false]) {
    const holder = holderOf(owner, isStatic)
    if (holder === undefined) continue
    for (const key of ownKeysOf(holder)) {
      if (key === (isStatic ? 'prototype' : 'constructor')) continue
      const property = Object.getOwnPropertyDescriptor(holder, key)
      for (const slot of MEMBER_SLOTS) {
        const fn: unknown = property?.[slot]
        if (typeof fn === 'function') found.push({ fn: fn as AnyFunction, key, isStatic, slot })
      }
    }
  }
  return found
}

/** Where the members of a class are. */
export function holderOf(owner: AnyFunction, isStatic: boolean): object | undefined {
  if (isStatic) return owner
  const prototype = ownValue(owner, 'prototype')
  return typeof prototype === 'object' && prototype !== null ? prototype : undefined
}

/** Most members: the hidden class shows quickly that nothing was done to them. */
function isAsDefined(member: object): boolean {
  return engineShapes.areAlike(member, UNTOUCHED)
}

/** A method of our own, which has the same hidden class. */
const UNTOUCHED = Reflect.get({ method() {} }, 'method') as object

/** Where a property may hold a function. */
const MEMBER_SLOTS: readonly ClassMember['slot'][] = ['value', 'get', 'set']

/** Whether `name` is as the engine makes it, and a text. */
export function hasPlainName(fn: AnyFunction): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(fn, 'name')
  return (
    typeof descriptor?.value === 'string' &&
    descriptor.writable === false &&
    descriptor.enumerable === false &&
    descriptor.configurable === true
  )
}

/** Whether a function that is not a class gives its instances more than every function does. */
export function hasOwnPrototype(fn: AnyFunction): boolean {
  const prototype = ownValue(fn, 'prototype')
  if (typeof prototype !== 'object' || prototype === null) return false
  if (ownValue(prototype, 'constructor') !== fn) return false
  if (Object.getPrototypeOf(prototype) !== Object.prototype) return true
  return (
    Object.getOwnPropertyNames(prototype).length > 1 ||
    Object.getOwnPropertySymbols(prototype).length > 0
  )
}

/** Methods and accessors that are where the text of the class puts them, under their own name. */
function isFromText(owner: object, key: string | symbol, text: string): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(owner, key)
  // What is enumerable was assigned, or is a static field: those are not initialized again.
  if (descriptor === undefined || descriptor.enumerable === true) return false
  const { value, get, set } = descriptor as { value?: unknown; get?: unknown; set?: unknown }
  if (typeof value === 'function') return isPart(value as AnyFunction, nameOf(key, 'value'), text)
  if (get === undefined && set === undefined) return false
  return (
    (get === undefined || isPart(get as AnyFunction, nameOf(key, 'get'), text)) &&
    (set === undefined || isPart(set as AnyFunction, nameOf(key, 'set'), text))
  )
}

/** Whether a member is the one that the text of its class defines. */
export function isOfText(fn: AnyFunction, { owner, key, slot }: ClassMember): boolean {
  return isPart(fn, nameOf(key, slot), Function.prototype.toString.call(owner))
}

/** Whether a member has nothing that the text of its class does not give it. */
export function isUntouched(fn: AnyFunction, { key, slot }: ClassMember): boolean {
  if (!Object.isExtensible(fn) || !STANDARD_PROTOTYPES.has(prototypeOf(fn))) return false
  const isNamed = hasPlainName(fn) && ownValue(fn, 'name') === nameOf(key, slot)
  return isNamed && functionKeys(fn, undefined).length === 0
}

function isPart(fn: AnyFunction, name: string, text: string): boolean {
  if (ownValue(fn, 'name') !== name) return false
  const own = Function.prototype.toString.call(fn)
  // A decorator can be in the text of the class, too, with the function that it returns.
  return text.includes(own) && (!NO_METHOD.test(own) || NO_METHOD.test(name))
}

/** How functions begin that are no methods: `function`, `class`, `(x) =>`, `x =>`. */
const NO_METHOD =
  /^(?:async\s+)?(?:function\b|class\b|[\p{ID_Start}$_][\p{ID_Continue}$]*\s*=>)|^(?:async\s*)?\(/u

/** The `name` of such a member. */
function nameOf(key: string | symbol, slot: ClassMember['slot']): string {
  const name = typeof key === 'symbol' ? symbolName(key) : key
  return slot === 'value' ? name : `${slot} ${name}`
}

function symbolName({ description }: symbol): string {
  return description === undefined ? '' : `[${description}]`
}

// A class, taken apart: what it extends and what its private fields hold.

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
