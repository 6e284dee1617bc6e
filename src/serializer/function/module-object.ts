// Objects that stand for modules. A program that uses one means some of its properties: to send all
// would send the whole module.

import { types } from 'node:util'
import { ownValue, type AnyFunction } from '../native-names.js'
import { prototypesFrom } from '../prototype-chain.js'
import type { FreeName } from '../source/function-site.js'
import { usesOwner } from '../source/own-this.js'
import { requireCache, type LoadedModule } from './loaded-file.js'

/** How a function uses a variable. */
export type ModuleUse = Pick<FreeName, 'members' | 'calledMembers'>

/** The properties of a module that travel. */
export interface ModuleKeys {
  readonly names: readonly string[]
  /** These are those that are used, not all. */
  readonly isPartial: boolean
}

/** Recognises modules. */
export class ModuleObjects {
  readonly #loaded = new LoadedObjects()
  /** What the text of a function says: whether it uses the object that it is called on. */
  readonly #usesOwner = new WeakMap<AnyFunction, boolean>()

  /**
   * The properties that travel, if the value stands for a module: those that are used, or all of a
   * namespace where that is not enough. Undefined for every other value, and for what has to travel
   * as it is.
   */
  keysOf(value: unknown, use: ModuleUse, isDeclaredModule: boolean): ModuleKeys | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    const { members } = use
    const partial = members && { names: members, isPartial: true }
    // Some loaders put a proxy before a module to unite its exports with its default export.
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

  /** Whether what is used of a module does not use others of its properties by `this`. */
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

/** What compilers make of a module. */
function looksLikeModule(value: object): boolean {
  if (ownValue(value, '__esModule') === true) return true
  return Object.getOwnPropertyDescriptor(value, Symbol.toStringTag)?.value === 'Module'
}

/** What calling the property would call. Compilers make getters of exports. */
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
    // It is not initialised yet.
  }
  return undefined
}

/** The exports of the CommonJS files that are loaded. */
class LoadedObjects {
  readonly #objects = new WeakSet<object>()
  /** They may still get other exports. */
  #pending: readonly LoadedModule[] = []
  #count = 0
  #newest: LoadedModule | undefined

  has(value: object): boolean {
    this.#refresh()
    return this.#objects.has(value) || this.#pending.some(({ exports }) => exports === value)
  }

  /** What is loaded, also once more, becomes the last. */
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
