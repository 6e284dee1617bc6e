// Objects that represent modules. A program uses only some of their properties; sending all would
// send the whole module.

import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { types } from 'node:util'
import { type AnyFunction, ownValue } from '../module/native.js'
import { analyzeText } from '../source/analysis.js'
import { usesOwner } from '../source/site.js'
import type { Binding, FreeName, FunctionCode } from '../source/sites.js'
import type { MadeCell } from '../value/cell.js'
import { prototypesFrom } from '../class/prototype-chain.js'
import type { Capture, SourceParts } from './parts.js'

/**
 * The property of the global object that a `var` or function at the top of a script is, if the
 * script is no module of either kind, such as that of `node -e`.
 */
export function globalOf(binding: Binding | undefined): PropertyDescriptor | undefined {
  if (binding?.isOnce !== true) return undefined
  if (binding.kind !== 'var' && binding.kind !== 'function') return undefined
  const property = Object.getOwnPropertyDescriptor(globalThis, binding.name)
  // What is assigned without a declaration is configurable.
  return property?.configurable === false && 'value' in property ? property : undefined
}

// CommonJS files that Node has loaded: V8 forgets the text of a file of which no function is left.

/** An entry of Node's module cache. */
interface LoadedModule {
  readonly exports: unknown
  readonly loaded: boolean
}

type RequireCache = Readonly<Record<string, LoadedModule | undefined>>

let known: RequireCache | undefined

/** All of them, by path. */
function requireCache(): RequireCache {
  // Not when this file is loaded: some bundles have no `require`.
  return (known ??= createRequire(import.meta.url).cache)
}

/** The exports of such a file, if they are an object. */
export function exportsOf(url: string): object | undefined {
  const exports = requireCache()[pathOf(url)]?.exports
  return typeof exports === 'object' && exports !== null ? exports : undefined
}

/** The text of a file, as long as it is certainly the text that was loaded. */
export function textOfFile(url: string): string | undefined {
  const path = pathOf(url)
  if (requireCache()[path] === undefined || !/\.c?js$/.test(path)) return undefined
  try {
    return statSync(path).mtimeMs < performance.timeOrigin ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}

function pathOf(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url
}

/** How a function uses a variable. */
export type ModuleUse = Pick<FreeName, 'members' | 'calledMembers'>

/** The properties of a module that are sent. */
interface ModuleKeys {
  readonly names: readonly string[]
  /** Only the used properties rather than all. */
  readonly isPartial: boolean
}

/** Recognises modules. */
export class ModuleObjects {
  readonly #loaded = new LoadedObjects()
  /** Whether a function uses the object that it is called on, from its text. */
  readonly #usesOwner = new WeakMap<AnyFunction, boolean>()

  /**
   * The properties to send, if the value represents a module: the used ones, or all properties of a
   * namespace if those are not enough. Undefined for any other value, and if all of it must be
   * sent.
   */
  keysOf(value: unknown, use: ModuleUse, isDeclaredModule: boolean): ModuleKeys | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    const { members } = use
    const partial = members && { names: members, isPartial: true }
    // Some loaders put a proxy in front of a module to merge its exports with its default export.
    if (types.isProxy(value)) return isDeclaredModule ? partial : undefined
    if (types.isModuleNamespaceObject(value)) {
      return partial !== undefined && this.isEnough(value, use)
        ? partial
        : { names: Object.keys(value), isPartial: false }
    }
    if (partial === undefined) return undefined
    const isModule = isDeclaredModule || looksLikeModule(value) || this.#loaded.has(value)
    return isModule && this.isEnough(value, use) ? partial : undefined
  }

  /** Whether the used properties of a module do not use other properties by `this`. */
  isEnough(module: object, { members, calledMembers }: ModuleUse): boolean {
    if (types.isProxy(module)) return true
    return (
      !calledMembers.some((name) => this.#isOwnerUser(memberOf(module, name))) &&
      members?.some((name) => this.#hasUserAccessor(module, name)) !== true
    )
  }

  #hasUserAccessor(module: object, name: string): boolean {
    if (types.isModuleNamespaceObject(module)) return false
    const property: { readonly get?: unknown } | undefined = Object.getOwnPropertyDescriptor(
      module,
      name,
    )
    return this.#isOwnerUser(property?.get)
  }

  #isOwnerUser(value: unknown): boolean {
    if (typeof value !== 'function' || types.isProxy(value)) return false
    const fn = value as AnyFunction
    const known = this.#usesOwner.get(fn)
    if (known !== undefined) return known
    const uses = usesOwner(Function.prototype.toString.call(fn))
    this.#usesOwner.set(fn, uses)
    return uses
  }
}

/** Whether an object looks like a module written by a compiler. */
function looksLikeModule(value: object): boolean {
  if (ownValue(value, '__esModule') === true) return true
  return Object.getOwnPropertyDescriptor(value, Symbol.toStringTag)?.value === 'Module'
}

/** The function that a call of the property would call. Compilers write getters for exports. */
function memberOf(module: object, name: string): unknown {
  try {
    for (const owner of prototypesFrom(module)) {
      if (types.isProxy(owner)) return undefined
      const property = Object.getOwnPropertyDescriptor(owner, name)
      if (property === undefined) continue
      return 'value' in property
        ? property.value
        : (module as Readonly<Record<string, unknown>>)[name]
    }
  } catch {
    // It is not initialized yet.
  }
  return undefined
}

/** The exports of the CommonJS files that are loaded. */
class LoadedObjects {
  readonly #objects = new WeakSet<object>()
  /** Their exports may still change. */
  #pending: readonly LoadedModule[] = []
  #count = 0
  #newest: LoadedModule | undefined

  has(value: object): boolean {
    this.#refresh()
    return this.#objects.has(value) || this.#pending.some(({ exports }) => exports === value)
  }

  /** A module that is loaded, also again, becomes the last. */
  #refresh(): void {
    const filenames = Object.keys(requireCache())
    const newest = requireCache()[filenames.at(-1) ?? '']
    const isSame = filenames.length === this.#count && newest === this.#newest
    if (isSame && this.#pending.every(({ loaded }) => !loaded)) return
    this.#count = filenames.length
    this.#newest = newest
    const pending: LoadedModule[] = []
    for (const entry of Object.values(requireCache())) {
      if (entry?.loaded === false) pending.push(entry)
      else this.#add(entry?.exports)
    }
    this.#pending = pending
  }

  #add(exports: unknown): void {
    if (typeof exports === 'object' && exports !== null) this.#objects.add(exports)
  }
}

// Exports that their module changes, as other modules see them in its namespace: each is read by a
// getter, which is a closure over the variable like the functions of the module.

/** The name of the variable in the code of a getter. */
const NAME = 'exported'

/** An export of a module. */
interface LiveExport {
  readonly module: object
  readonly name: string
  readonly variable: Binding
}

/** An export that is re-created on the other side. */
interface MadeExport {
  readonly name: string
  readonly cell: MadeCell
}

/** The getters of all modules. */
export class LiveExports {
  readonly #getters = new WeakMap<Binding, AnyFunction>()
  readonly #exports = new WeakMap<AnyFunction, LiveExport>()
  readonly #made = new WeakMap<MadeCell, AnyFunction>()
  readonly #madeExports = new WeakMap<AnyFunction, MadeExport>()
  #code: FunctionCode | undefined

  /** The getter of an export whose variable changes; always the same one. */
  getterOf(live: LiveExport): AnyFunction {
    const { module, name, variable } = live
    let getter = this.#getters.get(variable)
    if (getter === undefined) {
      getter = () => Reflect.get(module, name)
      this.#getters.set(variable, getter)
      this.#exports.set(getter, live)
    }
    return getter
  }

  /** The getter of an export that is re-created where it arrives; always the same one. */
  getterOfMade(name: string, cell: MadeCell): AnyFunction {
    let getter = this.#made.get(cell)
    if (getter === undefined) {
      getter = () => cell.v
      this.#made.set(cell, getter)
      this.#madeExports.set(getter, { name, cell })
    }
    return getter
  }

  /** The parts of a getter; undefined for any other function. */
  partsOf(getter: AnyFunction): SourceParts | undefined {
    const live = this.#exports.get(getter) ?? this.#madeExports.get(getter)
    if (live === undefined) return undefined
    this.#code ??= analyzeText(`() => ${NAME}`, true)?.codeWith(new Set([NAME]))
    if (this.#code === undefined) return undefined
    const content: Capture['content'] =
      'cell' in live
        ? { kind: 'value', value: live.cell }
        : { kind: 'cell', key: live.variable, value: Reflect.get(live.module, live.name) }
    const captures = [{ name: NAME, step: `the export ${live.name}`, content }]
    return { kind: 'source', code: this.#code, url: '', captures, classParts: undefined }
  }
}

/** The value of a variable. */
export interface Seen {
  readonly value: unknown
}

/** An export of a module: reading it runs only code written by compilers. */
export function memberIn(module: unknown, name: string = ''): Seen | undefined {
  if (typeof module !== 'object' || module === null) return undefined
  return { value: Reflect.get(module, name) }
}

/** An export of a namespace, if it is a function. */
export function functionIn(namespace: object, name: string): AnyFunction | undefined {
  try {
    const value: unknown = Reflect.get(namespace, name)
    return typeof value === 'function' ? (value as AnyFunction) : undefined
  } catch {
    // It is not initialized yet.
    return undefined
  }
}
