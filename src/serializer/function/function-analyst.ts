// Takes functions apart: asks V8 where a function comes from and what its variables hold, and the
// text of its script what it means. What can be known for ever is asked once for each function.

import { types } from 'node:util'
import { Inspector } from '../inspect/inspector.js'
import type { FunctionView } from '../inspect/function-view.js'
import type { ModuleNames } from '../module/module-names.js'
import type { ExportReference, RuntimeRole } from '../module/reference.js'
import { isNative, ownValue, type AnyFunction, type NativeNames } from '../native-names.js'
import { refuseClass, type Refusal } from '../refusal.js'
import type { ClassSite, FunctionSite } from '../source/function-site.js'
import { analyzeText } from '../source/script-analysis.js'
import { CaptureReader, type ReadCapture } from './capture-reader.js'
import { CellKeys } from './cell-keys.js'
import type { ExplicitFunctions } from './explicit-function.js'
import type {
  Capture,
  ClassParts,
  FunctionAnalyst,
  FunctionParts,
  SourceParts,
} from './function-parts.js'
import {
  refuseBuiltIn,
  refuseNative,
  refuseObstacle,
  refuseTorn,
  refuseWithoutInspector,
} from './obstacle.js'
import { ScriptTable, type KnownScript } from './script-table.js'

/** What an analyst works with. */
export interface AnalystOptions {
  readonly natives: NativeNames
  readonly modules: ModuleNames
  readonly explicit: ExplicitFunctions
}

/** What is known of a function for as long as it lives. */
interface Known {
  readonly site: FunctionSite
  /** Held, so that its variables stay the same ones for as long as one of its functions lives. */
  readonly script: KnownScript | undefined
  readonly url: string
  /** Undefined where a variable has to be looked at each time. */
  readonly refresh: (() => SourceParts) | undefined
  /** The registrations of modules that it was made with. */
  readonly policyVersion: number
}

/** The analyst of the default serializer. */
export class SourceAnalyst implements FunctionAnalyst {
  readonly #options: AnalystOptions
  readonly #known = new WeakMap<AnyFunction, Known>()
  readonly #references = new WeakMap<AnyFunction, { parts: FunctionParts; policyVersion: number }>()
  /** The file of each `require` that a function has captured. */
  readonly #requires = new WeakMap<AnyFunction, string>()
  #tools: Tools | undefined
  #hasLooked = false

  constructor(options: AnalystOptions) {
    this.#options = options
  }

  partsOf(fn: AnyFunction): FunctionParts | Refusal {
    const captures = this.#options.explicit.capturesOf(fn)
    if (captures !== undefined) return explicitParts(fn, captures)
    const known = this.#known.get(fn)
    const { version } = this.#options.modules
    if (known?.refresh !== undefined && known.policyVersion === version) return known.refresh()
    if (types.isProxy(fn)) return refuseClass('Proxy')
    const reference = this.#references.get(fn)
    if (reference?.policyVersion === version) return reference.parts
    return this.#namedParts(fn) ?? this.#inspectedParts(fn)
  }

  referenceOf(object: object): ExportReference | undefined {
    if (types.isProxy(object)) return undefined
    const exportsOf = (file: string): ReadonlyMap<string, string> | undefined =>
      this.#inspection()?.scripts.exportsOf(file)
    return this.#options.modules.referenceOf(object, undefined, exportsOf)
  }

  settle(functions: Iterable<AnyFunction>): 'certain' | 'again' | Refusal {
    return this.#tools === undefined ? 'certain' : this.#tools.cells.settle(functions)
  }

  /** What goes by a name, or is explained by its user. */
  #namedParts(fn: AnyFunction): FunctionParts | Refusal | undefined {
    const { natives, explicit, modules } = this.#options
    const name = natives.nameOf(fn)
    if (name !== undefined) return { kind: 'native', name }
    const reference = explicit.referenceOf(fn)
    if (reference !== undefined) return { kind: 'reference', reference }
    const url = this.#requires.get(fn)
    if (url !== undefined) return runtimeParts({ kind: 'require', url })
    if (isNative(fn)) return this.#boundParts(fn)
    const role = modules.roleOf(fn)
    return role === undefined ? undefined : runtimeParts(role)
  }

  #boundParts(fn: AnyFunction): FunctionParts | Refusal {
    const bound = this.#inspection()?.inspector.boundView(fn)
    if (bound === undefined) return refuseNative(fn)
    return { kind: 'bound', ...bound }
  }

  #inspectedParts(fn: AnyFunction): FunctionParts | Refusal {
    const text = Function.prototype.toString.call(fn)
    const tools = this.#inspection()
    if (tools === undefined) return this.#partsWithoutInspector(fn, text)
    const view = tools.inspector.functionView(fn)
    if (view.location === undefined) return refuseNative(fn)
    const script = tools.scripts.get(view.location.scriptId)
    const url = script?.script.url ?? ''
    if (url.startsWith('node:')) return refuseBuiltIn(fn, url)
    const referred = this.#referredParts(fn, url, tools)
    if (referred !== undefined) return referred
    const known = this.#known.get(fn)
    const site =
      known?.site ??
      (script === undefined ? undefined : tools.scripts.siteAt(script, view.location, text)) ??
      analyzeText(text)
    if (site === undefined) return refuseObstacle(fn, undefined, url)
    const [obstacle] = site.obstacles
    if (obstacle !== undefined) return refuseObstacle(fn, obstacle, url)
    const isTorn = site.classSite !== undefined && hasTornChains(fn, site.classSite)
    return isTorn ? refuseTorn(fn) : this.#sourceParts({ fn, site, view, url, script }, tools)
  }

  /** A function of a package, or of a module that goes by reference. */
  #referredParts(fn: AnyFunction, url: string, tools: Tools): FunctionParts | Refusal | undefined {
    const { modules } = this.#options
    if (!modules.goesByReference(url)) return undefined
    const exportsOf = (file: string): ReadonlyMap<string, string> | undefined =>
      tools.scripts.exportsOf(file)
    const reference = modules.referenceOf(fn, url, exportsOf)
    if (reference === undefined) return modules.refusalOf(fn, url)
    const parts: FunctionParts = { kind: 'reference', reference }
    this.#references.set(fn, { parts, policyVersion: modules.version })
    return parts
  }

  #sourceParts(found: Found, tools: Tools): SourceParts {
    const { fn, site, url, script } = found
    const reads: ReadCapture[] = []
    const code = tools.captures.codeOf(site, url)
    for (const name of code.names) {
      const read = tools.captures.read(found, name)
      if (read !== undefined) reads.push(read)
    }
    const classParts = classPartsOf(fn, site, tools.inspector)
    const partsWith = (captures: readonly Capture[]): SourceParts => ({
      kind: 'source',
      code,
      url,
      captures,
      classParts: classParts?.(),
    })
    const isConstant = reads.every(({ refresh }) => refresh !== undefined)
    const policyVersion = this.#options.modules.version
    const again = (): SourceParts =>
      partsWith(reads.map(({ capture, refresh }) => refresh?.() ?? capture))
    const refresh = isConstant ? again : undefined
    this.#known.set(fn, { site, script, url, refresh, policyVersion })
    const parts = partsWith(reads.map(({ capture }) => capture))
    return parts
  }

  /** Only a function that uses nothing but globals can be understood by its text alone. */
  #partsWithoutInspector(fn: AnyFunction, text: string): FunctionParts | Refusal {
    const site = analyzeText(text)
    if (site === undefined) return refuseObstacle(fn, undefined, '')
    const [obstacle] = site.obstacles
    if (obstacle !== undefined) return refuseObstacle(fn, obstacle, '')
    const unknown = site.freeNames.filter(
      ({ name, isOnlyTypeof }) => !isOnlyTypeof && !(name in globalThis),
    )
    if (unknown.length > 0 || site.classSite?.hasParent === true) {
      return refuseWithoutInspector(fn, unknown)
    }
    return { kind: 'source', code: site.code, url: '', captures: [], classParts: undefined }
  }

  #inspection(): Tools | undefined {
    if (this.#hasLooked) return this.#tools
    this.#hasLooked = true
    const inspector = Inspector.open()
    if (inspector === undefined) return undefined
    const scripts = new ScriptTable(inspector)
    const cells = new CellKeys(inspector)
    const captures = new CaptureReader({
      modules: this.#options.modules,
      scripts,
      cells,
      onRequire: (require, url) => this.#requires.set(require, url),
    })
    return (this.#tools = { inspector, scripts, cells, captures })
  }
}

/** What needs the inspector. */
interface Tools {
  readonly inspector: Inspector
  readonly scripts: ScriptTable
  readonly cells: CellKeys
  readonly captures: CaptureReader
}

interface Found {
  readonly fn: AnyFunction
  readonly script: KnownScript | undefined
  readonly site: FunctionSite
  readonly view: FunctionView
  readonly url: string
}

function classPartsOf(
  fn: AnyFunction,
  { classSite }: FunctionSite,
  inspector: Inspector,
): (() => ClassParts) | undefined {
  if (classSite === undefined) return undefined
  return () => {
    const parent: unknown = classSite.extendsNull ? null : Object.getPrototypeOf(fn)
    const values = classSite.staticPrivates.length > 0 ? inspector.staticPrivates(fn) : undefined
    return {
      parent: classSite.hasParent ? (parent as AnyFunction | null) : undefined,
      staticPrivates: classSite.staticPrivates
        .filter((name) => values?.has(name) === true)
        .map((name) => ({ name, value: values?.get(name) })),
      instancePrivates: classSite.instancePrivates,
    }
  }
}

/** Whether somebody has changed what a class inherits from on one of its two sides. */
function hasTornChains(fn: AnyFunction, { hasParent, extendsNull }: ClassSite): boolean {
  const parent: unknown = Object.getPrototypeOf(fn)
  const members = ownValue(fn, 'prototype')
  const above: unknown =
    typeof members === 'object' && members !== null ? Object.getPrototypeOf(members) : undefined
  if (extendsNull) return above !== null || parent !== Function.prototype
  if (!hasParent) return above !== Object.prototype || parent !== Function.prototype
  return typeof parent !== 'function' || ownValue(parent, 'prototype') !== above
}

function runtimeParts({ kind, url }: RuntimeRole): FunctionParts {
  return { kind: 'runtime', role: kind, url }
}

/** A function whose captures its user has given (explicit-function.ts). */
function explicitParts(
  fn: AnyFunction,
  given: Readonly<Record<string, unknown>>,
): FunctionParts | Refusal {
  const site = analyzeText(Function.prototype.toString.call(fn))
  if (site === undefined) return refuseObstacle(fn, undefined, '')
  const [obstacle] = site.obstacles
  if (obstacle !== undefined) return refuseObstacle(fn, obstacle, '')
  const missing = site.freeNames.filter(
    ({ name, isOnlyTypeof }) =>
      !isOnlyTypeof && !Object.hasOwn(given, name) && !(name in globalThis),
  )
  if (missing.length > 0) return refuseWithoutInspector(fn, missing)
  const captures = site.code.names
    .filter(({ free }) => Object.hasOwn(given, free.name))
    .map(({ name, free, isCell }): Capture => {
      const value: unknown = given[free.name]
      const step = `${free.name} (given as a capture)`
      return isCell
        ? { name, step, content: { kind: 'cell', key: {}, value } }
        : { name, step, content: { kind: 'value', value } }
    })
  const parent: unknown = ownValue(fn, 'prototype') === undefined ? null : Object.getPrototypeOf(fn)
  const classParts = site.classSite && {
    parent: site.classSite.hasParent ? (parent as AnyFunction) : undefined,
    staticPrivates: [],
    instancePrivates: site.classSite.instancePrivates,
  }
  return { kind: 'source', code: site.code, url: '', captures, classParts }
}
