// Finds the parts of functions: asks V8 where a function is defined and what its variables hold,
// and reads the rest from the text of its script. Facts that cannot change are determined once per
// function.

import { types } from 'node:util'
import { type FunctionView, Inspector } from '../inspect/inspector.js'
import type { ExportsOf, ModuleNames } from '../module/names.js'
import type { ExportReference, RuntimeRole } from '../module/policy.js'
import {
  isNative,
  ownValue,
  type AnyFunction,
  type NativeNames,
  valueIn,
} from '../module/native.js'
import { leadsToProxy } from '../class/prototype-chain.js'
import { placeText, Refusal, refuseClass } from '../refusal.js'
import type { FunctionCode, FunctionSite, TextPlace } from '../source/sites.js'
import { SourcePositions } from '../source-position.js'
import { CaptureReader, type ReadCapture } from './captures.js'
import { CellKeys } from './cell-keys.js'
import { classPartsOf } from '../class/member.js'
import { CodePlaces } from '../inspect/code-places.js'
import { ChangeFinder } from './steady.js'
import { CompilerFunctions } from './compiler.js'
import { DeadZones, type MakerFunction, OwnNames, RemadeVariables, Remaker } from './remade.js'
import { type ExplicitFunctions, type NamedSite, namedSiteOf, TextParts } from './explicit.js'
import { MemberOwners } from './owners.js'
import type { ClassMember, FunctionAnalyst, FunctionParts, SourceParts } from './parts.js'
import {
  PromisifiedFunctions,
  refuseBehindProxy,
  refuseBound,
  refuseBuiltIn,
  refuseLoader,
  refuseNative,
  refuseObstacle,
  refuseOtherContext,
} from './obstacle.js'
import { MockedModules } from './mock.js'
import { LiveExports, memberIn } from './modules.js'
import { exportedLocals, ScriptTable, type KnownScript } from './scripts.js'

/** The settings of an analyst. */
interface AnalystOptions {
  readonly natives: NativeNames
  readonly modules: ModuleNames
  readonly explicit: ExplicitFunctions
  /** Default: `Inspector.open`; others are for tests. */
  readonly openInspector?: () => Inspector | undefined
}

/** Facts about a function that hold as long as it exists. */
interface Known {
  readonly site: FunctionSite
  /**
   * Keeps the script, so that its variables remain the same objects as long as one of its functions
   * exists.
   */
  readonly script: KnownScript | undefined
  /** Undefined if a variable must be read each time. */
  readonly constant: Read | undefined
  /** The version of the module registrations when it was determined. */
  readonly policyVersion: number
  /** The version of the re-created variables when it was determined. */
  readonly remadeVersion: number
}

/** A function with its variables. */
interface Read {
  readonly site: FunctionSite
  readonly url: string
  readonly code: FunctionCode
  readonly reads: readonly ReadCapture[]
}

/** The analyst of the default serializer. */
export class SourceAnalyst implements FunctionAnalyst {
  /** The original positions of the code of this process. */
  readonly positions: SourcePositions = new SourcePositions({
    // Evaluated code has no file. Only scripts whose functions have been sent matter.
    sourceMapUrlAt: (place) => this.#tools?.scripts.sourceMapUrlAt(place) ?? '',
  })
  readonly #options: AnalystOptions
  readonly #known = new WeakMap<AnyFunction, Known>()
  readonly #places = new CodePlaces<Known>()
  readonly #references = new WeakMap<AnyFunction, { parts: FunctionParts; policyVersion: number }>()
  /** The file of each `require` that a function has captured. */
  readonly #requires = new WeakMap<AnyFunction, string>()
  readonly #texts = new TextParts()
  readonly #promisified = new PromisifiedFunctions()
  readonly #remade = new RemadeVariables()
  readonly #live = new LiveExports()
  /** See `keepsContents`. */
  readonly #keepers = new WeakMap<AnyFunction, readonly WeakMap<object, unknown>[]>()
  readonly #compilers = new CompilerFunctions()
  #tools: Tools | undefined
  #hasLooked = false

  constructor(options: AnalystOptions) {
    this.#options = options
  }

  partsOf(fn: AnyFunction): FunctionParts | Refusal {
    const captures = this.#options.explicit.capturesOf(fn)
    if (captures !== undefined) return refuseOtherContext(fn) ?? this.#texts.partsOf(fn, captures)
    const maker = this.#makerOf(fn)
    if (maker !== undefined && this.#tools !== undefined) {
      return sourceParts(fn, this.#read(maker, this.#tools), undefined)
    }
    const live = this.#live.partsOf(fn)
    if (live !== undefined) return live
    const constant = this.#constantOf(fn)
    if (constant !== undefined) return sourceParts(fn, constant, this.#tools?.inspector)
    if (types.isProxy(fn)) return refuseClass('Proxy')
    const reference = this.#references.get(fn)
    if (reference?.policyVersion === this.#options.modules.version) return reference.parts
    return this.#namedParts(fn) ?? this.#alikeParts(fn) ?? this.#inspectedParts(fn)
  }

  isConstant(fn: AnyFunction): boolean {
    if (this.#options.explicit.capturesOf(fn) !== undefined) return false
    return this.#constantOf(fn) !== undefined
  }

  memberOf(fn: AnyFunction, classes: Iterable<AnyFunction>): ClassMember | undefined {
    return this.#inspection()?.owners.memberOf(fn, classes)
  }

  get version(): number {
    const { explicit, modules } = this.#options
    return explicit.version + modules.version + this.#remade.version
  }

  remake(fn: AnyFunction, name: string, member?: string): boolean | string {
    const tools = this.#tools
    const owner = this.#makerOf(fn) ?? (tools && this.#ownerOf(fn, tools))
    const found = owner?.site.code.names.find((each) => each.name === name)
    const free = found?.isEarly === true ? undefined : found?.free
    if (tools === undefined || owner === undefined || free?.binding === undefined) return false
    const { captures } = tools
    const whole = captures.look(owner, free)
    if (whole === 'uninitialized') return false
    const module = whole?.value
    const used =
      member === undefined
        ? undefined
        : captures.memberOf(free.binding, owner.script, { module, name: member })
    const declared = used ?? captures.declarationOf(free.binding, owner)
    if (declared === undefined) return false
    const seen = used === undefined || whole === undefined ? whole : memberIn(module, member)
    const made = tools.remaker.remake(declared, owner, seen)
    const what = used === undefined ? free.name : member
    return typeof made === 'string'
      ? `${what} is not made again on the worker because ${made}`
      : made
  }

  referenceOf(object: object): ExportReference | undefined {
    if (types.isProxy(object)) return undefined
    const isNamespace = types.isModuleNamespaceObject(object)
    const url = isNamespace ? this.#inspection()?.scripts.urlOfNamespace(object) : undefined
    return this.#options.modules.referenceOf(object, url, this.#exportsOf)
  }

  keepsContents(constructor: AnyFunction, object: object): boolean {
    let keepers = this.#keepers.get(constructor)
    if (keepers === undefined) {
      const { scopes = [] } = this.#inspection()?.inspector.functionView(constructor) ?? {}
      keepers = scopes.flatMap(({ variables }) => keepersIn(variables))
      this.#keepers.set(constructor, keepers)
    }
    return keepers.some((keeper) => keeper.has(object))
  }

  gettersOf(namespace: object): ReadonlyMap<string, AnyFunction> {
    const tools = this.#inspection()
    if (tools === undefined) return new Map()
    return tools.captures.gettersOf(namespace)
  }

  placeOf(url: string, place: TextPlace): string {
    const written = this.positions.written(url, place)
    return written === undefined
      ? `${url}:${place.line + 1}`
      : `${written.source.href}:${written.line + 1}`
  }

  settle(functions: Iterable<AnyFunction>): 'certain' | 'again' | Refusal {
    return this.#tools === undefined ? 'certain' : this.#tools.cells.settle(functions)
  }

  readonly #exportsOf: ExportsOf = (url) => this.#inspection()?.scripts.exportsOf(url)

  /**
   * A function made at a place where all are alike, as one that a loop makes again and again: the
   * inspector need not be asked, which would take most of the time of a submit.
   */
  #alikeParts(fn: AnyFunction): SourceParts | Refusal | undefined {
    const known = this.#tools && this.#places.find(fn, this.#tools.scripts)
    if (known === undefined || leadsToProxy(fn)) return undefined
    this.#known.set(fn, known)
    const constant = this.#constantOf(fn)
    return constant && sourceParts(fn, constant, undefined)
  }

  /** The function and its variables, if reading them again cannot give anything else. */
  #constantOf(fn: AnyFunction): Read | undefined {
    const known = this.#known.get(fn)
    if (known?.constant === undefined) return undefined
    if (known.policyVersion !== this.#options.modules.version) return undefined
    if (known.remadeVersion !== this.#remade.version) return undefined
    const { reads } = known.constant
    return reads.every((read) => this.#tools?.captures.isCurrent(read)) ? known.constant : undefined
  }

  /** Parts of a function that has a name or reference, or whose captures were given by the user. */
  #namedParts(fn: AnyFunction): FunctionParts | Refusal | undefined {
    const { natives, explicit, modules } = this.#options
    const name = natives.nameOf(fn)
    if (name !== undefined) return { kind: 'native', name }
    const reference = explicit.referenceOf(fn) ?? modules.ownReference(fn)
    if (reference !== undefined) return { kind: 'reference', reference }
    const url = this.#requires.get(fn)
    if (url !== undefined) return runtimeParts({ kind: 'require', url })
    if (isNative(fn)) return this.#boundParts(fn)
    const loader = refuseLoader(fn)
    if (loader !== undefined) return loader
    const role = modules.roleOf(fn)
    return role === undefined ? undefined : runtimeParts(role)
  }

  #boundParts(fn: AnyFunction): FunctionParts | Refusal {
    const tools = this.#inspection()
    const bound = tools?.inspector.boundView(fn)
    if (bound !== undefined) return { kind: 'bound', ...bound }
    const looksBound = String(ownValue(fn, 'name')).startsWith('bound ')
    if (tools === undefined && looksBound) return refuseBound(fn)
    return this.#placedParts(fn) ?? refuseNative(fn)
  }

  /** A function that Node has created from JavaScript. */
  #partsOfNode(fn: AnyFunction, url: string, view: FunctionView): FunctionParts | Refusal {
    const remade = this.#promisified.remade(fn, url, view)
    if (remade !== undefined) return this.#texts.partsOf(remade.fn, remade.captures)
    return this.#placedParts(fn) ?? refuseBuiltIn(fn, url)
  }

  #placedParts(fn: AnyFunction): FunctionParts | undefined {
    const { natives, modules } = this.#options
    const name = natives.placeOf(fn)
    if (name === undefined) return undefined
    const parts: FunctionParts = { kind: 'native', name }
    this.#references.set(fn, { parts, policyVersion: modules.version })
    return parts
  }

  /** A short position: `app.ts:12`; undefined if there is no file. */
  #shortPlace(url: string, place: TextPlace): string | undefined {
    const written = this.positions.written(url, place)
    return written === undefined
      ? placeText(url, place.line)
      : placeText(written.source.href, written.line)
  }

  #inspectedParts(fn: AnyFunction): FunctionParts | Refusal {
    const tools = this.#inspection()
    if (tools === undefined) return refuseOtherContext(fn) ?? this.#texts.partsOf(fn, undefined)
    const view = tools.inspector.functionView(fn)
    if (view.location === undefined) {
      return leadsToProxy(fn) ? refuseBehindProxy(fn) : refuseNative(fn)
    }
    const script = tools.scripts.get(view.location.scriptId, fn)
    const url = script?.script.url ?? ''
    if (url.startsWith('node:')) return this.#partsOfNode(fn, url, view)
    const referred = this.#referredParts(fn, url, view, script)
    if (referred !== undefined) return referred
    const remade = this.#compilers.remade(fn)
    if (remade !== undefined) return this.#texts.partsOf(remade, {})
    const site = this.#known.get(fn)?.site ?? this.#siteOf(fn, view.location, script)
    const named = site && namedSiteOf(fn, site)
    const [obstacle] = (named?.site ?? site)?.obstacles ?? []
    if (site === undefined || obstacle !== undefined)
      return refuseObstacle(fn, obstacle, obstacle && this.#shortPlace(url, obstacle))
    return this.#readParts({ fn, site, named, view, url, script }, tools)
  }

  #siteOf(
    fn: AnyFunction,
    location: NonNullable<FunctionView['location']>,
    script: KnownScript | undefined,
  ): FunctionSite | undefined {
    const text = Function.prototype.toString.call(fn)
    const site = script && this.#tools?.scripts.siteAt(script, location, text)
    return site ?? this.#texts.siteOf(fn)
  }

  /** A function of a package, or of a module that is sent by reference. */
  #referredParts(
    fn: AnyFunction,
    url: string,
    view: FunctionView,
    script: KnownScript | undefined,
  ): FunctionParts | Refusal | undefined {
    const { modules } = this.#options
    if (!modules.goesByReference(url)) {
      const loaded = modules.loadedReference(fn)
      return loaded ? this.#keepReference(fn, loaded) : refuseOtherContext(fn)
    }
    // Its own script lists the exports, even if the file was loaded several times.
    const names = script && exportedLocals(script)
    const reference = modules.referenceOf(fn, url, () => names, {
      isStatic: isStatic(view),
      variables: view.scopes.find(({ type }) => type === 'module')?.variables,
      scopes: view.scopes.map(({ variables }) => variables),
      scriptId: view.location?.scriptId,
    })
    return reference ? this.#keepReference(fn, reference) : modules.refusalOf(fn, url)
  }

  #keepReference(fn: AnyFunction, reference: ExportReference): FunctionParts {
    const parts: FunctionParts = { kind: 'reference', reference }
    this.#references.set(fn, { parts, policyVersion: this.#options.modules.version })
    return parts
  }

  #readParts(found: Found, tools: Tools): SourceParts | Refusal {
    const { fn, site, script } = found
    const read = this.#read(found, tools)
    const constant = read.reads.every(({ isConstant }) => isConstant) ? read : undefined
    const policyVersion = this.#options.modules.version
    const remadeVersion = this.#remade.version
    const known = { site, script, constant, policyVersion, remadeVersion }
    this.#known.set(fn, known)
    const isAlike = constant !== undefined && tools.captures.areOfPlace(found, constant.code)
    if (isAlike && script && site.classSite === undefined) this.#places.add(fn, script, known)
    return sourceParts(fn, read, tools.inspector)
  }

  #read(found: Found, { captures }: Tools): Read {
    const { named, url } = found
    const site = named?.site ?? found.site
    const code = captures.codeOf(site, found)
    const reads: ReadCapture[] = []
    for (const name of code.names) {
      const capture = named?.captures.get(name.name)
      const read =
        capture === undefined
          ? captures.read(found, name)
          : // The class may get other members.
            { capture, isConstant: false, partialUse: undefined }
      if (read !== undefined) reads.push(read)
    }
    return { site, url, code, reads }
  }

  #makerOf(fn: AnyFunction): MakerFunction | undefined {
    return this.#remade.makerOf(fn) ?? this.#tools?.ownNames.makerOf(fn)
  }

  #ownerOf(fn: AnyFunction, { inspector }: Tools): MakerFunction | undefined {
    const { site, script } = this.#known.get(fn) ?? {}
    if (site === undefined || script === undefined) return undefined
    return { fn, site, script, view: inspector.functionView(fn), url: script.script.url }
  }

  #inspection(): Tools | undefined {
    if (this.#hasLooked) return this.#tools
    this.#hasLooked = true
    const open = this.#options.openInspector ?? (() => Inspector.open())
    const inspector = open()
    if (inspector === undefined) return undefined
    const scripts = new ScriptTable(inspector, this.#options.modules)
    const cells = new CellKeys(inspector)
    const changes = new ChangeFinder(scripts, inspector)
    const ownNames = new OwnNames(inspector)
    const placeOf = (url: string, place: TextPlace): string | undefined =>
      this.#shortPlace(url, place)
    const captures = new CaptureReader({
      modules: this.#options.modules,
      scripts,
      cells,
      remade: this.#remade,
      live: this.#live,
      deadZones: new DeadZones(inspector),
      compilers: this.#compilers,
      mocks: new MockedModules(inspector, scripts),
      ownNames,
      placeOf,
      onRequire: (require, url) => this.#requires.set(require, url),
    })
    const remaker = new Remaker({ remade: this.#remade, captures, scripts, changes, placeOf })
    const owners = new MemberOwners(inspector, scripts)
    return (this.#tools = { inspector, scripts, cells, captures, ownNames, remaker, owners })
  }
}

/** Whether a function uses nothing but its module and globals. */
function isStatic({ scopes }: FunctionView): boolean {
  return scopes.every(
    ({ type, variables }) =>
      type === 'module' || type === 'script' || Object.keys(variables).length === 0,
  )
}

/** The weak maps of a scope. */
function keepersIn(variables: Readonly<Record<string, unknown>>): WeakMap<object, unknown>[] {
  return Object.keys(variables).flatMap((name) => {
    const value = valueIn(variables, name)
    return types.isWeakMap(value) ? [value] : []
  })
}

/** Everything that needs the inspector. */
interface Tools {
  readonly inspector: Inspector
  readonly scripts: ScriptTable
  readonly cells: CellKeys
  readonly captures: CaptureReader
  readonly ownNames: OwnNames
  readonly remaker: Remaker
  readonly owners: MemberOwners
}

interface Found {
  readonly fn: AnyFunction
  readonly script: KnownScript | undefined
  readonly site: FunctionSite
  /** For a class: its site without computed names. */
  readonly named?: NamedSite | undefined
  readonly view: FunctionView
  readonly url: string
}

/** A class is examined each time: its parent may have been changed. */
function sourceParts(
  fn: AnyFunction,
  { site, url, code, reads }: Read,
  inspector: Inspector | undefined,
): SourceParts | Refusal {
  const classParts = site.classSite && classPartsOf(fn, site.classSite, inspector)
  if (classParts instanceof Refusal) return classParts
  return { kind: 'source', code, url, captures: reads.map(({ capture }) => capture), classParts }
}

function runtimeParts({ kind, url }: RuntimeRole): FunctionParts {
  return { kind: 'runtime', role: kind, url }
}
