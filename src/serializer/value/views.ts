// Modules of the user of which only the used exports are sent. A message contains one object for
// each, with all exports that any of its functions uses, so that functions that change the state of
// a module share it; and the module object itself, if it is used as a whole.

import { types } from 'node:util'
import type { UsedModule } from '../function/parts.js'
import type { AnyFunction } from '../module/native.js'
import type { ObjectNumbers } from './object.js'

/** Names of exports, with getters for those that change. */
type Used = Map<string, AnyFunction | undefined>

/** The views of one message. */
export class ModuleViews {
  /** The used exports by module. For all rounds. */
  readonly #names = new Map<object, Used>()
  readonly #whole = new Set<object>()
  /** The view of each module in a unit, and its exports. For this round. */
  #made = new WeakMap<object, Map<object, View>>()
  readonly #objects = new WeakSet<object>()
  #isSurprised = false

  get isEmpty(): boolean {
    return this.#names.size === 0
  }

  /** Whether more is used than was written, so that the message must be written again. */
  get isSurprised(): boolean {
    return this.#isSurprised
  }

  /** Forgets all modules. */
  clear(): void {
    this.#names.clear()
    this.#whole.clear()
    this.beginRound()
  }

  /** Starts writing the message again. */
  beginRound(): void {
    this.#made = new WeakMap()
    this.#isSurprised = false
  }

  /** The view of the module in the unit with these numbers. Throws what an export throws. */
  of({ module, names, getters }: UsedModule, unit: ObjectNumbers): object {
    const used = this.#names.get(module) ?? new Map<string, AnyFunction | undefined>()
    this.#names.set(module, used)
    for (const name of names) used.set(name, getters?.get(name))
    if (unit.has(module) && !types.isModuleNamespaceObject(module)) this.noteWhole(module)
    if (this.#whole.has(module)) return module
    const views = this.#made.get(unit) ?? new Map<object, View>()
    this.#made.set(unit, views)
    const view = views.get(module)
    if (view === undefined) {
      const object = viewOf(module, used)
      this.#objects.add(object)
      views.set(module, { object, size: used.size })
      return object
    }
    if (view.size < used.size) this.#isSurprised = true
    return view.object
  }

  /** Whether an object stands for a module: what it has was captured. */
  isView(object: object | undefined): boolean {
    return object !== undefined && !this.isEmpty && this.#objects.has(object)
  }

  /** The object itself is used. */
  noteWhole(object: object): void {
    if (!this.#names.has(object) || this.#whole.has(object)) return
    this.#whole.add(object)
    this.#isSurprised = true
  }
}

interface View {
  readonly object: object
  readonly size: number
}

function viewOf(module: object, used: Used): object {
  const view = Object.create(null) as object
  if (types.isModuleNamespaceObject(module)) {
    Object.defineProperty(view, Symbol.toStringTag, { value: 'Module' })
  }
  for (const [name, get] of used) {
    if (get !== undefined) {
      Object.defineProperty(view, name, { get, enumerable: true, configurable: true })
    } else if (name in module) Object.defineProperty(view, name, propertyOf(module, name))
  }
  return view
}

/**
 * An export that may change stays a getter: its variable is shared with the code that changes it.
 */
function propertyOf(module: object, name: string): PropertyDescriptor {
  const value = (module as Readonly<Record<string, unknown>>)[name]
  const isPrimitive = typeof value !== 'function' && (typeof value !== 'object' || value === null)
  const own = types.isProxy(module) ? undefined : Object.getOwnPropertyDescriptor(module, name)
  if (isPrimitive && own !== undefined && 'get' in own) {
    return { ...own, enumerable: true, configurable: true }
  }
  return { value, writable: true, enumerable: true, configurable: true }
}
