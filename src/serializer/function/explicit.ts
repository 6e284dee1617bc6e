// Functions known only by their text: without an inspector, or where the user has listed the
// captures.

import { types } from 'node:util'
import { ConfigError } from '../../base/errors.js'
import { checkNames } from '../../base/option.js'
import { classPartsOf } from '../class/member.js'
import { type AnyFunction, isNative, ownValue } from '../module/native.js'
import type { ExportReference } from '../module/policy.js'
import { Refusal } from '../refusal.js'
import { analyzeText } from '../source/analysis.js'
import type { ComputedMember, FunctionSite } from '../source/sites.js'
import { refuseMissing, refuseObstacle } from './obstacle.js'
import type { Capture, CellKey, SourceParts } from './parts.js'

// Functions whose captures are listed by the user: for programs that run without an inspector,
// which otherwise shows captured variables.

/** The options of `task`. */
export interface TaskCaptures {
  /** The outside variables that the function uses, by name: `{ captures: { rate, table } }`. */
  readonly captures: Readonly<Record<string, unknown>>
}

/** The captures and references that were declared for functions. */
export class ExplicitFunctions {
  readonly #captures = new WeakMap<AnyFunction, Readonly<Record<string, unknown>>>()
  readonly #references = new WeakMap<AnyFunction, ExportReference>()
  #version = 0

  /** Grows with each declaration. */
  get version(): number {
    return this.#version
  }

  /** The captures given for a function. */
  capturesOf(fn: AnyFunction): Readonly<Record<string, unknown>> | undefined {
    return this.#captures.get(fn)
  }

  /** The export that a function refers to. */
  referenceOf(fn: AnyFunction): ExportReference | undefined {
    return this.#references.get(fn)
  }

  /** See `task`. */
  withCaptures<F extends AnyFunction>(fn: F, options: TaskCaptures): F {
    checkNames('task', { captures: true }, options)
    const { captures } = options
    if (typeof captures !== 'object' || captures === null) {
      throw new ConfigError('task: option captures must be an object of the variables by name')
    }
    this.#captures.set(fn, { ...captures })
    this.#version += 1
    return fn
  }

  /** See `task`. */
  ofExport(url: string, name: string): (...parameters: unknown[]) => Promise<unknown> {
    if (!URL.canParse(url)) throw new ConfigError(`task: expected the URL of a module, got ${url}`)
    if (typeof name !== 'string' || name === '') {
      throw new ConfigError(`task: expected the name of an export, got ${String(name)}`)
    }
    const standIn = async (...parameters: unknown[]): Promise<unknown> => {
      const module = (await import(url)) as Readonly<Record<string, unknown>>
      const fn = module[name]
      if (typeof fn !== 'function') throw new TypeError(`${url} exports no function ${name}`)
      return (fn as (...parameters: unknown[]) => unknown)(...parameters)
    }
    Object.defineProperty(standIn, 'name', { value: name, configurable: true })
    const module = { kind: 'specifier', specifier: url, parent: url } as const
    this.#references.set(standIn, { module, form: 'import', path: [name] })
    return standIn
  }
}

// Class members with computed names, taken from the class itself.

/** A class whose text has no computed names of methods and accessors. */
export interface NamedSite {
  readonly site: FunctionSite
  /** The names, as captured values, by the names of these values. */
  readonly captures: ReadonlyMap<string, Capture>
}

/**
 * The site of a class without computed names; undefined if there are none, or if a member was
 * replaced: then its text must compute them.
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
    // Members with the same text are equivalent, so their order does not matter.
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

/** A property of any kind. */
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

/** The outside variables of a function, by name. */
export type GivenCaptures = Readonly<Record<string, unknown>>

/** The analysis of a function's text, made once per function. */
interface KnownText {
  readonly site: FunctionSite | undefined
  /** For variables that the function assigns, by name. */
  readonly keys: Map<string, CellKey>
}

/** Finds the parts of functions by their texts. */
export class TextParts {
  readonly #known = new WeakMap<AnyFunction, KnownText>()

  /**
   * The analysis of the text; undefined if it cannot be parsed. Returns the same object for each
   * call.
   */
  siteOf(fn: AnyFunction): FunctionSite | undefined {
    return this.#textOf(fn).site
  }

  /**
   * The parts of a function that uses only globals and given captures, or why it cannot be sent.
   * `given`: undefined if the user has listed nothing.
   */
  partsOf(fn: AnyFunction, given: GivenCaptures | undefined): SourceParts | Refusal {
    const { site: plain, keys } = this.#textOf(fn)
    const named = plain && namedSiteOf(fn, plain)
    const site = named?.site ?? plain
    const [obstacle] = site?.obstacles ?? []
    if (site === undefined || obstacle !== undefined) return refuseObstacle(fn, obstacle, undefined)
    const captured = given ?? {}
    const missing = site.freeNames.filter(
      ({ name, isOnlyTypeof }) =>
        !isOnlyTypeof &&
        !Object.hasOwn(captured, name) &&
        !(name in globalThis) &&
        named?.captures.has(name) !== true,
    )
    if (missing.length > 0) return refuseMissing(fn, missing, given !== undefined)
    const classParts = site.classSite && classPartsOf(fn, site.classSite, undefined)
    if (classParts instanceof Refusal) return classParts
    const captures = capturesOf(site, captured, { keys, members: named?.captures })
    return { kind: 'source', code: site.code, url: '', captures, classParts }
  }

  #textOf(fn: AnyFunction): KnownText {
    const known = this.#known.get(fn)
    if (known !== undefined) return known
    const text = Function.prototype.toString.call(fn)
    const site = analyzeText(text, isSurelySloppy(fn) ? false : undefined)
    const made = { site, keys: new Map<string, CellKey>() }
    this.#known.set(fn, made)
    return made
  }
}

/**
 * A sloppy `function` can refer to its caller: by an own property, or a getter since Node 26. For
 * other functions nothing shows this, but text from a module is valid as strict code.
 */
function isSurelySloppy(fn: AnyFunction): boolean {
  if (Object.getOwnPropertyDescriptor(fn, 'caller')?.configurable === false) return true
  const property: { readonly get?: unknown } | undefined = Object.getOwnPropertyDescriptor(
    Function.prototype,
    'caller',
  )
  const getter = property?.get
  if (typeof getter !== 'function' || !isNative(getter as AnyFunction)) return false
  try {
    Reflect.apply(getter, fn, [])
    return true
  } catch {
    return false
  }
}

function capturesOf(
  { code }: FunctionSite,
  given: GivenCaptures,
  {
    keys,
    members,
  }: { readonly keys: Map<string, CellKey>; readonly members: NamedSite['captures'] | undefined },
): readonly Capture[] {
  return code.names
    .filter(({ name, free }) => members?.has(name) === true || Object.hasOwn(given, free.name))
    .map(({ name, free, isCell }): Capture => {
      const member = members?.get(name)
      if (member !== undefined) return member
      const value: unknown = given[free.name]
      const step = `${free.name} (given as a capture)`
      if (!isCell) return { name, step, content: { kind: 'value', value } }
      const key = keys.get(name) ?? {}
      keys.set(name, key)
      return { name, step, content: { kind: 'cell', key, value } }
    })
}
