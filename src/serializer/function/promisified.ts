// What `util.promisify` has made: its text belongs to Node and means nothing elsewhere, but V8 says
// of what it was made. It travels as a function that does the same.

import { promisify } from 'node:util'
import { compileFunction } from 'node:vm'
import type { FunctionView } from '../inspect/function-view.js'
import type { AnyFunction } from '../native-names.js'
import type { GivenCaptures } from './text-parts.js'

/** The script of Node that has `promisify`. */
const SCRIPT_URL = 'node:internal/util'

/** A function by its text and what that uses. */
export interface Remade {
  readonly fn: AnyFunction
  readonly captures: GivenCaptures
}

/** Knows what it has made. */
export class PromisifiedFunctions {
  readonly #known = new WeakMap<AnyFunction, Remade>()

  /** The same function in a form that can travel; undefined if `promisify` has not made it. */
  remade(fn: AnyFunction, url: string, view: FunctionView): Remade | undefined {
    const known = this.#known.get(fn)
    if (known !== undefined) return known
    const original = originalOf(fn, url, view)
    if (original === undefined) return undefined
    const remade = { fn: callerOf(original), captures: { promisify, original } }
    this.#known.set(fn, remade)
    return remade
  }
}

function originalOf(fn: AnyFunction, url: string, { scopes }: FunctionView): unknown {
  if (url !== SCRIPT_URL || ownSymbol(fn) !== fn) return undefined
  const scope = scopes.find(({ variables }) => typeof variables['original'] === 'function')
  return scope?.variables['original']
}

function ownSymbol(fn: AnyFunction): unknown {
  const property: { readonly value?: unknown } | undefined = Object.getOwnPropertyDescriptor(
    fn,
    promisify.custom,
  )
  return property?.value
}

/**
 * Its text is what travels, and names what it uses: so it is one that no compiler or bundler of
 * this package has changed.
 */
const CALLER = `return function (...parameters) {
  return Reflect.apply(promisify(original), this, parameters)
}`

function callerOf(original: unknown): AnyFunction {
  const make = compileFunction(CALLER, ['promisify', 'original']) as (
    ...variables: unknown[]
  ) => AnyFunction
  return make(promisify, original)
}
