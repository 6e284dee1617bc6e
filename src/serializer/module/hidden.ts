// Classes and functions of packages that no module exports, such as the class behind the function
// `dayjs`. An exported function of the same file sees a variable that has, or holds, them. So their
// path leads through the scopes of that function: `default`, `[[Scopes]]`, the name of the
// variable, and maybe names of properties.

import { types } from 'node:util'
import { Inspector } from '../inspect/inspector.js'
import { isOpen } from './exports.js'
import { type AnyFunction, valueIn } from './native.js'

const SCOPES = '[[Scopes]]'

/** At most so many exported functions are asked. */
const MAX_FUNCTIONS = 50
/** How deeply, and how far, objects of variables are searched. */
const MAX_STEPS = 3
const MAX_LOOKS = 10_000

/** The variables of a scope. */
type Variables = Readonly<Record<string, unknown>>

/** The exports of a module. */
export interface ExportedValues {
  /** Undefined for the namespace of an ES module. */
  readonly whole: unknown
  readonly parts: readonly (readonly [key: string, value: unknown])[]
}

/** What the inspector tells of a function. */
export interface HiddenFunction {
  readonly scriptId: string | undefined
  /** Inner scopes first. */
  readonly scopes: readonly Variables[]
}

/**
 * The path from the exports to a function that is not exported; undefined if no exported function
 * sees it, or a call may have made it with variables of its own. Runs no user code.
 */
export function hiddenSteps(
  exports: ExportedValues,
  fn: AnyFunction,
  { scopes, scriptId }: HiddenFunction,
): readonly string[] | undefined {
  const inspector = Inspector.open()
  const ways = inspector ? waysTo(fn, scopes) : []
  if (inspector === undefined || ways.length === 0) return undefined
  if (isExtended(fn, scriptId, inspector)) return undefined
  for (const { steps, value } of functionsIn(exports)) {
    const view = inspector.functionView(value)
    if (view.location?.scriptId !== scriptId) continue
    const seen = view.scopes.map(({ variables }) => variables)
    const way = ways.find((each) => alongWay(seen, each) === fn)
    if (way !== undefined) return [...steps, SCOPES, ...way]
  }
  return undefined
}

/** A path to a hidden function. */
interface HiddenPath {
  /** The path to the exported function. */
  readonly exported: readonly string[]
  readonly way: readonly string[]
}

/** Undefined for the path of an export. */
export function hiddenPath(path: readonly string[]): HiddenPath | undefined {
  const at = path.indexOf(SCOPES)
  if (at < 0) return undefined
  return { exported: path.slice(0, at), way: path.slice(at + 1) }
}

/** What is at the end of the path through the scopes of an exported function. */
export function hiddenValue(exported: unknown, { way }: HiddenPath): unknown {
  if (typeof exported !== 'function') return undefined
  const { scopes = [] } = Inspector.open()?.functionView(exported as AnyFunction) ?? {}
  return alongWay(
    scopes.map(({ variables }) => variables),
    way,
  )
}

/** Whether code of another file has given it members, as a plugin does: a worker may lack these. */
function isExtended(fn: AnyFunction, scriptId: string | undefined, inspector: Inspector): boolean {
  const prototype = valueIn(fn, 'prototype')
  const owners = isOpen(prototype) ? [fn, prototype] : [fn]
  return owners.some((owner) =>
    Object.values(Object.getOwnPropertyDescriptors(owner)).some((property) => {
      const member: unknown = valueIn(property, 'value') ?? valueIn(property, 'get')
      if (typeof member !== 'function' || types.isProxy(member)) return false
      const { location } = inspector.functionView(member as AnyFunction)
      return location !== undefined && location.scriptId !== scriptId
    }),
  )
}

/** From the innermost scope that has the variable. */
function alongWay(scopes: readonly Variables[], [name = '', ...keys]: readonly string[]): unknown {
  const scope = scopes.find((each) => Object.hasOwn(each, name))
  let value = scope && valueIn(scope, name)
  for (const key of keys) value = isOpen(value) ? valueIn(value, key) : undefined
  return value
}

/**
 * The variables of its file that have the function or, if there are none, properties with its name
 * in their objects.
 */
function waysTo(fn: AnyFunction, scopes: readonly Variables[]): readonly (readonly string[])[] {
  const filled = scopes.filter((each) => Object.keys(each).length > 0)
  // One that a call has created may have variables of its own; a class hardly ever has.
  const outer = isClass(fn) ? filled : filled.slice(0, 1)
  const direct = outer.flatMap((scope) =>
    Object.keys(scope).filter((name) => valueIn(scope, name) === fn),
  )
  if (direct.length > 0) return direct.map((name) => [name])
  return outer.flatMap((scope) => {
    const steps = stepsIn(scope, fn)
    return steps === undefined ? [] : [steps]
  })
}

/**
 * The path to a function inside the objects of a scope or namespace: `default`, `nested`, `fn`.
 * Only under its own name: a property added later has another name.
 */
export function stepsIn(whole: object, fn: AnyFunction): readonly string[] | undefined {
  const name = valueIn(fn, 'name')
  if (typeof name !== 'string' || name === '') return undefined
  const queue = partsOf(whole).map(([key, owner]) => ({ owner, steps: [key] }))
  const seen = new Set<unknown>()
  let looks = 0
  // The queue grows meanwhile.
  for (const { owner, steps } of queue) {
    if (typeof owner !== 'object' || !isOpen(owner) || seen.has(owner)) continue
    seen.add(owner)
    if (valueIn(owner, name) === fn) return [...steps, name]
    if (steps.length === MAX_STEPS) continue
    for (const [key, value] of partsOf(owner)) {
      if ((looks += 1) > MAX_LOOKS) return undefined
      queue.push({ owner: value, steps: [...steps, key] })
    }
  }
  return undefined
}

function isClass(fn: AnyFunction): boolean {
  const prototype = valueIn(fn, 'prototype')
  if (!isOpen(prototype)) return false
  const isDerived = Object.getPrototypeOf(prototype) !== Object.prototype
  return isDerived || Reflect.ownKeys(prototype).some((key) => key !== 'constructor')
}

interface Exported {
  readonly steps: readonly string[]
  readonly value: AnyFunction
}

/** Exported functions, those in exported objects, and the classes of these. */
function functionsIn({ whole, parts }: ExportedValues): readonly Exported[] {
  const found: Exported[] = []
  const seen = new Set<unknown>()
  const add = (steps: readonly string[], value: unknown): void => {
    if (typeof value !== 'function' || seen.has(value) || found.length === MAX_FUNCTIONS) return
    seen.add(value)
    if (isOpen(value)) found.push({ steps, value: value as AnyFunction })
  }
  add([], whole)
  for (const [key, value] of parts) add([key], value)
  for (const [key, value] of parts) {
    if (typeof value !== 'object' || !isOpen(value)) continue
    for (const [inner, part] of partsOf(value)) add([key, inner], part)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (isOpen(prototype)) add([key, 'constructor'], valueIn(prototype, 'constructor'))
  }
  return found
}

/** None of long lists: bytes and tables hold no functions. */
function partsOf(owner: object): readonly (readonly [string, unknown])[] {
  if (ArrayBuffer.isView(owner) || (Array.isArray(owner) && owner.length > MAX_LOOKS)) return []
  return Object.getOwnPropertyNames(owner).map((key) => [key, valueIn(owner, key)] as const)
}
