// Resolves the names that a function uses to their current values.

import { types } from 'node:util'
import type { MadeCell } from '../value/cell.js'
import type { ModuleNames } from '../module/names.js'
import { ownValue, type AnyFunction } from '../module/native.js'
import { captureText } from '../refusal.js'
import type {
  Binding,
  CodeName,
  FreeName,
  FunctionCode,
  FunctionSite,
  TextPlace,
} from '../source/sites.js'
import { COVERAGE } from '../source/remaking.js'
import type { CellKeys } from './cell-keys.js'
import type { CompilerFunctions } from './compiler.js'
import type { CaptureOwner, DeadZones, OwnNames, RemadeVariables } from './remade.js'
import type { Capture } from './parts.js'
import type { MockedModules } from './mock.js'
import { exportsOf, globalOf, type LiveExports, ModuleObjects } from './modules.js'
import {
  refuseHidden,
  refuseOwnModule,
  refuseUninitialized,
  refuseUnknownVariable,
} from './obstacle.js'
import { type Declaration, type KnownScript, LiveImports, type ScriptTable } from './scripts.js'

/** A capture, and whether it will be the same next time. */
export interface ReadCapture {
  readonly capture: Capture
  /** As long as `isCurrent` returns true; otherwise the variable must be read again. */
  readonly isConstant: boolean
  /** The use for which parts of a module are enough; undefined if all of it is sent. */
  readonly partialUse: FreeName | undefined
}

/** The settings of a capture reader. */
interface CaptureReaderOptions {
  readonly modules: ModuleNames
  readonly scripts: ScriptTable
  readonly cells: CellKeys
  readonly remade: RemadeVariables
  readonly live: LiveExports
  readonly deadZones: DeadZones
  readonly compilers: CompilerFunctions
  readonly mocks: MockedModules
  readonly ownNames: OwnNames
  /** A short position for messages: `app.ts:12`. Undefined if there is no file. */
  readonly placeOf: (url: string, place: TextPlace) => string | undefined
  /** Called with each `require` that is found, and its file. */
  readonly onRequire: (require: AnyFunction, url: string) => void
}

type Content = Capture['content']
type Members = Content & { readonly kind: 'members' }

/** The value of a variable. */
type Found = Omit<ReadCapture, 'capture'> & { readonly content: Content }

/** For a module of which only re-created exports are known. */
const EMPTY = {}

/** The value of a variable, or that it has none yet. */
type Seen = { readonly value: unknown } | 'uninitialized'

/** Reads captured variables. */
export class CaptureReader {
  readonly #options: CaptureReaderOptions
  readonly #modules = new ModuleObjects()
  readonly #liveImports: LiveImports

  constructor(options: CaptureReaderOptions) {
    this.#options = options
    this.#liveImports = new LiveImports(options.scripts, options.modules)
  }

  /** The code of a function, in which changing variables of other modules are cells as well. */
  codeOf({ code, codeWith }: FunctionSite, owner: CaptureOwner): FunctionCode {
    const { url } = owner
    for (const { free } of code.names) this.#checkRemade(owner, free)
    const imported = code.names.filter(
      ({ free: { binding } }) =>
        this.#remadeOf(binding, url) !== undefined ||
        (binding?.kind === 'import' &&
          this.#variableOf(binding, url)?.isCell === true &&
          this.#imported(binding, url) === undefined),
    )
    const live = this.#liveImports.exportsIn(code.names, url)
    if (imported.length === 0 && live.size === 0) return code
    return codeWith(new Set(imported.map(({ free }) => free.name)), live)
  }

  /**
   * Whether all functions made from this code in this script refer to the same variables. In a
   * module, which is evaluated once, a name always refers to a variable of the same scope.
   */
  areOfPlace(owner: CaptureOwner, { names }: FunctionCode): boolean {
    if (names.length === 0) return true
    if (owner.script?.script.isModule !== true) return false
    return names.every(({ free }) => {
      const type = owner.view.scopes[scopeOf(owner, free)]?.type
      return type === undefined || type === 'module' || type === 'script'
    })
  }

  /** The capture for a name; undefined if it is a global. */
  read(owner: CaptureOwner, name: CodeName): ReadCapture | undefined {
    const { free } = name
    const { placeOf } = this.#options
    const scope = scopeOf(owner, free)
    if (scope < 0 && free.binding === undefined) return undefined
    const step = (): string => captureText(free.name, placeOf(owner.url, free.place))
    const cell = this.#remadeOf(free.binding, owner.url)
    if (cell !== undefined) {
      // Such a value is created on first use: a computed key would need it before.
      const content: Content = name.isEarly
        ? { kind: 'refusal', refusal: refuseHidden(free.name, true) }
        : { kind: 'value', value: cell }
      const capture = { name: name.name, step, content }
      const variable = this.#remadeVariable(free.binding, owner.url)
      const isConstant = variable === undefined || !this.#options.remade.isOpen(variable)
      return { capture, isConstant, partialUse: undefined }
    }
    const { content, ...about } = this.#contentOf(owner, name, scope)
    return { capture: { name: name.name, step, content }, ...about }
  }

  /** The declaration of a variable whose value nothing else refers to. */
  declarationOf(
    binding: Binding,
    { url, script }: { readonly url: string; readonly script: KnownScript },
  ): Declaration | undefined {
    if (binding.kind !== 'import') return { binding, script }
    return binding.origin && this.#options.scripts.declarationOf(binding.origin, url)
  }

  /** A re-created value must not have changed since, which is visible only through the function. */
  #checkRemade(owner: CaptureOwner, free: FreeName): void {
    const { remade } = this.#options
    const variable = this.#remadeVariable(free.binding, owner.url)
    if (variable === undefined || !remade.isOpen(variable)) return
    const seen = this.look(owner, free)
    if (seen !== undefined && seen !== 'uninitialized') remade.check(variable, seen.value)
  }

  #remadeOf(binding: Binding | undefined, url: string): MadeCell | undefined {
    const variable = this.#remadeVariable(binding, url)
    return variable && this.#options.remade.cellOf(variable)
  }

  /** The variable, if any may be re-created: in one of several equal modules, whichever it is. */
  #remadeVariable(binding: Binding | undefined, url: string): Binding | undefined {
    if (binding === undefined || this.#options.remade.version === 0) return undefined
    if (binding.kind !== 'import' || binding.origin === undefined) return binding
    return this.#options.scripts.declarationOf(binding.origin, url)?.binding
  }

  /** Whether the constant parts are still enough: a module may have been given other functions. */
  isCurrent({ capture: { content }, partialUse }: ReadCapture): boolean {
    if (partialUse === undefined || content.kind !== 'members') return true
    return this.#modules.isEnough(content.module, partialUse)
  }

  #contentOf(owner: CaptureOwner, name: CodeName, scope: number): Found {
    const { free } = name
    const { binding } = free
    const imported = binding === undefined ? undefined : this.#imported(binding, owner.url)
    const module = name.liveExport && this.#liveImports.moduleOf(binding, owner.url)
    if (module) return constant({ kind: 'reference', reference: module })
    if (imported !== undefined) return constant(imported)
    const wrapped = scope < 0 ? this.#wrapped(binding, owner.url) : undefined
    if (wrapped !== undefined) return constant(wrapped)
    if (scope < 0 && binding?.kind === 'function' && COVERAGE.test(free.name)) {
      const value = this.#options.compilers.counters()
      return constant(
        name.isCell ? { kind: 'cell', key: binding, value } : { kind: 'value', value },
      )
    }
    const hidden = scope < 0 ? this.#hiddenModule(owner, free) : undefined
    if (hidden !== undefined) return changing(hidden)
    // A variable that only the function refers to cannot be seen, but its value may be in the text.
    if (scope < 0 && binding?.literal !== undefined) {
      return constant({ kind: 'value', value: binding.literal })
    }
    if (scope < 0) return changing(this.#hidden(owner, name))
    const seen = this.#look(owner, free, scope)
    if (seen === 'uninitialized') {
      return changing({ kind: 'refusal', refusal: refuseUninitialized(free.name) })
    }
    return this.#valueContent(owner, name, { value: seen.value, scope })
  }

  #hidden(owner: CaptureOwner, { free, isEarly, isCell }: CodeName): Content {
    const { name, binding, isAssigned } = free
    const { ownNames } = this.#options
    const global = isCell || owner.script?.script.isModule !== false ? undefined : globalOf(binding)
    const own = isEarly || isAssigned ? undefined : ownNames.standInFor(owner, binding)
    if (global !== undefined) return { kind: 'value', value: global.value }
    if (own !== undefined) return { kind: 'value', value: own }
    const isOwnName = binding?.ownNameAt !== undefined
    return { kind: 'refusal', refusal: refuseHidden(name, isEarly, isOwnName) }
  }

  /** The value of a variable as a function sees it; undefined if it does not see the variable. */
  look(owner: CaptureOwner, free: FreeName): Seen | undefined {
    const scope = scopeOf(owner, free)
    return scope < 0 ? undefined : this.#look(owner, free, scope)
  }

  #look({ fn, view }: CaptureOwner, { name, binding }: FreeName, scope: number): Seen {
    let value: unknown
    try {
      value = view.scopes[scope]?.variables[name]
    } catch {
      return 'uninitialized'
    }
    const isDead = value === undefined && binding && this.#options.deadZones.has(fn, binding, scope)
    return isDead === true ? 'uninitialized' : { value }
  }

  #imported(binding: Binding, url: string): Content | undefined {
    if (binding.origin === undefined || !binding.isConstant) return undefined
    const reference = this.#options.modules.originReference(binding.origin, url)
    return reference === undefined ? undefined : { kind: 'reference', reference }
  }

  /**
   * A compiler's stand-in for a namespace that no function keeps: the namespace itself is
   * equivalent.
   */
  #wrapped(binding: Binding | undefined, url: string): Content | undefined {
    if (binding?.wrappedSpecifier === undefined) return undefined
    const origin = { specifier: binding.wrappedSpecifier, form: 'import', path: [] } as const
    const reference = this.#options.modules.originReference(origin, url)
    return reference === undefined ? undefined : { kind: 'reference', reference }
  }

  /** A module that no function keeps, as far as its exports are known. */
  #hiddenModule(owner: CaptureOwner, { binding, members }: FreeName): Content | undefined {
    const { script } = owner
    if (binding === undefined || members === undefined || script === undefined) return undefined
    const url = this.#options.scripts.moduleOf(binding, script)?.script.url
    const module = url === undefined ? undefined : (exportsOf(url) ?? EMPTY)
    if (module === undefined) return undefined
    const { content } = this.#moduleContent(module, members, { binding, owner })
    const isThere = (name: string): boolean => name in module || content.getters?.has(name) === true
    return members.every(isThere) ? content : undefined
  }

  #valueContent(
    owner: CaptureOwner,
    { free, isCell }: CodeName,
    { value: seen, scope }: { readonly value: unknown; readonly scope: number },
  ): Found {
    const { binding } = free
    const isModule = binding?.isModuleObject === true || isOwnModule(binding)
    const value = isModule && !isCell ? this.#options.mocks.unwrapped(seen) : seen
    const loaded = isCell ? undefined : this.#liveImports.loadedModule(value)
    if (loaded) return constant({ kind: 'reference', reference: loaded })
    // The factory of a mock has returned a proxy.
    if (value !== seen && types.isProxy(value)) return changing({ kind: 'value', value })
    if (free.isOnlyTypeof && !isCell && isObject(value)) {
      // The function uses only its type, and `null` has the same.
      const content: Content = { kind: 'value', value: null }
      return binding?.isConstant === true ? constant(content) : changing(content)
    }
    if (isNodeRequire(value)) this.#options.onRequire(value, owner.url)
    if (binding?.isPrivateStore === true && (types.isWeakMap(value) || types.isWeakSet(value))) {
      return constant({ kind: 'privateStore', store: value })
    }
    const keys = isCell ? undefined : this.#modules.keysOf(value, free, isModule)
    if (keys !== undefined) {
      const found = this.#moduleContent(value as object, keys.names, { binding, owner })
      const { content, isSteady } = found
      const partialUse = keys.isPartial ? free : undefined
      const isConstant = binding?.isConstant === true && isSteady
      return { content, isConstant, partialUse }
    }
    if (isOwnModule(binding) && isObject(value)) {
      return changing({ kind: 'refusal', refusal: refuseOwnModule() })
    }
    const variable = this.#variableOf(binding, owner.url)
    if (isCell && variable !== undefined) {
      const key = this.#options.cells.keyOf(owner, variable, scope, free)
      return changing({ kind: 'cell', key, value })
    }
    if (binding === undefined && free.isAssigned) {
      return changing({ kind: 'refusal', refusal: refuseUnknownVariable(free) })
    }
    const content: Content = { kind: 'value', value }
    // A variable that is undefined may be assigned later.
    return variable?.isConstant === true && value !== undefined
      ? constant(content)
      : changing(content)
  }

  /**
   * A namespace has the current values, and shares with its module the variables that change.
   * Values that are re-created on the other side are read there. `isSteady`: it will be the same
   * next time.
   */
  #moduleContent(
    module: object,
    names: readonly string[],
    { binding, owner }: { readonly binding: Binding | undefined; readonly owner: CaptureOwner },
  ): { readonly content: Members; readonly isSteady: boolean } {
    const getters = new Map(
      types.isModuleNamespaceObject(module)
        ? this.#namespaceGetters(module, names, { binding, owner })
        : [],
    )
    for (const name of names) {
      const getter = this.#options.mocks.getterBehind(module, name)
      if (getter !== undefined) getters.set(name, getter)
    }
    let isSteady = getters.size === 0
    for (const name of names) {
      const made = this.#remadeMember(binding, owner, { module, name })
      if (made === undefined) continue
      getters.set(name, this.#options.live.getterOfMade(name, made.cell))
      if (made.isOpen) isSteady = false
    }
    const content: Members = { kind: 'members', module, names }
    return { content: getters.size > 0 ? { ...content, getters } : content, isSteady }
  }

  #namespaceGetters(
    namespace: object,
    names: readonly string[],
    { binding, owner }: { readonly binding: Binding | undefined; readonly owner: CaptureOwner },
  ): ReadonlyMap<string, AnyFunction> {
    const origin = binding?.origin
    if (origin === undefined) return this.gettersOf(namespace, names)
    const { scripts } = this.#options
    // `require` of an ES module returns its namespace, too.
    return this.#getters(namespace, names, (name) =>
      scripts.variableOf({ ...origin, form: 'import', path: [...origin.path, name] }, owner.url),
    )
  }

  /** The value of a property of a module; undefined if the object is something else. */
  memberOf(
    binding: Binding,
    script: KnownScript,
    { module, name }: { readonly module: unknown; readonly name: string },
  ): Declaration | undefined {
    const { mocks, scripts } = this.#options
    const url = scripts.moduleOf(binding, script)?.script.url
    // What a mock contains is not declared in the module that it replaces.
    if (url === undefined || mocks.isMock(module)) return undefined
    // A call such as a compiler's `wrap(require('x'))` may return anything that is made from a
    // module.
    const exports = exportsOf(url)
    const isIt = exports === undefined || !isObject(module) || module === EMPTY
    if (!isIt && Reflect.get(module, name) !== Reflect.get(exports, name)) return undefined
    return scripts.memberOf(binding, script, name)
  }

  #remadeMember(
    binding: Binding | undefined,
    { script }: CaptureOwner,
    { module, name }: { readonly module: object; readonly name: string },
  ): { readonly cell: MadeCell; readonly isOpen: boolean } | undefined {
    const { remade } = this.#options
    if (binding === undefined || script === undefined || remade.version === 0) return undefined
    const variable = this.memberOf(binding, script, { module, name })?.binding
    if (variable === undefined) return undefined
    const isOpen = remade.isOpen(variable)
    if (isOpen) remade.check(variable, Reflect.get(module, name))
    const cell = remade.cellOf(variable)
    return cell && { cell, isOpen }
  }

  /**
   * The getters of a namespace that is an ordinary value: those of the module that defines one of
   * its functions, if that exports the same names.
   */
  gettersOf(
    namespace: object,
    wanted: readonly string[] = Object.keys(namespace),
  ): ReadonlyMap<string, AnyFunction> {
    const { scripts } = this.#options
    const names = Object.keys(namespace)
    const url = scripts.urlOfNamespace(namespace)
    if (url === undefined || url === '') return new Map()
    const variableOf = (name: string): Binding | undefined =>
      scripts.variableOf({ specifier: url, form: 'import', path: [name] }, url)
    // A default export may be a value without a name.
    const isIt = names.every((name) => name === 'default' || variableOf(name) !== undefined)
    return isIt ? this.#getters(namespace, wanted, variableOf) : new Map()
  }

  #getters(
    module: object,
    names: readonly string[],
    variableOf: (name: string) => Binding | undefined,
  ): ReadonlyMap<string, AnyFunction> {
    const getters = new Map<string, AnyFunction>()
    for (const name of names) {
      const variable = variableOf(name)
      if (variable?.isCell !== true) continue
      getters.set(name, this.#options.live.getterOf({ module, name, variable }))
    }
    return getters
  }

  /** The variable at its declaration: for an import, in the module that exports it. */
  #variableOf(binding: Binding | undefined, url: string): Binding | undefined {
    if (binding?.kind !== 'import' || binding.origin === undefined) return binding
    return this.#options.scripts.variableOf(binding.origin, url)
  }
}

function scopeOf({ view }: CaptureOwner, { name, binding }: FreeName): number {
  if (binding?.ownNameAt !== undefined) return -1
  return view.scopes.findIndex(({ variables }) => Object.hasOwn(variables, name))
}

function constant(content: Content): Found {
  return { content, isConstant: true, partialUse: undefined }
}

function changing(content: Content): Found {
  return { content, isConstant: false, partialUse: undefined }
}

/** `module` of a CommonJS file, of which only `exports` can be meant. */
function isOwnModule(binding: Binding | undefined): boolean {
  return binding?.kind === 'wrapper' && binding.name === 'module'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** The `require` of some file. */
function isNodeRequire(value: unknown): value is AnyFunction {
  if (typeof value !== 'function' || types.isProxy(value)) return false
  return (
    typeof ownValue(value, 'resolve') === 'function' &&
    typeof ownValue(value, 'cache') === 'object' &&
    Object.hasOwn(value, 'main')
  )
}
