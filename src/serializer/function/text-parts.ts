// Functions of which only the text is seen: where there is no inspector, and where the user has
// said what they capture.

import { isNative, type AnyFunction } from '../native-names.js'
import { Refusal } from '../refusal.js'
import type { FunctionSite } from '../source/function-site.js'
import { analyzeText } from '../source/script-analysis.js'
import { classPartsOf } from './class-parts.js'
import type { Capture, CellKey, SourceParts } from './function-parts.js'
import { namedSiteOf, type NamedSite } from './member-keys.js'
import { refuseMissing, refuseObstacle } from './obstacle.js'

/** The variables around a function, by name. */
export type GivenCaptures = Readonly<Record<string, unknown>>

/** What the text of a function says, once for each function. */
interface KnownText {
  readonly site: FunctionSite | undefined
  /** For variables that the function assigns, by name. */
  readonly keys: Map<string, CellKey>
}

/** Takes functions apart by their texts. */
export class TextParts {
  readonly #known = new WeakMap<AnyFunction, KnownText>()

  /** What the text says; undefined if it cannot be read. The same object at each call. */
  siteOf(fn: AnyFunction): FunctionSite | undefined {
    return this.#textOf(fn).site
  }

  /**
   * What a function is made of that uses nothing but globals and what was given, or why it cannot
   * travel. `given`: undefined if nobody was asked.
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
 * Of a sloppy `function` one may ask who calls it: its own property, or a getter since Node 26. Of
 * other functions nothing tells, but the text of what is from a module is good as strict code.
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
