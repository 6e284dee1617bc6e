// Variables that are not initialised yet. Node 20 shows `undefined` for them. Where a variable may
// hold just that, code in the function's place is asked for it, which throws if it is too early.

import type { Inspector } from '../inspect/inspector.js'
import type { AnyFunction } from '../native-names.js'
import type { Binding } from '../source/function-site.js'
import { enterable } from './cell-keys.js'

/** Tells whether they are. */
export class DeadZones {
  readonly #source: Pick<Inspector, 'accessTo'>
  /** What was initialised once stays so: variables of scripts, and those of calls by function. */
  readonly #initialized = new WeakMap<object, Set<Binding>>()

  constructor(source: Pick<Inspector, 'accessTo'>) {
    this.#source = source
  }

  /** Of a variable that shows `undefined` to a function. */
  has(fn: AnyFunction, binding: Binding): boolean {
    const { kind, name, isOnce, isConstant, isNeverUndefined, isInitialized } = binding
    if (kind === 'class') return isConstant
    if ((kind !== 'const' && kind !== 'let') || !isInitialized) return false
    if (isConstant && isNeverUndefined) return true
    const owner = isOnce ? binding : fn
    const known = this.#initialized.get(owner) ?? new Set()
    if (known.has(binding)) return false
    if (this.#throws(fn, name)) return true
    this.#initialized.set(owner, known.add(binding))
    return false
  }

  #throws(fn: AnyFunction, name: string): boolean {
    for (const each of enterable(fn)) {
      const access = this.#source.accessTo(each, name)
      if (access === undefined) continue
      try {
        access.get()
        return false
      } catch (error) {
        return error instanceof ReferenceError
      }
    }
    return false
  }
}
