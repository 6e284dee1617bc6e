// The scripts that functions come from: their analysis, and the way from a place in V8's
// coordinates to the function that stands there.

import type { Inspector } from '../inspect/inspector.js'
import type { FunctionLocation, Script } from '../inspect/function-view.js'
import type { AnyFunction } from '../native-names.js'
import type { Binding, FunctionSite, ImportOrigin } from '../source/function-site.js'
import { analyzeScript, type ScriptAnalysis } from '../source/script-analysis.js'

/** A script and what its text says; `analysis` is undefined where the text cannot be understood. */
export interface KnownScript {
  readonly script: Script
  readonly analysis: ScriptAnalysis | undefined
}

/** A variable, and the script that declares it. */
export interface Declaration {
  readonly binding: Binding
  readonly script: KnownScript
}

/** How far re-exports are followed. */
const MAX_HOPS = 20

/** Analyses each script once. */
export class ScriptTable {
  readonly #inspector: Inspector
  readonly #known = new Map<string, KnownScript>()
  /** Texts that a program evaluates have no file: there can be any number of them. */
  readonly #passing = new Map<string, WeakRef<KnownScript>>()
  readonly #gone = new FinalizationRegistry<string>((id) => this.#passing.delete(id))

  constructor(inspector: Inspector) {
    this.#inspector = inspector
  }

  /** The script that has this id in V8. Undefined if V8 has forgotten it. */
  get(id: string): KnownScript | undefined {
    const known = this.#known.get(id) ?? this.#passing.get(id)?.deref()
    if (known !== undefined) return known
    const script = this.#inspector.script(id)
    return script === undefined ? undefined : this.#add(script)
  }

  /** The URL of the script that a function comes from. */
  urlOf(fn: AnyFunction): string | undefined {
    const { location } = this.#inspector.functionView(fn)
    return location === undefined ? undefined : this.get(location.scriptId)?.script.url
  }

  /** The function with this text that stands at a location. */
  siteAt(
    { script, analysis }: KnownScript,
    { line, column }: FunctionLocation,
    text: string,
  ): FunctionSite | undefined {
    if (analysis === undefined) return undefined
    const row = line - script.startLine
    const offset = analysis.offsetAt(row, row === 0 ? column - script.startColumn : column)
    return analysis.siteAt(offset, text)
  }

  /** What the script that was loaded last from a place says of its source map; empty if nothing. */
  sourceMapUrlAt(place: string): string {
    return this.#inspector.scriptsByUrl(place).at(-1)?.sourceMapUrl ?? ''
  }

  /** What the module at `url` exports: exported name to local name, or undefined if not loaded. */
  exportsOf(url: string): ReadonlyMap<string, string> | undefined {
    const known = this.#loaded(url)
    return known && exportedLocals(known)
  }

  /**
   * The variable behind an import of one of the user's own modules, as that module declares it.
   * Undefined where it cannot be told which one that is.
   */
  variableOf(origin: ImportOrigin, parentUrl: string): Binding | undefined {
    return this.declarationOf(origin, parentUrl)?.binding
  }

  /** The same, and where it is. */
  declarationOf(origin: ImportOrigin, parentUrl: string): Declaration | undefined {
    const [name, ...rest] = origin.path
    if (origin.form !== 'import' || name === undefined || rest.length > 0) return undefined
    return this.#exported(origin.specifier, parentUrl, name, MAX_HOPS)
  }

  #exported(
    specifier: string,
    parentUrl: string,
    name: string,
    hopsLeft: number,
  ): Declaration | undefined {
    const known = this.#loadedFrom(specifier, parentUrl)
    if (known?.analysis === undefined || hopsLeft === 0) return undefined
    const { analysis, script } = known
    const target = analysis.exportsOf().get(name)
    if (target === undefined) {
      return firstOf(analysis.starExports, (from) =>
        this.#exported(from, script.url, name, hopsLeft - 1),
      )
    }
    if ('from' in target) {
      return target.name === '*'
        ? undefined
        : this.#exported(target.from, script.url, target.name, hopsLeft - 1)
    }
    const binding = analysis.binding(target.local)
    const origin = binding?.origin
    if (binding === undefined) return undefined
    if (binding.kind !== 'import' || origin === undefined) return { binding, script: known }
    const [imported] = origin.path
    if (imported === undefined) return undefined
    return this.#exported(origin.specifier, script.url, imported, hopsLeft - 1)
  }

  #loadedFrom(specifier: string, parentUrl: string): KnownScript | undefined {
    for (const url of candidates(specifier, parentUrl)) {
      const known = this.#loaded(url)
      if (known !== undefined) return known
    }
    return undefined
  }

  /** A module that was loaded twice has its variables twice: then nothing is certain. */
  #loaded(url: string): KnownScript | undefined {
    const [script, ...others] = this.#inspector.scriptsByUrl(url)
    if (script === undefined || others.length > 0) return undefined
    return this.#known.get(script.id) ?? this.#add(script)
  }

  #add(script: Script): KnownScript {
    const analysis = analyzeScript(script.source, script.isModule)
    const known = { script, analysis }
    if (script.url !== '') {
      this.#known.set(script.id, known)
      return known
    }
    this.#passing.set(script.id, new WeakRef(known))
    this.#gone.register(known, script.id)
    return known
  }
}

/** What a script exports of its own: exported name to local name; undefined if nothing is known. */
export function exportedLocals({ analysis }: KnownScript): ReadonlyMap<string, string> | undefined {
  if (analysis === undefined) return undefined
  const locals = new Map<string, string>()
  for (const [name, target] of analysis.exportsOf()) {
    if ('local' in target) locals.set(name, target.local)
  }
  return locals
}

/** Where loaders find what a relative specifier means: TypeScript's say `.js` and mean `.ts`. */
function candidates(specifier: string, parentUrl: string): readonly string[] {
  if (!/^(?:\.{1,2}\/|\/|file:)/.test(specifier) || !URL.canParse(specifier, parentUrl)) return []
  const { href } = new URL(specifier, parentUrl)
  const typed = href.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')
  const ends = ['.ts', '.js', '.mts', '.mjs', '.tsx', '.cts', '.cjs', '/index.ts', '/index.js']
  return [...new Set([href, typed, ...ends.map((end) => href + end)])]
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}
