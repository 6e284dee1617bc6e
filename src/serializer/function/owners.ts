// Which class a method belongs to. V8 does not show it: it is the class that the same evaluation of
// the same text has made. The text tells where the class is, and what shows that two functions come
// from one evaluation (source/members.ts). A class about which that is not certain is not taken:
// in another class of the same text, private names are other names.

import { types } from 'node:util'
import type { FunctionView, Inspector, ScopeView } from '../inspect/inspector.js'
import type { AnyFunction } from '../module/native.js'
import type { MemberSite } from '../source/sites.js'
import { MADE_HERE } from './factory.js'
import type { ClassMember } from './parts.js'
import { type KnownScript, offsetOf, type ScriptTable } from './scripts.js'

/** A method with its place in the text of its class. */
interface Method {
  readonly site: MemberSite
  readonly script: KnownScript
}

/** Finds the classes of methods. */
export class MemberOwners {
  readonly #inspector: Pick<Inspector, 'functionView'>
  readonly #scripts: ScriptTable
  readonly #known = new WeakMap<AnyFunction, Method | 'other'>()

  constructor(inspector: Pick<Inspector, 'functionView'>, scripts: ScriptTable) {
    this.#inspector = inspector
    this.#scripts = scripts
  }

  /**
   * What a function is to its class, which is one of these or a variable that the function could
   * use. Undefined if that is not certain, or if it can travel without its class.
   */
  memberOf(fn: AnyFunction, classes: Iterable<AnyFunction>): ClassMember | undefined {
    const method = this.#methodOf(fn)
    if (method === undefined) return undefined
    const view = this.#inspector.functionView(fn)
    const owners = new Set<AnyFunction>()
    for (const each of new Set([...classes, ...valuesIn(view)])) {
      if (isClassWith(each, fn) && this.#isOwner(each, method, view)) owners.add(each)
    }
    const [owner, ...others] = owners
    if (owner === undefined || others.length > 0) return undefined
    const { key, isStatic, slot } = method.site
    return { owner, key, isStatic, slot }
  }

  #methodOf(fn: AnyFunction): Method | undefined {
    const known = this.#known.get(fn) ?? this.#examine(fn) ?? 'other'
    this.#known.set(fn, known)
    return known === 'other' ? undefined : known
  }

  #examine(fn: AnyFunction): Method | undefined {
    if (types.isProxy(fn)) return undefined
    const { location } = this.#inspector.functionView(fn)
    const script = location && this.#scripts.get(location.scriptId)
    if (location === undefined || script === undefined) return undefined
    const text = Function.prototype.toString.call(fn)
    const site = script.analysis?.memberAt(offsetOf(script, location), text)
    if (site === undefined) return undefined
    const isOpen = site.onceIn === 'file' && !isFile(script)
    return { site: isOpen ? { ...site, onceIn: undefined } : site, script }
  }

  #isOwner(candidate: AnyFunction, { site, script }: Method, view: FunctionView): boolean {
    const own = this.#inspector.functionView(candidate)
    const { location } = own
    if (location === undefined || location.scriptId !== view.location?.scriptId) return false
    if (offsetOf(script, location) !== site.classAt) return false
    if (site.onceIn === 'module' && isAlike(own, view)) return true
    // A file that is a function could run again: a variable of it has to hold the class.
    const isHeld = site.onceIn === 'file' && [...valuesIn(view)].includes(candidate)
    if (isHeld && isAlike(own, view)) return true
    return site.witnesses.some((name) => {
      const seen = valueOf(own, name)
      return isObject(seen) && seen === valueOf(view, name)
    })
  }
}

/** Not a text for `eval`, nor one that has arrived here, which is evaluated for each task. */
function isFile({ script: { url, source } }: KnownScript): boolean {
  return /^(?:file:|\/|[A-Za-z]:\\)/.test(url) && !source.endsWith(MADE_HERE)
}

function isClassWith(value: unknown, fn: AnyFunction): value is AnyFunction {
  if (typeof value !== 'function' || types.isProxy(value)) return false
  const text = Function.prototype.toString.call(value)
  return text.startsWith('class') && text.includes(Function.prototype.toString.call(fn))
}

function* valuesIn({ scopes }: FunctionView): Generator<unknown> {
  for (const scope of scopes) {
    for (const name of Object.keys(scope.variables)) yield valueIn(scope, name)
  }
}

/** Whether no variable shows that they come from two evaluations of a file. */
function isAlike(some: FunctionView, other: FunctionView): boolean {
  const names = some.scopes.flatMap(({ variables }) => Object.keys(variables))
  return names.every((name) => Object.is(valueOf(some, name), valueOf(other, name)))
}

function valueOf({ scopes }: FunctionView, name: string): unknown {
  const scope = scopes.find(({ variables }) => Object.hasOwn(variables, name))
  const isUnclear = scope?.type === 'script' || scope?.type === 'with'
  return scope === undefined || isUnclear ? undefined : valueIn(scope, name)
}

/** Undefined for a variable that is not initialized yet. */
function valueIn({ variables }: ScopeView, name: string): unknown {
  try {
    return variables[name]
  } catch {
    return undefined
  }
}

/** Primitives are equal without being the same. */
function isObject(value: unknown): boolean {
  return Object(value) === value || typeof value === 'symbol'
}
