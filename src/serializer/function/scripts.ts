// The scripts that functions come from: their analysis, and how to find the function at a position
// given by V8.

import { fileURLToPath, pathToFileURL } from 'node:url'
import { types } from 'node:util'
import { SharedRegistry } from '../../base/finalization.js'
import type { FunctionLocation, Inspector, Script } from '../inspect/inspector.js'
import { constructedScript } from '../inspect/scripts.js'
import type { ModuleNames } from '../module/names.js'
import type { AnyFunction } from '../module/native.js'
import type { ModuleName } from '../module/origin.js'
import { fileUrlOf, isLocal, pathOf } from '../module/package.js'
import { type ExportReference, realPath } from '../module/policy.js'
import type { Binding, CodeName, FunctionSite, ImportOrigin } from '../source/sites.js'
import type { ImportedName, Initializer } from '../source/scope.js'
import { analyzeScript, type ScriptAnalysis } from '../source/analysis.js'
import { MADE_HERE } from './factory.js'
import { isReplaced } from './mock.js'
import { functionIn, textOfFile } from './modules.js'

/** A script and its text; `analysis` is undefined if the text cannot be parsed. */
export interface KnownScript {
  readonly script: Script
  readonly analysis: ScriptAnalysis | undefined
}

/** A variable, and the script that declares it. */
export interface Declaration {
  readonly binding: Binding
  readonly script: KnownScript
}

/** An import, and the file that contains it. */
export interface PlacedOrigin {
  readonly origin: ImportOrigin
  readonly url: string
}

/** How many re-exports are followed. */
const MAX_HOPS = 20

/** Analyses each script once. */
export class ScriptTable {
  readonly #inspector: Inspector
  readonly #modules: Pick<ModuleNames, 'ownPath' | 'isOfPackage'> | undefined
  readonly #known = new Map<string, KnownScript>()
  readonly #byUrl = new Map<string, KnownScript>()
  /** Resolved specifiers: by the URL of the script and the specifier. */
  readonly #found = new Map<string, string>()
  /** Evaluated texts have no file, and there can be any number of them. */
  readonly #passing = new Map<string, WeakRef<KnownScript>>()
  readonly #gone = new SharedRegistry<string>((id) => this.#passing.delete(id))

  /** `modules` knows the files of names that are not paths. */
  constructor(inspector: Inspector, modules?: Pick<ModuleNames, 'ownPath' | 'isOfPackage'>) {
    this.#inspector = inspector
    this.#modules = modules
  }

  /** The script with this id in V8, and `fn` in it. Undefined if V8 has forgotten it. */
  get(id: string, fn?: AnyFunction): KnownScript | undefined {
    const known = this.known(id)
    if (known !== undefined) return known
    const script = (fn && constructedScript(id, fn)) ?? this.#inspector.script(id)
    return script === undefined ? undefined : this.#add(script)
  }

  /** The same, if it has been asked for before. */
  known(id: string): KnownScript | undefined {
    return this.#known.get(id) ?? this.#passing.get(id)?.deref()
  }

  /** The URL of the script that a function comes from. */
  urlOf(fn: AnyFunction): string | undefined {
    const { location } = this.#inspector.functionView(fn)
    return location === undefined ? undefined : this.get(location.scriptId)?.script.url
  }

  /** The URL of the script that a function of a namespace comes from: hardly ever another one. */
  urlOfNamespace(namespace: object): string | undefined {
    const names = Object.keys(namespace)
    const own = names.map((name) => functionIn(namespace, name)).find((fn) => fn !== undefined)
    return own && this.urlOf(own)
  }

  /** The function with this text at a position. */
  siteAt(known: KnownScript, location: FunctionLocation, text: string): FunctionSite | undefined {
    return known.analysis?.siteAt(offsetOf(known, location), text)
  }

  /** The source map URL of the script that was loaded last from a place; '' if it has none. */
  sourceMapUrlAt(place: string): string {
    return this.#inspector.scriptsByUrl(place).at(-1)?.sourceMapUrl ?? ''
  }

  /**
   * The exports of the module at `url`: exported name to local name, or undefined if not loaded.
   */
  exportsOf(url: string): ReadonlyMap<string, string> | undefined {
    const known = this.#loaded(url)
    return known && this.#isOnly(known) ? exportedLocals(known) : undefined
  }

  /**
   * The variable behind an import of one of the user's modules, as declared there. Undefined if it
   * is ambiguous.
   */
  variableOf(origin: ImportOrigin, parentUrl: string): Binding | undefined {
    const found = this.declarationOf(origin, parentUrl)
    // If a module was loaded twice, each instance has its own.
    return found && this.#isOnly(found.script) ? found.binding : undefined
  }

  /** The same, with its script: one of several if they have the same text. */
  declarationOf(origin: ImportOrigin, parentUrl: string): Declaration | undefined {
    return origin.form === 'import' ? this.functionOf(origin, parentUrl) : undefined
  }

  /** The same, also through `require`: functions are equal in all instances. */
  functionOf(origin: ImportOrigin, parentUrl: string): Declaration | undefined {
    return this.#exported(origin, parentUrl, origin.path, MAX_HOPS)
  }

  /**
   * Follows an import through re-exports of the user's modules, until it leads to one for which
   * `isWanted` holds.
   */
  originOf(
    from: PlacedOrigin,
    isWanted: (origin: PlacedOrigin) => boolean,
  ): PlacedOrigin | undefined {
    return this.#originOf(from, isWanted, MAX_HOPS)
  }

  #originOf(
    from: PlacedOrigin,
    isWanted: (origin: PlacedOrigin) => boolean,
    hopsLeft: number,
  ): PlacedOrigin | undefined {
    const { origin, url } = from
    const [name, ...rest] = origin.path
    if (isWanted(from)) return from
    const known = hopsLeft > 0 && isLocal(origin.specifier) && this.#loadedFrom(origin, url)
    const analysis = known ? known.analysis : undefined
    if (!known || analysis === undefined || name === undefined || rest.length > 0) return undefined
    const { script } = known
    const follow = (module: ModuleName, path: readonly string[]): PlacedOrigin | undefined => {
      const next = { origin: { ...module, path }, url: script.url }
      return this.#originOf(next, isWanted, hopsLeft - 1)
    }
    const target = analysis.exportsOf().get(name)
    if (target === undefined) {
      return firstOf(analysis.starExports, (star) => follow(nameIn(script, star), [name]))
    }
    if ('from' in target) {
      return target.name === '*' ? undefined : follow(nameIn(script, target.from), [target.name])
    }
    const imported = analysis.binding(target.local)?.origin
    return imported && follow(imported, imported.path)
  }

  /** The module that is the value of a variable of `parent`; undefined if a mock may be. */
  moduleOf(
    { kind, name, origin, wrappedSpecifier }: Binding,
    parent: KnownScript,
  ): KnownScript | undefined {
    if (kind === 'wrapper') return name === 'exports' ? parent : undefined
    const wrapped =
      wrappedSpecifier === undefined ? undefined : nameIn(parent.script, wrappedSpecifier)
    const module = origin?.path.length === 0 ? origin : wrapped
    const found = module && this.#loadedFrom(module, parent.script.url)
    return found === undefined || isReplaced(found.script.url) ? undefined : found
  }

  /** The value of a property of a variable of `parent` that holds a module. */
  memberOf(
    binding: Binding,
    parent: KnownScript,
    name: string,
    hopsLeft: number = MAX_HOPS,
  ): Declaration | undefined {
    const module = this.moduleOf(binding, parent)
    return module && hopsLeft > 0 ? this.#own(module, [name], hopsLeft) : undefined
  }

  /** Whether an imported value can be re-created from the text of its module. */
  isRemakable(script: KnownScript, { name, member }: ImportedName): boolean {
    const binding = script.analysis?.binding(name)
    if (binding === undefined) return false
    const declared =
      member === undefined
        ? binding.origin && this.declarationOf(binding.origin, script.script.url)
        : this.memberOf(binding, script, member)
    const analysis = declared?.script.analysis
    const local = declared?.binding.name ?? ''
    const initializer = analysis?.initializerOf(local)
    if (initializer === undefined || declared === undefined) return false
    // Methods of literals may be functions of the user.
    const { shape } = initializer
    if (shape !== undefined && shape.kind !== 'entries') return false
    if (analysis?.remakingSite(local) === undefined) return false
    return this.areRemakable(declared.script, initializer)
  }

  /** Whether what an initializer calls in other modules can be called again on a worker. */
  areRemakable(
    script: KnownScript,
    { needs, packages }: Pick<Initializer, 'needs' | 'packages'>,
  ): boolean {
    return (
      packages.every((each) => this.isOfPackage(each, script.script.url)) &&
      needs.every((each) => this.isRemakable(script, each))
    )
  }

  /** Whether a module belongs to a package: its name alone may also be one of the user's own. */
  isOfPackage(name: ModuleName, parentUrl: string): boolean {
    return this.#modules?.isOfPackage(name, parentUrl) ?? true
  }

  /** `path`: the name of an export; for one that is a module, also that of an export of it. */
  #exported(
    module: ModuleName,
    parentUrl: string,
    path: readonly string[],
    hopsLeft: number,
  ): Declaration | undefined {
    const known = this.#loadedFrom(module, parentUrl)
    return known && hopsLeft > 0 ? this.#own(known, path, hopsLeft) : undefined
  }

  #own(known: KnownScript, path: readonly string[], hopsLeft: number): Declaration | undefined {
    const { analysis, script } = known
    const [name, ...rest] = path
    if (analysis === undefined || name === undefined) return undefined
    const target = analysis.exportsOf().get(name)
    const local = target === undefined ? analysis.exportedBy(name) : undefined
    if (target !== undefined && 'from' in target) {
      const inside = target.name === '*' ? rest : [target.name, ...rest]
      return this.#exported(nameIn(script, target.from), script.url, inside, hopsLeft - 1)
    }
    if (target === undefined && local === undefined) {
      return firstOf(analysis.starExports, (from) =>
        this.#exported(nameIn(script, from), script.url, path, hopsLeft - 1),
      )
    }
    const [variable = '', member] = (local ?? '').split('.')
    if (member !== undefined && variable !== 'exports') {
      const from = rest.length > 0 ? undefined : analysis.binding(variable)
      return from && this.memberOf(from, known, member, hopsLeft - 1)
    }
    const binding = analysis.binding(target?.local ?? local ?? '')
    const origin = binding?.origin
    if (binding === undefined) return undefined
    if (binding.kind !== 'import' || origin === undefined) {
      return rest.length > 0 ? undefined : { binding, script: known }
    }
    return this.#exported(origin, script.url, [...origin.path, ...rest], hopsLeft - 1)
  }

  /** V8 takes long to find that a script does not exist: results are cached. */
  #loadedFrom(module: ModuleName, parentUrl: string): KnownScript | undefined {
    const { specifier } = module
    const path = isLocal(specifier) ? undefined : this.#modules?.ownPath(module, parentUrl)
    const key = path ?? `${parentUrl} ${specifier}`
    const found = this.#found.get(key)
    const all = path === undefined ? undefined : [fileUrlOf(path) ?? path, path]
    const urls = found === undefined ? (all ?? candidates(specifier, parentUrl)) : [found]
    for (const url of urls) {
      const known = this.#loaded(url)
      if (known === undefined) continue
      this.#found.set(key, url)
      return known
    }
    return undefined
  }

  /** Of several with the same text, the one that was loaded last. */
  #loaded(url: string): KnownScript | undefined {
    const scripts = this.#scriptsOf(url)
    const script = scripts.at(-1)
    if (script === undefined) return this.#forgotten(url)
    if (scripts.some(({ source }) => source !== script.source)) return undefined
    const known = this.#known.get(script.id) ?? this.#add(script)
    this.#byUrl.set(url, known)
    return known
  }

  /** V8 no longer has a function of it. */
  #forgotten(url: string): KnownScript | undefined {
    const known = this.#byUrl.get(url)
    if (known !== undefined) return known
    const source = textOfFile(url)
    if (source === undefined) return undefined
    const place = { url, source, startLine: 0, startColumn: 0 }
    const script = { ...place, id: url, isModule: false, sourceMapUrl: '' }
    const read = { script, analysis: analyzeScript(source, false) }
    this.#byUrl.set(url, read)
    return read
  }

  #isOnly({ script: { url } }: KnownScript): boolean {
    return this.#scriptsOf(url).length < 2
  }

  /** Without those of functions that have arrived from there: these are no modules. */
  #scriptsOf(url: string): readonly Script[] {
    return this.#inspector.scriptsByUrl(url).filter(({ source }) => !source.endsWith(MADE_HERE))
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

/**
 * Imports of variables that a module assigns again, where the module is imported on the worker,
 * too: they are read there each time.
 */
export class LiveImports {
  readonly #scripts: ScriptTable
  readonly #modules: ModuleNames
  #found = new WeakMap<Binding, { readonly from: PlacedOrigin | undefined }>()
  #version = 0

  constructor(scripts: ScriptTable, modules: ModuleNames) {
    this.#scripts = scripts
    this.#modules = modules
  }

  /** The names of such exports, by the names of the imports in the file at `url`. */
  exportsIn(names: readonly CodeName[], url: string): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    for (const { free } of names) {
      const [exported] = this.#of(free.binding, url)?.origin.path ?? []
      if (exported !== undefined) found.set(free.name, exported)
    }
    return found
  }

  /** The reference to the module of such an import. */
  moduleOf(binding: Binding | undefined, url: string): ExportReference | undefined {
    const from = this.#of(binding, url)
    const reference = from && this.#modules.originReference(from.origin, from.url)
    return reference && { ...reference, path: [] }
  }

  /** The reference to a namespace that came with a function from elsewhere. */
  loadedModule(value: unknown): ExportReference | undefined {
    const isModule = types.isModuleNamespaceObject(value)
    return isModule ? this.#modules.loadedReference(value as object) : undefined
  }

  /** V8 has the text of the user's own modules as it is evaluated: without types. */
  #isReassigned({ origin, url }: PlacedOrigin): boolean {
    if (this.#modules.isReassigned(origin, url)) return true
    if (!isLocal(origin.specifier) || origin.path.length !== 1) return false
    if (this.#modules.originReference(origin, url) === undefined) return false
    return this.#scripts.declarationOf(origin, url)?.binding.isCell === true
  }

  #of(binding: Binding | undefined, url: string): PlacedOrigin | undefined {
    const { origin } = binding ?? {}
    if (binding?.kind !== 'import' || origin === undefined) return undefined
    if (this.#version !== this.#modules.version) this.#found = new WeakMap()
    this.#version = this.#modules.version
    let found = this.#found.get(binding)
    if (found === undefined) {
      const from = this.#scripts.originOf({ origin, url }, (each) => this.#isReassigned(each))
      found = { from }
      this.#found.set(binding, found)
    }
    return found.from
  }
}

/** The offset in the text of a script; -1 if the text cannot be parsed. */
export function offsetOf(
  { script, analysis }: KnownScript,
  { line, column }: FunctionLocation,
): number {
  const row = line - script.startLine
  return analysis?.offsetAt(row, row === 0 ? column - script.startColumn : column) ?? -1
}

/** The exports that a script declares itself: exported name to local name; undefined if unknown. */
export function exportedLocals({ analysis }: KnownScript): ReadonlyMap<string, string> | undefined {
  if (analysis === undefined) return undefined
  const locals = new Map<string, string>()
  for (const [name, target] of analysis.exportsOf()) {
    if ('local' in target) locals.set(name, target.local)
  }
  return locals
}

/** A module that the text of the script names. */
function nameIn({ isModule }: Script, specifier: string): ModuleName {
  return { specifier, form: isModule ? 'import' : 'require' }
}

/**
 * The files that loaders may use for a specifier of the user's modules: TypeScript specifiers say
 * `.js` for `.ts`, those of vite start at the root of the project. Some loaders use paths as URLs.
 */
function candidates(specifier: string, parentUrl: string): readonly string[] {
  const isPath = parentUrl.startsWith('/')
  const parent = isPath ? pathToFileURL(parentUrl).href : parentUrl
  if (!/^(?:\.{1,2}\/|\/|file:)/.test(specifier) || !URL.canParse(specifier, parent)) return []
  const { href } = new URL(specifier, parent)
  // Node names files by their real paths.
  const real = fileUrlOf(realPath(pathOf(href) ?? '')) ?? href
  const typed = href.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')
  const urls = [href, real, typed, ...ENDS.map((end) => href + end)]
  if (specifier.startsWith('/')) {
    let end = parent.lastIndexOf('/')
    for (; end > 'file://'.length; end = parent.lastIndexOf('/', end - 1)) {
      urls.push(parent.slice(0, end) + specifier)
    }
  }
  return [...new Set(isPath ? urls.map((url) => fileURLToPath(url)) : urls)]
}

const ENDS = ['.ts', '.js', '.mts', '.mjs', '.tsx', '.cts', '.cjs', '/index.ts', '/index.js']

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}
